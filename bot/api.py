"""GitHub's REST API: how it is opened, how patient we are with it, and what its faults mean."""

from github import Auth, Github
from github.GithubException import GithubException, RateLimitExceededException
from github.GithubRetry import GithubRetry
from requests.exceptions import RequestException
from urllib3 import Retry

TIMEOUT = 30
"""Seconds that one answer may take."""

FAULTS = (GithubException, RequestException, RuntimeError)
"""What the client raises: for an answer, for no answer, and where it refuses to follow a redirection to another host."""


def patient() -> Retry:
    """How often and how long to try again: four times on faults and rate limits, never waiting over two minutes at once."""
    return GithubRetry(
        total=4, backoff_factor=1, status_forcelist=[429, *range(500, 600)], max_rate_limit_wait=120, retry_after_max=120
    )


def connect(url: str, token: str, *, retry: Retry | None, between_requests: float = 0.25, between_writes: float = 1.0) -> Github:
    """Open the API at `url`, the only place that ever sees `token`; the waits are in seconds. Asks nothing yet."""
    return Github(
        base_url=url.rstrip("/"),
        auth=Auth.Token(token),
        timeout=TIMEOUT,
        per_page=100,
        user_agent="model-repo-drift",
        retry=retry,
        seconds_between_requests=between_requests,
        seconds_between_writes=between_writes,
    )


def why(fault: Exception) -> str:
    """Say in a clause what one of FAULTS means."""
    if isinstance(fault, RateLimitExceededException):
        return "GitHub's rate limit is used up"
    if isinstance(fault, GithubException):
        if fault.status == 401:
            return "GitHub does not accept the token (401)"
        return f"GitHub answered {fault.status} {fault.message or ''}".strip()
    if isinstance(fault, RequestException):
        return f"GitHub could not be reached ({type(fault).__name__})"
    return str(fault)
