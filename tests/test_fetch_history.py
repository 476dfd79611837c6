"""What became of the commits that texts name."""

import json
from pathlib import Path

import pytest

from bot.errors import UsageError
from bot.fetch import patches
from bot.fetch.git import Repository
from bot.fetch.history import NoHistory, is_pull
from bot.fetch.history_file import LARGEST, FileHistory
from bot.fetch.history_git import MOST_WALKS, GitHistory
from bot.snapshot import Commit
from tests.repositories import GitRepository

COLLIDING, COLLISION = (1_000_002_205, 1_000_007_001), "071b5bf"
A, B, C, D = ("a" * 40, "b" * 40, "c" * 40, "d" * 40)


def history(made: GitRepository, base: str = "main", head: str = "main") -> GitHistory:
    repository = Repository(made.path)
    return GitHistory(repository, repository.commit(base), repository.commit(head), base)


def fate(made: GitRepository, word: str, base: str = "main", head: str = "main") -> tuple[str, str]:
    (commit,) = history(made, base, head).resolve([word])
    assert commit.word == word
    return commit.status, commit.reason


@pytest.fixture
def made(tmp_path: Path) -> GitRepository:
    repository = GitRepository(tmp_path / "made")
    repository.commit("first", {"config.json": "1\n2\n3\n", "README.md": "hello\n"})
    return repository


def fork(made: GitRepository, name: str, files: dict[str, str | bytes | None], *more: dict[str, str | bytes | None]) -> str:
    """Commit on a new branch and come back to main; returns the last commit."""
    made.git("checkout", "--quiet", "-b", name)
    shas = [made.commit(f"{name} {number}", some) for number, some in enumerate((files, *more))]
    made.git("checkout", "--quiet", "main")
    return shas[-1]


def pull_request(made: GitRepository, number: int, *files: dict[str, str | bytes | None]) -> str:
    """Commit on a pull-request ref alone, as the Hub keeps it."""
    sha = fork(made, "work", *files)
    made.git("update-ref", f"refs/pr/{number}", sha)
    made.git("branch", "--quiet", "-D", "work")
    return sha


def test_what_base_head_branches_and_tags_hold(made: GitRepository) -> None:
    first = made.git("rev-parse", "HEAD")
    feature = fork(made, "feature", {"config.json": "feature"})
    dev = fork(made, "dev", {"config.json": "dev"})
    tagged = fork(made, "v", {"config.json": "tagged"})
    made.git("tag", "--annotate", "--message=x", "v1", tagged)
    made.git("branch", "--quiet", "-D", "v")
    words = [first, first[:7], feature[:9], dev[:7], tagged]
    assert history(made, head="feature").complete
    assert history(made, head="feature").resolve(words) == (
        Commit(first, first, "reachable", "on main"),
        Commit(first[:7], first, "reachable", "on main"),
        Commit(feature[:9], feature, "reachable", "in head"),
        Commit(dev[:7], dev, "reachable", "on branch dev"),
        Commit(tagged, tagged, "reachable", "on tag v1"),
    )


def test_a_commit_that_only_pull_requests_hold_is_orphaned(made: GitRepository) -> None:
    sha = pull_request(made, 4, {"config.json": "other"})
    assert fate(made, sha[:7]) == ("orphaned", "only refs/pr/4 holds it")
    made.git("update-ref", "refs/remotes/origin/pull/4/head", sha)
    assert fate(made, sha[:7]) == ("orphaned", "only refs/pr/4 and refs/remotes/origin/pull/4/head hold it")
    made.git("update-ref", "refs/heads/pr/4", sha)
    assert fate(made, sha[:7]) == ("orphaned", "only refs/heads/pr/4 and 2 more pull-request refs hold it")


def test_a_commit_that_no_ref_holds_is_orphaned(made: GitRepository) -> None:
    sha = fork(made, "work", {"config.json": "other"})
    made.git("branch", "--quiet", "-D", "work")
    assert fate(made, sha) == ("orphaned", "no ref holds it")
    assert fate(made, "6ad52ee") == ("orphaned", "no commit of this repository has this id")


def test_squashed(made: GitRepository) -> None:
    sha = pull_request(made, 1, {"config.json": "1\nx\n3\n"}, {"README.md": "fixed\n"})
    made.commit("between", {"unrelated.txt": "x"})
    squash = made.commit("fix (#1)", {"config.json": "1\nx\n3\n", "README.md": "fixed\n"})
    assert fate(made, sha[:8]) == ("reachable", f"the same change is on main as {squash[:8]}")


def test_cherry_picked(made: GitRepository) -> None:
    sha = pull_request(made, 1, {"README.md": "hello\nnote\n"}, {"config.json": "1\nx\n3\n"})
    made.commit("between", {"unrelated.txt": "x"})
    picked = made.commit("the fix alone", {"config.json": "1\nx\n3\n"})
    assert fate(made, sha) == ("reachable", f"the same change is on main as {picked[:8]}")


def test_rebased_in_head(made: GitRepository) -> None:
    sha = pull_request(made, 1, {"config.json": "1\nx\n3\n"})
    made.commit("main moves on", {"unrelated.txt": "x"})
    rebased = fork(made, "feature", {"config.json": "1\nx\n3\n"})
    assert fate(made, sha, head="feature") == ("reachable", f"the same change is in head as {rebased[:8]}")


def test_rewritten_is_orphaned(made: GitRepository) -> None:
    sha = pull_request(made, 7, {"config.json": "1\nx\n3\n"})
    made.commit("another fix", {"config.json": "1\ny\n3\n"})
    assert fate(made, sha) == ("orphaned", "only refs/pr/7 holds it")


def test_another_change_of_the_same_binary_file_is_no_equal(made: GitRepository) -> None:
    made.commit("model", {"tokenizer.model": b"\0\1"})
    sha = pull_request(made, 7, {"tokenizer.model": b"\0\2"})
    made.commit("another", {"tokenizer.model": b"\0\3"})
    assert fate(made, sha) == ("orphaned", "only refs/pr/7 holds it")


def test_an_empty_commit_equals_nothing(made: GitRepository) -> None:
    sha = pull_request(made, 7, {})
    made.commit("empty too")
    assert fate(made, sha) == ("orphaned", "only refs/pr/7 holds it")


def test_a_root_commit_without_common_history(made: GitRepository) -> None:
    lonely = made.tree_commit([("100644", b"config.json", b"{}")])
    assert fate(made, lonely) == ("orphaned", "no ref holds it")


def test_too_much_to_compare_is_unknown(made: GitRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    sha = pull_request(made, 7, {"config.json": "x"})
    made.commit("one", {"a": "x"})
    made.commit("two", {"a": "y" * 5000})
    monkeypatch.setattr(patches, "MOST_COMMITS", 1)
    assert fate(made, sha) == ("unknown", "could not compare patches: more than 1 commits")
    monkeypatch.setattr(patches, "MOST_COMMITS", 10)
    monkeypatch.setattr(patches, "MOST_BYTES", 1000)
    assert fate(made, sha) == ("unknown", "could not compare patches: more than 0 MiB of differences")


def test_missing_blobs_are_unknown(made: GitRepository) -> None:
    sha = pull_request(made, 7, {"config.json": "x"})
    made.commit("one", {"a": "x"})
    made.forget("a")
    (commit,) = history(made).resolve([sha])
    assert (commit.status, commit.reason) == (
        "unknown",
        "could not compare patches: git cannot make all of the differences; objects may be missing",
    )


def test_words_are_never_refs(made: GitRepository) -> None:
    made.git("branch", "deadbeef")
    made.git("tag", "1234567")
    sha = made.git("rev-parse", "HEAD")
    made.git("branch", sha[:8], made.commit("second", {"config.json": "x"}))
    assert fate(made, "deadbeef") == ("orphaned", "no commit of this repository has this id")
    assert fate(made, "1234567") == ("orphaned", "no commit of this repository has this id")
    assert history(made).resolve([sha[:8]]) == (Commit(sha[:8], sha, "reachable", "on main"),)


def test_what_is_no_commit(made: GitRepository) -> None:
    assert fate(made, made.git("rev-parse", "HEAD^{tree}")) == ("unknown", "names a tree, not a commit")
    assert fate(made, made.git("rev-parse", "HEAD:README.md")[:12]) == ("unknown", "names a blob, not a commit")


def test_an_ambiguous_word(made: GitRepository) -> None:
    """Two commits whose ids share seven digits, found once by trying timestamps."""
    tree = made.git("rev-parse", "HEAD^{tree}")
    for when in COLLIDING:
        who = f"Ada <ada@example.com> {when} +0000"
        content = f"tree {tree}\nauthor {who}\ncommitter {who}\n\nx\n"
        made.git("hash-object", "-w", "-t", "commit", "--stdin", stdin=content.encode())
    assert fate(made, COLLISION) == ("unknown", "short for more than one commit")


def test_many_far_commits_are_bounded(made: GitRepository) -> None:
    tree = made.git("rev-parse", "HEAD^{tree}")
    shas = [made.git("commit-tree", tree, "-p", "HEAD", stdin=f"{number}\n".encode()) for number in range(MOST_WALKS + 1)]
    found = history(made).resolve(shas)
    assert found[0].status == "orphaned"
    assert (found[-1].status, found[-1].reason) == ("unknown", "more than 100 commits would have to be looked for")


def test_a_shallow_clone_cannot_tell(made: GitRepository, tmp_path: Path) -> None:
    first = made.git("rev-parse", "HEAD")
    second = made.commit("second", {"config.json": "x"})
    clone = made.clone(tmp_path / "clone", "--depth=1")
    assert not history(clone).complete
    assert fate(clone, first) == ("unknown", "the clone is shallow")
    assert fate(clone, second) == ("reachable", "on main")


def test_a_clone_of_one_branch_cannot_tell(made: GitRepository, tmp_path: Path) -> None:
    sha = fork(made, "dev", {"config.json": "x"})
    clone = made.clone(tmp_path / "clone", "--single-branch")
    assert fate(clone, sha) == ("unknown", "only branch main was cloned")
    bare = made.clone(tmp_path / "bare", "--bare")
    assert fate(bare, "6ad52ee") == ("unknown", "no branches are fetched from origin")
    no_tags = made.clone(tmp_path / "no-tags", "--no-tags")
    assert fate(no_tags, "6ad52ee") == ("unknown", "tags of origin were not fetched")
    full = made.clone(tmp_path / "full")
    assert fate(full, sha) == ("reachable", "on branch origin/dev")
    assert fate(full, "6ad52ee") == ("unknown", "the clone does not have it, and its remote may")
    full.git("config", "--add", "remote.origin.fetch", "^refs/heads/dev")
    assert fate(full, "6ad52ee") == ("unknown", "branches dev of origin were left out")
    mirror = made.clone(tmp_path / "mirror", "--mirror")
    assert history(mirror).complete


def test_a_pull_request_that_was_fetched_tells_of_an_orphan(made: GitRepository, tmp_path: Path) -> None:
    sha = pull_request(made, 4, {"config.json": "other"})
    made.git("update-ref", "refs/pull/4/head", sha)
    for refspec, held in (
        ("refs/pr/4:refs/pr/4", "refs/pr/4"),
        ("refs/pull/4/head:refs/remotes/origin/pull/4/head", "refs/remotes/origin/pull/4/head"),
        ("refs/pr/4:pr/4", "refs/heads/pr/4"),
        ("refs/pull/4/head:refs/remotes/pull/4/merge", "refs/remotes/pull/4/merge"),
    ):
        clone = made.clone(tmp_path / held)
        assert fate(clone, sha)[0] == "unknown"
        clone.git("fetch", "--quiet", "origin", refspec)
        assert fate(clone, sha) == ("orphaned", f"only {held} holds it")
    configured = made.clone(tmp_path / "configured", "--config=remote.origin.fetch=+refs/pull/*/head:refs/remotes/origin/pr/*")
    assert fate(configured, sha) == ("orphaned", "only refs/remotes/origin/pr/4 holds it")


def test_a_branch_that_is_called_like_a_pull_request_is_a_branch(made: GitRepository, tmp_path: Path) -> None:
    sha = fork(made, "pr/4", {"config.json": "other"})
    assert fate(made, sha) == ("reachable", "on branch pr/4")
    clone = made.clone(tmp_path / "clone")
    assert fate(clone, sha) == ("reachable", "on branch origin/pr/4")
    clone.git("switch", "--quiet", "pr/4")
    ahead = clone.commit("ahead of it", {"config.json": "more"})
    assert fate(clone, ahead) == ("reachable", "on branch pr/4")


def test_a_commit_within_a_squashed_pull_request(made: GitRepository) -> None:
    tip = pull_request(made, 1, {"config.json": "1\nx\n3\n"}, {"README.md": "fixed\n"})
    squash = made.commit("fix (#1)", {"config.json": "1\nx\n3\n", "README.md": "fixed\n"})
    sha = made.git("rev-parse", f"{tip}~1")
    assert fate(made, sha) == ("reachable", f"all of refs/pr/1 is on main as {squash[:8]}")


def test_pull_request_refs() -> None:
    pulls = (
        "refs/pr/4",
        "refs/pull/4/head",
        "refs/merge-requests/4/head",
        "refs/remotes/origin/pr/4",
        "refs/remotes/pull/4/merge",
    )
    assert all(is_pull(ref) for ref in pulls)
    assert not any(
        is_pull(ref) for ref in ("refs/heads/main", "refs/heads/pr/fix", "refs/remotes/origin/pull-4", "refs/tags/pr/4", "pr/4")
    )


def test_no_history() -> None:
    assert NoHistory("no clone").resolve(["6ad52ee"]) == (Commit("6ad52ee", None, "unknown", "no clone"),)


# Histories from a file.


def write(tmp_path: Path, refs: object) -> Path:
    path = tmp_path / "refs.json"
    path.write_text(refs if isinstance(refs, str) else json.dumps(refs))
    return path


def test_a_file_of_refs(tmp_path: Path) -> None:
    refs = {"main": [B, A], "dev": [C, A], "refs/tags/v1": [D], "refs/pr/4": ["6" * 40, A], "refs/pull/5/head": ["7" * 40]}
    found = FileHistory(write(tmp_path, refs), ["8" * 40])
    assert found.complete
    words = ["bbbbbbb", A, "ccccccc", "ddddddd", "6666666", "7777777", "8888888", "9999999"]
    assert [(commit.status, commit.reason) for commit in found.resolve(words)] == [
        ("reachable", "on main"),
        ("reachable", "on main"),
        ("reachable", "on branch dev"),
        ("reachable", "on tag v1"),
        ("orphaned", "only refs/pr/4 holds it"),
        ("orphaned", "only refs/pull/5/head holds it"),
        ("reachable", "in head"),
        ("orphaned", "no commit of this repository has this id"),
    ]


def test_equal_patch_ids_in_a_file(tmp_path: Path) -> None:
    refs = {"main": [B], "refs/pr/7": [C, D], ":patch-ids": {B: "p", C: "p", D: "q"}}
    found = FileHistory(write(tmp_path, refs)).resolve([C[:8], D[:8]])
    assert [commit.reason for commit in found] == ["the same change is on main as bbbbbbbb", "only refs/pr/7 holds it"]
    assert [commit.status for commit in found] == ["reachable", "orphaned"]


def test_an_ambiguous_word_in_a_file(tmp_path: Path) -> None:
    refs = {"main": ["1234567" + "0" * 33], "refs/pr/1": ["1234567" + "1" * 33]}
    (commit,) = FileHistory(write(tmp_path, refs)).resolve(["1234567"])
    assert (commit.status, commit.reason) == ("unknown", "short for more than one commit")


@pytest.mark.parametrize(
    ("refs", "base"),
    [
        ({"master": [A], "dev": [B]}, "master"),
        ({"trunk": [A], "refs/pr/1": [B]}, "trunk"),
        ({"refs/heads/main": [A], "dev": [B]}, "main"),
    ],
)
def test_the_base_branch_of_a_file(tmp_path: Path, refs: object, base: str) -> None:
    (commit,) = FileHistory(write(tmp_path, refs)).resolve([A])
    assert commit.reason == f"on {base}"


@pytest.mark.parametrize(
    ("refs", "message"),
    [
        ('{"main": [\n}', "line 2: .*expected"),
        ("", "line 1: .*expected"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "holds no object"),
        ({"main": A}, "'main': expected a list of commits"),
        ({"main": [A, "abc"]}, "'main', entry 2: 'abc' is no commit; write all 40 hexadecimal digits"),
        ({"main": [1]}, "'main', entry 1: '1' is no commit"),
        ({"main": [A], ":patch-ids": []}, "':patch-ids': expected an object"),
        ({"main": [A], ":patch-ids": {A: 1}}, "expected the patch id as text"),
        ({"main": [A], ":patch-ids": {"x": "1"}}, "':patch-ids': 'x' is no commit"),
        ({"dev": [A], "trunk": [B]}, r"which branch is the base\? name it main \(branches found: dev, trunk\)"),
        ({"refs/pr/1": [A]}, r"which branch is the base\? name it main \(branches found: none\)"),
    ],
)
def test_bad_files(tmp_path: Path, refs: object, message: str) -> None:
    with pytest.raises(UsageError, match=f"refs.json.*{message}") as caught:
        FileHistory(write(tmp_path, refs))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such history file"):
        FileHistory(tmp_path / "refs.json")
    with pytest.raises(UsageError, match="cannot be read: Is a directory"):
        FileHistory(tmp_path)
    (tmp_path / "x").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="is not JSON"):
        FileHistory(tmp_path / "x")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(UsageError, match="is larger than 64 MiB"):
        FileHistory(tmp_path / "large")


@pytest.mark.needs("shared")
@pytest.mark.parametrize(
    ("case", "word", "fate"),
    [
        ("orphan-fix-commit", "3" * 40, ("orphaned", "only refs/pr/3 holds it")),
        ("orphan-fix-commit-unknown", "2" * 12, ("orphaned", "no commit of this repository has this id")),
        ("orphan-fix-commit-rewritten", "8f3c1d2e4b5a69788796a5b4c3d2e1f0a1b2c3d4", ("orphaned", "only refs/pr/7 holds it")),
        ("clean-fix-commit-cherry-picked", "8f3c1d2e", ("reachable", "the same change is on main as c0ffee12")),
        ("glm51-fp8-orphan-fix", "6ad52ee", ("orphaned", "only refs/pr/4 holds it")),
        ("glm51-fp8-fix-merged", "6ad52ee", ("reachable", "on main")),
    ],
)
def test_shared_cases(shared: Path, case: str, word: str, fate: tuple[str, str]) -> None:
    (commit,) = FileHistory(shared / "cases" / case / "refs.json").resolve([word])
    assert (commit.status, commit.reason) == fate
