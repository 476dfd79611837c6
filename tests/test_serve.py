"""The bot as one starts it: from a delivery to the comment, through signals and kills, and what it refuses to start with."""

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from bot.cli import parser
from bot.publish import marker
from bot.server.jobs import Discussion
from bot.server.ledger import Failed
from bot.server.queue import Queue
from tests.conftest import ROOT
from tests.doubles.hub import TOKEN, HubDouble
from tests.doubles.hub_community import Community
from tests.doubles.model_repository import ModelRepository
from tests.doubles.redis_server import RedisServer
from tests.storm import OWN, SECRET, Plan, Process, send, storm
from tests.test_webhook import comment, discussion, payload, refs

NAME = "acme/model"
JOB = Discussion(repo=NAME, num=7)
PUSHED = payload("repo.content", **refs(("refs/pr/7", "1" * 40)))
LONG = 60
SMALL = Plan(deliveries=60, repositories=2, pulls=4, versions=3, workers=2, seconds=6, kill_every=2.5, silence=2, most_kills=2)

Start = Callable[..., Process]


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubDouble]:
    origin = ModelRepository(tmp_path / "origin")
    origin.spoil()
    origin.git("update-ref", "refs/pr/7", "change")
    with HubDouble({NAME: origin.path}) as double:
        double.communities[NAME].open("Stop on end of text", number=7)
        yield double


@pytest.fixture
def queue(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path}/queue.db"


@pytest.fixture
def start(tmp_path: Path, hub: HubDouble, queue: str) -> Iterator[Start]:
    """Starts the bot, web and workers in one process unless other options are given."""
    started: list[Process] = []
    home = tmp_path / "home"
    home.mkdir()

    def begin(*options: str) -> Process:
        process = Process(tmp_path / f"{len(started)}.log", hub.url, queue, "--listen", "127.0.0.1:0", *options, folder=home)
        started.append(process)
        process.address()
        return process

    yield begin
    for process in started:
        process.end()
        text = process.log.read_text(encoding="utf-8")
        assert TOKEN not in text
        assert SECRET not in text
        assert "Traceback" not in text


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + LONG
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def left(queue: str) -> tuple[int, int]:
    """How many jobs are outstanding, and how many were given up."""
    with Queue(queue) as opened:
        state = opened.state()
        return state.outstanding, state.failed


def ours(community: Community) -> list[str]:
    events = [event for event in community.discussions[7]["events"] if event["author"]["name"] == OWN]
    return [event["data"]["latest"]["raw"] for event in events]


def outcomes(process: Process, event: str) -> list[str]:
    return [row["outcome"] for row in process.rows() if row["event"] == event]


def test_a_delivery_becomes_a_comment_and_the_comment_no_delivery(hub: HubDouble, start: Start, queue: str) -> None:
    bot = start()
    community = hub.communities[NAME]
    assert send(bot.address(), PUSHED, SECRET) == (202, "queued\n")
    until(lambda: outcomes(bot, "job") == ["created"])
    (text,) = ours(community)

    echo = payload("discussion.comment", "create", discussion=discussion(), comment=comment(text, "u1"))
    hidden = payload("discussion.comment", discussion=discussion(), comment=comment(None, "u1"))  # u1 is what whoami says
    assert [send(bot.address(), body, SECRET) for body in (echo, hidden)] == [(200, "our own comment\n")] * 2

    assert bot.stop() == 0
    assert [row["event"] for row in bot.rows() if row["event"] not in ("delivery", "job")] == ["started", "stopping", "stopped"]
    assert left(queue) == (0, 0)
    assert ours(community) == [text]


def test_a_moved_branch_lets_commented_pull_requests_be_judged_again(hub: HubDouble, start: Start) -> None:
    bot = start()
    community = hub.communities[NAME]
    send(bot.address(), PUSHED, SECRET)
    until(lambda: outcomes(bot, "job") == ["created"])
    hub.repositories[NAME].git("update-ref", "refs/heads/main", "change")  # as if somebody had pushed it

    send(bot.address(), payload("repo.content", **refs(("refs/heads/main", "1" * 40))), SECRET)

    until(lambda: outcomes(bot, "job") == ["created", "asked for again", "edited"])
    (text,) = ours(community)
    said = marker.read(text.split("\n")[0])
    assert said is not None
    assert said.fingerprints == ()
    assert bot.stop(signal.SIGINT) == 0


def test_a_job_that_runs_when_the_bot_is_stopped_comes_to_its_end(hub: HubDouble, start: Start, queue: str) -> None:
    bot = start("--workers", "1")
    hub.when("GET", r"/discussions/7$", lambda: os.kill(bot.pid, signal.SIGTERM))

    send(bot.address(), PUSHED, SECRET)

    assert bot.ended() == 0
    assert outcomes(bot, "job") == ["created"]
    assert left(queue) == (0, 0)


def test_a_job_that_does_not_end_in_time_is_done_after_the_next_start(hub: HubDouble, start: Start, queue: str) -> None:
    first = start("--grace", "0")
    hub.when("GET", r"/discussions/7$", lambda: (os.kill(first.pid, signal.SIGTERM), time.sleep(1)))
    send(first.address(), PUSHED, SECRET)
    until(lambda: "left" in [row["event"] for row in first.rows()])
    assert left(queue) == (1, 0)
    assert ours(hub.communities[NAME]) == []

    second = start()

    until(lambda: outcomes(second, "job") == ["created"])
    assert len(ours(hub.communities[NAME])) == 1


def test_a_job_that_fails_is_told_and_a_new_delivery_is_not_kept_waiting(hub: HubDouble, start: Start, queue: str) -> None:
    refusal = {"X-Error-Message": "Invalid credentials in Authorization header"}
    hub.answer("GET", r"/discussions/7$", 401, headers=refusal)
    bot = start()
    send(bot.address(), PUSHED, SECRET)
    until(lambda: outcomes(bot, "job") == ["again"])
    assert left(queue) == (1, 0)

    send(bot.address(), PUSHED, SECRET)

    until(lambda: outcomes(bot, "job") == ["again", "created"])
    (first, _) = [row for row in bot.rows() if row["event"] == "job"]
    assert first["error"] == "hub:acme/model@refs/pr/7: the Hub does not accept the token in HF_TOKEN (401); make a new one"
    assert left(queue) == (0, 0)


def test_what_was_given_up_is_done_when_the_bot_is_started_to_do_so(hub: HubDouble, start: Start, queue: str) -> None:
    with Queue(queue) as given_up:
        given_up.ledger.give_up(JOB.key, Failed(JOB, 0, "the token was an old one"), [])
    assert left(queue) == (0, 1)

    bot = start("--retry-failed")

    until(lambda: outcomes(bot, "job") == ["created"])
    until(lambda: left(queue) == (0, 0))
    assert len(ours(hub.communities[NAME])) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, which is not here")
def test_neither_secret_reaches_the_process_that_reads_the_repository(hub: HubDouble, start: Start) -> None:
    bot = start("--workers", "1")
    seen: list[bytes] = []

    def look() -> None:
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if process.joinpath("stat").read_text().rpartition(")")[2].split()[1] == str(bot.pid):
                    seen.extend(process.joinpath(name).read_bytes() for name in ("environ", "cmdline"))

    hub.when("GET", "/resolve/", look)
    send(bot.address(), PUSHED, SECRET)
    until(lambda: outcomes(bot, "job") == ["created"])

    assert any(b"bot.analyze" in text for text in seen)
    assert not any(secret.encode() in text for secret in (TOKEN, SECRET) for text in seen)
    assert {request.host for request in hub.log if request.token} == {hub.url.removeprefix("http://")}


def test_what_the_bot_says_of_itself_is_json_and_metrics(hub: HubDouble, start: Start) -> None:
    bot = start("--workers", "3")
    send(bot.address(), PUSHED, SECRET)
    until(lambda: outcomes(bot, "job") == ["created"])

    metrics = read(bot.address() + "/metrics")

    assert 'model_repo_drift_deliveries_total{outcome="queued"} 1.0' in metrics
    assert 'model_repo_drift_jobs_total{kind="discussion",outcome="created"} 1.0' in metrics
    assert 'model_repo_drift_job_seconds_count{kind="discussion"} 1.0' in metrics
    assert "model_repo_drift_workers 3.0" in metrics
    assert read(bot.address() + "/healthz") == "ok\n"
    assert len(hub.communities[NAME].discussions[7]["events"]) == 2


def read(url: str) -> str:
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode(), end='')",
            url,
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout


SECRETS = {"HF_TOKEN": TOKEN, "MODEL_REPO_DRIFT_WEBHOOK_SECRET": SECRET}
REFUSED = {
    "no secret": ({"HF_TOKEN": TOKEN}, (), "MODEL_REPO_DRIFT_WEBHOOK_SECRET is not set"),
    "a secret that is easy to guess": (
        SECRETS | {"MODEL_REPO_DRIFT_WEBHOOK_SECRET": "hunter2"},
        (),
        "at least 16 printable ASCII letters",
    ),
    "a secret that the Hub does not send": (SECRETS | {"MODEL_REPO_DRIFT_WEBHOOK_SECRET": "ä" * 20}, (), "printable ASCII"),
    "no token": ({"MODEL_REPO_DRIFT_WEBHOOK_SECRET": SECRET}, (), "HF_TOKEN is not set"),
    "no token for a worker": ({}, ("--only", "worker"), "HF_TOKEN is not set"),
    "no workers": (SECRETS, ("--workers", "0"), "--workers 0: a number from 1 to 64 is needed"),
    "no silence": (SECRETS, ("--silence", "0"), "--silence must be at least 1 second"),
    "no number": (SECRETS, ("--workers", "many"), "invalid int value"),
    "no address": (SECRETS, ("--listen", "8080"), "--listen 8080: HOST:PORT is needed"),
    "no port": (SECRETS, ("--listen", "127.0.0.1:70000"), "HOST:PORT is needed"),
    "no queue": (SECRETS, ("--queue", "amqp://me:hunter2@host"), "this is no queue; write sqlite:PATH"),
    "no part": (SECRETS, ("--only", "half"), "invalid choice"),
}


@pytest.mark.parametrize(("variables", "options", "said"), REFUSED.values(), ids=REFUSED)
def test_what_it_does_not_start_with(tmp_path: Path, variables: dict[str, str], options: tuple[str, ...], said: str) -> None:
    done = run(tmp_path, variables, *options)

    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert "hunter2" not in done.stderr
    assert TOKEN not in done.stderr
    assert SECRET not in done.stderr


def test_a_port_that_is_taken_and_a_redis_that_is_not_there_are_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        there = run(tmp_path, SECRETS, "--listen", f"127.0.0.1:{port}")
    away = run(tmp_path, SECRETS | {"MODEL_REPO_DRIFT_QUEUE": "redis://me:hunter2@127.0.0.1:1/0"})

    assert (there.returncode, away.returncode) == (3, 3)
    assert f"--listen 127.0.0.1:{port}: cannot listen there" in there.stderr
    assert "the Redis server at 127.0.0.1:1 does not answer" in away.stderr
    assert "hunter2" not in away.stderr


def run(folder: Path, variables: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT), "HF_ENDPOINT": "http://127.0.0.1:1"}
    return subprocess.run(
        [sys.executable, "-m", "bot", "serve", *options],
        check=False,
        capture_output=True,
        text=True,
        timeout=LONG,
        cwd=folder,
        env=environment | variables,
    )


@pytest.mark.parametrize("store", ["sqlite", pytest.param("redis", marks=pytest.mark.needs("redis"))])
def test_deliveries_in_any_order_and_killed_workers_end_in_one_comment_each(tmp_path: Path, store: str) -> None:
    """What `make bot-storm` does with 500 deliveries and a kill every five seconds, smaller."""
    if store == "sqlite":
        report = storm(tmp_path, SMALL, f"sqlite:{tmp_path}/queue.db")
    else:
        with RedisServer(tmp_path / "redis") as server:
            report = storm(tmp_path, SMALL, server.url)

    assert report.wrong == []
    assert dict(report.answers) == {202: SMALL.deliveries - report.answers[403], 403: report.answers[403]}
    assert report.answers[403] >= 2 * 3
    assert report.kills == 2
    assert report.failed == 0
    assert report.comments >= 2 * 2
    assert SECRET not in report.logs
    assert TOKEN not in report.logs
    assert "Traceback" not in report.logs


def services() -> dict[str, Any]:
    whole = cast("dict[str, Any]", yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8")))
    return whole["services"]


def test_the_commands_of_the_compose_file_are_those_that_are_tested_here() -> None:
    commands = {name: shlex.split(service["command"]) for name, service in services().items() if name != "redis"}
    given = {name: vars(parser().parse_args(command)) for name, command in commands.items()}

    assert {name: options["only"] for name, options in given.items()} == {"web": "web", "worker": "worker"}
    assert {options["queue"] for options in given.values()} == {"redis://redis:6379/0"}
    grace = max(options["grace"] for options in given.values())
    assert all(int(services()[name]["stop_grace_period"].removesuffix("s")) > grace for name in given)
    assert "--appendonly yes" in services()["redis"]["command"]  # as the server of these tests


def test_each_service_of_the_compose_file_has_the_secrets_that_it_needs_and_no_other() -> None:
    variables = {name: set(service.get("environment", {})) for name, service in services().items()}
    assert variables == {"redis": set(), "web": {"MODEL_REPO_DRIFT_WEBHOOK_SECRET"}, "worker": {"HF_TOKEN", "XDG_CACHE_HOME"}}
    assert {name for name, service in services().items() if service.get("ports")} == {"web"}


@pytest.mark.needs("compose")
def test_the_compose_file_is_one() -> None:
    program = shutil.which("docker-compose")
    assert program is not None
    done = subprocess.run(
        [program, "--file", str(ROOT / "compose.yaml"), "config"],
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **SECRETS},
    )

    assert done.returncode == 0, done.stderr
    assert set(cast("dict[str, Any]", yaml.safe_load(done.stdout))["services"]) == {"redis", "web", "worker"}
