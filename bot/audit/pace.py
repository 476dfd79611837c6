"""How fast the Hub is asked: not at all while its own headers say that it has had enough."""

import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import urlsplit

from bot.errors import CannotLookError

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

UNNAMED = 60.0  # seconds that we pause where the Hub names none
LONGEST = 900.0  # seconds of one pause, whatever the Hub names; its windows last 300 (huggingface.co/docs/hub/rate-limits)
LOOK = 1.0  # seconds between two looks at what other machines found
TRIES = 6  # of one piece of work that met the limit


class StoppedError(Exception):
    """The audit was stopped while we waited."""


class Notice(Protocol):
    """Where machines that share a limit tell each other until when nobody asks, in seconds since 1970."""

    def read(self) -> float:
        """The latest that was told, 0 for none."""
        ...

    def write(self, until: float) -> None:
        """Tell the others."""
        ...


class _Alone:
    def read(self) -> float:
        return 0.0

    def write(self, until: float) -> None:
        pass


class Pace:
    """One pause for all threads of this machine, and through `notice` for all machines that ask with the same token.

    The Hub says in `RateLimit` how many requests are left and when there are more again. So that nobody meets the limit, everybody stops when no more than
    `reserve` are left: as many as may be on their way already.
    """

    def __init__(self, endpoint: str, reserve: int, notice: Notice | None = None, now: Callable[[], float] = time.time) -> None:
        self._host = urlsplit(endpoint).netloc
        self._reserve = reserve
        self._notice = notice or _Alone()
        self._now = now
        self._until = self._looked = 0.0
        self._stop = threading.Event()
        self._mine = threading.local()

    @property
    def until(self) -> float:
        """When the Hub is asked again, in seconds since 1970."""
        return self._until

    @property
    def met(self) -> int:
        """How often this thread met the limit."""
        return getattr(self._mine, "limits", 0)

    def stop(self) -> None:
        """Let nobody wait any longer, and nobody ask."""
        self._stop.set()

    def attach(self) -> None:
        """Read the answers to all requests that huggingface_hub makes in this process. Its client may be a new one by now, so this is called again and again."""
        from huggingface_hub import get_session  # noqa: PLC0415 - not before `connect` said how it shall behave

        hooks = get_session().event_hooks
        if self.answered not in hooks["response"]:
            hooks["request"].append(self._asked)
            hooks["response"].append(self.answered)

    def patiently(self, work: Callable[[], T]) -> T:
        """Do some work, and again after a pause where the Hub's limit ended it. Raises what `work` raises, and StoppedError."""
        self.attach()
        for left in reversed(range(TRIES)):
            met = self.met
            try:
                return work()
            except CannotLookError:
                if not left or self.met == met:
                    raise
                self.attach()
                self.wait()
        raise AssertionError  # the last try returns or raises

    def wait(self) -> None:
        """Wait until the pause is over. Raises StoppedError."""
        while True:
            now = self._now()
            if now - self._looked >= LOOK:
                self._looked = now
                self._until = max(self._until, min(self._notice.read(), now + LONGEST))
            if self._stop.wait(max(0.0, min(self._until - now, LOOK))):
                raise StoppedError
            if self._now() >= self._until:
                return

    def _asked(self, request: "httpx2.Request") -> None:
        if request.url.netloc.decode() == self._host:
            self.wait()

    def answered(self, answer: "httpx2.Response") -> None:
        """Take from an answer of the Hub whether there is to be a pause."""
        from huggingface_hub.utils import parse_ratelimit_headers  # noqa: PLC0415 - as above

        if answer.request.url.netloc.decode() != self._host:
            return
        limited = answer.status_code == HTTPStatus.TOO_MANY_REQUESTS
        if limited:
            self._mine.limits = self.met + 1
        said = parse_ratelimit_headers(answer.headers)
        if said is not None and (limited or said.remaining <= self._reserve):
            self._pause(said.reset_in_seconds + 1.0)  # it is rounded
        elif limited:
            after = str(answer.headers.get("Retry-After", "")).strip()
            self._pause(float(after) if after.isdecimal() else UNNAMED)

    def _pause(self, seconds: float) -> None:
        until = self._now() + min(seconds, LONGEST)
        if until > self._until + LOOK:
            self._until = until
            self._notice.write(until)
