"""Many webhook deliveries to the real command while its workers are killed: what `make bot-storm` prints, and, smaller, a test.

The Hub is the double, all else is real: one process that receives, several that work, each started by the command line, and a queue on SQLite or Redis.
Deliveries come twice and more, late, in another order, with wrong secrets; pull requests get new commits meanwhile, and some are merged.
"""

import contextlib
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from bot.hub import Access
from bot.publish import marker
from bot.server.discussion import Bot, judge
from bot.server.jobs import Discussion
from bot.server.queue import Queue
from tests.conftest import ROOT
from tests.doubles.hub import TOKEN, HubDouble
from tests.doubles.model_repository import ModelRepository

SECRET = "storm-secret-0123456789"
OWN = "drift-bot"
STOPS_ON = (2, 3, 1)
"""What generation_config.json stops on, by version; only 3 is right."""


@dataclass(frozen=True)
class Plan:
    """How much happens: `pulls` in each of `repositories`, `versions` of each, all deliveries sent over `seconds`.

    With `pauses` workers are also stopped until all others take them for dead, and then let go on.
    """

    deliveries: int
    repositories: int
    pulls: int
    versions: int
    workers: int
    seconds: float
    kill_every: float
    silence: float
    most_kills: int = 1_000
    pauses: bool = False
    settle: float = 300
    seed: int = 1


class Delivery(NamedTuple):
    """One request. `push` is the ref and commit that the repository gets before it, or none."""

    body: bytes
    secret: str
    push: tuple[str, int, str] | None = None
    merge: tuple[str, int] | None = None


@dataclass
class Report:
    """What was seen: answers by status, the slowest of them in seconds, and every discussion that is not as it should be."""

    answers: Counter[int] = field(default_factory=Counter[int])
    slowest: float = 0
    kills: int = 0
    pauses: int = 0
    seconds: float = 0
    jobs: Counter[str] = field(default_factory=Counter[str])
    comments: int = 0
    doubles: int = 0
    failed: int = 0
    wrong: list[str] = field(default_factory=list[str])
    logs: str = ""


class Field:
    """Repositories with pull requests that will change, and which states they will go through."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.plan = plan
        origin = ModelRepository(folder / "origin")
        self.versions: dict[int, list[str]] = {}
        for number in range(1, plan.pulls + 2):  # one more, that nobody with the secret tells of
            origin.git("switch", "--quiet", "--detach", "main")
            made: list[str] = []
            for version in range(plan.versions):
                text = json.dumps({"eos_token_id": STOPS_ON[(number + version) % 3], "temperature": number + version / 10})
                made.append(origin.commit(f"Version {version} of {number}", {"generation_config.json": text + "\n"}))
            self.versions[number] = made
            origin.git("update-ref", f"refs/pr/{number}", made[0])
            origin.git("update-ref", f"refs/kept/{number}", made[-1])
        origin.git("switch", "--quiet", "main")
        self.names = [f"acme/model-{n}" for n in range(plan.repositories)]
        self.folders = {name: folder / name for name in self.names}
        for made_here in self.folders.values():
            shutil.copytree(origin.path, made_here)
        self.unknown = plan.pulls + 1
        self.merged = plan.pulls  # in each repository, once its versions are through

    def deliveries(self) -> list[Delivery]:
        """What is sent, in this order: every state is there before the delivery that tells of it."""
        chance = random.Random(self.plan.seed)
        told: list[tuple[float, Delivery]] = []
        for name in self.names:
            for number in range(1, self.plan.pulls + 1):
                for version, sha in enumerate(self.versions[number]):
                    at = version / self.plan.versions + chance.random() / self.plan.versions
                    told.append((at, Delivery(_pushed(name, number, sha), SECRET, push=(name, number, sha))))
                    told.append((at + 1e-6, Delivery(_discussed(name, number, "create" if version == 0 else "update"), SECRET)))
            late = Delivery(_discussed(name, self.merged, "update", status="merged"), SECRET, merge=(name, self.merged))
            told.append((1.0, late))
            told.append((1.0, Delivery(_main_moved(name), SECRET)))
            unknown = Delivery(_pushed(name, self.unknown, self.versions[self.unknown][0]), "wrong-secret-0123456")
            told += [(chance.random(), unknown) for _ in range(3)]
        first = [(at, Delivery(each.body, each.secret)) for at, each in told]
        assert len(told) <= self.plan.deliveries, len(told)
        while len(told) < self.plan.deliveries:  # again, and later: nothing that they say is new
            at, again = chance.choice(first)
            told.append((min(at + chance.random() * 0.3, 1.0), again))
        return [each for _, each in sorted(told, key=lambda row: row[0])]


def _payload(name: str, scope: str, action: str, **more: Any) -> bytes:
    repo = {
        "type": "model",
        "name": name,
        "id": "6366c000a2abcdf2fd69a080",
        "private": False,
        "owner": {"id": "61d2000c3c2083e1c08af22d"},
    }
    webhook = {"id": "6390e855e30d9209411de93b", "version": 3}
    return json.dumps({"event": {"action": action, "scope": scope}, "repo": repo, "webhook": webhook, **more}).encode()


def _pushed(name: str, number: int, sha: str) -> bytes:
    return _payload(name, "repo.content", "update", updatedRefs=[{"ref": f"refs/pr/{number}", "oldSha": None, "newSha": sha}])


def _main_moved(name: str) -> bytes:
    return _payload(
        name, "repo.content", "update", updatedRefs=[{"ref": "refs/heads/main", "oldSha": "0" * 40, "newSha": "1" * 40}]
    )


def _discussed(name: str, number: int, action: str, status: str = "open") -> bytes:
    about = {"id": f"{number:024x}", "num": number, "title": "Change", "status": status, "isPullRequest": True}
    return _payload(
        name, "discussion", action, discussion={**about, "changes": {"base": "refs/heads/main"}, "author": {"id": "1" * 24}}
    )


class Process:
    """One process of the bot, as the command line starts it."""

    def __init__(self, log: Path, hub: str, queue: str, *options: str, folder: Path) -> None:
        self.log = log
        self._arguments = [sys.executable, "-m", "bot", "serve", "--queue", queue, *options]
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "HF_ENDPOINT": hub,
            "HF_TOKEN": TOKEN,
            "MODEL_REPO_DRIFT_WEBHOOK_SECRET": SECRET,
        }
        self._process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self._arguments, cwd=ROOT, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def rows(self) -> list[dict[str, Any]]:
        """What it logged so far. A line that a kill cut off is none."""
        rows: list[dict[str, Any]] = []
        for line in self.log.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                rows.append(json.loads(line))
        return rows

    def address(self) -> str:
        """Where it listens, once it says so."""
        until = time.monotonic() + 60
        while True:
            started = [row for row in self.rows() if row["event"] == "started"]
            if started:
                return f"http://{started[-1]['listen']}"
            assert self._process.poll() is None, self.log.read_text(encoding="utf-8")
            assert time.monotonic() < until
            time.sleep(0.05)

    def kill(self) -> None:
        """Kill it in the middle of whatever it does, and start another one."""
        self._process.kill()
        self._process.wait()
        self._process = self._started()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Stop it as an operator does; its exit status."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        return self.ended()

    def ended(self) -> int:
        """Wait for its end; its exit status."""
        return self._process.wait(60)

    def end(self) -> None:
        """End it if it still runs."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()


def send(address: str, body: bytes, secret: str | None, path: str = "/webhook") -> tuple[int, str]:
    """Deliver as the Hub does; status and answer."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    headers = {"Content-Type": "application/json"} | ({} if secret is None else {"X-Webhook-Secret": secret})
    try:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def storm(folder: Path, plan: Plan, queue: str) -> Report:
    """Let it all happen below `folder`, and look at every discussion in the end."""
    grounds = Field(folder / "repositories", plan)
    report = Report()
    begun = time.monotonic()
    with HubDouble(grounds.folders) as hub, _running(folder, plan, queue, hub.url) as (web, workers):
        for community in hub.communities.values():
            for number in grounds.versions:
                community.open(f"Change {number}", "It changes what ends a reply.", number=number)
        stop = threading.Event()
        troubles = [threading.Thread(target=act, args=(workers, plan, stop, report)) for act in (_kill, _pause)]
        for trouble in troubles:
            trouble.start()
        try:
            _send_all(hub, grounds, web.address(), report)
            with Queue(queue) as outstanding:
                _settle(outstanding, plan, report)
        finally:
            stop.set()
            for trouble in troubles:
                trouble.join()
        report.seconds = time.monotonic() - begun
        for process in (web, *workers):
            if process.stop():
                report.wrong.append(f"{process.log.name}: ended with an error")
            report.logs += process.log.read_text(encoding="utf-8")
            report.jobs.update(str(row.get("outcome")) for row in process.rows() if row["event"] == "job")
        _look(hub, grounds, Bot(Access(hub.url, TOKEN, folder / "cache")), report)
    return report


@contextlib.contextmanager
def _running(folder: Path, plan: Plan, queue: str, hub: str) -> Generator[tuple[Process, list[Process]]]:
    """One process that receives and those that work."""
    (folder / "temporary").mkdir()
    processes: list[Process] = []

    def start(name: str, *options: str) -> Process:
        processes.append(Process(folder / f"{name}.log", hub, queue, *options, folder=folder / "temporary"))
        return processes[-1]

    try:
        web = start("web", "--only", "web", "--listen", "127.0.0.1:0")
        web.address()  # it has made the tables of SQLite
        silence = ("--silence", str(plan.silence))
        yield web, [start(f"worker-{n}", "--only", "worker", "--workers", "1", *silence) for n in range(plan.workers)]
    finally:
        for process in processes:
            process.end()


def _kill(workers: list[Process], plan: Plan, stop: threading.Event, report: Report) -> None:
    while report.kills < plan.most_kills and not stop.wait(plan.kill_every):
        workers[report.kills % len(workers)].kill()
        report.kills += 1


def _pause(workers: list[Process], plan: Plan, stop: threading.Event, report: Report) -> None:
    """Let the worker that was started last go on after everybody took it for dead; its own kill is far enough away."""
    while plan.pauses and not stop.wait(plan.kill_every):
        paused = workers[(report.kills - 1) % len(workers)].pid
        stop.wait(2)  # it begins to work
        with contextlib.suppress(ProcessLookupError):
            os.kill(paused, signal.SIGSTOP)
            stop.wait(plan.silence + 2)
            os.kill(paused, signal.SIGCONT)
            report.pauses += 1


def _send_all(hub: HubDouble, grounds: Field, address: str, report: Report) -> None:
    deliveries = grounds.deliveries()
    begun = time.monotonic()

    def one(delivery: Delivery) -> tuple[int, float]:
        from_here = time.monotonic()
        status, _ = send(address, delivery.body, delivery.secret)
        return status, time.monotonic() - from_here

    with ThreadPoolExecutor(4) as pool:
        answers: list[Any] = []
        for place, delivery in enumerate(deliveries):
            time.sleep(max(begun + place * grounds.plan.seconds / len(deliveries) - time.monotonic(), 0))
            if delivery.push:
                name, number, sha = delivery.push
                if hub.communities[name].discussions[number]["status"] == "open":
                    hub.repositories[name].git("update-ref", f"refs/pr/{number}", sha)
            if delivery.merge:
                name, number = delivery.merge
                hub.communities[name].merge(number)
            answers.append(pool.submit(one, delivery))
        for answer in answers:
            status, seconds = answer.result()
            report.answers[status] += 1
            report.slowest = max(report.slowest, seconds)


def _settle(queue: Queue, plan: Plan, report: Report) -> None:
    until = time.monotonic() + plan.settle
    while (state := queue.state()).outstanding:
        if time.monotonic() > until:
            report.wrong.append(f"{state.outstanding} jobs are outstanding after {plan.settle:.0f} seconds")
            break
        time.sleep(0.2)
    report.failed = state.failed


def _look(hub: HubDouble, grounds: Field, bot: Bot, report: Report) -> None:
    """One comment where there has to be one, none where not, and nothing that a run of today would write otherwise."""
    for name in grounds.names:
        for number in grounds.versions:
            about = hub.communities[name].discussions[number]
            ours = [e["data"] for e in about["events"][1:] if e["type"] == "comment" and e["author"]["name"] == OWN]
            seen = [data["latest"]["raw"] for data in ours if not data["hidden"]]
            report.comments += len(seen)
            report.doubles += len(ours) - len(seen)
            wrong = _wrong(hub, grounds, name, number, seen)
            if not wrong and about["status"] == "open" and number != grounds.unknown:
                outcome = judge(Discussion(repo=name, num=number), bot).outcome
                wrong = "" if outcome in ("unchanged", "not needed") else f"its comment was not up to date: it is {outcome} now"
            if wrong:
                report.wrong.append(f"{name} #{number}: {wrong}")


def _wrong(hub: HubDouble, grounds: Field, name: str, number: int, seen: list[str]) -> str:
    """What is wrong with the comments of a pull request, "" for nothing."""
    if number == grounds.unknown:
        return f"{len(seen)} comments, although only wrong secrets told of it" if seen else ""
    if len(seen) > 1:
        return f"{len(seen)} comments"
    if number == grounds.merged:
        return ""  # what was said before it was merged stays
    head = hub.repositories[name].sha(f"refs/pr/{number}")
    if not seen:
        bad = STOPS_ON[(number + grounds.plan.versions - 1) % 3] != 3
        return "no comment" if bad else ""
    said = marker.read(seen[0].split("\n")[0])
    return "" if said is not None and said.head == head else "its comment is about another commit"
