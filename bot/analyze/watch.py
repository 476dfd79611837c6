"""The limits within which untrusted templates are worked on: a time for each, one for all that overrun theirs, and templates that are not touched."""

import hashlib
import math
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import lru_cache
from typing import NoReturn, TypeVar

import msgspec

T = TypeVar("T")

SECONDS = 2.0
ALL_SECONDS = 20.0  # of all templates of one comparison that are slow
_SLOW = 0.05  # work that takes longer counts against them
_AGAIN = 0.25  # an interruption in a callback whose errors Python only prints is lost, so that it is repeated
EVERY = "*"
"""Among the refused, it stands for all templates."""


class Watch(msgspec.Struct):
    """What the process that owns this one tells and is told.

    `note` is given the sha256 of each template before work on it starts and "" after it; `refused` are the templates that made it
    kill a process, or EVERY. `seconds` are left for templates that are slow. `overran` says of those that came to a limit which one it was: they are not tried
    again, for they may be asked for with a hundred conversations. `room` limits the memory that one may take.
    """

    note: Callable[[str], None] = lambda _: None
    refused: frozenset[str] = frozenset()
    seconds: float = math.inf
    room: Callable[[], AbstractContextManager[None]] = nullcontext
    overran: dict[tuple[str, str], str] = msgspec.field(default_factory=dict[tuple[str, str], str])


WATCH = Watch()


class OverrunError(Exception):
    """Work on a template was not done or not finished; the message is a clause that says why."""


class _TooLongError(BaseException):
    """Raised by the timer; no template can catch it."""


def limited(text: str, work: Callable[[], T], kind: str = "") -> T:
    """What `work` on a template gives. Raises OverrunError when it takes too long, or is not to be tried; after that, work of this kind is not."""
    digest = _digest(text)
    if digest in WATCH.refused:
        raise OverrunError("could not be rendered within limits (it had to be killed)")
    if (digest, kind) in WATCH.overran:
        raise OverrunError(WATCH.overran[digest, kind])
    if EVERY in WATCH.refused:
        raise OverrunError("was not rendered, because too many others had to be killed")
    if WATCH.seconds <= 0:
        raise OverrunError(f"was not rendered, because others took more than {ALL_SECONDS:g} s")
    WATCH.note(digest)
    start = time.monotonic()
    try:
        with WATCH.room(), _timer(SECONDS):
            return work()
    except _TooLongError:
        reason = f"could not be rendered within {SECONDS:g} s"
    except (RecursionError, MemoryError) as error:
        reason = f"could not be rendered within limits ({type(error).__name__})"
    except OverrunError as error:
        reason = str(error)
    finally:
        spent = time.monotonic() - start
        WATCH.seconds -= spent if spent > _SLOW else 0.0
        WATCH.note("")
    WATCH.overran[digest, kind] = reason
    raise OverrunError(reason)


def overrun(text: str) -> str:
    """Which limit a template came to, as a clause; "" for none so far."""
    digest = _digest(text)
    return next((reason for (each, _), reason in WATCH.overran.items() if each == digest), "")


@lru_cache(maxsize=256)
def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@contextmanager
def _timer(seconds: float) -> Generator[None]:
    """Interrupt Python code after some seconds; code in C is the parent's to kill. Needs the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def expired(*_: object) -> NoReturn:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
    try:
        yield
    finally:
        while signal.getsignal(signal.SIGALRM) is expired:
            with suppress(_TooLongError):  # once more, just now
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
