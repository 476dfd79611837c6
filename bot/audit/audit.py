"""The story of an audit in one screen: names, what is asked of each, the answers into the journal, and a page about them."""

from collections.abc import Callable, Iterator, Sequence

from bot.audit.crew import Crew
from bot.audit.journal import Journal
from bot.audit.names import ALL, pairs, repositories, written
from bot.audit.pace import Pace
from bot.audit.records import Asked, Line, alone, failed
from bot.errors import CannotLookError, UsageError
from bot.hub import Access, HubError


class Audit:
    """One run. `history` is how many pairs of each history are compared, 0 for all, None where newest revisions are judged.

    `unlisted` are the organizations whose repositories could not be listed, each with the reason. `tell` is told every line once it is written.
    """

    def __init__(
        self,
        words: Sequence[str],
        journal: Journal,
        access: Access,
        pace: Pace,
        *,
        history: int | None,
        tell: Callable[[Line], None],
    ) -> None:
        self.unlisted: list[str] = []
        self._words, self._journal, self._access, self._pace = words, journal, access, pace
        self._history = history
        self._tell = tell

    def run(self, crew: Crew) -> None:
        """Judge everything that has no line yet. Raises UsageError where the journal cannot be written, and StoppedError."""
        for line in crew.lines(self._asked()):
            self._put(line)

    def _put(self, line: Line) -> None:
        self._journal.add(line)
        self._tell(line)

    def _asked(self) -> Iterator[Asked]:
        for repo in self._names():
            if self._journal.first(repo) and not self._journal.finished(repo):
                yield from self._parts(repo)

    def _names(self) -> Iterator[str]:
        for name in written(self._words):
            if not name.endswith(ALL):
                yield name
                continue
            try:
                yield from repositories(name.removesuffix(ALL), self._access, self._pace)
            except HubError as fault:
                self.unlisted.append(str(fault))

    def _parts(self, repo: str) -> Iterator[Asked]:
        """What is asked about one repository; what can be said without judging is written at once."""
        if self._history is None:
            yield Asked(repo=repo)
            return
        try:
            found = pairs(repo, self._history, self._access, self._pace)
        except (UsageError, CannotLookError) as fault:
            self._put(failed(Asked(repo=repo), fault))
            return
        if not found[0].of:
            self._put(alone(found[0]))
            return
        yield from (each for each in found if not self._journal.has(each))
