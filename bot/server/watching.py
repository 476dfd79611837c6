"""One look at the open pull requests of Hub repositories: what a scheduled workflow runs where no server receives webhooks."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from bot.errors import CannotLookError, UsageError
from bot.fetch.hub import PREFIX
from bot.hub import connect
from bot.server.discussion import Bot, Judged, judge, open_pulls
from bot.server.jobs import Discussion

if TYPE_CHECKING:
    from huggingface_hub import GitRefs


class Seen(msgspec.Struct, kw_only=True):
    """What the last look saw: by pull request, as in "org/name#7", a digest of its head and of the branches beside it."""

    v: int = 1
    pulls: dict[str, str] = {}


class Told(NamedTuple):
    """What became of one pull request, or, with number 0, of a repository that could not be looked at."""

    repo: str
    number: int
    judged: Judged
    fault: str = ""


class Memory:
    """The file that a look leaves for the next one; None remembers nothing, and judges every open pull request each time."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._seen = Seen()
        if path is None:
            return
        try:
            self._seen = msgspec.json.decode(path.read_bytes(), type=Seen)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError(
                f"--state {path}: is no state of watch ({error}); delete it to begin anew, or name another file"
            ) from error
        self._write()  # says that it cannot be written before anything is commented on

    def knows(self, pull: str, digest: str) -> bool:
        """Whether the last look saw the pull request as it is now."""
        return self._seen.pulls.get(pull) == digest

    def learn(self, pull: str, digest: str) -> None:
        """Remember at once, so that a look which is cut off is not done again."""
        self._seen.pulls[pull] = digest
        self._write()

    def keep(self, repo: str, pulls: Sequence[str]) -> None:
        """Forget the pull requests of a repository that are no longer open."""
        gone = [pull for pull in self._seen.pulls if pull.startswith(f"{repo}#") and pull not in pulls]
        for pull in gone:
            del self._seen.pulls[pull]
        if gone:
            self._write()

    def _write(self) -> None:
        if self._path is None:
            return
        part = self._path.with_name(f"{self._path.name}.part")
        try:
            part.write_bytes(msgspec.json.format(msgspec.json.encode(self._seen), indent=1))
            part.replace(self._path)
        except OSError as error:
            raise UsageError(f"--state {self._path}: cannot be written ({error.strerror})") from error


def watch(
    repositories: Sequence[str], bot: Bot, memory: Memory, *, judge: Callable[[Discussion, Bot], Judged] = judge
) -> Iterator[Told]:
    """Judge each open pull request that moved since the last look, or whose branches did, and see to its comment.

    A repository that cannot be looked at is told and hinders no other. Raises UsageError for a state that cannot be written.
    """
    for repo in repositories:
        try:
            hub = connect(bot.access)
            refs = hub.ask(f"{PREFIX}{repo}", lambda api, repo=repo: api.list_repo_refs(repo, include_pull_requests=True))
            numbers = sorted(open_pulls(hub, repo))
        except CannotLookError as error:
            yield Told(repo, 0, Judged("gone"), str(error))
            continue
        digests = _digests(refs)
        for number in numbers:
            pull = f"{repo}#{number}"
            digest = digests.get(number, "")
            if digest and memory.knows(pull, digest):
                continue
            try:
                judged = judge(Discussion(repo=repo, num=number), bot)
            except CannotLookError as error:
                yield Told(repo, number, Judged("gone"), str(error))
                continue
            if judged.outcome not in ("outdated", "refused"):  # these are tried again
                memory.learn(pull, digest)
            yield Told(repo, number, judged)
        memory.keep(repo, [f"{repo}#{number}" for number in numbers])


def _digests(refs: "GitRefs") -> dict[int, str]:
    """By the number of a pull request, what its head and all branches are: a branch that moved may change what is new in each."""
    branches = "\n".join(sorted(f"{each.ref} {each.target_commit}" for each in refs.branches))
    heads = {each.ref.removeprefix("refs/pr/"): each.target_commit for each in refs.pull_requests or ()}
    return {
        int(number): hashlib.sha256(f"{head}\n{branches}".encode()).hexdigest()[:16]
        for number, head in heads.items()
        if number.isdecimal()
    }
