"""Whatever GitHub's API does in a run, nothing is lost or doubled, and the run ends within the time that it has."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from github import Github

from bot import api
from bot.api import Budget, connect, patient
from bot.publish import github as publishing
from bot.publish import marker
from bot.publish.marker import Marker
from tests.doubles.github import GitHubDouble
from tests.doubles.model_repository import ModelRepository

BODY = f"{marker.write(Marker())}\none finding"
BUSY = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}


@pytest.fixture
def repository(tmp_path: Path) -> ModelRepository:
    made = ModelRepository(tmp_path / "origin")
    made.spoil()
    return made


@pytest.fixture
def github(repository: ModelRepository) -> Iterator[GitHubDouble]:
    with GitHubDouble(repository.path) as double:
        yield double
        assert double.violations == []


def patiently(github: GitHubDouble, budget: Budget | None = None) -> Github:
    """The client of a real job, but that a minute is as good as nothing."""
    return connect(github.url, "t", retry=patient(budget, minute=0), between_requests=0, between_writes=0)


def publish(github: GitHubDouble, budget: Budget | None = None) -> publishing.Posted:
    try:
        remote = patiently(github, budget).get_repo(github.repository)
    except api.FAULTS as fault:
        return publishing.refused(fault)
    return publishing.publish(publishing.Target(remote, 1, github.git.sha("change")), lambda _: BODY)


def cut() -> None:
    raise ConnectionAbortedError


def answered(status: int, body: Any, **headers: str) -> Callable[[GitHubDouble, str, str], None]:
    def arrange(github: GitHubDouble, method: str, path: str) -> None:
        github.answer(
            method, path, status, body, times=2, headers={name.replace("_", "-"): text for name, text in headers.items()}
        )

    return arrange


def cut_before(github: GitHubDouble, method: str, path: str) -> None:
    github.when(method, path, cut)


def cut_after(github: GitHubDouble, method: str, path: str) -> None:
    """The connection ends once GitHub has done what it was asked."""
    github.when(method, path, cut, after=True)


FAULTS = {
    "429 with a time": answered(429, BUSY, Retry_After="0"),
    "429 without a time": answered(429, BUSY),
    "403 for the secondary limit": answered(403, BUSY),
    "403 with a time": answered(403, BUSY, Retry_After="0"),
    "500": answered(500, {"message": "Server Error"}),
    "502 with a page": answered(502, "<html>"),
    "cut before": cut_before,
    "cut after": cut_after,
}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Every wait is over at once, and remembered."""
    waited: list[float] = []
    monkeypatch.setattr("urllib3.util.retry.time.sleep", waited.append)
    return waited


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/acme/model$"), ("GET", "/pulls/1$"), ("GET", "/comments$"), ("POST", "/comments$")]
)
def test_a_fault_that_passes_costs_nothing(
    github: GitHubDouble, fault: Callable[[GitHubDouble, str, str], None], method: str, path: str
) -> None:
    fault(github, method, path)

    posted = publish(github)

    assert posted.notice == ""
    assert github.bodies() == [BODY]


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_an_edit_is_tried_again(github: GitHubDouble, fault: Callable[[GitHubDouble, str, str], None]) -> None:
    github.comment(f"{marker.write(Marker())}\nsomething else")
    fault(github, "PATCH", r"/comments/\d+$")

    posted = publish(github)

    assert (posted.outcome, posted.notice) == ("edited", "")
    assert github.bodies() == [BODY]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_fault_that_stays_is_told_with_its_status(github: GitHubDouble, status: int) -> None:
    github.answer("POST", "/comments$", status, {"message": "No"}, times=99)

    posted = publish(github)

    assert posted.outcome == "refused"
    assert f"too many {status} error responses" in posted.notice
    assert "The job summary has the report" in posted.notice
    assert github.bodies() == []


def test_a_limit_without_a_time_is_waited_for_as_github_asks(github: GitHubDouble, at_once: list[float]) -> None:
    github.answer("GET", "/pulls/1$", 429, BUSY)
    remote = connect(github.url, "t", retry=patient(), between_requests=0, between_writes=0).get_repo(github.repository)

    remote.get_pull(1)

    assert at_once == [60]


def test_all_requests_of_a_run_share_their_patience(github: GitHubDouble, at_once: list[float]) -> None:
    github.answer("GET", "", 503, {"message": "Later"}, times=999, headers={"Retry-After": "90"})
    budget = Budget()
    hub = patiently(github, budget)

    for _ in range(20):
        with pytest.raises(api.FAULTS):
            hub.get_repo(github.repository)

    assert sum(at_once) <= 240
    assert budget.left < 0
    assert len(github.log) < 30  # once it is spent, nothing is asked again


@pytest.mark.parametrize("asked", ["121", "100000", "9" * 5000, "-5", "soon"])
@pytest.mark.parametrize("status", [403, 429, 503])
def test_who_asks_for_too_long_or_for_nonsense_is_not_asked_again_too_early(
    github: GitHubDouble, at_once: list[float], asked: str, status: int
) -> None:
    github.answer("GET", "/pulls/1$", status, BUSY, times=9, headers={"Retry-After": asked})
    budget = Budget()

    posted = publish(github, budget)

    assert (posted.outcome, at_once, budget.left) == ("refused", [], 240)
    assert sum("/pulls/1" in line for line in github.log) == 1


def test_a_limit_that_ends_too_late_is_not_waited_for(github: GitHubDouble, at_once: list[float]) -> None:
    body = {"message": "API rate limit exceeded for installation ID 1."}
    github.answer(
        "GET", "/pulls/1$", 403, body, times=9, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "4000000000"}
    )

    posted = publish(github)

    assert (posted.outcome, at_once) == ("refused", [])
    assert "rate limit is used up" in posted.notice


@pytest.mark.parametrize(("method", "path"), [("GET", "/pulls/1$"), ("GET", "/comments$"), ("POST", "/comments$")])
def test_an_answer_that_comes_too_late_is_asked_for_again(
    github: GitHubDouble, monkeypatch: pytest.MonkeyPatch, method: str, path: str
) -> None:
    monkeypatch.setattr(api, "TIMEOUT", 1)
    github.when(method, path, lambda: threading.Event().wait(1.5))

    posted = publish(github)

    assert posted.notice == ""
    assert github.bodies() == [BODY]


def test_so_is_a_429_whose_limit_ends_too_late(github: GitHubDouble, at_once: list[float]) -> None:
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "4000000000"}
    github.answer("GET", "/pulls/1$", 429, BUSY, times=9, headers=headers)

    posted = publish(github)

    assert (posted.outcome, at_once) == ("refused", [])
    assert "it asks to wait for" in posted.notice
