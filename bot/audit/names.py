"""From what an audit is asked about to the repositories, and to the pairs of their histories."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from bot.audit.pace import TRIES, Pace
from bot.audit.records import Asked
from bot.errors import UsageError
from bot.fetch.hub import PREFIX, Revision, parse
from bot.fetch.hub_commits import AT_ONCE as AT_ONCE_COMMITS
from bot.fetch.hub_commits import Commits, Requests, Row, SpentError
from bot.hub import AbsentError, Access, Budget, HubError, connect

if TYPE_CHECKING:
    from huggingface_hub import HfApi, ModelInfo

ALL = "/*"
AT_ONCE = 500  # names that are taken from a list at once
LONGEST_LINE = 1_000
LISTS = (".txt", ".list", ".csv")
LONGEST_MESSAGE = 20_000  # characters


def hold(words: Sequence[str]) -> None:
    """Hold the words of the command line to what they may be, and the lines of every file. Raises UsageError."""
    for word in words:
        if not _is_file(word):
            if word.endswith(LISTS):
                raise UsageError(f"{word}: there is no such file; write the names of repositories into it, one a line")
            _hold(word.removeprefix(PREFIX), "")
            continue
        for number, name in _lines(Path(word)):
            _hold(name, f"{word}:{number}: ")


def written(words: Sequence[str]) -> Iterator[str]:
    """What the words stand for, one by one: "org/name", "org/name@revision", or "org/*" for all of an organization."""
    for word in words:
        if _is_file(word):
            yield from (name for _, name in _lines(Path(word)))
        else:
            yield word.removeprefix(PREFIX)


def _is_file(word: str) -> bool:
    try:
        return Path(word).is_file()
    except OSError:  # such as a name that is too long for one
        return False


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            number = 0
            while line := file.readline(LONGEST_LINE):
                number += 1
                name = line.partition("#")[0].strip().removeprefix(PREFIX)
                if name:
                    yield number, name
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error


def _hold(name: str, where: str) -> None:
    try:
        parse(f"{name.removesuffix(ALL)}/x" if name.endswith(ALL) else name)
    except UsageError as error:
        raise UsageError(f"{where}{error}, or org/* for all of an organization, or a file with one of these a line") from error


def repositories(organization: str, access: Access, pace: Pace) -> Iterator[str]:
    """The models of an organization or a person, page by page; after a pause the list begins again. Raises HubError and StoppedError."""
    place = f"{PREFIX}{organization}{ALL}"
    found = False
    for left in reversed(range(TRIES)):
        hub = connect(access, Budget(math.inf))
        rows = hub.ask(place, partial(_listed, organization))
        take = partial(_take, rows)
        met = pace.met
        try:
            pace.attach()
            while names := hub.ask(place, take):
                found = True
                yield from names
            break
        except HubError:
            if not left or pace.met == met:
                raise
            pace.wait()
    if not found:
        raise AbsentError(
            f"{place}: the Hub has no models under this name that may be read{'' if access.token else ' without a token'}"
        )


def _listed(organization: str, api: "HfApi") -> Iterator["ModelInfo"]:
    return iter(api.list_models(author=organization, expand=["sha"]))  # the least that the Hub says of each


def _take(rows: Iterator["ModelInfo"], _: "HfApi") -> list[str]:
    return [row.id for row in islice(rows, AT_ONCE)]


def pairs(repo: str, newest: int, access: Access, pace: Pace) -> list[Asked]:
    """The pairs of neighbours in the history of a repository, newest first; at most `newest` of them, 0 for all.

    Of a history of one commit it is that one. Raises HubError and StoppedError.
    """
    rows = pace.patiently(lambda: _rows(parse(repo), newest, access))
    found = list(pairwise(rows))
    if not found:
        return [Asked(repo=repo, head=rows[0].id, of=0)]
    return [
        Asked(repo=repo, base=base.id, head=head.id, text=head.text[:LONGEST_MESSAGE], number=number, of=len(found))
        for number, (head, base) in enumerate(found, 1)
    ]


def _rows(asked: Revision, newest: int, access: Access) -> list[Row]:
    at_once = min(AT_ONCE_COMMITS, newest + 1) if newest else AT_ONCE_COMMITS
    commits = Commits(connect(access), asked.repository, asked.revision, Requests(), at_once=at_once)
    commits.tip()
    try:
        while (not newest or len(commits.rows) <= newest) and commits.more():
            pass
    except SpentError as spent:
        raise HubError(
            f"{asked}: it has more than {len(commits.rows):,} commits; --history {len(commits.rows) - 1} takes those"
        ) from spent
    return list(commits.rows.values())[: newest + 1 if newest else None]
