"""Measure audits of many small repositories whose Hub takes its time: how much faster two workers are than one, and at what cost.

The Hub is the double of the tests in a process of its own, which answers from memory. Workers are threads of one process, and then processes that share a queue.
"""

import argparse
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from werkzeug.wrappers import Request, Response

from tests.doubles.hub_audit import ManyDouble
from tests.doubles.model_repository import ModelRepository

REPOSITORIES = 200
LATENCY = 0.05
FASTER, DEARER = 1.7, 1.1
COMMAND = (sys.executable, "-m", "bot", "audit")


class _Quick(ManyDouble):
    """Repositories that are all the same, so that each answer is made once."""

    def __init__(self, folders: Mapping[str, Path], latency: float) -> None:
        super().__init__(folders, latency)
        self._made: dict[str, tuple[int, dict[str, str], bytes]] = {}

    def _answer(self, request: Request, path: str, token: str) -> Response:
        line = re.sub(r"acme/m\d+", "acme/m0", f"{path}?{request.query_string.decode()}")
        if line not in self._made:
            made = super()._answer(request, path, token)
            self._made[line] = made.status_code, dict(made.headers), made.get_data()
        status, headers, content = self._made[line]
        return Response(content, status, headers)


class Run(NamedTuple):
    """Seconds that an audit took, and seconds of processors of all its processes but the Hub."""

    wall: float
    processor: float


def _hub(count: int, folder: str, ready: Connection) -> None:
    """Be the Hub until the other end is closed."""
    origin = ModelRepository(Path(folder) / "origin")
    origin.git("switch", "--quiet", "main")
    with _Quick({f"acme/m{number}": origin.path for number in range(count)}, LATENCY) as hub:
        ready.send(hub.url)
        with suppress(EOFError):
            ready.recv()


def run(url: str, count: int, *workers: int, queue: bool = False) -> Run:
    """Audit everything: with so many workers in each process, of which the first asks."""
    with tempfile.TemporaryDirectory(prefix="drift-bench-") as folder:
        # No HOME, so no cache: every repository brings its own files.
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(__file__).parent.parent), "HF_ENDPOINT": url}
        more = ["--queue", f"sqlite:{folder}/queue.db"] if queue else []
        before = os.times()
        begun = time.perf_counter()
        asks = [*COMMAND, "acme/*", "--output", f"{folder}/out", "--quiet", "--workers", str(workers[0]), *more]
        asking = subprocess.Popen(asks, env=env)
        others = [
            subprocess.Popen([*COMMAND, "--workers", str(each), *more], env=env, stderr=subprocess.DEVNULL)
            for each in workers[1:]
        ]
        status = asking.wait()
        wall = time.perf_counter() - begun
        for each in others:
            each.terminate()
            each.wait()
        after = os.times()
        lines = (Path(folder) / "out" / "audit.jsonl").read_bytes().splitlines()
        if status or len(lines) != count or any(b'"error":""' not in line for line in lines):
            raise SystemExit(f"the audit ended with {status} and {len(lines)} lines")
    spent = (after.children_user - before.children_user) + (after.children_system - before.children_system)
    return Run(wall, spent)


def show(name: str, one: Run, two: Run, count: int) -> bool:
    """Print both and their ratios; whether they keep to the targets."""
    faster, dearer = one.wall / two.wall, two.processor / one.processor
    print(f"{name}")
    for label, each in (("one worker", one), ("two workers", two)):
        print(
            f"  {label:12} {each.wall:7.1f} s  {each.wall / count:6.3f} s and {each.processor / count:6.3f} processor seconds each"
        )
    print(f"  {faster:.2f} times as fast (at least {FASTER}), processor seconds {dearer:.2f} times (at most {DEARER})")
    return faster >= FASTER and dearer <= DEARER


def main() -> int:
    """Print ratios; 1 when one is beyond its target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repositories", type=int, default=REPOSITORIES)
    count: int = parser.parse_args().repositories
    with tempfile.TemporaryDirectory(prefix="drift-bench-hub-") as folder:
        ours, theirs = multiprocessing.Pipe()
        hub = multiprocessing.Process(target=_hub, args=(count, folder, theirs), daemon=True)
        hub.start()
        url: str = ours.recv()
        load = os.getloadavg()[0]
        print(
            f"{count} repositories, {LATENCY * 1000:.0f} ms an answer, {os.cpu_count()} processors, load {load:.1f} before the start"
        )
        fine = show("threads of one process", run(url, count, 1), run(url, count, 2), count)
        fine &= show("processes that share a queue", run(url, count, 1, queue=True), run(url, count, 1, 1, queue=True), count)
        ours.close()
        hub.terminate()
        hub.join()
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
