"""A report that another run wrote, which may be anybody's: read, held to its schema, and counted again.

The file comes from a job that ran for a stranger's pull request. Nothing in it is believed that can be worked out here:
counts, fingerprints and the words for checks are our own, and the views escape the rest as they escape everything.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from bot.analyze.records import SEVERITIES, Comparison, Finding, NewCounts, PullRequest, Verdict
from bot.errors import UsageError
from bot.place import Place
from bot.publish import stored
from bot.publish.spots import LAST_LINE

LARGEST = 16 << 20
"""Bytes of a report."""
DEEPEST = 16
"""Lists and objects inside each other in an answer of an engine; ours have fewer than five."""
MOST_ENGINES = 1_000
"""Engines with versions that judged; we know fewer than a hundred."""
MOST_RECORDS = 50_000
"""Findings, predictions, prompts and the like of a report in all, each with the places and engines that it names; the largest of ours have some hundreds."""
MOST_VALUES = 1_000_000
"""Token ids and other values in the answers of engines."""
_SHA = re.compile(r"[0-9a-f]{40}")

F = TypeVar("F", bound=Finding)


def receive(workspace: Path, asked: str, clauses: Mapping[str, str]) -> tuple[Comparison, PullRequest]:
    """The report in the file `asked` below the workspace, and the pull request that it says it is about.

    `clauses` are our words for the checks that there are; those of the file are not used. Raises UsageError for a file that is
    not there, is too large, is no report of this version, or is about no pull request.
    """
    path = stored.inside(workspace, "publish", asked)
    content = _content(path, asked)
    try:
        read = msgspec.json.decode(content, type=Comparison)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise UsageError(f"publish = {asked!r} is no report of this version: {' '.join(str(error).split())[:300]}") from None
    except RecursionError:  # msgspec counts how deep it is, whatever is to be read (0.23.0, run with lists, objects and records)
        raise UsageError(f"publish = {asked!r} is nested deeper than any report") from None
    if unlike := _unlike(read):
        raise UsageError(f"publish = {asked!r} {unlike}")
    about = read.pull_request
    if about is None:
        raise UsageError(f"publish = {asked!r} is about no pull request")
    if not _SHA.fullmatch(about.head) or read.head.sha != about.head:
        raise UsageError(f"publish = {asked!r} does not name the commit that it judged")
    return _ours(read, clauses), about


def _content(path: Path, asked: str) -> bytes:
    """The bytes of a plain file: no link that the archive brought, no pipe, no more than a report can have."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise UsageError(f"publish = {asked!r} cannot be read: {error.strerror}") from None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise UsageError(f"publish = {asked!r} is not a plain file")
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise UsageError(f"publish = {asked!r} has more than {LARGEST >> 20} MiB; no report is that large")
    return content


def _unlike(read: Comparison) -> str:
    """What tells the report from all that we write, as the end of a sentence; "" where nothing does. Looks at each thing once."""
    lists = (_found(read), read.models, read.predictions, read.prompts, read.rendered, read.claims, read.proof, read.unchecked)
    named = (len(each.engines) for each in (*_found(read), *read.predictions))
    places = (*_places(read), *(place for each in read.predictions for place in each.because))
    if len(read.modelled.engines) > MOST_ENGINES:
        return f"names more than {MOST_ENGINES:,} engines that judged"
    if sum(map(len, lists)) + sum(named) + len(places) > MOST_RECORDS:
        return f"holds more than {MOST_RECORDS:,} findings, predictions, prompts, places and engines"
    if odd := next((place for place in places if not 1 <= place.line <= LAST_LINE), None):
        return f"names line {odd.line} of a file"
    return _unlike_values([side for each in read.predictions for side in (each.before, each.after)])


def _unlike_values(answers: list[Any]) -> str:
    """The same of the answers of engines, which may be anything that JSON can say."""
    seen, layer = 0, answers
    for _ in range(DEEPEST):
        seen += len(layer)
        if not layer:
            return ""
        if seen > MOST_VALUES:
            return f"holds more than {MOST_VALUES:,} values in the answers of engines"
        layer = list(chain.from_iterable(map(_inner, layer)))
    return "is nested deeper than any report"


def _inner(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return cast("list[Any]", value) if isinstance(value, list) else ()


def _found(read: Comparison) -> tuple[Finding, ...]:
    return (*read.new, *read.resolved, *read.unchanged, *read.suppressed)


def _places(read: Comparison) -> Iterator[Place]:
    return chain.from_iterable(each.places for each in (*_found(read), *read.claims, *read.unchecked))


def _ours(read: Comparison, clauses: Mapping[str, str]) -> Comparison:
    """The comparison with everything worked out that need not be believed."""
    new, resolved, unchanged = (
        tuple(_fingerprinted(each) for each in found) for found in (read.new, read.resolved, read.unchanged)
    )
    suppressed = tuple(_fingerprinted(each) for each in read.suppressed)
    severities = [each.severity for each in new]
    verdict = Verdict(
        new=NewCounts(**{severity: severities.count(severity) for severity in SEVERITIES}),
        resolved=len(resolved),
        unchanged=len(unchanged),
        suppressed=len(suppressed),
        unchecked=len(read.unchecked),
    )
    known = {check: clauses[check] for check in read.modelled.checks if check in clauses}
    return msgspec.structs.replace(
        read,
        new=new,
        resolved=resolved,
        unchanged=unchanged,
        suppressed=suppressed,
        modelled=msgspec.structs.replace(read.modelled, checks=known),
        verdict=verdict,
    )


def _fingerprinted(finding: F) -> F:
    return msgspec.structs.replace(finding, fingerprint="")
