"""The commits of one revision on the Hugging Face Hub, newest first, brought page by page."""

from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from bot.fetch.git import FULL
from bot.hub import HubError

if TYPE_CHECKING:
    from bot.hub_client import Hub

AT_ONCE = 1_000  # commits of a page: as many as the Hub gives (npm @huggingface/hub 2.4.1, list-commits, batchSize)
MOST_REQUESTS = 100  # of a run, for lists of commits and what became of them


class SpentError(Exception):
    """No request is left."""


class Requests:
    """How many requests a run may still make about commits."""

    def __init__(self, left: int = MOST_REQUESTS) -> None:
        self.left = left

    def spend(self) -> None:
        """Count one. Raises SpentError."""
        if not self.left:
            raise SpentError
        self.left -= 1


class Row(msgspec.Struct, frozen=True):
    """One commit: its id, the first line of its message, and the rest."""

    id: str
    title: str = ""
    message: str = ""

    @property
    def text(self) -> str:
        """The whole message."""
        return f"{self.title}\n\n{self.message}" if self.message else self.title


class Commits:
    """The commits that `revision` of a repository has, with their order in time; nothing is asked before it is needed, then `at_once` of them.

    `rows` are those brought so far, and `complete` says whether these are all. Every method raises HubError, and SpentError.
    """

    def __init__(self, hub: "Hub", repository: str, revision: str, requests: Requests, at_once: int = AT_ONCE) -> None:
        self.requests = requests
        self.rows: dict[str, Row] = {}
        self.complete = False
        self._hub = hub
        self._place = f"hub:{repository}@{revision}"
        self._path = f"{repository}/commits/{quote(revision, safe='')}"
        self._query = f"limit={at_once}"

    def more(self) -> bool:
        """Bring one more page; False when there was none."""
        if self.complete:
            return False
        self.requests.spend()
        page = self._hub.page(self._place, self._path, self._query)
        self._query = page.following
        self.complete = not page.following
        try:
            rows = msgspec.convert(page.rows, list[Row])
        except msgspec.ValidationError as error:
            raise HubError(f"{self._place}: the Hub's list of commits is none: {error}") from error
        if any(not FULL.fullmatch(row.id) for row in rows):
            raise HubError(f"{self._place}: the Hub's list of commits holds what is no commit")
        self.rows |= {row.id: row for row in rows}
        return True

    def tip(self) -> str:
        """The commit that the revision names: the first of its list."""
        if not self.rows:
            self.more()
        if not self.rows:
            raise HubError(f"{self._place}: the revision has no commit")
        return next(iter(self.rows))

    def whole(self) -> dict[str, Row]:
        """All of them."""
        while self.more():
            pass
        return self.rows

    def until(self, sha: str) -> list[Row]:
        """Those brought so far that stand before one, all where it is not among them."""
        found: list[Row] = []
        for row in self.rows.values():
            if row.id == sha:
                break
            found.append(row)
        return found


def merge_base(base: Commits, head: Commits) -> tuple[str | None, str]:
    """The newest commit of `head` that `base` has as well, else None and a clause that says why. Raises HubError.

    Both lists are in order of time, so that no descendant of the answer stands behind it.
    """
    base.tip()
    head.tip()
    try:
        while True:
            found = _first(head.rows, base.rows)
            if found is not None:
                return found, ""
            if not any([base.more(), head.more()]):
                return None, "no common history"
    except SpentError:
        return None, f"no common commit among the newest {len(base.rows):,} and {len(head.rows):,}"


def _first(wanted: Iterable[str], known: dict[str, Row]) -> str | None:
    return next((sha for sha in wanted if sha in known), None)
