"""A commit read through GitHub's API, held to its published description."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from github.Repository import Repository

from bot.api import connect
from bot.errors import CannotLookError
from bot.fetch.gather import gather
from bot.fetch.git import Repository as Clone
from bot.fetch.github import GitHubSource
from bot.fetch.source import UnreadError
from bot.fetch.tree import GitSource
from bot.snapshot import File
from tests.doubles.github import GitHubDouble
from tests.repositories import GitRepository


@pytest.fixture
def made(tmp_path: Path) -> GitRepository:
    repository = GitRepository(tmp_path / "made")
    repository.commit("first", {"a/config.json": "a", "b/c/config.json": "1", "b/c/model.safetensors": "w", "README.md": "x"})
    (repository.path / "b" / "c" / "tokenizer.json").symlink_to("../../a/config.json")
    repository.commit("second", {"b/c/config.json": "2"})
    repository.git("branch", "change")
    return repository


@pytest.fixture
def github(made: GitRepository) -> Iterator[GitHubDouble]:
    with GitHubDouble(made.path) as double:
        yield double
        assert double.violations == []


@pytest.fixture
def remote(github: GitHubDouble) -> Repository:
    return connect(github.url, "token", retry=None, between_requests=0, between_writes=0).get_repo(github.repository)


def test_it_lists_what_git_lists(made: GitRepository, remote: Repository) -> None:
    sha = made.git("rev-parse", "HEAD")
    local = GitSource(Clone(made.path), "HEAD", sha)
    listed = [File(file.path, file.kind, file.oid, target=file.target) for file in GitHubSource(remote, sha).entries()]
    assert listed == [File(file.path, file.kind, file.oid, target=file.target) for file in local.entries()]
    local.close()


def test_only_what_is_needed_is_asked_for(made: GitRepository, remote: Repository, github: GitHubDouble, tmp_path: Path) -> None:
    base, head = (GitHubSource(remote, made.git("rev-parse", revision), revision) for revision in ("HEAD~1", "HEAD"))
    github.log.clear()
    got = gather(tmp_path / "out", base=base, head=head, repo=tmp_path)
    blobs = [line for line in github.log if "/git/blobs/" in line]
    names = ["HEAD~1:b/c/config.json", "HEAD:b/c/config.json", "HEAD:b/c/tokenizer.json", "HEAD:a/config.json", "HEAD:README.md"]
    assert sorted(blobs) == sorted(f"GET /repos/acme/model/git/blobs/{made.git('rev-parse', name)}" for name in names)
    assert sum("/git/trees/" in line for line in github.log) == 2
    assert got.head.unchanged == ("a",)
    assert (got.head.label, got.head.sha) == ("HEAD", made.git("rev-parse", "HEAD"))
    files = {file.path: file for file in got.head.files}
    assert (tmp_path / "out" / "contents" / str(files["b/c/tokenizer.json"].content)).read_text() == "a"
    assert got.change.refs_reason == "there is no clone to look in; --history FILE gives refs and commits"


def test_a_truncated_tree_is_walked(made: GitRepository, remote: Repository, github: GitHubDouble) -> None:
    sha = made.git("rev-parse", "HEAD")
    whole = GitHubSource(remote, sha).entries()
    cut = {"sha": sha, "url": f"{github.url}/x", "tree": [], "truncated": True}
    github.answer("GET", f"/git/trees/{sha}", 200, cut)
    github.log.clear()
    assert GitHubSource(remote, sha).entries() == whole
    assert sum("/git/trees/" in line for line in github.log) == 5
    github.answer("GET", "/git/trees/", 200, cut, times=2)
    with pytest.raises(CannotLookError, match="GitHub does not list all of the root folder"):
        GitHubSource(remote, sha).entries()


def test_what_github_refuses(made: GitRepository, remote: Repository, github: GitHubDouble) -> None:
    sha = made.git("rev-parse", "HEAD")
    with pytest.raises(CannotLookError, match=f"acme/model has no commit {'b' * 40} that this token may read"):
        GitHubSource(remote, "b" * 40).entries()
    github.answer("GET", "/git/trees/", 503, {"message": "down"})
    with pytest.raises(CannotLookError, match="GitHub answered 503"):
        GitHubSource(remote, sha).entries()
    source = GitHubSource(remote, sha)
    file = source.entries()[0]
    github.answer("GET", "/git/blobs/", 403, {"message": "too large"})
    with pytest.raises(UnreadError, match="GitHub answered 403"):
        source.read(file)
    with pytest.raises(UnreadError, match="serves no file over 100 MiB"):
        source.read(File("x", oid=file.oid, size=101 << 20))
    with pytest.raises(UnreadError, match="does not say its size"):
        source.size(File("x", oid=file.oid))


def test_a_github_that_stopped_answering_is_not_asked_for_every_file(
    made: GitRepository, remote: Repository, github: GitHubDouble
) -> None:
    def cut() -> None:
        raise ConnectionAbortedError

    source = GitHubSource(remote, made.git("rev-parse", "HEAD"))
    file = next(file for file in source.entries() if file.kind == "file")
    github.log.clear()
    reasons: list[str] = []
    for _ in range(10):
        github.when("GET", "/git/blobs/", cut)
        with pytest.raises(UnreadError) as raised:
            source.read(file)
        reasons.append(str(raised.value))

    assert [reason.startswith("GitHub stopped answering") for reason in reasons] == [False] * 3 + [True] * 7
    assert len(github.log) == 3
