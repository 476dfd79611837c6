"""Start the process that reads a repository, and bound it: no secret in its environment, limits on time, memory and output."""

import math
import os
import re
import selectors
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from bot.analyze import child
from bot.analyze.watch import EVERY
from bot.errors import CannotLookError
from bot.snapshot import Exchange

T = TypeVar("T")

SECONDS = 75.0
STUCK_SECONDS = 15.0  # in one piece of work that was named on standard error
LARGEST = 64 << 20
RESTARTS = 5
# A line that names work: a sha256.
_LINE = 65
_WORK = re.compile(rb"[0-9a-f]{64}\n")


class Ended(NamedTuple):
    """How a child ended: its status, what it wrote, and which limit it reached ("" for none)."""

    status: int | None  # None when it had to be killed
    output: bytes
    errors: str
    reason: str


class Cell:
    """A child that has imported everything and waits to be given a folder. `environment` is what another one would be started with."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._child = child.take(environment)

    def __enter__(self) -> "Cell":
        return self

    def __exit__(self, *_: object) -> None:
        child.end(self._child)

    def run(self, folder: Path, answer: type[T]) -> T:
        """Analyze an exchange folder; `answer` is the record that its task gives.

        A template that made the child overrun its limits is named in `unrenderable`, and another child goes on without it; when there are too many of them,
        without any template.
        Raises CannotLookError when nothing could be analyzed.
        """
        exchange = Exchange.load(folder)
        open_contents(folder)
        ended = self._once(folder)
        while ended.status != 0:
            culprit = ended.errors.rstrip().rpartition("\n")[2]
            if len(culprit) != 64 or culprit in exchange.unrenderable or EVERY in exchange.unrenderable:
                limit = "it took too much processor time" if ended.status == -signal.SIGXCPU else ended.reason
                reason = limit or f"the analysis ended with {culprit[:300]!r}"
                raise CannotLookError(f"the repository could not be analyzed: {reason}")
            refused = (*exchange.unrenderable, culprit)
            exchange = msgspec.structs.replace(exchange, unrenderable=refused if len(refused) < RESTARTS else (*refused, EVERY))
            exchange.save(folder)
            with Cell(self._environment) as other:
                ended = other._once(folder)
        return msgspec.json.decode(ended.output, type=answer)

    def _once(self, folder: Path) -> Ended:
        return once(self._child, f"{folder}\n", SECONDS)


def once(running: child.Child, given: str, seconds: float) -> Ended:
    """Give a child its input and wait for its end, for `seconds` at most: then it is killed, and what it wrote until then is kept."""
    assert running.stdin is not None  # noqa: S101 - it is a pipe
    try:
        running.stdin.write(given.encode())
        running.stdin.close()
    except BrokenPipeError:
        pass  # it ended early: its status and last words say why
    output, errors, reason = _collect(running, seconds)
    if reason:
        running.kill()
    status = running.wait()
    return Ended(None if reason else status, output, errors.decode("utf-8", "replace"), reason)


def _collect(running: child.Child, seconds: float) -> tuple[bytes, bytes, str]:
    """Read both streams until they end or a limit is reached; then the reason says which.

    Work that is named on standard error has a limit of its own until the next line: code in C is interrupted by nobody else.
    """
    assert running.stdout is not None  # noqa: S101 - both are pipes
    assert running.stderr is not None  # noqa: S101
    parts: dict[int, list[bytes]] = {running.stdout.fileno(): [], running.stderr.fileno(): []}
    streams = list(parts)
    size, until = 0, time.monotonic() + seconds
    last, stuck = b"", math.inf
    with selectors.DefaultSelector() as waiting:
        for stream in streams:
            waiting.register(stream, selectors.EVENT_READ)
        reason = ""
        while waiting.get_map() and not reason:
            ready = waiting.select(max(0.0, min(until, stuck) - time.monotonic()))
            for key, _ in ready:
                chunk = os.read(key.fd, 1 << 16)
                parts[key.fd].append(chunk)
                size += len(chunk)
                if key.fd == streams[1]:
                    last = (last + chunk)[-_LINE:]
                    stuck = time.monotonic() + STUCK_SECONDS if _WORK.fullmatch(last) else math.inf
                if not chunk:
                    waiting.unregister(key.fd)
            if size > LARGEST:
                reason = f"its output is larger than {LARGEST >> 20} MiB"
            elif not ready and time.monotonic() >= min(until, stuck):
                reason = (
                    f"it took longer than {seconds:g} s" if stuck > until else f"a template took longer than {STUCK_SECONDS:g} s"
                )
    output, errors = (b"".join(parts[stream]) for stream in streams)
    return output, errors, reason


def open_contents(folder: Path) -> None:
    """Let the child, which may become another user, read the contents through the folder that it opens first."""
    contents = folder / "contents"
    contents.chmod(0o755)
    for path in contents.iterdir():
        path.chmod(0o644)
