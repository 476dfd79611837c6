"""One pull request, judged the same from every checkout that a job may have."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from github.Repository import Repository as Remote

from bot import run
from bot.analyze.records import Comparison
from bot.api import connect
from bot.errors import CannotLookError
from bot.event import Job
from bot.fetch.github import GitHubSource
from bot.fetch.tree import GitSource
from bot.sides import Sides, sides
from tests.doubles.github import GitHubDouble
from tests.doubles.job import Job as Action
from tests.doubles.model_repository import ModelRepository
from tests.repositories import GitRepository

CHECKOUTS = (
    "full",
    "full, detached",
    "full, at base",
    "full, by another user",
    "depth 1, the merge commit",
    "depth 1, base",
    "depth 2, head",
    "one branch",
    "none",
)
BY_CLONE = ("full", "full, detached", "full, at base", "full, by another user", "one branch")


@pytest.fixture
def origin(tmp_path: Path) -> ModelRepository:
    """The pull request spoils and names commits of every kind; base is ahead of where head left it, and spoils another thing."""
    made = ModelRepository(tmp_path / "origin")
    fork_point = made.sha("main")
    made.git("switch", "--quiet", "--create", "dev", "main")
    dev = made.commit("On dev", {"notes.txt": "dev\n"})
    made.git("switch", "--quiet", "--create", "work", "main")
    orphan = made.commit("Never merged", {"generation_config.json": '{"eos_token_id": [2, 3]}\n'})
    squashed = made.commit("Merged as another", {"notes.txt": "the same\n"})
    for number, sha in ((31, orphan), (32, squashed)):
        made.git("update-ref", f"refs/pull/{number}/head", sha)
    made.git("switch", "--quiet", "main")
    made.git("branch", "--quiet", "-D", "work")
    made.git("switch", "--quiet", "change")
    mine = made.spoil()
    words = {"main": fork_point, "dev": dev, "orphan": orphan, "squashed": squashed, "head": mine, "nothing": "a" * 40}
    made.commit("Say so", {"README.md": "".join(f"{name}: fixed in commit {sha}\n\n" for name, sha in words.items())})
    made.git("switch", "--quiet", "main")
    made.commit("Merged as another (#32)", {"notes.txt": "the same\n"})
    made.commit("Main moves on", {"tokenizer_config.json": "{}\n"})
    made.git("switch", "--quiet", "--detach", "main")
    made.git("merge", "--quiet", "--no-ff", "--message=Merge", "change")
    made.git("update-ref", "refs/pull/1/merge", "HEAD")
    made.git("update-ref", "refs/pull/1/head", "change")
    made.git("switch", "--quiet", "change")
    return made


@pytest.fixture
def github(origin: ModelRepository) -> Iterator[GitHubDouble]:
    with GitHubDouble(origin.path) as double:
        yield double
        assert double.violations == []


@pytest.fixture
def remote(github: GitHubDouble) -> Remote:
    return connect(github.url, "token", retry=None, between_requests=0, between_writes=0).get_repo(github.repository)


@pytest.fixture
def job(origin: ModelRepository) -> Job:
    return Job(
        kind="pull-request",
        repository="acme/model",
        base=origin.sha("main"),
        head=origin.sha("change"),
        base_name="main",
        head_name="change",
        number=1,
    )


def checked_out(origin: ModelRepository, path: Path, checkout: str) -> Path:
    """A workspace as actions/checkout may leave it."""
    if checkout == "none":
        path.mkdir()
        return path
    if checkout.startswith("full"):
        made = origin.clone(path)
        made.git("checkout", "--quiet", "--detach", "origin/main" if checkout.endswith("base") else "origin/change")
        if checkout == "full":
            made.git("checkout", "--quiet", "change")
    elif checkout == "one branch":
        made = origin.clone(path, "--single-branch", "--branch=change")
    else:
        made = GitRepository(path)
        made.git("remote", "add", "origin", f"file://{origin.path}")
        asked = {"depth 1, the merge commit": "refs/pull/1/merge", "depth 1, base": "main", "depth 2, head": "change"}
        if checkout in asked:
            made.git("fetch", "--quiet", "--no-tags", f"--depth={checkout[6]}", "origin", asked[checkout])
            made.git("checkout", "--quiet", "--detach", "FETCH_HEAD")
    if checkout.endswith("another user") and os.geteuid() == 0:  # elsewhere there is no other user to give it to
        for where, folders, files in os.walk(path):
            for name in (".", *folders, *files):
                os.lchown(Path(where) / name, 12345, 12345)
    return path


def judged(job: Job, opened: Sides, workspace: Path) -> Comparison:
    return run.compare(
        base=opened.base,
        head=opened.head,
        repo=workspace,
        history=opened.history,
        texts=opened.texts,
        repository=job.repository,
        prove="never",
    )


def told(comparison: Comparison) -> dict[str, object]:
    """What must not depend on the checkout. A reason may: a clone has not heard of a commit that GitHub still holds."""
    return {
        "base": comparison.base.sha,
        "head": comparison.head.sha,
        "new": [(row.fingerprint, row.severity, row.places) for row in comparison.new if row.check != "orphan-fix-commit"],
        "resolved": [row.fingerprint for row in comparison.resolved],
        "predictions": comparison.predictions,
        "orphans": sorted(row.key for row in comparison.new if row.check == "orphan-fix-commit"),
        "claims": sorted((row.sha, row.status, row.places) for row in comparison.claims),
        "files not read": [row.id for row in comparison.unchecked if row.kind == "file"],
    }


@pytest.mark.parametrize("checkout", CHECKOUTS)
def test_every_checkout_says_the_same(origin: ModelRepository, remote: Remote, job: Job, tmp_path: Path, checkout: str) -> None:
    plain = checked_out(origin, tmp_path / "plain", "full")
    expected = told(judged(job, sides(job, plain, None), plain))
    workspace = checked_out(origin, tmp_path / "workspace", checkout)
    opened = sides(job, workspace, remote)
    assert isinstance(opened.base, GitSource if checkout in BY_CLONE else GitHubSource)
    assert (opened.history is None) == (checkout in BY_CLONE)

    found = judged(job, opened, workspace)

    assert expected["new"]
    assert expected["predictions"]
    by_name = dict(zip(("main", "dev", "orphan", "squashed", "head", "nothing"), _words(origin), strict=True))
    status = {row.sha: row.status for row in found.claims}
    said = {name: status[sha] for name, sha in by_name.items()}
    if checkout == "one branch":  # which says itself that it does not have all of them
        assert said | {"dev": "", "orphan": "", "squashed": "", "nothing": ""} == {
            **dict.fromkeys(said, ""),
            "main": "reachable",
            "head": "reachable",
        }
        return
    # A clone has no objects of commits that are on no branch, so that it cannot see that main has the same change as one of them.
    squashed = "orphaned" if checkout in BY_CLONE else "reachable"
    assert said == {
        "main": "reachable",
        "dev": "reachable",
        "orphan": "orphaned",
        "squashed": squashed,
        "head": "reachable",
        "nothing": "orphaned",
    }
    assert told(found) | _no_squash(told(found), by_name["squashed"]) == expected | _no_squash(expected, by_name["squashed"])


def _words(origin: ModelRepository) -> list[str]:
    text = origin.git("show", "change:README.md")
    return [line.rsplit(" ", 1)[1] for line in text.splitlines() if line]


def _no_squash(told: dict[str, object], sha: str) -> dict[str, object]:
    """The claims without the one that only GitHub can tell."""
    rows = told["claims"], told["orphans"]
    assert isinstance(rows[0], list)
    assert isinstance(rows[1], list)
    return {"claims": [row for row in rows[0] if row[0] != sha], "orphans": [key for key in rows[1] if sha not in str(key)]}


@pytest.mark.parametrize("checkout", ["depth 1, the merge commit", "depth 1, base", "depth 2, head"])
def test_a_shallow_checkout_without_a_token_ends_with_the_command(
    origin: ModelRepository, job: Job, tmp_path: Path, checkout: str
) -> None:
    workspace = checked_out(origin, tmp_path / "workspace", checkout)
    with pytest.raises(CannotLookError, match=r"`git fetch --unshallow origin`.*`fetch-depth: 0`, or give the input token"):
        sides(job, workspace, None)


def test_a_shallow_checkout_whose_remote_hands_out_both_commits_needs_no_token(
    origin: ModelRepository, job: Job, tmp_path: Path
) -> None:
    """As after a push: base is the commit before it, so that nobody needs a merge base."""
    workspace = checked_out(origin, tmp_path / "workspace", "depth 1, base")
    pushed = msgspec.structs.replace(job, kind="summary-only", from_merge_base=False, base=origin.sha("change~2"))
    opened = sides(pushed, workspace, None)
    found = judged(pushed, opened, workspace)
    plain = checked_out(origin, tmp_path / "plain", "full")
    expected = judged(pushed, sides(pushed, plain, None), plain)
    assert [row.fingerprint for row in found.new if row.check != "orphan-fix-commit"] == [
        row.fingerprint for row in expected.new if row.check != "orphan-fix-commit"
    ]
    assert found.predictions == expected.predictions != ()
    assert {row.status for row in found.claims if row.sha != pushed.head and row.status != "unknown"} <= {"reachable"}


def test_a_remote_that_hands_nothing_out_ends_with_the_command(origin: ModelRepository, job: Job, tmp_path: Path) -> None:
    workspace = checked_out(origin, tmp_path / "workspace", "depth 1, base")
    origin.path.rename(tmp_path / "gone")
    with pytest.raises(
        CannotLookError, match=f"commit {job.head} is not in the shallow clone .*`git fetch --unshallow origin` may"
    ):
        sides(job, workspace, None)


def test_an_api_that_fails_leaves_the_word_to_the_clone(
    origin: ModelRepository, job: Job, remote: Remote, github: GitHubDouble, tmp_path: Path
) -> None:
    workspace = checked_out(origin, tmp_path / "workspace", "depth 1, base")
    github.answer("GET", "/compare/", 500, {"message": "down"})
    with pytest.raises(CannotLookError, match=r"could not be read by the API: GitHub answered 500 down; .*--unshallow"):
        sides(job, workspace, remote)


@pytest.mark.parametrize("checkout", ["depth 1, the merge commit", "none"])
def test_the_whole_action_tells_of_an_orphan_that_only_github_knows(
    origin: ModelRepository, github: GitHubDouble, tmp_path: Path, checkout: str
) -> None:
    workspace = checked_out(origin, tmp_path / "workspace", checkout)
    orphan = origin.sha("refs/pull/31/head")
    github.body = f"Repairs what {orphan[:10]} broke, see commit {orphan[:8]} and commit {'b' * 40}."

    step = Action(tmp_path / "runner", workspace, github, run.compare, run.exit_status).pull_request(prove="never")

    assert step.status == 1
    assert f"commit `{orphan[:12]}`, which is on no branch: only refs/pull/31/head holds it" in step.summary
    report = msgspec.json.decode(Path(step.outputs["report_path"]).read_bytes(), type=Comparison)
    claims = {row.sha: (row.status, [place.path for place in row.places]) for row in report.claims}
    assert claims[orphan] == ("orphaned", ["README.md", "pull-request:body"])
    assert claims["b" * 40] == ("orphaned", ["pull-request:body"])
    assert origin.sha("dev") in claims
    assert len([line for line in github.log if "/commits" in line or "/compare/" in line or "/matching-refs/" in line]) < 20
