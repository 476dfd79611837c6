"""An audit over the queue: one machine asks and writes the lines, and any number of them judge."""

import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec
from huey.constants import EmptyData

from bot.audit.records import Asked, Line, failed
from bot.errors import CannotLookError
from bot.server.jobs import Audited, Job
from bot.server.queue import Queue, Times, Told
from bot.server.storage import open_storage, said

AUDITS = "model_repo_drift_audits"
"""What the queue of all audits is called: no comment on a pull request waits for one."""
AHEAD = 100  # jobs that wait or are worked on: enough for as many workers
SHORTEST_LOOK, LONGEST_LOOK = 0.02, 0.5  # seconds between two looks for answers
LOOK_FOR_FAILED = 5.0
PATIENCE = 300.0  # seconds that the storage may keep silent
TIMES = Times(pauses=(1, 10, 60, 300))  # a job fails where its worker ends, or the storage: what the Hub refuses is an answer

T = TypeVar("T")
Judge = Callable[[Asked], Line]


class Board:
    """What stands beside the queue: answers until their lines are written, and until when nobody asks the Hub. Raises one of `faults`."""

    def __init__(self, url: str) -> None:
        storage, self.faults = open_storage(url, f"{AUDITS}_board")
        self._storage: Any = storage  # Huey has no types

    def put(self, key: str, line: Line) -> None:
        """Leave an answer."""
        self._storage.put_data(key, msgspec.json.encode(line))

    def get(self, keys: list[str]) -> dict[str, Line]:
        """The answers that are there."""
        found = self._storage.peek_many(keys) if keys else {}
        return {key: msgspec.json.decode(held, type=Line) for key, held in found.items()}

    def drop(self, key: str) -> None:
        """Take away an answer whose line is written."""
        self._storage.delete_data(key)

    def date(self, name: str) -> float:
        """A date that was left, 0 for none."""
        held = self._storage.peek_data(name)
        return 0.0 if held is EmptyData else float(bytes(held))

    def set_date(self, name: str, date: float) -> None:
        """Leave a date, in seconds since 1970."""
        self._storage.put_data(name, b"%f" % date)


class Noticed:
    """The pause that all machines of a queue keep, as `bot.audit.pace.Notice`; the Hub's limit is that of an account or an address, which they mostly share.

    A storage that does not answer is met by those who take jobs, and is no reason to pause.
    """

    def __init__(self, board: Board, host: str) -> None:
        self._board = board
        self._name = f"pause/{host}"

    def read(self) -> float:
        """The date, 0 for none."""
        try:
            return self._board.date(self._name)
        except (*self._board.faults, ValueError):
            return 0.0

    def write(self, until: float) -> None:
        """Tell the others."""
        try:
            self._board.set_date(self._name, until)
        except self._board.faults:
            return


class Queued:
    """A crew on as many machines as take from the queue. `audit` is the name of this audit, by which it finds answers again after its end."""

    def __init__(self, queue: Queue, board: Board, audit: str) -> None:
        self._queue, self._board, self._audit = queue, board, audit
        self._looked = time.monotonic()

    def lines(self, asked: Iterator[Asked]) -> Iterator[Line]:
        """Answer everything. Raises CannotLookError when the storage is silent for long."""
        flying: dict[str, Asked] = {}
        before = self._patiently(self._queue.asked)  # by us, until we were killed
        for each in asked:
            job = Audited(audit=self._audit, repo=each.repo, head=each.head, base=each.base, text=each.text)
            flying[job.key] = each
            # What is worked on would be done again, and what was judged and not written yet is on the board.
            if job.key not in before and not self._patiently(lambda job=job: self._board.get([job.key])):
                self._patiently(lambda job=job: self._queue.put(job.key, job))
            while len(flying) >= AHEAD:
                yield from self._landed(flying)
        while flying:
            yield from self._landed(flying)

    def _landed(self, flying: dict[str, Asked]) -> Iterator[Line]:
        """Wait for at least one answer, or for a job to be given up."""
        pause = SHORTEST_LOOK
        while not (found := self._patiently(lambda: self._board.get(list(flying)))):
            if time.monotonic() - self._looked > LOOK_FOR_FAILED:
                self._looked = time.monotonic()
                given_up = self._patiently(self._queue.failed)
                for key in flying.keys() & given_up.keys():
                    yield failed(flying.pop(key), CannotLookError(f"it was given up: {given_up[key].error}"))
                if not flying:
                    return
            time.sleep(pause)
            pause = min(pause * 1.5, LONGEST_LOOK)
        for key, line in found.items():
            each = flying.pop(key)
            yield msgspec.structs.replace(line, number=each.number, of=each.of)
            self._patiently(lambda key=key: self._board.drop(key))  # the line is written by now

    def _patiently(self, act: Callable[[], T]) -> T:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                return act()
            except (*self._queue.faults, *self._board.faults) as fault:
                if time.monotonic() > until:
                    why = f"the queue does not answer ({said(fault)}); run the same again to go on"
                    raise CannotLookError(why) from fault
                time.sleep(1)


def handler(board: Board, judge: Judge) -> Callable[[Job], str]:
    """Who does the jobs of audits, and says in a word what came of each."""

    def handle(job: Job) -> str:
        if not isinstance(job, Audited):
            raise CannotLookError("this is no job of an audit")
        line = judge(Asked(repo=job.repo, base=job.base, head=job.head, text=job.text))
        board.put(job.key, line)
        return "not judged" if line.verdict is None else "judged"

    return handle


@contextmanager
def workers(queue: Queue, board: Board, judge: Judge, count: int) -> Generator[threading.Event, None, None]:
    """Let `count` threads of this process judge until the end of the block; what they have not done by then is left to others."""
    stop = threading.Event()
    work = threading.Thread(
        target=queue.work, args=(handler(board, judge),), kwargs={"workers": count, "stop": stop}, name="workers", daemon=True
    )
    if count:
        work.start()
    try:
        yield stop
    finally:
        stop.set()
        if count:
            work.join()


def open_queue(url: str, told: Callable[[Told], None], times: Times | None = None) -> tuple[Queue, Board]:
    """Open the queue of audits. Raises UsageError or CannotLookError."""
    return Queue(url, times or TIMES, told, name=AUDITS), Board(url)
