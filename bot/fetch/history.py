"""What a history answers: which commit a hexadecimal word names, and whether a branch holds it."""

import re
from collections.abc import Sequence
from typing import Protocol

from bot.snapshot import Commit

SHORT = 8  # digits of a commit in a reason
LONGEST = 12  # digits that people write of a commit, unless they write all of them
MOST_PULLS = 20  # pull requests of which each is asked whether it was merged as another commit
PULL = re.compile(
    r"refs/(?:pr|pull|merge-requests)/"
    r"|refs/(?:heads|remotes(?:/[^/]+)?)/(?:pr|pull|merge-requests)/\d+(?:/|$)"  # where people fetch them to
)


class History(Protocol):
    """Refs and commits of one repository."""

    @property
    def complete(self) -> bool:
        """Whether the refs that can be looked at are all there are."""
        ...

    @property
    def reason(self) -> str:
        """Why the refs are not complete, one clause; "" when they are."""
        ...

    def resolve(self, words: Sequence[str]) -> tuple[Commit, ...]:
        """Say of each word, 7 to 40 lower-case hex digits, what became of the commit that it names."""
        ...


class NoHistory:
    """Nothing to look at: every word is unknown, for the reason given."""

    complete = False

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def resolve(self, words: Sequence[str]) -> tuple[Commit, ...]:
        """Say of each word that it could not be looked up."""
        return tuple(Commit(word, None, "unknown", self.reason) for word in words)


def is_pull(ref: str) -> bool:
    """Say whether a ref belongs to a pull request: what it holds need never reach a branch."""
    return PULL.match(ref) is not None


def unlikely(word: str) -> bool:
    """Whether people rarely mean a commit: by digits alone, or by a length that nobody writes, such as the 32 of an md5."""
    return word.isdecimal() or LONGEST < len(word) < len("0" * 40)


def place(ref: str) -> str:
    """Word that a branch or tag holds a commit: "on branch dev"."""
    if ref.startswith("refs/tags/"):
        return f"on tag {ref.removeprefix('refs/tags/')}"
    return f"on branch {ref.removeprefix('refs/heads/').removeprefix('refs/remotes/')}"


def holders(refs: Sequence[str]) -> str:
    """Word that no branch or tag holds a commit, and which pull-request refs do: "only refs/pr/4 holds it"."""
    match refs:
        case []:
            return "no ref holds it"
        case [one]:
            return f"only {one} holds it"
        case [one, two]:
            return f"only {one} and {two} hold it"
        case _:
            return f"only {refs[0]} and {len(refs) - 1} more pull-request refs hold it"
