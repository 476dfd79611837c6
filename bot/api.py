"""GitHub's REST API: how it is opened, how patient we are with it, and what its faults mean."""

import time
from dataclasses import dataclass
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self

from github import Auth, Github
from github.GithubException import GithubException, RateLimitExceededException
from github.GithubRetry import GithubRetry
from github.Repository import Repository
from requests.exceptions import RequestException, RetryError
from urllib3 import BaseHTTPResponse, Retry
from urllib3.exceptions import MaxRetryError, ResponseError
from urllib3.exceptions import TimeoutError as HTTPTimeout

TIMEOUT = 30
"""Seconds that one answer may take."""
LONGEST_WAIT = 120
"""Seconds that are waited at once; where GitHub asks for more, it is not asked again too early but not at all."""
MOST_DIGITS = 12

FAULTS = (GithubException, RequestException, RuntimeError, AssertionError)
"""What the client raises: for an answer, for no answer, and where it refuses a redirection or a link to another host."""


ELSEWHERE = (302, 303, 307, 308)
"""Statuses that send us on, and that PyGithub takes for an answer (2.10.0, Requester.py, __requestRaw: it looks at 301, within its host)."""


class ElsewhereError(ResponseError):
    """GitHub sent us on to another address."""


class Here(Retry):
    """Refuses to be sent on, so that nobody else sees the token and nothing is read out of an answer that says where to go."""

    def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:  # noqa: FBT001, FBT002 - urllib3's own
        """Say whether `increment` is to decide about an answer."""
        return status_code in ELSEWHERE or super().is_retry(method, status_code, has_retry_after)

    def increment(
        self,
        method: str | None = None,
        url: str | None = None,
        response: Any = None,
        error: Exception | None = None,
        _pool: Any = None,
        _stacktrace: TracebackType | None = None,
    ) -> Retry:
        """Count one more attempt. Raises MaxRetryError when this was one too many, or the answer is to go elsewhere."""
        if response is not None and response.status in ELSEWHERE:
            reason = f"GitHub sent us on to another address ({response.status}), which is not followed"
            raise MaxRetryError(_pool, str(url), ElsewhereError(reason))
        return super().increment(method, url, response, error, _pool, _stacktrace)


@dataclass
class Budget:
    """Seconds that a run may still spend on waiting for GitHub, so that it ends within the time that a job has."""

    left: float = 240


class Patience(Here, GithubRetry):
    """Tries again on faults and rate limits as long as the budget, which all requests of a run share, is not spent.

    PyGithub's own class repeats no PATCH; ours sets a text, so that doing it twice does no harm. A 429 without a time waits for
    a minute, as GitHub asks (docs, "Rate limits for the REST API").
    """

    def __init__(self, *, budget: Budget, **settings: Any) -> None:
        self.budget = budget
        super().__init__(**settings)

    def new(self, **settings: Any) -> Self:
        """Copy, as urllib3 does before every attempt."""
        return super().new(budget=self.budget, **settings)

    def increment(
        self,
        method: str | None = None,
        url: str | None = None,
        response: Any = None,
        error: Exception | None = None,
        _pool: Any = None,
        _stacktrace: TracebackType | None = None,
    ) -> Retry:
        """Count one more attempt. Raises MaxRetryError where there is no patience left for it, or where GitHub asks for more than there is."""
        if response is not None and (asked := _asked(response)) > LONGEST_WAIT:
            raise MaxRetryError(_pool, str(url), ResponseError(f"it asks to wait for {asked:.0f} seconds"))
        after = super().increment(method, url, response, error, _pool, _stacktrace)
        self.budget.left -= self._pause(after, response) + (TIMEOUT if isinstance(error, HTTPTimeout) else 0)
        if self.budget.left < 0:
            raise MaxRetryError(_pool, str(url), error or ResponseError("no time is left to wait for it"))
        return after

    def _pause(self, after: Retry, response: BaseHTTPResponse | None) -> float:
        """The seconds that are waited before the next attempt."""
        if response is not None and response.headers.get("Retry-After") is not None:
            return self.get_retry_after(response) or after.get_backoff_time()
        if response is not None and response.status == HTTPStatus.TOO_MANY_REQUESTS:
            after.get_backoff_time = lambda: self.secondary_rate_wait
        return after.get_backoff_time()


def patient(budget: Budget | None = None, *, minute: float = 60) -> Retry:
    """How often and how long to try again: four times on faults and rate limits, never waiting over two minutes at once.

    `minute` is how long GitHub asks to wait where it names no time.
    """
    return Patience(
        budget=budget or Budget(),
        secondary_rate_wait=minute,
        total=4,
        backoff_factor=1,
        status_forcelist=[429, *range(500, 600)],
        allowed_methods=frozenset({"GET", "POST", "PATCH", "DELETE"}),
        max_rate_limit_wait=LONGEST_WAIT,
        retry_after_max=LONGEST_WAIT,
    )


def _asked(response: BaseHTTPResponse) -> float:
    """The seconds that GitHub asks us to wait: by Retry-After, or until a limit that is used up is reset; 0 where it asks for nothing that can be read."""
    headers = response.headers
    text = headers.get("Retry-After", "").strip()
    if text[:MOST_DIGITS].isdecimal():
        return float(text[:MOST_DIGITS])
    reset = headers.get("X-RateLimit-Reset", "").strip()[:MOST_DIGITS]
    if response.status == HTTPStatus.TOO_MANY_REQUESTS and headers.get("X-RateLimit-Remaining") == "0" and reset.isdecimal():
        return float(reset) - time.time()
    return 0


def connect(url: str, token: str, *, retry: Retry | None, between_requests: float = 0.25, between_writes: float = 1.0) -> Github:
    """Open the API at `url`, the only place that ever sees `token`; the waits are in seconds. Asks nothing yet."""
    return Github(
        base_url=url.rstrip("/"),
        auth=Auth.Token(token),
        timeout=TIMEOUT,
        per_page=100,
        user_agent="model-repo-drift",
        retry=Here(0, read=False) if retry is None else retry,
        seconds_between_requests=between_requests,
        seconds_between_writes=between_writes,
    )


def own_login(repository: Repository) -> str:
    """The login of the person whose token asks; "" where it is nobody's, or GitHub does not let it ask. Raises one of FAULTS.

    A token of an app, as every job has, starts with `ghs_` (GitHub's changelog of 2021-03-31 on token formats) and may not ask.
    """
    auth = repository.requester.auth
    if auth is None or auth.token.startswith("ghs_"):
        return ""
    try:
        _, about = repository.requester.requestJsonAndCheck("GET", "/user")
    except GithubException as refusal:
        if refusal.status in (401, 403, 404) and not isinstance(refusal, RateLimitExceededException):
            return ""
        raise  # not knowing whose it is would make a second comment
    return str(about.get("login") or "")


def why(fault: Exception) -> str:
    """Say in a clause what one of FAULTS means."""
    if isinstance(fault, RateLimitExceededException):
        return "GitHub's rate limit is used up"
    if isinstance(fault, GithubException):
        if fault.status == 401:
            return "GitHub does not accept the token (401)"
        return f"GitHub answered {fault.status} {fault.message or ''}".strip()
    if isinstance(fault, AssertionError):
        return "GitHub names an address that is not its own"
    if isinstance(fault, RetryError) and isinstance(_met(fault), ElsewhereError):
        return str(_met(fault))
    if isinstance(fault, RetryError):
        return f"GitHub could not be used, although it was asked again and again{_last(fault)}"
    if isinstance(fault, RequestException):
        return f"GitHub could not be reached ({type(fault).__name__})"
    return str(fault)


def _last(fault: RetryError) -> str:
    """What the last attempt met, where the client says it: its own text holds the whole address."""
    met = _met(fault)
    return f" ({met})" if isinstance(met, ResponseError) else ""


def _met(fault: RetryError) -> object:
    return getattr(fault.args[0], "reason", None) if fault.args else None
