"""A job on GitHub asks whether its copy is in step with the Hub, or about two revisions there."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot import run
from tests.doubles.github import GitHubDouble
from tests.doubles.hub import TOKEN, HubDouble
from tests.doubles.job import Job, Step
from tests.doubles.model_repository import ModelRepository

NAME = "acme/model"
EVENT: Any = {"repository": {"full_name": NAME, "default_branch": "main"}}


@pytest.fixture
def origin(tmp_path: Path) -> ModelRepository:
    made = ModelRepository(tmp_path / "origin")
    made.spoil()
    made.git("update-ref", "refs/pr/1", "change")
    return made


@pytest.fixture(autouse=True)
def hub(origin: ModelRepository, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubDouble]:
    with HubDouble({NAME: origin.path}) as double:
        monkeypatch.setattr("tests.doubles.job.MORE", {"HF_ENDPOINT": double.url, "HF_TOKEN": TOKEN, "XDG_CACHE_HOME": ""})
        yield double


@pytest.fixture
def github(origin: ModelRepository) -> Iterator[GitHubDouble]:
    with GitHubDouble(origin.path) as double:
        yield double
        assert double.violations == []


def judged(tmp_path: Path, github: GitHubDouble, workspace: Path, **inputs: str) -> Step:
    job = Job(tmp_path / "runner", workspace, github, run.compare, run.exit_status)
    return job.run("workflow_dispatch", EVENT, ref="refs/heads/change", sha=github.git.sha("change"), prove="never", **inputs)


@pytest.mark.parametrize("checkout", [True, False])
def test_a_copy_is_held_to_the_hub(tmp_path: Path, origin: ModelRepository, github: GitHubDouble, *, checkout: bool) -> None:
    workspace = origin.clone(tmp_path / "workspace").path if checkout else tmp_path
    drifted = judged(tmp_path, github, workspace, base=f"hub:{NAME}@main")
    same = judged(tmp_path, github, workspace, base=f"hub:{NAME}@refs/pr/1")

    assert (drifted.status, same.status) == (1, 0)
    report = json.loads(Path(drifted.outputs["report_path"]).read_bytes())
    assert report["base"]["label"].startswith(NAME)
    assert f"/blob/{github.git.sha('change')}/" in drifted.summary
    assert f"/blob/{github.git.sha('main')}/" not in drifted.summary
    assert github.writes() == []
    assert "HF_TOKEN" not in drifted.environ
    assert all(TOKEN not in text for text in (drifted.summary, *drifted.lines))


def test_two_revisions_of_the_hub(tmp_path: Path, github: GitHubDouble) -> None:
    step = judged(tmp_path, github, tmp_path, base=f"hub:{NAME}@main", head=f"hub:{NAME}@refs/pr/1")

    assert step.status == 1
    assert "/blob/" not in step.summary


def test_a_revision_that_the_hub_does_not_have_is_named(tmp_path: Path, github: GitHubDouble) -> None:
    step = judged(tmp_path, github, tmp_path, base=f"hub:{NAME}@nowhere")

    assert step.status == 3
    assert "nowhere" in step.told("error")[0]
