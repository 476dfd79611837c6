"""The image says what the command line says, from any folder, as any user, without a network, and as a step of a workflow."""

import json
import os
import shlex
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.doubles.github import GitHubDouble
from tests.doubles.runner import Left, Runner
from tools import demo

pytestmark = [pytest.mark.needs("docker"), pytest.mark.xdist_group("docker")]

COMMAND = Path(sys.executable).with_name("model-repo-drift")
FORMATS = ("text", "json", "markdown", "summary")
Done = subprocess.CompletedProcess[bytes]


@pytest.fixture(scope="session")
def image() -> str:
    """The image that MODEL_REPO_DRIFT_IMAGE names, or one that is built here."""
    if named := os.environ.get("MODEL_REPO_DRIFT_IMAGE"):
        return named
    tag = "model-repo-drift:test"
    flags = shlex.split(os.environ.get("DOCKER_BUILD_FLAGS", ""))
    subprocess.run(["docker", "build", *flags, "--tag", tag, ROOT], check=True, capture_output=True)
    return tag


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders with the demo's half fix between them, readable for everybody."""
    repo = tmp_path / "repo"
    repo.mkdir()
    demo.build(repo)
    sides = tmp_path / "base", tmp_path / "head"
    for side, branch in zip(sides, ("main", "fix"), strict=True):
        demo.git(repo, "worktree", "add", "--quiet", str(side), branch, "--detach")
        (side / ".git").unlink()
    return sides


def here(*arguments: str | Path) -> Done:
    return subprocess.run([COMMAND, *arguments], check=False, capture_output=True)


def inside(image: str, *arguments: str | Path, mount: tuple[Path, ...] = (), flags: tuple[str, ...] = ()) -> Done:
    """Run the image without a network; what is mounted has the same path there and cannot be written to."""
    volumes = [f"--volume={folder}:{folder}:ro" for folder in mount]
    return subprocess.run(
        ["docker", "run", "--rm", "--network=none", *volumes, *flags, image, *arguments], check=False, capture_output=True
    )


def same(one: Done, other: Done) -> None:
    assert (one.returncode, one.stdout, one.stderr) == (other.returncode, other.stdout, other.stderr)


@pytest.mark.parametrize("format_", FORMATS)
def test_two_folders_give_the_same_bytes(image: str, pair: tuple[Path, Path], format_: str) -> None:
    arguments = ["compare", *pair, "--format", format_]
    expected = here(*arguments)
    assert expected.returncode == 1
    assert b"eos-split-brain" in expected.stdout or format_ == "text"
    same(inside(image, *arguments, mount=pair), expected)


def test_the_exit_status_is_the_same(image: str, pair: tuple[Path, Path], tmp_path: Path) -> None:
    base, head = pair
    for arguments, status in (
        (["compare", base, base], 0),
        (["compare", base, head, "--fail-on", "never"], 0),
        (["compare", base, head], 1),
        (["compare", base], 2),
        (["compare", base, tmp_path / "absent"], 3),
    ):
        expected = here(*arguments)
        assert expected.returncode == status, expected.stderr
        same(inside(image, *arguments, mount=pair), expected)


@pytest.mark.parametrize(
    "flags",
    [
        ("--user=1001",),
        ("--user=1001:118", "--env=HOME=/nowhere"),
        ("--read-only", "--tmpfs=/tmp"),
        ("--read-only", "--tmpfs=/tmp", "--user=1001", "--memory=512m", "--memory-swap=512m", "--cap-drop=ALL"),
    ],
    ids=" ".join,
)
def test_any_user_a_read_only_image_and_little_memory(image: str, pair: tuple[Path, Path], flags: tuple[str, ...]) -> None:
    arguments = ["compare", *pair, "--format", "json"]
    same(inside(image, *arguments, mount=pair, flags=flags), here(*arguments))


def test_nothing_is_imported_from_the_working_folder(image: str, pair: tuple[Path, Path], tmp_path: Path) -> None:
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    (hostile / "bot").mkdir()
    for name in ("bot/__init__", "json", "jinja2", "msgspec", "sitecustomize", "usercustomize", "encodings"):
        (hostile / f"{name}.py").write_text("raise SystemExit('imported from the working folder')\n", encoding="utf-8")
    arguments = ["compare", *pair, "--format", "json"]
    found = inside(image, *arguments, mount=(*pair, hostile), flags=(f"--workdir={hostile}",))
    same(found, here(*arguments))


def test_a_repository_of_another_user_is_compared_by_revisions(image: str, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    demo.build(repo)
    arguments = ["compare", "git:main", "git:fix", "--repo", repo, "--format", "json"]
    expected = here(*arguments)
    assert expected.returncode == 1, expected.stderr
    if os.geteuid() == 0:  # elsewhere the container's root is another user anyway
        subprocess.run(["chown", "-R", "12345:12345", repo], check=True)
    same(inside(image, *arguments, mount=(repo,)), expected)


def step(image: str, github: GitHubDouble, repo: Path, folder: Path, action: str) -> Left:
    """The action as a step of a workflow that checked everything out, for the pull request as it is now."""
    (folder / "runner").mkdir(parents=True)
    demo.git(repo, "clone", "--quiet", "--no-local", str(repo), str(folder / "workspace"))
    with urllib.request.urlopen(f"{github.url}/repos/{github.repository}/pulls/{github.number}") as answer:
        pull: Any = json.load(answer)
    event = {"action": action, "number": github.number, "pull_request": pull, "repository": pull["base"]["repo"]}
    runner = Runner(folder / "runner", folder / "workspace", "pull_request", event, github.url, token="secret-token")
    return runner.run(image, ROOT / "action.yml")


def test_as_a_step_it_keeps_one_comment_over_two_pushes(image: str, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    demo.build(repo)
    with GitHubDouble(repo, base="main", head="fix") as github:
        first = step(image, github, repo, tmp_path / "first", "opened")
        assert first.status == 1, first.log
        assert first.outputs["verdict"] == "error"
        assert int(first.outputs["new_errors"]) >= 1
        assert first.outputs["comment_url"] == f"https://example.com/acme/model/pull/1#issuecomment-{min(github.comments)}"
        assert "eos-split-brain" in first.summary
        assert any(a.level == "error" and a.properties["file"] == "generation_config.json" for a in first.annotations), first.log

        whole = {"tokenizer_config.json": demo.tokenizer_config("<|im_end|>"), "README.md": demo.README}
        demo.commit(repo, "Name the end of a turn in the tokenizer as well, and claim nothing", whole)
        second = step(image, github, repo, tmp_path / "second", "synchronize")
        assert second.outputs["new_errors"] == "0", second.log
        assert second.status == 0
        (body,) = github.bodies()
        assert "no longer" in body
        assert [line.split()[0] for line in github.writes()] == ["POST", "PATCH"]
        assert github.violations == []
        assert "secret-token" not in first.log + second.log + first.summary + body


def test_as_a_step_with_a_token_that_may_only_read_it_still_reports(image: str, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    demo.build(repo)
    with GitHubDouble(repo, base="main", head="fix") as github:
        github.read_only = True
        left = step(image, github, repo, tmp_path / "only", "opened")
    assert left.status == 1, left.log
    assert "eos-split-brain" in left.summary
    assert left.outputs["comment_url"] == ""
    assert [a.level for a in left.annotations].count("notice") >= 1
