"""The hook for pre-commit: its manifest, the files that start it, and commits that it lets pass and stops."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.changes import SNAPSHOTS
from tests.conftest import ROOT
from tests.repositories import GitRepository, environment

# What a manifest may say, and as what: pre_commit/clientlib.py, MANIFEST_HOOK_DICT, in pre-commit 4.7.0.
LEGAL: dict[str, type] = {
    "id": str, "name": str, "entry": str, "language": str, "alias": str, "files": str, "exclude": str, "types": list,
    "types_or": list, "exclude_types": list, "additional_dependencies": list, "args": list, "always_run": bool, "fail_fast": bool,
    "pass_filenames": bool, "description": str, "language_version": str, "log_file": str, "require_serial": bool, "stages": list,
    "verbose": bool, "minimum_pre_commit_version": str,
}  # fmt: skip


def hook() -> dict[str, Any]:
    (only,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    return only


def test_the_manifest_says_what_a_manifest_may_say() -> None:
    assert {"id", "name", "entry", "language"} <= hook().keys()
    assert {key for key, value in hook().items() if not isinstance(value, LEGAL[key])} == set()
    assert (hook()["id"], hook()["language"], hook()["pass_filenames"], hook()["always_run"]) == (
        "model-repo-drift",
        "python",
        False,
        True,
    )


def commit(repository: GitRepository, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["git", "-C", str(repository.path), "commit", "--message", "Change", *arguments]
    variables = {**environment(), "GIT_CONFIG_COUNT": "0"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=variables)


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    """A model with the entry of the hook as git's own hook, which is how pre-commit calls it."""
    made = GitRepository(tmp_path / "repository")
    made.commit("Add a model", {path.name: path.read_bytes() for path in (SNAPSHOTS / "chatml").iterdir()})
    entry = hook()["entry"].replace("model-repo-drift", str(Path(sys.executable).with_name("model-repo-drift")))
    file = made.path / ".git" / "hooks" / "pre-commit"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\nexec {entry}\n")
    file.chmod(0o755)
    return made


BAD = '{"eos_token_id": 260}'


def test_a_staged_drift_stops_the_commit(repository: GitRepository) -> None:
    repository.write({"generation_config.json": BAD})
    repository.git("add", "generation_config.json")
    done = commit(repository)
    assert done.returncode == 1
    assert "eos-split-brain" in done.stderr


def test_a_good_change_passes_and_so_does_a_drift_that_is_not_staged(repository: GitRepository) -> None:
    repository.write({"README.md": "more\n", "generation_config.json": BAD})
    repository.git("add", "README.md")
    done = commit(repository)
    assert done.returncode == 0, done.stderr
    assert repository.git("status", "--porcelain").strip() == "M generation_config.json"


def test_a_deletion_is_judged_too(repository: GitRepository) -> None:
    repository.git("rm", "--quiet", "tokenizer.json")
    done = commit(repository)
    assert done.returncode == 1
    assert "tokenizer" in done.stderr


def test_the_very_first_commit_is_judged_by_itself(tmp_path: Path, repository: GitRepository) -> None:
    fresh = GitRepository(tmp_path / "fresh")
    (fresh.path / ".git" / "hooks").mkdir(exist_ok=True)
    (repository.path / ".git" / "hooks" / "pre-commit").rename(fresh.path / ".git" / "hooks" / "pre-commit")
    fresh.write({path.name: path.read_bytes() for path in (SNAPSHOTS / "chatml").iterdir()} | {"generation_config.json": BAD})
    fresh.git("add", "--all")
    assert commit(fresh).returncode == 1

    fresh.write({path.name: path.read_bytes() for path in (SNAPSHOTS / "chatml").iterdir()})
    fresh.git("add", "--all")
    done = commit(fresh)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("arguments", [("--all",), ("generation_config.json",), ("--only", "generation_config.json")], ids=str)
def test_a_commit_that_stages_by_itself_is_judged_by_what_it_takes(arguments: tuple[str, ...], repository: GitRepository) -> None:
    repository.write({"generation_config.json": BAD})
    done = commit(repository, *arguments)
    assert done.returncode == 1
    assert "eos-split-brain" in done.stderr


def test_the_settings_of_the_last_commit_decide(repository: GitRepository) -> None:
    repository.commit("Settings", {".github/model-repo-drift.yml": "fail_on: never\n"})
    repository.write({"generation_config.json": BAD})
    assert commit(repository, "--all").returncode == 0
