"""What GitHub's API says about commits, which is what a clone with every ref says."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from github.Repository import Repository as Remote
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.api import connect
from bot.fetch import commits_github, history_github
from bot.fetch.commits_github import MOST_REQUESTS
from bot.fetch.git import Repository
from bot.fetch.history_git import GitHistory
from bot.fetch.history_github import ABSENT, SPENT, GitHubHistory
from bot.fetch.patches_github import NOTHING, difference
from bot.snapshot import Commit
from tests.doubles.github import GitHubDouble
from tests.repositories import Content, GitRepository

TEXT = "".join(f"{number}\n" for number in range(20))


@pytest.fixture
def made(tmp_path: Path) -> GitRepository:
    repository = GitRepository(tmp_path / "made")
    repository.commit("first", {"config.json": TEXT, "README.md": "hello\n", "model.bin": b"\0\1"})
    repository.commit("second", {"README.md": "hello\nthere\n"})
    repository.git("branch", "change")
    return repository


@pytest.fixture
def github(made: GitRepository) -> Iterator[GitHubDouble]:
    with GitHubDouble(made.path) as double:
        yield double
        assert double.violations == []


@pytest.fixture
def remote(github: GitHubDouble) -> Remote:
    return connect(github.url, "token", retry=None, between_requests=0, between_writes=0).get_repo(github.repository)


def fork(made: GitRepository, name: str, *files: Mapping[str, Content]) -> str:
    """Commit on a branch that starts at main's second commit, and come back to main; the last commit."""
    made.git("switch", "--quiet", "--force-create", name, made.git("rev-list", "--reverse", "main").split()[1])
    shas = [made.commit(f"{name} {number}", some) for number, some in enumerate(files)]
    made.git("switch", "--quiet", "main")
    return shas[-1]


def pull_request(made: GitRepository, number: int, *files: Mapping[str, Content]) -> str:
    """Commit on refs/pull alone, as GitHub keeps what nobody merged."""
    sha = fork(made, "work", *files)
    made.git("update-ref", f"refs/pull/{number}/head", sha)
    made.git("branch", "--quiet", "-D", "work")
    return sha


def history(made: GitRepository, remote: Remote, head: str = "change", *, listed: bool = True) -> GitHubHistory:
    base, tip = made.git("rev-parse", "main"), made.git("rev-parse", head)
    ahead = made.git("rev-list", f"{base}..{tip}").split()
    return GitHubHistory(remote, base, tip, "main", ahead if listed else None)


def by_clone(made: GitRepository, words: list[str], head: str = "change") -> list[tuple[str, str]]:
    """What the repository itself says, which has every ref."""
    repository = Repository(made.path)
    found = GitHistory(repository, repository.commit("main"), repository.commit(head), "main").resolve(words)
    return [(commit.status, commit.reason) for commit in found]


def by_api(made: GitRepository, remote: Remote, words: list[str], head: str = "change") -> list[tuple[str, str]]:
    return [(commit.status, commit.reason) for commit in history(made, remote, head).resolve(words)]


def same(made: GitRepository, remote: Remote, *words: str) -> list[tuple[str, str]]:
    """What both say."""
    said = by_api(made, remote, list(words))
    assert said == by_clone(made, list(words))
    return said


def test_what_base_head_branches_and_tags_hold(made: GitRepository, remote: Remote) -> None:
    first = made.git("rev-parse", "main~1")
    head = fork(made, "change", {"config.json": "head"})
    dev = fork(made, "dev", {"config.json": "dev"}, {"config.json": "more"})
    older = made.git("rev-parse", "dev~1")
    for name, option in (("v1", "--annotate"), ("v2", "--no-sign")):
        fork(made, "tagged", {"config.json": name})
        made.git("tag", option, *(["--message=x"] if option == "--annotate" else []), name, "tagged")
    made.git("branch", "--quiet", "-D", "tagged")
    v1, v2 = made.git("rev-parse", "v1^{commit}"), made.git("rev-parse", "v2^{commit}")
    assert same(made, remote, first, first[:7], head[:9], dev[:7], older, v1[:10], v2) == [
        ("reachable", "on main"),
        ("reachable", "on main"),
        ("reachable", "in head"),
        ("reachable", "on branch dev"),
        ("reachable", "on branch dev"),
        ("reachable", "on tag v1"),
        ("reachable", "on tag v2"),
    ]
    assert history(made, remote).resolve([head[:9]]) == (Commit(head[:9], head, "reachable", "in head"),)


def test_a_commit_that_only_a_pull_request_holds_is_orphaned(made: GitRepository, remote: Remote) -> None:
    sha = pull_request(made, 31, {"config.json": "fixed"})
    said = by_api(made, remote, [sha, sha[:7]])
    assert said == [("orphaned", "only refs/pull/31/head holds it")] * 2
    assert by_clone(made, [sha]) == said[:1]
    assert history(made, remote).complete


def test_a_commit_below_a_pull_request_is_orphaned(made: GitRepository, remote: Remote) -> None:
    tip = pull_request(made, 31, {"config.json": "fixed"}, {"config.json": "and more"})
    sha = made.git("rev-parse", f"{tip}~1")
    assert same(made, remote, sha) == [("orphaned", "only refs/pull/31/head holds it")]


def test_a_commit_within_a_squashed_pull_request(made: GitRepository, remote: Remote) -> None:
    tip = pull_request(made, 3, {"config.json": "x"}, {"README.md": "fixed\n"})
    pull_request(made, 4, {"model.bin": "another"})
    squash = made.commit("fix (#3)", {"config.json": "x", "README.md": "fixed\n"})
    sha = made.git("rev-parse", f"{tip}~1")
    assert same(made, remote, sha) == [("reachable", f"all of refs/pull/3/head is on main as {squash[:8]}")]


def test_a_commit_that_one_of_many_pull_requests_may_hold_is_unknown(
    made: GitRepository, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_github, "MOST_PULLS", 1)
    tip = pull_request(made, 3, {"config.json": "x"}, {"README.md": "fixed\n"})
    pull_request(made, 4, {"model.bin": "another"})
    said = by_api(made, remote, [made.git("rev-parse", f"{tip}~1")])
    assert said == [("unknown", "it may be of one of 2 pull requests, and merged with it under another id")]


@pytest.mark.parametrize("name", ["pr/4", "pull/31/head"])
def test_a_branch_that_is_called_like_a_pull_request_is_a_branch(made: GitRepository, remote: Remote, name: str) -> None:
    sha = fork(made, name, {"config.json": "fixed"})
    assert same(made, remote, sha) == [("reachable", f"on branch {name}")]


def test_trees_and_blobs_are_no_commits(made: GitRepository, remote: Remote) -> None:
    old = made.git("rev-parse", "main~1:README.md"), made.git("rev-parse", "main~1^{tree}")
    blob, tree = made.git("rev-parse", "change:config.json"), made.git("rev-parse", "main^{tree}")
    assert same(made, remote, blob, tree, *old, blob[:8], tree[:12]) == [
        ("unknown", f"names a {kind}, not a commit") for kind in ("blob", "tree", "blob", "tree", "blob", "tree")
    ]


@pytest.mark.parametrize(
    ("status", "message"),
    [(404, ""), (422, "Server Error: Sorry, this diff is taking too long to generate."), (422, "Validation Failed")],
)
def test_only_what_github_calls_no_commit_is_none(
    made: GitRepository, remote: Remote, github: GitHubDouble, status: int, message: str
) -> None:
    dev = fork(made, "dev", {"config.json": "x"})
    orphan = pull_request(made, 7, {"config.json": "y"})
    github.answer("GET", f"/commits/({dev}|{orphan})", status, {"message": message}, times=9)
    assert by_api(made, remote, [dev, orphan, "a" * 40]) == [
        ("reachable", "on branch dev"),
        ("unknown", f"GitHub answered {status} {message}".strip() + ", asked for it"),
        ("orphaned", ABSENT),
    ]


def test_a_comparison_that_is_refused_does_not_make_two_commits_strangers(
    made: GitRepository, remote: Remote, github: GitHubDouble
) -> None:
    orphan = pull_request(made, 7, {"config.json": "y"})
    github.answer("GET", "/compare/", 404, {"message": "Not Found"}, times=9)
    assert by_api(made, remote, [orphan]) == [("unknown", "GitHub answered 404, asked for it")]


@pytest.mark.parametrize("status", [404, 422])
def test_an_id_that_no_commit_has(made: GitRepository, remote: Remote, github: GitHubDouble, status: int) -> None:
    github.answer("GET", f"/commits/{'a' * 40}$", status, {"message": f"No commit found for SHA: {'a' * 40}"})
    assert by_api(made, remote, ["a" * 40]) == [("orphaned", ABSENT)]
    assert by_clone(made, ["a" * 40]) == [("orphaned", ABSENT)]


def test_a_short_name_that_github_refuses_may_be_one_of_several_forks(
    made: GitRepository, remote: Remote, github: GitHubDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GitHub says that there is no such commit where a fork has an object that begins alike; what a branch holds is found all the same."""
    tip = fork(made, "dev", {"config.json": "x"}, {"config.json": "y"})
    older = made.git("rev-parse", f"{tip}~1")
    github.answer("GET", "/commits/[0-9a-f]{7}$", 422, {"message": "No commit found for SHA"}, times=9)
    assert history(made, remote).resolve([older[:7], "f" * 7]) == (
        Commit(older[:7], older, "reachable", "on branch dev"),
        Commit("f" * 7, None, "orphaned", "no branch or tag holds it, and GitHub knows no commit by this name"),
    )
    monkeypatch.setattr(history_github, "MOST_REFS", 0)
    reason = "GitHub knows no commit by so short a name, which several of its forks may share"
    assert by_api(made, remote, ["f" * 7, "f" * 9]) == [("unknown", reason), ("orphaned", ABSENT)]


def test_the_same_change_after_a_squash(made: GitRepository, remote: Remote) -> None:
    sha = pull_request(made, 1, {"config.json": TEXT.replace("9\n", "x\n")}, {"README.md": "fixed\n"})
    made.commit("between", {"unrelated.txt": "x"})
    squash = made.commit("fix (#1)", {"config.json": TEXT.replace("9\n", "x\n"), "README.md": "fixed\n"})
    assert same(made, remote, sha) == [("reachable", f"the same change is on main as {squash[:8]}")]


def test_the_same_change_after_a_cherry_pick(made: GitRepository, remote: Remote) -> None:
    sha = pull_request(made, 1, {"README.md": "note\n"}, {"config.json": TEXT.replace("15\n", "x\n")})
    made.commit("other lines", {"config.json": f"top\n{TEXT}"})
    picked = made.commit("the fix alone", {"config.json": f"top\n{TEXT}".replace("15\n", "x\n")})
    assert same(made, remote, sha) == [("reachable", f"the same change is on main as {picked[:8]}")]


def test_the_same_change_in_head(made: GitRepository, remote: Remote) -> None:
    sha = pull_request(made, 1, {"config.json": TEXT.replace("15\n", "x\n")})
    made.commit("main moves on", {"unrelated.txt": "x"})
    rebased = fork(made, "change", {"new.txt": "y"}, {"config.json": TEXT.replace("15\n", "x\n")})
    assert same(made, remote, sha) == [("reachable", f"the same change is in head as {rebased[:8]}")]


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"config.json": TEXT.replace("15\n", "x\n")}, {"config.json": TEXT.replace("15\n", "y\n")}),
        ({"model.bin": b"\0\2"}, {"model.bin": b"\0\3"}),
        ({}, {}),
        ({"config.json": "x"}, {"other.json": "x"}),
    ],
    ids=["rewritten", "binary", "empty", "elsewhere"],
)
def test_another_change_is_no_equal(
    made: GitRepository, remote: Remote, theirs: dict[str, Content], ours: dict[str, Content]
) -> None:
    sha = pull_request(made, 7, theirs)
    made.commit("another", ours)
    assert same(made, remote, sha) == [("orphaned", "only refs/pull/7/head holds it")]


def test_merges_are_not_compared(made: GitRepository, remote: Remote) -> None:
    sha = pull_request(made, 7, {"config.json": "x"})
    fork(made, "side", {"config.json": "y"})
    made.git("merge", "--quiet", "--no-ff", "--message=merge", "side")
    made.git("branch", "--quiet", "-D", "side")
    assert same(made, remote, sha) == [("orphaned", "only refs/pull/7/head holds it")]


def test_what_github_does_not_show_is_unknown(made: GitRepository, remote: Remote, github: GitHubDouble) -> None:
    sha = pull_request(made, 7, {"config.json": "x"})
    later = made.commit("large", {"config.json": "y"})
    shown = github.git.commit(later, files=True)
    for file in shown["files"]:
        del file["patch"]
    github.answer("GET", f"/commits/{later}$", 200, shown)
    said = by_api(made, remote, [sha])
    assert said == [("unknown", "GitHub does not show all of a change that may be the same under another id")]


def test_a_commit_without_common_history_is_unknown(made: GitRepository, remote: Remote) -> None:
    lonely = made.tree_commit([("100644", b"config.json", b"{}")])
    assert by_api(made, remote, [lonely]) == [
        ("unknown", "it shares no history with main, where the same change may be under another id")
    ]
    made.git("branch", "pages", lonely)
    assert same(made, remote, lonely, lonely[:7]) == [("reachable", "on branch pages")] * 2
    assert [status for status, _ in by_api(made, remote, ["f" * 7])] == ["orphaned"]


def test_too_many_commits_to_compare_are_unknown(made: GitRepository, remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    sha = pull_request(made, 7, {"config.json": "x"})
    monkeypatch.setattr(history_github, "MOST_PATCHES", 2)
    for number in range(3):
        made.commit("more", {"a": str(number)})
    said = by_api(made, remote, [sha])
    assert said == [("unknown", "the same change may be in main under another id, where too many commits are to be compared")]


def test_a_long_base_branch_is_asked_commit_by_commit(
    made: GitRepository, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits_github, "MOST_PAGES", 1)
    first = made.git("rev-parse", "main")
    for _ in range(100):
        made.git("commit", "--quiet", "--allow-empty", "--message=more")
    made.git("branch", "--force", "change", "main")
    head = fork(made, "late", {"config.json": "x"})
    made.git("tag", "v0", first)
    found = history(made, remote, "late", listed=False)
    assert [(commit.sha, commit.status, commit.reason) for commit in found.resolve([first, head[:8]])] == [
        (first, "reachable", "on main"),
        (head, "reachable", "in head"),
    ]


def test_a_long_branch_is_asked_for_each_commit(made: GitRepository, remote: Remote) -> None:
    made.git("switch", "--quiet", "--create", "long")
    first = made.commit("first of many", {"config.json": "x"})
    for _ in range(255):
        made.git("commit", "--quiet", "--allow-empty", "--message=more")
    made.git("switch", "--quiet", "main")
    assert same(made, remote, first) == [("reachable", "on branch long")]


def test_one_answer_about_a_branch_serves_all_commits(made: GitRepository, remote: Remote, github: GitHubDouble) -> None:
    tip = fork(made, "dev", *({"config.json": str(number)} for number in range(10)))
    words = made.git("rev-list", f"main..{tip}").split()
    github.log.clear()
    assert same(made, remote, *words) == [("reachable", "on branch dev")] * 10
    assert sum("/compare/" in line for line in github.log) == 1
    assert sum("/matching-refs/" in line for line in github.log) == 2


def test_a_word_that_is_the_name_of_a_branch_or_tag_is_no_commit(made: GitRepository, remote: Remote) -> None:
    fork(made, "deadbeef", {"config.json": "x"})
    assert by_api(made, remote, ["deadbeef"]) == [("unknown", "names a branch or tag, not a commit")]


def test_a_short_word_for_two_commits(made: GitRepository, remote: Remote) -> None:
    base, head = (f"abcdef0{letter}" + "0" * 32 for letter in "12")
    found = GitHubHistory(remote, made.git("rev-parse", "main"), head, "main", [base, head])
    assert found.resolve(["abcdef0"]) == (Commit("abcdef0", None, "unknown", "short for more than one commit"),)


def test_too_many_branches_are_not_all_looked_at(made: GitRepository, remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_github, "MOST_REFS", 3)
    sha = pull_request(made, 7, {"config.json": "x"})
    tips = [fork(made, f"b{number}", {"config.json": str(number)}) for number in range(5)]
    found = history(made, remote)
    assert [(commit.status, commit.reason) for commit in found.resolve([sha, tips[0]])] == [
        ("unknown", "only 3 of 5 branches and tags were looked at"),
        ("reachable", "on branch b0"),
    ]
    assert (found.complete, found.reason) == (False, "only 3 of 5 branches and tags were looked at")


def test_a_list_of_branches_that_is_cut_is_not_taken_for_all(
    made: GitRepository, remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    sha = pull_request(made, 7, {"config.json": "x"})
    for module in (history_github, commits_github):
        monkeypatch.setattr(module, "MOST_LISTED", 1)
    assert by_api(made, remote, [sha]) == [("unknown", "only 0 of more than 1 branches and tags were looked at")]


def test_words_that_are_hardly_commits_wait_and_the_budget_ends(
    made: GitRepository, remote: Remote, github: GitHubDouble
) -> None:
    sums = [f"{number:032x}" for number in range(0xA000, 0xA000 + 150)]
    sha = pull_request(made, 7, {"config.json": "x"})
    github.log.clear()
    found = history(made, remote).resolve([*sums, sha[:7]])
    assert found[-1] == Commit(sha[:7], sha, "orphaned", "only refs/pull/7/head holds it")
    assert len(github.log) == MOST_REQUESTS
    assert found[-2] == Commit(sums[-1], None, "unknown", SPENT)
    assert [commit.word for commit in found] == [*sums, sha[:7]]


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (403, {"message": "API rate limit exceeded for installation"}, "GitHub's rate limit is used up, asked for commits"),
        (500, {"message": "down"}, "GitHub answered 500 down, asked for commits"),
        (401, {"message": "Bad credentials"}, "GitHub does not accept the token (401), asked for commits"),
    ],
)
@pytest.mark.parametrize("path", ["/commits$", "/commits/", "/compare/", "/matching-refs/"])
def test_a_fault_leaves_commits_unknown_and_ends_the_questions(
    made: GitRepository, remote: Remote, github: GitHubDouble, path: str, status: int, body: object, reason: str
) -> None:
    sha = pull_request(made, 7, {"config.json": "x"})
    fork(made, "dev", {"config.json": "y"})
    github.answer("GET", path, status, body)
    found = history(made, remote)
    said = found.resolve([sha, "a" * 40, "b" * 40])
    assert [(commit.status, commit.reason) for commit in said] == [("unknown", reason)] * 3
    assert found.reason == reason
    asked = len(github.log)
    assert found.resolve(["c" * 40])[0].reason == reason
    assert len(github.log) == asked


def test_a_connection_that_is_cut_leaves_commits_unknown(made: GitRepository, remote: Remote, github: GitHubDouble) -> None:
    def cut() -> None:
        raise ConnectionAbortedError

    github.when("GET", "/commits", cut)
    (said,) = history(made, remote).resolve(["a" * 40])
    assert (said.status, said.reason) == ("unknown", "GitHub could not be reached (ConnectionError), asked for commits")


def test_what_is_no_id_is_not_asked_for(made: GitRepository, remote: Remote, github: GitHubDouble) -> None:
    github.log.clear()
    assert by_api(made, remote, ["main", "../x", "A" * 40]) == [("unknown", "is no id of a commit")] * 3
    assert by_api(made, remote, []) == []
    assert github.log == []


STEPS = st.tuples(st.sampled_from(["commit", "branch", "merge", "pick", "tag", "pull"]), st.integers(0, 2), st.integers(0, 3))


@settings(max_examples=8, deadline=None)
@given(st.lists(STEPS, min_size=2, max_size=10))
def test_of_any_history_the_api_says_what_a_clone_says(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]]
) -> None:
    made = GitRepository(tmp_path_factory.mktemp("any") / "made")
    made.commit("first", {"a": TEXT, "b": TEXT})
    for name in ("one", "two", "change"):
        made.git("branch", name)
    every: set[str] = set()
    for number, (step, branch, pick) in enumerate(steps):
        name = ("main", "one", "two")[branch]
        made.git("switch", "--quiet", name)
        if step == "commit":
            text = (made.path / "a").read_text().replace(f"{pick * 5}\n", f"{pick * 5} {number % 2}\n")
            made.commit("c", {"a": text})
        elif step == "branch":
            made.git("branch", "--force", "change")
        elif step == "merge":
            other = ("one", "two", "main")[branch]
            made.git("merge", "--quiet", "--no-edit", "--strategy-option=ours", other)
        elif step == "pick" and every:
            made.git("cherry-pick", "--allow-empty", sorted(every)[pick % len(every)], check=False)
            made.git("cherry-pick", "--abort", check=False)
        elif step == "tag":
            made.git("tag", f"t{number}")
        elif step == "pull":
            made.git("update-ref", f"refs/pull/{number}/head", "HEAD")
            made.git("reset", "--quiet", "--hard", "main")
        every.add(made.git("rev-parse", "HEAD"))
        every.update(made.git("rev-list", "--all").split())
    words = sorted(every)
    with GitHubDouble(made.path) as github:
        remote = connect(github.url, "token", retry=None, between_requests=0, between_writes=0).get_repo(github.repository)
        said = by_api(made, remote, words)
        assert github.violations == []
    # A clone says as well on which of several branches, and under which of several ids.
    assert [status for status, _ in said] == [status for status, _ in by_clone(made, words)]


def test_a_difference_is_the_same_whatever_the_lines_it_stands_in() -> None:
    def one(patch: str, **more: object) -> dict[str, object]:
        return {"filename": "a", "status": "modified", "sha": "1", "changes": 2, "patch": patch, **more}

    here = difference([one("@@ -1,2 +1,2 @@ def f\n a\n-b\n+c d")])
    assert here.same(difference([one("@@ -7,2 +9,2 @@ class\n a\n-b\n+c  d", sha="2")]))
    assert not here.same(difference([one("@@ -1,2 +1,2 @@ def f\n a\n-b\n+c e")]))
    assert not here.same(difference([one("@@ -1,2 +1,2 @@ def f\n a\n-b\n+c d", filename="b")]))
    assert not NOTHING.same(NOTHING)
    many = difference([one("@@ -1 +1 @@\n-a\n+b", filename=str(number)) for number in range(100)])
    assert not many.same(many)
    assert many.may_be(many)
