"""What a job may ask for beside the comment: a check run, suggestions, SARIF, and settings that choose what is judged."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot import run
from tests.conftest import ROOT
from tests.doubles.github import GitHubDouble
from tests.doubles.job import Job
from tests.doubles.model_repository import ModelRepository
from tests.doubles.small_compare import SmallCompare, exit_status
from tests.repositories import GitRepository

FILE = ".github/model-repo-drift.yml"


@pytest.fixture
def origin(tmp_path: Path) -> ModelRepository:
    made = ModelRepository(tmp_path / "origin")
    made.spoil()
    return made


@pytest.fixture
def github(origin: ModelRepository) -> Iterator[GitHubDouble]:
    with GitHubDouble(origin.path) as double:
        yield double
        assert double.violations == []


@pytest.fixture
def job(tmp_path: Path, origin: ModelRepository, github: GitHubDouble) -> Job:
    return Job(tmp_path / "runner", origin.clone(tmp_path / "workspace").path, github, run.compare, run.exit_status)


def settle(origin: ModelRepository, job: Job, content: str) -> None:
    """Bring settings to base, as they are when the pull request is judged."""
    origin.git("switch", "--quiet", "main")
    origin.commit("Settle", {FILE: content})
    origin.git("switch", "--quiet", "change")
    GitRepository(job.workspace).git("fetch", "--quiet", "origin")


def report(job: Job, path: str) -> Any:
    return json.loads((job.workspace / path).read_bytes())


def test_a_check_run_and_a_suggestion_are_written_once_for_a_head(
    job: Job, origin: ModelRepository, github: GitHubDouble
) -> None:
    origin.git("switch", "--quiet", "main")
    for branch, stops in (("main", [3, 2]), ("change", [2])):
        origin.git("switch", "--quiet", "--force-create", branch)
        origin.commit("List what stops", {"generation_config.json": json.dumps({"eos_token_id": stops}, indent=2)})
    GitRepository(job.workspace).git("fetch", "--quiet", "--force", "origin")

    for _ in range(2):
        step = job.pull_request(prove="never", check_run="true", suggest="true")
        assert (step.status, step.told("notice")) == (1, [])

    (check,) = github.checks.runs.values()
    assert (check["conclusion"], check["head_sha"]) == ("failure", github.git.sha("change"))
    (suggested,) = github.reviews.comments.values()
    assert (suggested["path"], suggested["commit_id"]) == ("generation_config.json", github.git.sha("change"))
    assert "```suggestion" in suggested["body"]
    assert len(github.comments) == 1


def test_nothing_more_than_the_comment_is_written_unasked(job: Job, github: GitHubDouble) -> None:
    job.pull_request(prove="never")

    assert [line.split(" ")[0] for line in github.writes()] == ["POST"]


def test_a_token_that_may_only_read_names_each_right_once(job: Job, github: GitHubDouble) -> None:
    github.read_only = True

    step = job.pull_request(prove="never", check_run="true", suggest="true")

    told = step.told("notice")
    assert step.status == 1
    assert [sum(right in line for line in told) for right in ("checks: write", "The comment could not")] == [1, 1]
    assert github.writes() != []


def test_sarif_names_the_changed_line_of_a_pair(job: Job) -> None:
    step = job.pull_request(prove="never", sarif="drift.sarif")

    (found,) = report(job, "drift.sarif")["runs"]
    new = [result for result in found["results"] if result["baselineState"] == "new"]
    places = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in new}
    assert step.status == 1
    assert places == {"generation_config.json"}
    assert {result["baselineState"] for result in found["results"]} <= {"new", "unchanged"}


@pytest.mark.parametrize("path", ["../out.sarif", "no/such/folder.sarif", "a\nb"])
def test_sarif_outside_of_the_workspace_is_refused(job: Job, github: GitHubDouble, path: str) -> None:
    step = job.pull_request(sarif=path)

    assert step.status == 2
    assert step.told("error")[0].startswith("sarif = ")
    assert github.writes() == []


def test_a_finding_that_base_accepts_fails_nothing(job: Job, origin: ModelRepository) -> None:
    accepted = [
        {"check": check, "reason": "stops elsewhere on purpose"}
        for check in ("turn-end-not-in-eos", "eos-split-brain", "config-generation-eos-disagree", "eos-meaning-changed")
    ]
    settle(origin, job, json.dumps({"suppress": accepted}))

    step = job.pull_request(prove="never", report="report.json")

    assert (step.status, step.outputs["new_errors"]) == (0, "0")
    assert report(job, "report.json")["verdict"]["suppressed"] >= 1
    assert "stops elsewhere on purpose" in step.summary


def test_a_pull_request_cannot_silence_its_own_findings_but_is_seen_to_try(
    job: Job, origin: ModelRepository, github: GitHubDouble
) -> None:
    head = {FILE: "severity:\n  turn-end-not-in-eos: off\n  eos-split-brain: off\nfail_on: never\n"}
    origin.commit("Silence it", head)
    GitRepository(job.workspace).git("fetch", "--quiet", "origin")

    step = job.pull_request(prove="never")

    assert step.status == 1
    assert "adds" in github.bodies()[0]
    assert FILE in github.bodies()[0]


def test_inputs_win_over_the_file_and_reach_the_comparison(job: Job, origin: ModelRepository) -> None:
    settle(origin, job, "severity:\n  eos-split-brain: off\n  double-bos: note\nfolders: ['models/*']\n")
    small = SmallCompare()

    Job(job.folder, job.workspace, job.github, small, exit_status).pull_request(severity="double-bos: error", folders=".")

    assert small.policy.severity == {"double-bos": "error", "eos-split-brain": "off"}
    assert small.policy.folders == (".",)


def rights() -> dict[str, str]:
    """What the workflow to paste asks for."""
    return yaml.safe_load((ROOT / "examples/model-repo-drift.yml").read_text("utf-8"))["jobs"]["drift"]["permissions"]


@pytest.mark.parametrize("checkout", [True, False])
def test_the_rights_of_the_workflow_are_enough(job: Job, github: GitHubDouble, tmp_path: Path, *, checkout: bool) -> None:
    github.rights = rights()
    workspace = job.workspace if checkout else tmp_path

    step = Job(job.folder, workspace, github, run.compare, run.exit_status).pull_request(prove="never")

    assert (step.status, step.told("notice")) == (1, [])
    assert len(github.comments) == 1


@pytest.mark.parametrize(
    ("right", "less"), [(right, less) for right in rights() for less in ("none", "read") if less != rights()[right]]
)
def test_with_less_it_does_not_work(job: Job, github: GitHubDouble, tmp_path: Path, right: str, less: str) -> None:
    github.rights = rights() | {right: less}

    step = Job(job.folder, tmp_path, github, run.compare, run.exit_status).pull_request(prove="never")  # without a checkout

    assert github.comments == {}
    assert step.status == (1 if right == "pull-requests" else 3)
    assert bool(step.told("notice")) == (right == "pull-requests")


def test_a_check_run_takes_the_place_of_annotations_of_the_log(job: Job) -> None:
    plain, checked = job.pull_request(prove="never"), job.pull_request(prove="never", check_run="true")

    assert any(line.startswith("::error file=") for line in plain.lines)
    assert not any("file=" in line for line in checked.lines)


def test_annotations_leave_room_for_what_is_said_about_the_run(job: Job, github: GitHubDouble) -> None:
    github.read_only = True

    step = job.pull_request(prove="never", check_run="true", suggest="true", fail_on="never")

    notices = [line for line in step.lines if line.startswith("::notice")]
    assert len(notices) <= 10
    assert step.lines[0].startswith("::notice title=Model Repo Drift::The comment could not be written")
    assert "permissions: pull-requests: write" in step.lines[0]
    assert any(line.startswith("::error file=") for line in step.lines)


def test_folders_may_have_blanks_in_their_names(job: Job) -> None:
    small = SmallCompare()

    Job(job.folder, job.workspace, job.github, small, exit_status).pull_request(folders="my model\nmodels/*, !models/old one")

    assert small.policy.folders == ("my model", "models/*", "!models/old one")
