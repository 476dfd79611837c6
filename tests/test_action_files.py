"""action.yml and the workflow to paste: they agree with the program, and the linters of such files have nothing to say."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.deliver import NOT_JUDGED
from bot.settings import options

ROOT = Path(__file__).parent.parent
ACTION = ROOT / "action.yml"
WORKFLOW = ROOT / "examples" / "model-repo-drift.yml"
TOOLS = Path(sys.executable).parent


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_every_setting_is_an_input_without_a_default() -> None:
    inputs = read(ACTION)["inputs"]

    assert set(inputs) == {option.name for option in options() if not option.file_only} | {
        "token",
        "base",
        "head",
        "report",
        "sarif",
        "publish",
    }
    assert [name for name, about in inputs.items() if "default" in about] == ["token"]
    for option in options():
        if not option.file_only and isinstance(option.default, str):
            assert f"Default: {option.default}." in inputs[option.name]["description"]


def test_the_declared_outputs_are_those_that_are_set() -> None:
    assert set(read(ACTION)["outputs"]) == set(NOT_JUDGED)


def test_the_action_is_the_image_of_this_repository() -> None:
    assert read(ACTION)["runs"] == {"using": "docker", "image": "Dockerfile", "args": ["action"]}


def test_the_workflow_asks_for_no_more_than_it_needs() -> None:
    workflow = read(WORKFLOW)
    job = workflow["jobs"]["drift"]

    assert workflow["permissions"] == {}
    assert job["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert job["concurrency"]["cancel-in-progress"] is True
    assert "pull_request.number" in job["concurrency"]["group"]
    assert job["timeout-minutes"] <= 15
    assert job["steps"][0]["with"] == {"fetch-depth": 0, "persist-credentials": False}


@pytest.mark.parametrize(
    "command",
    [
        ["zizmor", "--offline", "--quiet", "--persona=pedantic", str(WORKFLOW), str(ACTION)],
        ["check-jsonschema", "--builtin-schema", "vendor.github-workflows", str(WORKFLOW)],
        ["check-jsonschema", "--builtin-schema", "vendor.github-actions", str(ACTION)],
    ],
    ids=["zizmor", "workflow schema", "action schema"],
)
def test_linters_have_nothing_to_say(command: list[str]) -> None:
    done = subprocess.run([TOOLS / command[0], *command[1:]], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
