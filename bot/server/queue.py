"""The queue that the bot and audits share: one setting says where it is, and any number of workers on any number of machines take from it."""

import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import msgspec

from bot.server.jobs import Job
from bot.server.ledger import MOST_SLIPS, Failed, Ledger, Slip, Tries, Wake
from bot.server.storage import open_storage, said

BOT = "model_repo_drift"
"""What the queue of the bot is called, beside which others may stand in one storage."""
BACK = 20
"""Slips before the first that is looked for: whose wake-up came to nothing, because somebody worked on the key."""
LONGEST_POLL = 0.5
"""Seconds between two looks into an empty SQLite queue."""

Handle = Callable[[Job], str]
"""Does a job, and says in a word what came of it. Whatever it raises means: try again later."""


@dataclass(frozen=True)
class Times:
    """How patient workers are, in seconds. A worker whose lease does not change for `silence` is taken for dead."""

    silence: float = 30
    tick: float = 3
    pauses: tuple[float, ...] = (10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600)
    """Before each further try; after the last one a job is kept as failed."""
    grace: float = 30
    """That running jobs get to end when workers are stopped."""


class Told(NamedTuple):
    """Something that happened to a job, for logs and metrics. `outcome` is the word of the handler, or "again", "failed", "rescued", "lost".

    `error` is a line without anything that came from outside, but for errors of our own.
    """

    key: str
    job: Job | None
    outcome: str
    seconds: float = 0
    error: str = ""


class State(NamedTuple):
    """How many keys wait or are worked on, how many were given up, and how many seconds ago the oldest was asked for."""

    outstanding: int
    failed: int
    oldest: float


@dataclass
class _Held:
    """A lease of ours, and how often it changed."""

    owner: str
    beat: int = 0

    @property
    def text(self) -> str:
        return f"{self.owner} {self.beat}"


@dataclass
class _Watched:
    """The lease of somebody, and since when it has not changed, by our own clock."""

    lease: str
    since: float = field(default_factory=time.monotonic)


class Queue:
    """The queue at `url`. A process opens its own and closes it; threads share one. Raises UsageError for what is no such address, CannotLookError where nothing answers."""

    def __init__(
        self, url: str, times: Times | None = None, told: Callable[[Told], None] = lambda _: None, name: str = BOT
    ) -> None:
        storage, faults = open_storage(url, name)
        self.faults: tuple[type[Exception], ...] = (*faults, msgspec.MsgspecError)
        """What is raised where the storage does not answer, or holds what is not ours."""
        self._blocking = bool(storage.blocking)
        self.ledger = Ledger(storage)
        self._times = times or Times()
        self._told = told
        self._held: dict[str, _Held] = {}
        self._watched: dict[str, _Watched] = {}
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up all connections, once nobody works any more."""
        self.ledger.close()

    def put(self, key: str, job: Job) -> None:
        """Ask for a job. It is kept when this returns; jobs of one key that wait are done at once. Raises one of `faults`."""
        self.ledger.write(key, job)

    def state(self) -> State:
        """What is to be done. Reads all that is outstanding. Raises one of `faults`."""
        entries = self.ledger.entries()
        dates = [slip.at for slips in entries.slips.values() for slip in slips.values()]
        return State(len(entries.slips), len(entries.failed), max(time.time() - min(dates), 0) if dates else 0)

    def outstanding(self) -> int:
        """How many keys wait or are worked on. Raises one of `faults`."""
        return self.state().outstanding

    def asked(self) -> set[str]:
        """The keys that wait or are worked on. Raises one of `faults`."""
        return set(self.ledger.entries().slips)

    def failed(self) -> dict[str, Failed]:
        """What was given up, by key. Raises one of `faults`."""
        return self.ledger.entries().failed

    def retry(self) -> int:
        """Ask again for everything that was given up; how much that was. Raises one of `faults`."""
        failed = self.failed()
        for key, each in failed.items():
            self.put(key, each.job)
        return len(failed)

    def reachable(self) -> None:
        """Raise one of `faults` where the storage does not answer."""
        self.ledger.reachable()

    def work(self, handle: Handle, *, workers: int, stop: threading.Event) -> bool:
        """Do jobs in `workers` threads until `stop`, then let those that run end; False where one takes longer than the grace.

        What it leaves is done by others at once, or by whoever comes next; the caller ends the process.
        """
        threads = [
            threading.Thread(target=self._serve, args=(handle, stop), name=f"worker-{n}", daemon=True) for n in range(workers)
        ]
        keeper = threading.Thread(target=self._keep, args=(stop,), name="keeper", daemon=True)
        for thread in (keeper, *threads):
            thread.start()
        self._threads = [keeper, *threads]
        stop.wait()
        until = time.monotonic() + self._times.grace
        for thread in threads:
            # Leases are kept alive until the last one has ended.
            while thread.is_alive() and time.monotonic() < until:
                thread.join(min(self._times.tick, max(until - time.monotonic(), 0)))
                self._guarded(self._renew)
        with self._lock:
            for key, held in self._held.items():
                self._guarded(lambda key=key, held=held: self.ledger.release(key, held.text))
            self._held.clear()
        return not any(thread.is_alive() for thread in threads)

    def alive(self) -> bool:
        """Whether nothing that `work` started has ended, which only a fault of ours can bring about."""
        return all(thread.is_alive() for thread in self._threads)

    # One worker.

    def _serve(self, handle: Handle, stop: threading.Event) -> None:
        pause = 0.02
        while not stop.is_set():
            try:
                wake = self.ledger.next()
                if wake is not None:
                    pause = 0.02
                    self.look(wake, handle, stop)
                elif not self._blocking:
                    stop.wait(pause)
                    pause = min(pause * 1.5, LONGEST_POLL)
            except self.faults as fault:
                self._told(Told("", None, "lost", error=said(fault)))
                stop.wait(self._times.tick)

    def look(self, wake: Wake, handle: Handle, stop: threading.Event) -> None:
        """Do what stands on the slips of a key, and what is written meanwhile, unless somebody else works on it. Raises one of `faults`."""
        key, first = wake.key, wake.first
        while not stop.is_set():
            held = _Held(f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(8)}")
            if not self.ledger.take(key, held.text):
                return  # whoever has the lease looks for newer slips when it has given it back
            with self._lock:
                self._held[key] = held
            try:
                tries = self.ledger.tries(key)
                first = min(max(first - BACK, 1), tries.first if tries else first)
                last = min(self.ledger.newest(key), first + MOST_SLIPS)
                slips = self.ledger.slips(key, first, last)
                done = not slips or self._do(key, slips, tries, handle)
            finally:
                with self._lock:  # where the storage failed as well: a lease that nobody renews is broken by the others
                    self._held.pop(key, None)
            if not self.ledger.release(key, held.text) and slips:
                self._late(key, slips[max(slips)].job)
            first = last + 1
            if not done or self.ledger.newest(key) < first:
                return

    def _do(self, key: str, slips: dict[int, Slip], tries: Tries | None, handle: Handle) -> bool:
        """Run a job and write down what came of it; False where it is to be tried again."""
        newest = slips[max(slips)]
        if tries is not None and newest.at <= tries.at and time.time() < tries.until:
            return False  # somebody was woken twice
        begun = time.monotonic()
        try:
            outcome = handle(newest.job)
        except Exception as fault:  # noqa: BLE001 - whatever it is: the job is tried again, and in the end kept as failed
            self._failed(key, slips, said(fault), time.monotonic() - begun)
            return False
        self.ledger.strike(key, list(slips))
        self.ledger.clear(key)
        self._told(Told(key, newest.job, outcome, time.monotonic() - begun))
        return True

    def _failed(self, key: str, slips: dict[int, Slip], error: str, seconds: float = 0, *, killed: bool = False) -> None:
        job, now = slips[max(slips)].job, time.time()
        tries = self.ledger.tries(key)
        count = tries.count if tries else 0
        if count < len(self._times.pauses):
            pause = 0 if killed else self._times.pauses[count]
            self.ledger.tried(key, Tries(count + 1, min(slips), now, now + pause, error))
            self._told(Told(key, job, "rescued" if killed else "again", seconds, error))
        else:
            self.ledger.give_up(key, Failed(job, now, error), list(slips))
            self._told(Told(key, job, "failed", seconds, error))

    def _late(self, key: str, job: Job) -> None:
        """Ask once more for a job during which we were taken for dead: what it wrote last may be older than what another run wrote meanwhile."""
        self.ledger.write(key, job)
        self._told(Told(key, job, "again", error="it was taken for dead while it ran"))

    # Who keeps our leases alive, and looks for work that a killed worker left.

    def _keep(self, stop: threading.Event) -> None:
        pause = 0.0  # at once: what the process left that ran here before is outstanding
        while not stop.wait(pause):
            begun = time.monotonic()
            self._guarded(self._renew)
            self._guarded(self.rescue)
            pause = max(self._times.tick, 5 * (time.monotonic() - begun))  # looking through much must not become the work
            pause = min(pause, self._times.silence / 3)

    def _guarded(self, act: Callable[[], object]) -> None:
        try:
            act()
        except self.faults as fault:
            self._told(Told("", None, "lost", error=said(fault)))

    def _renew(self) -> None:
        for key in list(self._held):
            with self._lock:  # its worker does not give it back meanwhile
                held = self._held.get(key)
                if held is not None and self.ledger.renew(key, held.text, f"{held.owner} {held.beat + 1}"):
                    held.beat += 1

    def rescue(self) -> None:
        """Wake somebody for every key that has slips and neither a living lease nor a place in the queue. Raises one of `faults`."""
        waking = self.ledger.waking()
        entries = self.ledger.entries()
        self._watched = {
            key: old if (old := self._watched.get(key)) is not None and old.lease == lease else _Watched(lease)
            for key, lease in entries.leases.items()
        }
        for key, watched in self._watched.items():
            if time.monotonic() - watched.since > self._times.silence and self.ledger.release(key, watched.lease):
                del entries.leases[key]
                if slips := entries.slips.get(key):
                    # It counts, but nobody waits: mostly a machine was restarted. A job that ends every worker is given up some day.
                    self._failed(key, slips, "its worker has ended, or hangs", killed=True)
        for key in entries.slips.keys() - entries.leases.keys() - waking:
            tries = entries.tries.get(key)
            if tries is None or time.time() >= tries.until:
                self.ledger.wake(key, min(entries.slips[key]))
