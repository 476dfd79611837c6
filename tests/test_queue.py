"""The queue keeps what it was given through the end of any worker, on SQLite and on a real Redis server."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import CannotLookError, UsageError
from bot.server.jobs import Base, Discussion, Job
from bot.server.queue import Queue, Times, Told
from tests.conftest import ROOT
from tests.doubles.redis_server import RedisServer

QUICK = Times(silence=0.6, tick=0.1, pauses=(0.1, 0.1), grace=20)
LONG = 60  # seconds after which a test has failed

KILLED = """
import sys, threading, time
from bot.server.queue import Queue, Times
def handle(job):
    print("begun", flush=True)
    time.sleep(1000)
Queue(sys.argv[1], Times(silence=0.6, tick=0.1)).work(handle, workers=1, stop=threading.Event())
"""


@pytest.fixture(params=["sqlite", pytest.param("redis", marks=pytest.mark.needs("redis"))])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:{tmp_path}/new/queue.db"
        return
    with RedisServer(tmp_path / "redis") as server:
        yield server.url


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Every queue that `opened` made is closed."""
    yield
    while _OPENED:
        _OPENED.pop().close()


_OPENED: list[Queue] = []


def opened(url: str, times: Times | None = None, told: Callable[[Told], None] = lambda _: None) -> Queue:
    _OPENED.append(Queue(url, times, told))
    return _OPENED[-1]


def pull(number: int = 1) -> Discussion:
    return Discussion(repo="acme/model", num=number)


def put(queue: Queue, *jobs: Job) -> None:
    for job in jobs:
        queue.put(job.key, job)


@contextmanager
def working(queue: Queue, handle: Callable[[Job], str], workers: int = 1) -> Generator[threading.Event]:
    """Workers in threads of this process until the block ends."""
    stop = threading.Event()
    ended: list[bool] = []
    thread = threading.Thread(target=lambda: ended.append(queue.work(handle, workers=workers, stop=stop)))
    thread.start()
    try:
        yield stop
    finally:
        stop.set()
        thread.join()
    assert ended == [True]


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + LONG
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def empty(queue: Queue) -> bool:
    return queue.outstanding() == 0


def test_jobs_of_one_key_that_wait_are_done_at_once(url: str) -> None:
    queue = opened(url, QUICK)
    base = Base(repo="acme/model", ref="refs/heads/main")
    put(queue, pull(1), pull(2), pull(1), base, pull(1))
    assert queue.outstanding() == 3
    done: list[Job] = []

    with working(queue, lambda job: done.append(job) or "done"):
        until(lambda: empty(queue))

    assert sorted(done, key=repr) == sorted([pull(1), pull(2), base], key=repr)


def test_what_is_asked_for_while_its_job_runs_is_done_again(url: str) -> None:
    queue = opened(url, QUICK)
    runs = 0

    def handle(job: Job) -> str:
        nonlocal runs
        runs += 1
        if runs == 1:
            put(queue, job, job)  # as by another process: it knows nothing of this run
        return "done"

    put(queue, pull())
    with working(queue, handle, workers=3):
        until(lambda: empty(queue))

    assert runs == 2


def test_a_key_is_worked_on_by_one_at_a_time(url: str) -> None:
    queues = [opened(url, QUICK) for _ in range(2)]
    inside: dict[str, int] = {}
    most: list[int] = []
    lock = threading.Lock()

    def handle(job: Job) -> str:
        with lock:
            inside[job.key] = inside.get(job.key, 0) + 1
            most.append(inside[job.key])
        time.sleep(0.02)
        with lock:
            inside[job.key] -= 1
        return "done"

    with working(queues[0], handle, workers=3), working(queues[1], handle, workers=3):
        for turn in range(30):
            put(queues[0], pull(turn % 3))
        until(lambda: empty(queues[0]))

    assert set(most) == {1}


def test_a_long_job_of_a_living_worker_is_left_to_it(url: str) -> None:
    queue, other = opened(url, QUICK), opened(url, QUICK)
    runs: list[Job] = []

    def handle(job: Job) -> str:
        runs.append(job)
        time.sleep(QUICK.silence * 3)
        return "done"

    put(queue, pull())
    with working(queue, handle), working(other, handle):
        until(lambda: empty(queue))

    assert runs == [pull()]


def test_what_a_killed_worker_had_begun_is_done_by_another(url: str) -> None:
    queue = opened(url, QUICK)
    put(queue, pull())
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, url], cwd=ROOT, stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"]}
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(signal.SIGKILL)
    told: list[Told] = []
    other = opened(url, QUICK, told.append)

    with working(other, lambda _: "done"):
        until(lambda: empty(queue))

    assert [(each.key, each.outcome) for each in told] == [(pull().key, "rescued"), (pull().key, "done")]


def test_a_job_that_ends_every_worker_is_given_up_in_the_end(url: str) -> None:
    queue = opened(url, Times(silence=0.3, tick=0.1, pauses=(0,)))
    put(queue, pull())
    for _ in range(2):
        dies_in_the_middle(queue)
        until(lambda: rescued(queue))

    assert queue.outstanding() == 0
    assert [(failed.job, failed.error) for failed in queue.failed().values()] == [(pull(), "its worker has ended, or hangs")]


def test_a_worker_that_was_taken_for_dead_has_its_job_done_once_more(url: str) -> None:
    """Such as one that was paused between looking at the pull request and writing: the last run begins after the last writing."""
    queue = opened(url, QUICK)
    runs: list[Job] = []

    def handle(job: Job) -> str:
        runs.append(job)
        if len(runs) == 1:
            (lease,) = queue.ledger.entries().leases.values()
            assert queue.ledger.release(job.key, lease)  # as another worker does
        return "done"

    put(queue, pull())
    with working(queue, handle):
        until(lambda: len(runs) == 2 and empty(queue))

    assert runs == [pull(), pull()]


def test_a_wake_up_that_got_lost_is_given_again(url: str) -> None:
    queue = opened(url, QUICK)
    put(queue, pull())
    assert queue.ledger.next() is not None  # somebody took it, and was killed before anything else

    with working(queue, lambda _: "done"):
        until(lambda: empty(queue))


def test_what_waits_in_the_queue_is_not_put_there_again(url: str) -> None:
    queue = opened(url, QUICK)
    put(queue, pull(1), pull(2))

    queue.rescue()

    assert [queue.ledger.next() is not None for _ in range(3)] == [True, True, False]


def test_a_job_that_fails_is_tried_again_and_kept_as_failed_in_the_end(url: str) -> None:
    told: list[Told] = []
    queue = opened(url, QUICK, told.append)
    broken = True

    def handle(_: Job) -> str:
        if broken:
            raise ValueError("hf_secret stands here")
        return "done"

    put(queue, pull())
    with working(queue, handle):
        until(lambda: len(told) == 3)
        assert [each.outcome for each in told] == ["again", "again", "failed"]
        assert queue.outstanding() == 0
        assert queue.state().failed == 1
        (failed,) = queue.failed().values()
        assert failed.job == pull()
        broken = False
        put(queue, pull())
        until(lambda: queue.state().failed == 0)

    assert told[-1].outcome == "done"
    assert all(each.error.startswith("ValueError at test_queue.py:") for each in told[:-1])
    assert "hf_secret" not in repr((told, failed))


def test_what_was_given_up_can_be_asked_for_again(url: str) -> None:
    queue = opened(url, Times(tick=0.1, pauses=()))

    def handle(_: Job) -> str:
        raise ValueError

    put(queue, pull(1), pull(2))
    with working(queue, handle):
        until(lambda: queue.state()[:2] == (0, 2))
    assert queue.retry() == 2
    with working(queue, lambda _: "done"):
        until(lambda: queue.state()[:2] == (0, 0))


def test_an_error_of_ours_is_told_as_it_is(url: str) -> None:
    told: list[Told] = []
    queue = opened(url, QUICK, told.append)

    def handle(_: Job) -> str:
        raise CannotLookError("hub:acme/model: the Hub answered 502;\ntry again later")

    put(queue, pull())
    with working(queue, handle):
        until(lambda: empty(queue))

    assert {each.error for each in told} == {"hub:acme/model: the Hub answered 502; try again later"}


def test_a_pause_is_kept_unless_something_new_is_asked_for(url: str) -> None:
    queue = opened(url, Times(silence=0.6, tick=0.05, pauses=(1000,)))
    runs: list[Job] = []

    def handle(job: Job) -> str:
        runs.append(job)
        if len(runs) == 1:
            raise ValueError
        return "done"

    put(queue, pull())
    with working(queue, handle):
        until(lambda: len(runs) == 1)
        queue.ledger.wake(pull().key, 1)  # somebody who knows nothing of it
        put(queue, pull(2))
        until(lambda: queue.outstanding() == 1)
        assert runs == [pull(), pull(2)]
        put(queue, pull())
        until(lambda: empty(queue))

    assert runs == [pull(), pull(2), pull()]


def test_a_running_job_ends_when_workers_are_stopped(url: str) -> None:
    queue = opened(url, QUICK)
    put(queue, pull(1))
    begun, go_on = threading.Event(), threading.Event()

    def handle(_: Job) -> str:
        put(queue, pull(1), pull(2))
        begun.set()
        assert go_on.wait(LONG)
        return "done"

    with working(queue, handle) as stop:
        assert begun.wait(LONG)
        stop.set()
        go_on.set()

    assert queue.outstanding() == 2  # what came meanwhile, and what was not begun


def test_a_job_that_does_not_end_in_time_is_left_to_others_at_once(url: str) -> None:
    patient = Times(silence=1000, tick=0.05, grace=0)
    queue, other = opened(url, patient), opened(url, patient)
    put(queue, pull())
    begun, go_on, stop = threading.Event(), threading.Event(), threading.Event()

    def hangs(_: Job) -> str:
        begun.set()
        assert go_on.wait(LONG)
        return "late"

    ended: list[bool] = []
    thread = threading.Thread(target=lambda: ended.append(queue.work(hangs, workers=1, stop=stop)))
    thread.start()
    assert begun.wait(LONG)
    stop.set()
    thread.join()
    assert ended == [False]

    done: list[Job] = []
    with working(opened(url, QUICK), lambda job: done.append(job) or "done"):
        until(lambda: empty(other))

    assert done == [pull()]
    go_on.set()
    until(lambda: not any(thread.name == "worker-0" for thread in threading.enumerate()))


def test_nothing_is_left_of_what_is_done_but_its_number(url: str) -> None:
    queue = opened(url, QUICK)
    put(queue, pull(1), pull(2), pull(1))
    with working(queue, lambda _: "done", workers=2):
        until(lambda: empty(queue))

    assert [dict(part) for part in queue.ledger.entries()] == [{}, {}, {}, {}]
    assert queue.ledger.newest(pull(1).key) == 2


@pytest.mark.needs("redis")
def test_a_redis_server_that_is_restarted_loses_nothing(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as server:
        told: list[Told] = []
        queue = opened(server.url, QUICK, told.append)
        put(queue, pull(1))
        with working(queue, lambda _: "done"):
            until(lambda: empty(queue))
            server.stop()
            with pytest.raises(queue.faults):
                put(queue, pull(2))
            until(lambda: any(each.outcome == "lost" for each in told))
            server.start()
            put(queue, pull(3))
            until(lambda: empty(queue))
            assert queue.alive()

    assert {each.key for each in told if each.outcome == "done"} == {pull(1).key, pull(3).key}
    assert {each.job for each in told if each.outcome == "lost"} == {None}


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "write sqlite:PATH, or redis://host:port/0"),
        ("postgres://me:secret@host", "write sqlite:PATH, or redis://host:port/0"),
        ("sqlite:", "a file is needed"),
        ("sqlite:.", "a file is needed"),
        ("redis://me:secret@host:port/0", "no address of a Redis server"),
    ],
)
def test_what_is_no_queue_is_told_without_its_password(url: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as told:
        opened(url)
    assert "secret" not in str(told.value)


def test_a_queue_that_does_not_answer_is_told_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(CannotLookError, match=r"the Redis server at 127\.0\.0\.1:1 does not answer") as told:
        Queue("redis://me:secret@127.0.0.1:1/0")
    assert "secret" not in str(told.value)
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(CannotLookError, match="cannot be opened"):
        Queue(f"sqlite:{tmp_path}/file/queue.db")
    (tmp_path / "other").write_text("no database\n" * 100)
    with pytest.raises(CannotLookError, match="cannot be opened"):
        Queue(f"sqlite:{tmp_path}/other")


class KilledError(BaseException):
    """Ends a run where SIGKILL would have: nothing of ours is done after it."""


def dies_in_the_middle(queue: Queue) -> None:
    def handle(_: Job) -> str:
        raise KilledError

    wake = queue.ledger.next()
    while wake is None:
        queue.rescue()
        wake = queue.ledger.next()
    with pytest.raises(KilledError):
        queue.look(wake, handle, threading.Event())


def rescued(queue: Queue) -> bool:
    queue.rescue()
    return not queue.ledger.entries().leases


class Fate:
    """A queue, what was asked of it and what ran, each with the tick of a clock that only counts."""

    def __init__(self, folder: Path) -> None:
        self.queue = opened(f"sqlite:{folder}/queue.db", Times(silence=-1, pauses=(0,) * 1_000))
        self.asked: dict[str, int] = {}
        self.ran: dict[str, int] = {}
        self._clock = 0

    def ask(self, number: int) -> None:
        put(self.queue, pull(number))
        self.asked[pull(number).key] = self._tick()

    def run(self, how: str, meanwhile: set[int]) -> None:
        """Let one worker take what is next, come to its end in one way, and let jobs be asked for while it works."""
        wake = self.queue.ledger.next()
        if wake is None or how == "killed before":
            return

        def handle(job: Job) -> str:
            begun = self._tick()
            while meanwhile:
                self.ask(meanwhile.pop())
            if how == "fails":
                raise ValueError
            if how != "killed":
                self.ran[job.key] = begun
            if how != "done":
                raise KilledError
            return "done"

        with suppress(KilledError):
            self.queue.look(wake, handle, threading.Event())

    def _tick(self) -> int:
        self._clock += 1
        return self._clock


Step = Callable[[Fate], None]


def asks(number: int) -> Step:
    return lambda fate: fate.ask(number)


def rescues(fate: Fate) -> None:
    fate.queue.rescue()


def runs(how: str, meanwhile: set[int]) -> Step:
    return lambda fate: fate.run(how, set(meanwhile))


WAYS = st.sampled_from(["done", "fails", "killed before", "killed", "killed after"])
NUMBERS = st.integers(1, 3)
STEPS = st.one_of(st.builds(asks, NUMBERS), st.builds(runs, WAYS, st.sets(NUMBERS)), st.just(rescues))


@settings(max_examples=40, deadline=None)
@given(st.lists(STEPS, max_size=25))
def test_whatever_happens_a_job_begins_after_it_was_last_asked_for(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    """Workers end anywhere, and jobs are asked for while others run; in the end nothing is outstanding, and no last run was too early."""
    fate = Fate(tmp_path_factory.mktemp("law"))
    for step in steps:
        step(fate)
    for _ in range(100):
        fate.queue.rescue()
        fate.run("done", set())
    assert fate.queue.state()[:2] == (0, 0)
    assert all(fate.ran[key] > asked for key, asked in fate.asked.items())
