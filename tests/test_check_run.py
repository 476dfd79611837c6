"""The check run on a head commit, through the real client, against a GitHub held to its published description."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from github import GithubException
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.analyze.records import ChangedLines, Comparison, Unchecked
from bot.api import connect
from bot.publish.check_run import MOST_ANNOTATIONS, Target, annotations, conclusion, publish, summary
from bot.publish.github import Posted
from bot.publish.links import Links
from tests import comparisons
from tests.comparisons import POINTER, SPLIT_BRAIN, base, comparison, finding, head
from tests.doubles.github import GitHubDouble
from tests.doubles.model_repository import ModelRepository
from tests.test_publish_hostile import LINKS, RECORDS, hostile_texts, replaced

NO_LINKS = Links()


@pytest.fixture
def repository(tmp_path: Path) -> ModelRepository:
    made = ModelRepository(tmp_path / "model")
    made.spoil()
    return made


@pytest.fixture
def github(repository: ModelRepository) -> Iterator[GitHubDouble]:
    with GitHubDouble(repository.path) as double:
        yield double
        assert double.violations == []


def target(github: GitHubDouble, **fields: Any) -> Target:
    remote = connect(github.url, "secret-token", retry=None, between_requests=0, between_writes=0).get_repo(github.repository)
    return Target(remote, github.git.sha("change"), **fields)


def only(github: GitHubDouble) -> Any:
    (run,) = github.checks.runs.values()
    return run


def numbered(count: int, **fields: Any) -> Comparison:
    return comparison(new=tuple(finding(key=str(n), title=f"finding {n}", **fields) for n in range(count)))


def test_a_check_run_says_the_verdict_and_stands_beside_the_lines(github: GitHubDouble) -> None:
    lines = (ChangedLines(path="config.json", lines=((38, 38),)),)
    posted = publish(target(github), comparison(new=(SPLIT_BRAIN,), changed_lines=lines), NO_LINKS, failed=True)

    run = only(github)
    assert posted == Posted("created", run["html_url"])
    assert (run["name"], run["status"], run["conclusion"]) == ("Model Repo Drift", "completed", "failure")
    assert run["head_sha"] == github.git.sha("change")
    assert run["output"]["title"] == "This pull request leaves the files disagreeing on which token ends a reply"
    assert "**1 error is new**" in run["output"]["summary"]
    (annotation,) = github.checks.annotations[run["id"]]
    assert (annotation["path"], annotation["start_line"], annotation["end_line"]) == ("config.json", 38, 38)
    assert annotation["annotation_level"] == "failure"
    assert annotation["title"].startswith("generation_config.json stops on <|im_end|>")
    assert annotation["message"].endswith("(eos-split-brain)")


def test_a_hundred_and_twenty_findings_go_by_fifty(github: GitHubDouble) -> None:
    assert publish(target(github), numbered(120), NO_LINKS, failed=True).outcome == "created"

    run = only(github)
    assert [each["title"] for each in github.checks.annotations[run["id"]]] == [f"finding {n}" for n in range(120)]
    assert [line.split(" ")[0] for line in github.writes()] == ["POST", "PATCH", "PATCH", "PATCH"]
    assert run["output"]["annotations_count"] == 120


def test_the_same_again_writes_nothing(github: GitHubDouble) -> None:
    record = numbered(120)
    first = publish(target(github), record, NO_LINKS, failed=True)
    before = github.writes()

    assert publish(target(github), record, NO_LINKS, failed=True) == Posted("unchanged", first.url)
    assert github.writes() == before


def test_another_verdict_of_the_same_findings_edits_and_doubles_no_annotation(github: GitHubDouble) -> None:
    first = publish(target(github), numbered(60), NO_LINKS, failed=True)

    assert publish(target(github), numbered(60), NO_LINKS, failed=False) == Posted("edited", first.url)
    assert only(github)["conclusion"] == "success"
    assert only(github)["output"]["annotations_count"] == 60


def test_further_findings_are_added(github: GitHubDouble) -> None:
    publish(target(github), numbered(1), NO_LINKS, failed=True)

    assert publish(target(github), numbered(130), NO_LINKS, failed=True).outcome == "edited"
    assert {each["title"] for each in github.checks.annotations[only(github)["id"]]} == {f"finding {n}" for n in range(130)}
    assert only(github)["output"]["annotations_count"] == 130


def test_findings_that_are_gone_make_a_new_check_run_which_later_runs_find(github: GitHubDouble) -> None:
    publish(target(github), numbered(3), NO_LINKS, failed=True)

    assert publish(target(github), numbered(2), NO_LINKS, failed=True).outcome == "created"
    assert publish(target(github), numbered(2), NO_LINKS, failed=True).outcome == "unchanged"
    assert [run["output"]["annotations_count"] for run in github.checks.runs.values()] == [3, 2]


def test_a_run_that_was_cut_off_is_completed_by_the_next(github: GitHubDouble) -> None:
    github.answer("PATCH", "/check-runs/", 502, {"message": "Bad Gateway"})

    assert publish(target(github), numbered(70), NO_LINKS, failed=True).outcome == "refused"
    assert publish(target(github), numbered(70), NO_LINKS, failed=True).outcome == "edited"
    assert only(github)["output"]["annotations_count"] == 70


def test_of_two_runs_at_once_one_stays_and_the_other_hides_nothing(github: GitHubDouble) -> None:
    here = target(github)
    record = numbered(60)
    publish(here, numbered(1, severity="note"), NO_LINKS, failed=False)
    asked = {
        "name": here.name,
        "head_sha": here.head,
        "external_id": here.external_id,
        "status": "completed",
        "conclusion": "failure",
    }
    github.when("POST", "/check-runs$", lambda: github.checks.make(asked))
    posted = publish(here, record, NO_LINKS, failed=True)

    before, first, second = github.checks.runs.values()
    assert posted == Posted("unchanged", first["html_url"])
    assert [run["name"] for run in (before, first)] == ["Model Repo Drift"] * 2
    assert (second["name"], second["conclusion"]) == ("Model Repo Drift (doubled)", "neutral")
    assert second["output"]["annotations_count"] == 0
    assert publish(here, record, NO_LINKS, failed=True).outcome == "edited"
    assert first["output"]["annotations_count"] == 60
    assert publish(here, record, NO_LINKS, failed=True).outcome == "unchanged"


def test_the_check_run_of_another_id_or_head_is_left_alone(github: GitHubDouble, repository: ModelRepository) -> None:
    publish(target(github), numbered(1), NO_LINKS, failed=True)
    assert publish(target(github, comment_id="other", name="Other"), numbered(1), NO_LINKS, failed=True).outcome == "created"
    repository.repair()
    assert publish(target(github), comparison(), NO_LINKS, failed=False).outcome == "created"

    assert [(run["name"], run["external_id"], run["conclusion"]) for run in github.checks.runs.values()] == [
        ("Model Repo Drift", "model-repo-drift/default", "failure"),
        ("Other", "model-repo-drift/other", "failure"),
        ("Model Repo Drift", "model-repo-drift/default", "success"),
    ]


def test_a_check_run_of_that_name_by_somebody_else_is_left_alone(github: GitHubDouble) -> None:
    remote = target(github).repository
    remote.create_check_run(
        "Model Repo Drift", github.git.sha("change"), external_id="x", status="completed", conclusion="failure"
    )

    assert publish(target(github), comparison(), NO_LINKS, failed=False).outcome == "created"
    assert [run["conclusion"] for run in github.checks.runs.values()] == ["failure", "success"]


@pytest.mark.parametrize("status", [403, 404])
def test_a_missing_permission_is_named(github: GitHubDouble, status: int) -> None:
    github.answer("POST", "/check-runs$", status, {"message": "Resource not accessible by integration"})

    posted = publish(target(github), numbered(1), NO_LINKS, failed=True)

    assert posted.outcome == "refused"
    assert f"answered {status} " in posted.notice
    assert "`permissions: checks: write`" in posted.notice


def test_a_server_that_is_gone_is_said(repository: ModelRepository) -> None:
    with GitHubDouble(repository.path) as gone:
        away = target(gone)
    posted = publish(away, comparison(), NO_LINKS, failed=False)
    assert posted.outcome == "refused"
    assert "GitHub could not be reached" in posted.notice


def test_a_rate_limit_is_no_missing_permission(github: GitHubDouble) -> None:
    github.answer("POST", "/check-runs$", 403, {"message": "API rate limit exceeded for installation"})
    posted = publish(target(github), comparison(), NO_LINKS, failed=False)
    assert "rate limit" in posted.notice
    assert "permissions" not in posted.notice


def test_what_changed_and_was_not_checked_is_no_success() -> None:
    changed = Unchecked(kind="file", id="x.json", folder=".", reason="r")
    assert conclusion(comparison(unchecked=(changed,)), failed=False) == "neutral"
    assert conclusion(comparison(unchecked=(POINTER,)), failed=False) == "success"
    assert conclusion(comparison(), failed=False) == "success"
    assert conclusion(comparison(unchecked=(changed,)), failed=True) == "failure"


def test_annotations_are_at_most_a_thousand_and_the_worst() -> None:
    new = tuple(finding(key=str(n), severity=("note", "error")[n % 2]) for n in range(2_400))
    record = comparison(new=new)
    made = annotations(record)
    assert len(made) == MOST_ANNOTATIONS
    assert {each.annotation_level for each in made} == {"failure"}
    said = summary(record, NO_LINKS, len(made))
    assert "1400 new findings are not beside a line." in said
    assert len(said.encode()) <= 65_000


def test_a_line_that_no_file_has_does_not_lose_the_others(github: GitHubDouble) -> None:
    odd = tuple(finding(key=str(line), places=(head("a", line),)) for line in (0, -7, 10**15))
    record = comparison(new=(*odd, finding(key="x", places=(head("a", 2),))))

    assert publish(target(github), record, NO_LINKS, failed=True).outcome == "created"
    (annotation,) = github.checks.annotations[only(github)["id"]]
    assert annotation["start_line"] == 2
    assert "3 new findings are not beside a line." in only(github)["output"]["summary"]


def test_what_has_no_line_in_head_is_counted() -> None:
    odd = (finding(places=(base("gone.json"),)), finding(places=(head("pull-request:body", 2),)), finding(places=(head("a\nb"),)))
    assert annotations(comparison(new=odd)) == []
    assert "3 new findings are not beside a line." in summary(comparison(new=odd), NO_LINKS, 0)
    assert "beside a line" not in summary(comparison(), NO_LINKS, 0)


@pytest.mark.parametrize(
    "wrong",
    [{"annotation_level": "error"}, {"title": "x" * 256}, {"message": "x" * 65_537}, {"end_line": 2}, {"start_line": 0}],
)
def test_the_double_refuses_annotations_as_github_does(repository: ModelRepository, wrong: dict[str, Any]) -> None:
    one: dict[str, Any] = {"path": "a", "start_line": 3, "end_line": 3, "annotation_level": "notice", "message": "m"}
    with GitHubDouble(repository.path) as double:
        for annotations in ([one | wrong], [one] * 51):
            output: dict[str, Any] = {"title": "t", "summary": "s", "annotations": annotations}
            with pytest.raises(GithubException) as refused:
                target(double).repository.create_check_run("x", double.git.sha("change"), output=output)
            assert refused.value.status == 422
        assert double.checks.runs == {}


@settings(deadline=None, max_examples=30)
@given(st.sampled_from((*RECORDS, comparisons.many_findings())), st.lists(hostile_texts, min_size=1, max_size=6))
def test_any_comparison_keeps_the_limits(record: Comparison, texts: list[str]) -> None:
    record = replaced(record, texts, hostile=True)
    for each in annotations(record):
        assert len(each.title) <= 255
        assert len(each.message.encode()) <= 64 * 1024
        assert f"{each.path}{each.title}{each.message}".isprintable()
    assert len(summary(record, LINKS, 0).encode()) <= 65_000
