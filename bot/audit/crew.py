"""Those who judge for an audit: threads of this process, each of which hands the work to a confined child process and waits."""

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Protocol

from bot.audit.records import Asked, Line

AHEAD = 2  # what is ready for each worker, so that none waits for the list
GRACE = 15  # seconds that a stopped audit lets running work go on


class Crew(Protocol):
    """Somebody who answers what is asked."""

    def lines(self, asked: Iterator[Asked]) -> Iterator[Line]:
        """Answer everything, in whatever order it gets done; what is asked is taken as it can be worked on, no further ahead."""
        ...


class Threads:
    """Workers of this process. Parsing and rendering is done by one child process for each piece of work, so threads keep all processors busy."""

    def __init__(self, workers: int, judge: Callable[[Asked], Line]) -> None:
        self._workers = workers
        self._judge = judge

    def lines(self, asked: Iterator[Asked]) -> Iterator[Line]:
        """Answer with `workers` at a time."""
        running = set[Future[Line]]()
        pool = ThreadPoolExecutor(self._workers, thread_name_prefix="audit")
        try:
            for each in asked:
                running.add(pool.submit(self._judge, each))
                if len(running) >= self._workers * AHEAD:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            wait(running, timeout=GRACE)
