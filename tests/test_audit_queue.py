"""Audits over the queue, on SQLite and on a real Redis server: several processes, some of them killed, and every line once."""

import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.audit.records import Asked, Line
from bot.errors import CannotLookError
from bot.server.audit import Board, Noticed, Queued, handler, open_queue, workers
from bot.server.jobs import Audited, Discussion
from bot.server.queue import Times, Told
from bot.server.storage import open_storage
from tests.doubles.hub import TOKEN
from tests.doubles.hub_audit import Limit, ManyDouble
from tests.doubles.model_repository import ModelRepository
from tests.test_command_line import environment, started

IMPATIENT = """
from bot.server import audit
from bot.server.queue import Times
audit.TIMES = Times(silence=3, tick=0.3, pauses=(0.1, 0.1), grace=10)
from bot.__main__ import main
main()
"""
QUICK = Times(silence=1.5, tick=0.2, pauses=(0.1, 0.1), grace=10)


@pytest.fixture(params=["sqlite", pytest.param("redis", marks=pytest.mark.needs("redis"))])
def queue(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an empty queue."""
    if request.param == "sqlite":
        yield f"sqlite:{tmp_path / 'queue.db'}"
        return
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [shutil.which("redis-server") or "", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)],
        stdout=subprocess.DEVNULL,
    )
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.05)
    yield f"redis://127.0.0.1:{port}/0"
    server.terminate()
    server.wait(20)


def answered(asked: Asked) -> Line:
    return Line(repo=asked.repo, base=asked.base or None, head=asked.head or "f" * 40)


def ask(*names: str) -> Iterator[Asked]:
    return (Asked(repo=name, number=number, of=len(names)) for number, name in enumerate(names, 1))


def test_answers_come_back_once_and_nothing_is_left(queue: str) -> None:
    told = list[Told]()
    work, board = open_queue(queue, told.append, QUICK)
    names = [f"acme/m{number}" for number in range(250)]
    with workers(work, board, answered, 3):
        lines = list(Queued(work, board, "a1").lines(ask(*names)))
        until = time.monotonic() + 10
        while work.outstanding() and time.monotonic() < until:
            time.sleep(0.05)
    assert sorted((line.number, line.of, line.repo) for line in lines) == [(n, 250, name) for n, name in enumerate(names, 1)]
    assert work.outstanding() == 0
    storage, _ = open_storage(queue, "model_repo_drift_audits_board")
    assert storage.result_items() == {}
    assert {each.outcome for each in told} == {"not judged"}


def test_what_was_judged_before_the_audit_ended_is_not_judged_again(queue: str) -> None:
    judged = list[str]()

    def judge(asked: Asked) -> Line:
        judged.append(asked.repo)
        return answered(asked)

    work, board = open_queue(queue, lambda _: None, QUICK)
    first = Queued(work, board, "a1").lines(ask("acme/m1", "acme/m2", "acme/m3"))
    with workers(work, board, judge, 1):
        next(first)  # its line is not written, and two more are judged meanwhile
        until = time.monotonic() + 10
        while len(judged) < 3 and time.monotonic() < until:
            time.sleep(0.02)
    assert sorted(line.repo for line in Queued(work, board, "a1").lines(ask("acme/m1", "acme/m2", "acme/m3"))) == [
        "acme/m1",
        "acme/m2",
        "acme/m3",
    ]
    assert sorted(judged) == ["acme/m1", "acme/m2", "acme/m3"]
    with workers(work, board, judge, 1):  # another audit knows nothing of this one
        assert [line.repo for line in Queued(work, board, "a2").lines(ask("acme/m1"))] == ["acme/m1"]
    assert judged.count("acme/m1") == 2


def test_a_job_that_always_fails_is_a_line_in_the_end(queue: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.server.audit.LOOK_FOR_FAILED", 0.1)

    def judge(asked: Asked) -> Line:
        if asked.repo == "acme/bad":
            raise CannotLookError("the disk is full")
        return answered(asked)

    work, board = open_queue(queue, lambda _: None, QUICK)
    with workers(work, board, judge, 2):
        lines = {line.repo: line for line in Queued(work, board, "a1").lines(ask("acme/bad", "acme/m"))}
    assert lines["acme/bad"].error == "it was given up: the disk is full"
    assert (lines["acme/bad"].number, lines["acme/bad"].of, lines["acme/m"].error) == (1, 2, "")


def test_a_pair_reaches_the_worker_whole_and_other_jobs_are_refused(queue: str) -> None:
    seen = list[Asked]()
    board = Board(queue)

    def judge(asked: Asked) -> Line:
        seen.append(asked)
        return answered(asked)

    handle = handler(board, judge)
    job = Audited(audit="a", repo="acme/m", base="b", head="h", text="See deadbeef")
    assert handle(job) == "not judged"
    assert seen == [Asked(repo="acme/m", base="b", head="h", text="See deadbeef")]
    assert board.get([job.key]) == {job.key: answered(seen[0])}
    with pytest.raises(CannotLookError, match="no job of an audit"):
        handle(Discussion(repo="acme/m", num=1))


def test_machines_tell_each_other_when_the_hub_has_had_enough(queue: str) -> None:
    here, there = Noticed(Board(queue), "hub.example.com"), Noticed(Board(queue), "hub.example.com")
    assert there.read() == 0
    here.write(1_700_000_000.25)
    assert there.read() == 1_700_000_000.25
    assert Noticed(Board(queue), "other.example.com").read() == 0


def test_a_queue_that_goes_away_is_waited_for_and_then_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.server.audit.PATIENCE", 0.5)
    work, board = open_queue(f"sqlite:{tmp_path / 'queue.db'}", lambda _: None, QUICK)
    storage, _ = open_storage(f"sqlite:{tmp_path / 'queue.db'}", "x")
    storage.sql("drop table kv", commit=True)
    with pytest.raises(CannotLookError, match=r"the queue does not answer .*run the same again to go on"):
        list(Queued(work, board, "a1").lines(ask("acme/m")))


# Whole processes.


class Machines:
    """Processes of one audit, all asking one double."""

    def __init__(self, folder: Path, hub: ManyDouble, queue: str) -> None:
        self.folder, self.queue = folder, queue
        self.variables = {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN, "XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)}
        self.running = list[subprocess.Popen[bytes]]()

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", IMPATIENT, "audit", *arguments, "--queue", self.queue]
        log = (self.folder / f"log-{len(self.running)}").open("wb")
        running = subprocess.Popen(command, cwd=self.folder, env=environment(**self.variables), stdout=log, stderr=log)
        log.close()
        self.running.append(running)
        return running

    def lines(self) -> list[Any]:
        path = self.folder / "out" / "audit.jsonl"
        return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []

    def wait_for(self, lines: int) -> None:
        until = time.monotonic() + 100
        while time.monotonic() < until and len(self.lines()) < lines:
            time.sleep(0.05)
        assert len(self.lines()) >= lines

    def end(self) -> None:
        for running in self.running:
            if running.poll() is None:
                running.kill()
            running.wait(20)


@pytest.fixture
def origin(tmp_path: Path) -> ModelRepository:
    made = ModelRepository(tmp_path / "origin")
    made.git("switch", "--quiet", "main")
    return made


def test_any_process_may_be_killed_and_every_repository_has_one_line(queue: str, tmp_path: Path, origin: ModelRepository) -> None:
    names = {f"acme/m{number}" for number in range(40)}
    with ManyDouble(dict.fromkeys(sorted(names), origin.path), latency=0.02) as hub:
        machines = Machines(tmp_path, hub, queue)
        try:
            asks = ("acme/*", "--output", "out", "--workers", "0", "--fail-on", "never")
            asking = machines.start(*asks)
            first, _ = machines.start("--workers", "1"), machines.start("--workers", "1")
            machines.wait_for(8)
            first.kill()
            machines.wait_for(16)
            asking.kill()
            asking.wait(20)
            machines.start("--workers", "1")
            assert machines.start(*asks).wait(120) == 0
            for running in machines.running[1:]:
                running.send_signal(signal.SIGTERM)
            assert [running.wait(60) for running in machines.running] == [-9, -9, 0, 0, 0]
        finally:
            machines.end()
        assert Counter(line["repo"] for line in machines.lines()) == dict.fromkeys(names, 1)
        assert all(line["verdict"] for line in machines.lines())
        assert TOKEN.encode() not in b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        asked = Counter(seen.line for seen in hub.log if "/revision/main" in seen.line)
        assert sum(asked.values()) <= len(names) + 1  # only what the killed worker was at is done twice


def test_all_machines_pause_together(queue: str, tmp_path: Path, origin: ModelRepository) -> None:
    limit = Limit(40, 3)
    names = {f"acme/m{number}" for number in range(24)}
    with ManyDouble(dict.fromkeys(sorted(names), origin.path), limit=limit) as hub:
        machines = Machines(tmp_path, hub, queue)
        try:
            machines.start("--workers", "2")
            assert machines.start("acme/*", "--output", "out", "--workers", "2", "--fail-on", "never").wait(120) == 0
        finally:
            machines.end()
        assert len(machines.lines()) == len(names)
        assert all(line["verdict"] for line in machines.lines())
        assert limit.refused <= 4
        assert len(hub.asked) > 40


def test_a_library_that_is_not_installed_is_named(tmp_path: Path) -> None:
    program = "import sys; sys.modules['huey'] = None; sys.argv[0] = 'x'; from bot.cli import run; sys.exit(run())"
    ended = subprocess.run(
        [sys.executable, "-c", program, "audit", "acme/m", "--output", "out", "--queue", "sqlite:x"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert "--queue needs huey" in ended.stderr
    assert "install the extra `server`" in ended.stderr


def test_a_worker_needs_a_queue(tmp_path: Path) -> None:
    assert "audit takes WHAT to judge" in started(tmp_path, "audit").errors
    assert "a machine that only works takes neither" in started(tmp_path, "audit", "--queue", "sqlite:x", "--output", "y").errors
