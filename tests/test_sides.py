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
from bot.fetch.history_git import GitHistory
from bot.fetch.history_github import GitHubHistory
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
    """What must not depend on the checkout."""
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
    expected = told(judged(job, sides(job, plain, remote), plain))
    workspace = checked_out(origin, tmp_path / "workspace", checkout)
    opened = sides(job, workspace, remote)
    assert isinstance(opened.base, GitSource if checkout in BY_CLONE else GitHubSource)
    assert isinstance(opened.history, GitHistory if checkout in BY_CLONE else GitHubHistory)

    found = judged(job, opened, workspace)

    assert expected["new"]
    assert expected["predictions"]
    by_name = dict(zip(("main", "dev", "orphan", "squashed", "head", "nothing"), _words(origin), strict=True))
    status = {row.sha: row.status for row in found.claims}
    said = {name: status[sha] for name, sha in by_name.items()}
    # The clones have no objects of commits that are on no branch: GitHub is asked about them.
    assert said == {
        "main": "reachable",
        "dev": "reachable",
        "orphan": "orphaned",
        "squashed": "reachable",
        "head": "reachable",
        "nothing": "orphaned",
    }
    assert told(found) == expected


def test_without_a_token_nothing_that_a_clone_lacks_is_called_orphaned(origin: ModelRepository, job: Job, tmp_path: Path) -> None:
    workspace = checked_out(origin, tmp_path / "workspace", "full")
    opened = sides(job, workspace, None)
    found = judged(job, opened, workspace)
    assert opened.history is None
    status = {row.sha: (row.status, row.reason) for row in found.claims}
    lacking = "unknown", "the clone does not have it, and its remote may"
    by_name = dict(zip(("main", "dev", "orphan", "squashed", "head", "nothing"), _words(origin), strict=True))
    assert {name: status[sha] for name, sha in by_name.items() if status[sha][0] != "reachable"} == dict.fromkeys(
        ("orphan", "squashed", "nothing"), lacking
    )


def test_a_clone_whose_questions_github_does_not_answer_calls_nothing_orphaned(
    origin: ModelRepository, job: Job, remote: Remote, github: GitHubDouble, tmp_path: Path
) -> None:
    workspace = checked_out(origin, tmp_path / "workspace", "full")
    github.answer("GET", "/commits/", 403, {"message": "API rate limit exceeded for installation"}, times=9)
    found = judged(job, sides(job, workspace, remote), workspace)
    assert {row.status for row in found.claims} == {"reachable", "unknown"}
    assert "GitHub's rate limit is used up, asked for commits" in {row.reason for row in found.claims}


def test_a_complete_clone_asks_github_only_for_what_it_lacks(
    origin: ModelRepository, job: Job, remote: Remote, github: GitHubDouble, tmp_path: Path
) -> None:
    workspace = checked_out(origin, tmp_path / "workspace", "full")
    opened = sides(job, workspace, remote)
    assert opened.history
    github.log.clear()
    blob = origin.git("rev-parse", "main:config.json")
    assert [found.status for found in opened.history.resolve([origin.sha("dev"), blob, "1234567", "ab" * 16])] == [
        "reachable",
        *["unknown"] * 3,  # a blob, digits alone, and a sum of 32 digits
    ]
    assert github.log == []
    assert [found.status for found in opened.history.resolve(["b" * 40])] == ["orphaned"]
    assert not [line for line in github.log if "/commits?" in line]  # the clone has all of base's


def _words(origin: ModelRepository) -> list[str]:
    text = origin.git("show", "change:README.md")
    return [line.rsplit(" ", 1)[1] for line in text.splitlines() if line]


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
