"""The action as a whole: real git, the real fetch, jail and views, and a GitHub held to its published description."""

from pathlib import Path

import msgspec
import pytest

from bot import run
from bot.analyze.records import Comparison
from bot.publish import marker
from tests.doubles.github import GitHubDouble
from tests.doubles.job import TOKEN, Job, Step
from tests.doubles.model_repository import ModelRepository


def fingerprints(step: Step) -> list[str]:
    report = msgspec.json.decode(Path(step.outputs["report_path"]).read_bytes(), type=Comparison)
    return [finding.fingerprint for finding in report.new]


def job(tmp_path: Path, github: GitHubDouble, workspace: Path) -> Job:
    return Job(tmp_path / "runner", workspace, github, run.compare, run.exit_status)


def test_a_pull_request_over_three_pushes(tmp_path: Path) -> None:
    origin = ModelRepository(tmp_path / "origin")
    origin.spoil()
    clone = origin.clone(tmp_path / "workspace")
    with GitHubDouble(origin.path) as github:
        github.title = "Stop on <b>end</b> of text @everyone"
        here = job(tmp_path, github, clone.path)

        opened = here.pull_request("opened")
        assert (opened.status, opened.outputs["verdict"]) == (1, "error"), opened.lines
        assert int(opened.outputs["new_errors"]) >= 1
        first = github.bodies()[0]
        assert "generation_config.json" in first
        assert f"https://example.com/acme/model/blob/{origin.sha('change')}/generation_config.json" in first

        second_head = origin.commit("Say why", {"README.md": "# Model\n"})
        clone.git("fetch", "--quiet", "origin")
        pushed = here.pull_request()
        assert fingerprints(pushed) == fingerprints(opened)
        said = marker.read(github.bodies()[0].splitlines()[0])
        assert said is not None
        assert said.head == second_head
        assert [fingerprint for fingerprint, _ in said.fingerprints] == fingerprints(pushed)

        origin.repair()
        clone.git("fetch", "--quiet", "origin")
        repaired = here.pull_request()
        assert (repaired.status, repaired.outputs["new_errors"]) == (0, "0")
        assert "no longer reported" in github.bodies()[0]

        assert len(github.comments) == 1
        assert [line.split(" ")[0] for line in github.writes()] == ["POST", "PATCH", "PATCH"]
        assert TOKEN not in github.bodies()[0] + opened.summary
        assert github.violations == []


@pytest.mark.parametrize(("fail_on", "status"), [("error", 1), ("never", 0)])
def test_a_fork_with_a_token_that_may_only_read(tmp_path: Path, fail_on: str, status: int) -> None:
    origin = ModelRepository(tmp_path / "origin")
    origin.spoil()
    with GitHubDouble(origin.path) as github:
        github.read_only, github.head_repository = True, "fork"

        step = job(tmp_path, github, origin.clone(tmp_path / "workspace").path).pull_request(fail_on=fail_on)

        assert step.status == status
        assert len(step.told("notice")) == 1
        assert "pull-requests: write" in step.told("notice")[0]
        assert step.summary.startswith("### ")
        assert "generation_config.json" in step.summary
        assert any(line.startswith("::error file=generation_config.json,line=2,") for line in step.lines)
        assert fingerprints(step)
        assert github.comments == {}
        assert github.violations == []


def test_checkout_shallow_checkout_and_no_checkout_say_the_same(tmp_path: Path) -> None:
    origin = ModelRepository(tmp_path / "origin")
    origin.spoil()
    (tmp_path / "nothing").mkdir()
    origin.clone(tmp_path / "full")
    origin.clone(tmp_path / "shallow", "--depth=1")
    found: list[list[str]] = []
    with GitHubDouble(origin.path) as github:
        for name in ("full", "shallow", "nothing"):
            step = job(tmp_path, github, tmp_path / name).pull_request()
            assert step.status == 1
            found.append(fingerprints(step))
        assert found[0] == found[1] == found[2] != []
        assert len(github.comments) == 1
        assert github.violations == []


def test_a_clean_pull_request_ends_without_a_comment(tmp_path: Path) -> None:
    origin = ModelRepository(tmp_path / "origin")
    origin.commit("Say more", {"README.md": "# Model\n"})
    with GitHubDouble(origin.path) as github:
        step = job(tmp_path, github, origin.clone(tmp_path / "workspace").path).pull_request()

        assert (step.status, step.outputs["verdict"]) == (0, "none")
        assert step.summary != ""
        assert github.writes() == []
        assert github.violations == []
