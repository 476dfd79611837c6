"""What has to be done, kept so that a worker that is killed loses nothing: slips, leases and tries, in a storage of Huey.

A storage of Huey (3.5.4, huey/storage.py) is a queue and a table of bytes by name, the same for SQLite and Redis. Its queue hands a task out once and forgets
it, so the queue only wakes workers. What is to be done stands on slips in the table: every `write` is a slip of its own, a run strikes those that it
read before it began, and what is written meanwhile stays. Nobody ever changes a slip, so none can be lost between two who do.

A lease says who works on a key. It saves work and is no lock: whoever does the work must stand two runs at once, as a worker may always be
paused for longer than anybody waits. Leases hold no time, for clocks of machines differ: a living owner changes its lease, the others watch whether it changes.
"""

import time
from typing import Any, NamedTuple

import msgspec
from huey.constants import EmptyData
from huey.storage import BaseStorage

from bot.server.jobs import Job

MOST_SLIPS = 500
"""Slips that one run reads at most: SQLite takes no statement with any number of names."""


class Wake(msgspec.Struct, frozen=True, array_like=True):
    """What stands in the queue: the key that somebody should look at, and the first slip of it that is to be looked for."""

    key: str
    first: int


class Slip(msgspec.Struct, frozen=True):
    """A job that is to be done, and when it was asked for, in seconds since 1970."""

    job: Job
    at: float


class Tries(msgspec.Struct, frozen=True):
    """How often a key was tried in vain, when that was last, why, and until when nobody tries again unless something new is asked for.

    `first` is the first slip that still waits: who is woken for a newer one does its job as well.
    """

    count: int
    first: int
    at: float
    until: float
    error: str


class Failed(msgspec.Struct, frozen=True):
    """A job that was given up."""

    job: Job
    at: float
    error: str


class Entries(NamedTuple):
    """Everything in the ledger: slips by key and number, and the rest by key."""

    slips: dict[str, dict[int, Slip]]
    leases: dict[str, str]
    tries: dict[str, Tries]
    failed: dict[str, Failed]


class Ledger:
    """The entries of all keys in one storage. Raises what the storage raises."""

    def __init__(self, storage: BaseStorage) -> None:
        self._storage: Any = storage  # Huey has no types

    def reachable(self) -> None:
        """Ask the storage anything: it raises where it cannot be reached."""
        self._storage.has_data_for_key("reachable")

    def close(self) -> None:
        """Give up all connections; what is asked later opens them again."""
        self._storage.close()
        pool = getattr(self._storage, "pool", None)  # which Huey leaves open (3.5.4, huey/storage.py:32)
        if pool is not None:
            pool.disconnect()

    # Slips.

    def write(self, key: str, job: Job) -> None:
        """Write a slip and wake a worker. What was written before a process dies is done, whether or not a worker was woken."""
        number = int(self._storage.incr(key))
        self._put(f"slip/{number}/{key}", Slip(job, time.time()))
        self.wake(key, number)

    def newest(self, key: str) -> int:
        """The number of the newest slip of a key, 0 for none. Numbers are never used twice, so the counter stays: it is all that a finished key leaves."""
        return int(self._storage.incr(key, 0))

    def slips(self, key: str, first: int, last: int) -> dict[int, Slip]:
        """The slips of a key from `first` to `last` that are not struck, by their numbers."""
        names = {f"slip/{number}/{key}": number for number in range(first, last + 1)}
        held: dict[str, bytes] = self._storage.peek_many(list(names)) if names else {}
        return {number: msgspec.json.decode(held[name], type=Slip) for name, number in names.items() if name in held}

    def strike(self, key: str, numbers: list[int]) -> None:
        """Strike slips whose job is done."""
        for number in numbers:
            self._storage.delete_data(f"slip/{number}/{key}")

    # The queue.

    def wake(self, key: str, first: int) -> None:
        """Let a worker look at a key, from slip `first` on."""
        self._storage.enqueue(msgspec.json.encode(Wake(key, first)))

    def next(self) -> Wake | None:
        """Take the next key that is to be looked at. Redis waits a second for one, SQLite does not."""
        held = self._storage.dequeue()
        return None if held is None else msgspec.json.decode(held, type=Wake)

    def waking(self) -> set[str]:
        """The keys in the queue."""
        return {msgspec.json.decode(held, type=Wake).key for held in self._storage.enqueued_items()}

    # Leases.

    def take(self, key: str, lease: str) -> bool:
        """Take the lease of a key, where nobody has it."""
        return bool(self._storage.put_if_empty(f"lease/{key}", lease.encode()))

    def renew(self, key: str, lease: str, renewed: str) -> bool:
        """Change our lease, to show that we live; False where it is ours no more."""
        held = self._storage.peek_data(f"lease/{key}")
        if held != lease.encode():
            return False
        self._storage.put_data(f"lease/{key}", renewed.encode())
        return True

    def release(self, key: str, lease: str) -> bool:
        """End a lease if it still is `lease`, ours or a dead worker's; False where it is another one by now."""
        held = self._storage.pop_data(f"lease/{key}")
        if held is EmptyData:
            return False
        if held == lease.encode():
            return True
        # Somebody was quicker. Until this line a third one may take the lease: then two work at once, which they must stand anyway.
        self._storage.put_if_empty(f"lease/{key}", held)
        return False

    # Tries.

    def tries(self, key: str) -> Tries | None:
        """What was tried in vain with a key."""
        held = self._storage.peek_data(f"tries/{key}")
        return None if held is EmptyData else msgspec.json.decode(held, type=Tries)

    def tried(self, key: str, tries: Tries) -> None:
        """Remember that a key was tried in vain."""
        self._put(f"tries/{key}", tries)

    def give_up(self, key: str, failed: Failed, numbers: list[int]) -> None:
        """Keep a job as failed, and strike its slips."""
        self._put(f"failed/{key}", failed)
        self.strike(key, numbers)
        self._storage.delete_data(f"tries/{key}")

    def clear(self, key: str) -> None:
        """Forget what was tried in vain, for a job of this key is done."""
        for kind in ("tries", "failed"):
            if self._storage.has_data_for_key(f"{kind}/{key}"):
                self._storage.delete_data(f"{kind}/{key}")

    def entries(self) -> Entries:
        """Read everything: as long as what is outstanding, not as what was ever done."""
        found = Entries({}, {}, {}, {})
        for name, held in self._storage.result_items().items():
            kind, _, key = name.partition("/")
            match kind:
                case "slip":
                    number, _, key = key.partition("/")
                    found.slips.setdefault(key, {})[int(number)] = msgspec.json.decode(held, type=Slip)
                case "lease":
                    found.leases[key] = bytes(held).decode()
                case "tries":
                    found.tries[key] = msgspec.json.decode(held, type=Tries)
                case "failed":
                    found.failed[key] = msgspec.json.decode(held, type=Failed)
                case _:
                    pass
        return found

    def _put(self, name: str, record: msgspec.Struct) -> None:
        self._storage.put_data(name, msgspec.json.encode(record))
