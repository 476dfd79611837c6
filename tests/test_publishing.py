"""A report that a run of a stranger's pull request wrote is published by a second run, and only what that run may speak of."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bot.analyze.records import PullRequest
from bot.publish import marker
from bot.publish.received import DEEPEST, LARGEST, MOST_ENGINES, MOST_RECORDS
from tests.comparisons import HOSTILE, hostile
from tests.doubles.github import GitHubDouble
from tests.doubles.job import EVENTS, TOKEN, Job, Step
from tests.doubles.model_repository import ModelRepository
from tests.doubles.small_compare import SmallCompare, exit_status
from tests.repositories import GitRepository
from tests.test_publish_hostile import ACTIVE, MARKDOWN_TAGS, OUR_HTML, PARSERS, Page, replaced

FILE = "report.json"


@pytest.fixture
def origin(tmp_path: Path) -> ModelRepository:
    made = ModelRepository(tmp_path / "origin")
    made.spoil()
    return made


@pytest.fixture
def github(origin: ModelRepository) -> Iterator[GitHubDouble]:
    with GitHubDouble(origin.path) as double:
        double.head_repository = "fork"
        yield double
        assert double.violations == []


@pytest.fixture
def first(tmp_path: Path, origin: ModelRepository, github: GitHubDouble) -> Job:
    """The job of the pull request, whose token may only read."""
    clone: GitRepository = origin.clone(tmp_path / "workspace")
    clone.git("checkout", "--quiet", "--detach")
    return Job(tmp_path / "first", clone.path, github, SmallCompare(), exit_status)


@pytest.fixture
def second(tmp_path: Path, github: GitHubDouble) -> Job:
    """The job that publishes: it has no checkout."""
    workspace = tmp_path / "empty"
    workspace.mkdir()
    return Job(tmp_path / "second", workspace, github, SmallCompare(), exit_status)


def reported(first: Job, second: Job) -> Any:
    """The report of the pull request's run, as the second job downloaded it."""
    step = first.pull_request("opened", comment="false", report=FILE)
    assert step.status == 1
    content = (first.workspace / FILE).read_bytes()
    (second.workspace / FILE).write_bytes(content)
    return json.loads(content)


def event(github: GitHubDouble) -> Any:
    content = json.loads((EVENTS / "workflow_run_completed.json").read_text(encoding="utf-8"))
    content["repository"]["full_name"] = github.repository
    head = {"id": 77, "event": "pull_request", "head_sha": github.git.sha(github.head), "head_branch": github.head}
    content["workflow_run"] |= {**head, "head_repository": {"full_name": "contributor/model", "fork": True}, "pull_requests": []}
    return content


def publish(second: Job, content: Any = None, *, token: str = TOKEN) -> Step:
    return second.run("workflow_run", content or event(second.github), token=token, publish=FILE)


def test_the_comment_of_a_fork_is_written_by_the_second_run(first: Job, second: Job, github: GitHubDouble) -> None:
    reported(first, second)
    assert github.writes() == []

    step = publish(second)

    (body,) = github.bodies()
    assert step.status == 0
    assert step.outputs["comment_url"].endswith(f"#issuecomment-{min(github.comments)}")
    assert (step.outputs["verdict"], step.outputs["new_errors"]) == ("error", "1")
    assert "as reported by [run 77](https://example.com/acme/model/actions/runs/77)" in body
    assert "eos_token_id" in step.summary
    read = marker.read(body.split("\n", 1)[0])
    assert read is not None
    assert read.head == github.git.sha(github.head)

    publish(second)
    assert len(github.comments) == 1


def test_a_report_of_an_older_head_writes_nothing(first: Job, second: Job, github: GitHubDouble, origin: ModelRepository) -> None:
    reported(first, second)
    content = event(github)
    origin.repair()

    step = publish(second, content)

    assert step.status == 0
    assert github.writes() == []
    assert "moved on" in step.told("notice")[0]


def test_settings_are_those_of_base(first: Job, second: Job, github: GitHubDouble, origin: ModelRepository) -> None:
    origin.git("switch", "--quiet", "main")
    origin.commit("Name the comment", {".github/model-repo-drift.yml": "comment_id: from-base\n"})
    origin.git("switch", "--quiet", "change")
    reported(first, second)

    publish(second)

    read = marker.read(github.bodies()[0].split("\n", 1)[0])
    assert read is not None
    assert read.id == "from-base"


def other_number(report: Any) -> None:
    report["pull_request"]["number"] = 2


def other_repository(report: Any) -> None:
    report["pull_request"]["repository"] = "acme/other"


def other_head(report: Any) -> None:
    report["pull_request"]["head"] = report["head"]["sha"] = "4" * 40


def head_apart(report: Any) -> None:
    report["head"]["sha"] = "4" * 40


def no_pull_request(report: Any) -> None:
    report["pull_request"] = None


def newer_schema(report: Any) -> None:
    report["schema"] = 2


def wrong_type(report: Any) -> None:
    report["new"][0]["severity"] = "fatal"


def deep(report: Any) -> None:
    nested: Any = []
    for _ in range(100):
        nested = [nested]
    report["predictions"] = [nested]


@pytest.mark.parametrize(
    "spoil", [other_repository, other_head, head_apart, no_pull_request, newer_schema, wrong_type, deep], ids=lambda f: f.__name__
)
def test_a_report_that_the_run_cannot_have_written_is_refused(
    first: Job, second: Job, github: GitHubDouble, spoil: Callable[[Any], None]
) -> None:
    report = reported(first, second)
    spoil(report)
    (second.workspace / FILE).write_text(json.dumps(report), encoding="utf-8")

    step = publish(second)

    assert step.status == 2
    assert len(step.told("error")) == 1
    assert github.writes() == []


def test_a_number_that_is_not_among_those_of_the_run_is_refused(first: Job, second: Job, github: GitHubDouble) -> None:
    report = reported(first, second)
    other_number(report)
    (second.workspace / FILE).write_text(json.dumps(report), encoding="utf-8")
    content = event(github)
    content["workflow_run"]["pull_requests"] = [{"number": 1}]

    step = publish(second, content)

    assert (step.status, github.writes()) == (2, [])
    assert "did not judge" in step.told("error")[0]


def test_a_pull_request_of_another_branch_with_the_same_head_is_refused(first: Job, second: Job, github: GitHubDouble) -> None:
    reported(first, second)
    content = event(github)
    content["workflow_run"]["head_repository"]["full_name"] = "attacker/model"

    step = publish(second, content)

    assert (step.status, github.writes()) == (2, [])
    assert "is not the one that run 77 judged" in step.told("error")[0]


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_what_github_refuses_turns_nothing_red(first: Job, second: Job, github: GitHubDouble, status: int) -> None:
    reported(first, second)
    github.answer("GET", "/pulls/1$", status, {"message": "No"}, times=9)

    step = publish(second)

    assert (step.status, github.writes()) == (0, [])
    assert "The comment could not be written" in step.told("notice")[0]
    assert "eos_token_id" in step.summary


def test_a_link_or_a_large_file_is_not_read(first: Job, second: Job, github: GitHubDouble, tmp_path: Path) -> None:
    reported(first, second)
    place = second.workspace / FILE
    outside = tmp_path / "outside.json"
    place.rename(outside)
    place.symlink_to(outside)
    assert publish(second).status == 2

    place.unlink()
    with place.open("wb") as file:
        file.truncate(LARGEST + 1)
    step = publish(second)
    assert step.status == 2
    assert "16 MiB" in step.told("error")[0]

    place.unlink()
    assert publish(second).status == 2
    assert github.writes() == []


def test_other_events_are_named(second: Job, github: GitHubDouble) -> None:
    step = second.run("push", {}, publish=FILE)
    assert step.status == 2
    assert "needs a workflow_run event" in step.told("error")[0]

    content = event(github)
    content["workflow_run"]["event"] = "push"
    step = publish(second, content)
    assert step.status == 2
    assert "not about a pull request" in step.told("error")[0]


def test_counts_and_words_of_the_file_are_not_believed(first: Job, second: Job, github: GitHubDouble) -> None:
    report = reported(first, second)
    report["verdict"]["new"]["error"] = 900
    report["modelled"]["checks"] = {"turn-end-not-in-eos": "was approved by everybody"}
    report["new"][0]["fingerprint"] = "<!-- -->" * 50
    (second.workspace / FILE).write_text(json.dumps(report), encoding="utf-8")

    step = publish(second)

    (body,) = github.bodies()
    assert step.outputs["new_errors"] == "1"
    assert "900" not in body
    assert "approved" not in body + step.summary
    assert len(body.split("\n", 1)[0]) < 300


@pytest.mark.parametrize("parse", PARSERS)
def test_hostile_text_is_escaped_as_ever(second: Job, github: GitHubDouble, parse: Callable[[str], Page]) -> None:
    head = github.git.sha(github.head)
    record = replaced(hostile(), list(HOSTILE), hostile=True)
    about = PullRequest(repository=github.repository, number=1, head=head)
    report = msgspec.structs.replace(record, pull_request=about, head=msgspec.structs.replace(record.head, sha=head))
    (second.workspace / FILE).write_bytes(msgspec.json.encode(report))

    step = publish(second)

    assert step.status == 0
    (body,) = github.bodies()
    for text in (body, step.summary):
        page = parse(text)
        assert set(page.tags) <= OUR_HTML | MARKDOWN_TAGS
        assert all(link.startswith("https://example.com/acme/model/") for link in page.links)
        assert not [loose for loose in page.loose if any(pattern.search(loose) for pattern in ACTIVE)]
    assert all(line.startswith(("::", "New: ")) for line in step.lines)


def answered(sides: list[Any]) -> Callable[[Any], None]:
    def spoil(report: Any) -> None:
        report["predictions"] = [
            {"engines": ["vllm@0.33.0"], "folder": ".", "field": "stops", "before": side, "after": [1]} for side in sides
        ]

    return spoil


def nested(depth: int) -> Any:
    side: Any = []
    for _ in range(depth):
        side = [side]
    return side


def placed(line: int) -> Callable[[Any], None]:
    def spoil(report: Any) -> None:
        report["new"][0]["places"][0]["line"] = line

    return spoil


def judged_by(count: int) -> Callable[[Any], None]:
    def spoil(report: Any) -> None:
        report["modelled"]["engines"] = [f"vllm@{n}" for n in range(count)]

    return spoil


def findings(count: int) -> Callable[[Any], None]:
    def spoil(report: Any) -> None:
        report["new"] = [report["new"][0] | {"key": str(n), "detail": "", "fix": None} for n in range(count)]

    return spoil


def hit(count: int) -> Callable[[Any], None]:
    def spoil(report: Any) -> None:
        report["new"][0]["engines"] = [f"vllm@{n}" for n in range(count)]

    return spoil


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (answered([nested(DEEPEST)]), "nested deeper"),
        (answered([nested(500)]), "nested deeper"),
        (answered([[0] * 600_000, [0] * 600_000]), "more than 1,000,000 values"),
        (placed(0), "names line 0 of a file"),
        (placed(-7), "names line -7 of a file"),
        (placed(10**15), "names line 1000000000000000 of a file"),
        (judged_by(MOST_ENGINES + 1), "more than 1,000 engines"),
        (hit(MOST_RECORDS), "more than 50,000 findings"),
        (findings(30_000), "more than 50,000 findings"),
    ],
)
def test_a_report_that_is_unlike_all_of_ours_is_refused_in_one_line(
    first: Job, second: Job, github: GitHubDouble, spoil: Callable[[Any], None], said: str
) -> None:
    report = reported(first, second)
    spoil(report)
    (second.workspace / FILE).write_text(json.dumps(report, separators=(",", ":")), encoding="utf-8")

    step = publish(second)

    assert (step.status, github.writes()) == (2, [])
    (error,) = step.told("error")
    assert said in error


@pytest.mark.parametrize(
    "content", [b'"' + b'\\"' * 4_000_000, b"[" * 4_000_000, b'{"a":' * 2_000_000], ids=["text", "lists", "objects"]
)
def test_what_is_no_json_is_refused_without_reading_a_letter_twice(
    first: Job, second: Job, github: GitHubDouble, content: bytes
) -> None:
    reported(first, second)
    (second.workspace / FILE).write_bytes(content)

    assert (publish(second).status, github.writes()) == (2, [])


@pytest.mark.parametrize("spoil", [answered([nested(DEEPEST - 2)]), judged_by(MOST_ENGINES), placed(1), hit(1_000)])
def test_what_ours_may_hold_is_published(first: Job, second: Job, spoil: Callable[[Any], None]) -> None:
    report = reported(first, second)
    spoil(report)
    (second.workspace / FILE).write_text(json.dumps(report), encoding="utf-8")

    assert publish(second).status == 0


def test_a_report_of_a_stranger_suggests_nothing_and_its_check_run_names_the_run(
    first: Job, second: Job, github: GitHubDouble, origin: ModelRepository
) -> None:
    origin.git("switch", "--quiet", "main")
    origin.commit("Settle", {".github/model-repo-drift.yml": "suggest: true\ncheck_run: true\n"})
    origin.git("switch", "--quiet", "change")
    report = reported(first, second)
    patch = (
        '--- a/generation_config.json\n+++ b/generation_config.json\n@@ -2 +2 @@\n-  "eos_token_id": 2\n+  "eos_token_id": 666\n'
    )
    report["new"][0]["fix"] = {"description": "Click to apply.", "patch": patch}
    (second.workspace / FILE).write_text(json.dumps(report), encoding="utf-8")

    step = publish(second)

    assert (step.status, step.told("notice")) == (0, [])
    assert (github.reviews.reviews, github.reviews.comments) == ([], {})
    *_, run = github.checks.runs.values()
    for text in (run["output"]["summary"], *github.bodies(), step.summary):
        assert "as reported by [run 77](" in text
