"""Commits and the index, read from real repositories."""

import contextlib
import os
import time
from pathlib import Path

import pytest

from bot.errors import CannotLookError, UsageError
from bot.fetch.change import repository_name
from bot.fetch.git import Repository
from bot.fetch.history_git import GitHistory
from bot.fetch.lfs import CloneStore, Pointer
from bot.fetch.messages import commit_messages
from bot.fetch.patches import Patches
from bot.fetch.revision import open_pair, open_staged
from bot.fetch.source import Source, UnreadError
from bot.snapshot import File
from tests.repositories import GitRepository

MODEL = {"config.json": '{"model_type": "llama"}'}


@pytest.fixture
def made(tmp_path: Path) -> GitRepository:
    repository = GitRepository(tmp_path / "made")
    repository.commit("first", MODEL)
    return repository


def listed(source: Source) -> dict[str, File]:
    return {file.path: file for file in source.entries()}


def contents(source: Source) -> dict[str, bytes]:
    try:
        return {file.path: source.read(file) for file in source.entries() if file.kind != "submodule"}
    finally:
        source.close()


def test_entries_and_bytes(made: GitRepository) -> None:
    made.commit("second", {"a b.json": "1", "two\nlines.json": "2", "-rf.json": "3", "sub/deep/x.py": "4"})
    base, head = open_pair("git:HEAD~1", "git:HEAD", made.path)
    assert contents(base) == {"config.json": b'{"model_type": "llama"}'}
    assert contents(head) == {
        "-rf.json": b"3",
        "a b.json": b"1",
        "config.json": b'{"model_type": "llama"}',
        "sub/deep/x.py": b"4",
        "two\nlines.json": b"2",
    }
    assert head.sha == made.git("rev-parse", "HEAD")
    assert (base.label, head.label) == ("HEAD~1", "HEAD")


def test_names_links_submodules_and_pointers(made: GitRepository) -> None:
    gone = "a" * 40
    sha = made.tree_commit([
        ("100644", b"caf\xe9.json", b"x"),
        ("120000", b"config.json", b"elsewhere/caf\xe9"),
        ("120000", b"long.json", b"x" * 5000),
        ("160000", b"module", gone.encode()),
        ("100755", b"run.py", b"#!"),
        ("100644", b"model.safetensors", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"),
    ])  # fmt: skip
    source, _ = open_pair(f"git:{sha}", f"git:{sha}", made.path)
    files = listed(source)
    source.close()
    assert files["caf\\xe9.json"].kind == "file"
    assert files["config.json"].kind == "symlink"
    assert files["config.json"].target == "elsewhere/caf\\xe9"
    assert files["long.json"].unread == "symbolic link with a target of 5,000 bytes"
    assert files["module"] == File("module", "submodule", gone)
    assert files["run.py"].kind == "file"
    assert source.label == sha[:7]


def test_the_base_is_the_merge_base(made: GitRepository) -> None:
    fork = made.git("rev-parse", "HEAD")
    made.git("checkout", "--quiet", "-b", "feature")
    made.commit("mine", {"tokenizer.json": "{}"})
    made.git("checkout", "--quiet", "main")
    tip = made.commit("theirs", {"config.json": "{}"})
    base, head = open_pair("git:main", "git:feature", made.path)
    assert (base.sha, base.label) == (fork, f"main (merge base {fork[:7]})")
    assert head.label == "feature"
    base, head = open_pair("git:main", "git:HEAD~1", made.path)
    assert (base.sha, base.label) == (tip, "main")
    base, head = open_pair("git:HEAD~1", "git:main", made.path)
    assert (base.sha, base.label, head.sha) == (fork, "HEAD~1", tip)


def test_histories_that_never_meet(made: GitRepository) -> None:
    lonely = made.tree_commit([("100644", b"config.json", b"{}")])
    base, _ = open_pair("git:main", f"git:{lonely}", made.path)
    assert (base.sha, base.label) == (made.git("rev-parse", "main"), "main (no common history)")


def test_bare_repositories_worktrees_and_folders_inside(made: GitRepository, tmp_path: Path) -> None:
    made.commit("second", {"sub/x.json": "1"})
    made.git("worktree", "add", "--quiet", str(tmp_path / "tree"), "HEAD~1")
    bare = made.clone(tmp_path / "bare.git", "--bare")
    for path in (bare.path, made.path / "sub", made.path / ".git"):
        assert contents(open_pair("git:main", "git:main", path)[0]).keys() == {"config.json", "sub/x.json"}
    assert contents(open_pair("git:HEAD", "git:HEAD", tmp_path / "tree")[0]).keys() == {"config.json"}


def test_another_owner_is_no_obstacle(made: GitRepository) -> None:
    if os.geteuid() != 0:
        assert Repository(made.path).commit("main")
        return
    for path in [made.path, *made.path.rglob("*")]:
        os.chown(path, 12345, 12345)
    assert Repository(made.path).commit("main")


@pytest.mark.parametrize(
    "revision", ["-x", "--all", "--output=/tmp/x", "main..HEAD", "^main", "nope", "main:config.json", "a b", "x" * 3000]
)
def test_revisions_that_name_no_commit(made: GitRepository, revision: str) -> None:
    with pytest.raises(CannotLookError, match="has no revision"):
        open_pair("git:main", f"git:{revision}", made.path)


@pytest.mark.parametrize("revision", ["", "a\nb", "a\0b"])
def test_what_cannot_be_a_revision(made: GitRepository, revision: str) -> None:
    with pytest.raises(UsageError, match="a revision is needed"):
        open_pair(f"git:{revision}", "git:main", made.path)


def test_branches_with_hostile_names(made: GitRepository) -> None:
    sha = made.git("rev-parse", "HEAD")
    for name in ("--help", "-f", "$(id)", "a;b", "deadbeef"):
        made.git("update-ref", f"refs/heads/{name}", sha)
        base, head = open_pair(f"git:{name}", f"git:refs/heads/{name}", made.path)
        assert base.sha == head.sha == sha


def test_a_remote_branch_is_suggested(made: GitRepository, tmp_path: Path) -> None:
    made.git("branch", "dev")
    clone = made.clone(tmp_path / "clone")
    with pytest.raises(CannotLookError, match="has no revision dev; did you mean git:origin/dev"):
        Repository(clone.path).commit("dev")
    assert Repository(clone.path).commit("origin/dev")


def test_what_is_no_repository(tmp_path: Path) -> None:
    with pytest.raises(CannotLookError, match="is not in a git repository; give --repo the path of a clone"):
        Repository(tmp_path)
    with pytest.raises(CannotLookError, match="there is no such folder"):
        Repository(tmp_path / "nowhere")
    with pytest.raises(CannotLookError, match="xxx cannot be looked at: File name too long"):
        Repository(tmp_path / ("x" * 300))
    GitRepository(tmp_path / "empty")
    with pytest.raises(CannotLookError, match="empty has no commit yet"):
        Repository(tmp_path / "empty").commit("HEAD")
    assert [source.entries() for source in open_staged(tmp_path / "empty")] == [(), ()]
    GitRepository(tmp_path / "other", "--object-format=sha256")
    with pytest.raises(CannotLookError, match="other is a sha256 repository, and only sha1 ones can be read"):
        Repository(tmp_path / "other")
    (tmp_path / "broken" / ".git").mkdir(parents=True)
    with pytest.raises(CannotLookError, match="git rev-parse failed"):
        Repository(tmp_path / "broken")


def test_a_tree_is_no_commit(made: GitRepository) -> None:
    tree = made.git("rev-parse", "HEAD^{tree}")
    with pytest.raises(CannotLookError, match="is a tree, not a commit"):
        Repository(made.path).commit(tree)


def test_without_git(made: GitRepository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotLookError, match="git is not installed"):
        Repository(made.path)


def test_a_shallow_clone_fetches_exactly_the_commit(made: GitRepository, tmp_path: Path) -> None:
    old = made.git("rev-parse", "HEAD")
    made.commit("second", {"config.json": "2"})
    made.commit("third", {"config.json": "3"})
    made.git("config", "uploadpack.allowAnySHA1InWant", "true")
    clone = made.clone(tmp_path / "clone", "--depth=1")
    repository = Repository(clone.path)
    assert repository.commit(old) == old
    assert clone.git("rev-parse", "--is-shallow-repository") == "true"
    assert not (clone.path / ".git" / "FETCH_HEAD").exists()
    assert clone.git("rev-parse", "--verify", "--quiet", f"{old}~0") == old
    with pytest.raises(
        CannotLookError, match=r"the merge base of .* is not in this shallow clone; `git fetch --unshallow origin` brings it"
    ):
        open_pair(f"git:{old}", "git:main", clone.path)


def test_a_shallow_clone_whose_remote_refuses(made: GitRepository, tmp_path: Path) -> None:
    old = made.git("rev-parse", "HEAD")
    made.commit("second", {"config.json": "2"})
    made.git("config", "uploadpack.allowAnySHA1InWant", "false")
    clone = made.clone(tmp_path / "clone", "--depth=1", "--config=protocol.version=0")
    with pytest.raises(
        CannotLookError, match=rf"commit {old} is not in the shallow clone .*; `git fetch --unshallow origin` may bring it"
    ):
        Repository(clone.path).commit(old)
    with pytest.raises(CannotLookError, match="has no revision HEAD~1; `git fetch --unshallow` may bring it"):
        Repository(clone.path).commit("HEAD~1")


def test_a_full_clone_stays_full_when_it_fetches(made: GitRepository, tmp_path: Path) -> None:
    clone = made.clone(tmp_path / "clone")
    made.git("checkout", "--quiet", "--detach")
    sha = made.commit("pull request", {"config.json": "2"})
    made.git("update-ref", "refs/pr/1", sha)
    made.git("config", "uploadpack.allowAnySHA1InWant", "true")
    base, head = open_pair("git:main", f"git:{sha}", clone.path)
    assert (base.sha, head.sha) == (made.git("rev-parse", "main"), sha)
    assert clone.git("rev-parse", "--is-shallow-repository") == "false"


def test_a_commit_that_nobody_has(made: GitRepository) -> None:
    with pytest.raises(CannotLookError, match=f"commit {'b' * 40} is not in .*, and there is no remote to fetch it from"):
        Repository(made.path).commit("b" * 40)


def test_the_index_against_head(made: GitRepository) -> None:
    made.write({"config.json": "staged", "loose.json": "not staged"})
    made.git("add", "config.json")
    made.write({"config.json": "worktree"})
    base, head = open_staged(made.path)
    assert (base.label, head.label, head.sha) == ("HEAD", "index", None)
    assert contents(base) == {"config.json": b'{"model_type": "llama"}'}
    assert contents(head) == {"config.json": b"staged"}


def test_announced_files_are_not_staged_but_empty_ones_are(made: GitRepository) -> None:
    made.write({"announced.json": "{}", "empty.json": ""})
    made.git("add", "--intent-to-add", "announced.json")
    made.git("add", "empty.json")
    _, head = open_staged(made.path)
    assert listed(head).keys() == {"config.json", "empty.json"}


def test_a_partial_clone_brings_what_is_read(made: GitRepository, tmp_path: Path) -> None:
    made.git("config", "uploadpack.allowFilter", "true")
    made.git("config", "uploadpack.allowAnySHA1InWant", "true")
    made.commit("second", {"tokenizer.json": "{}"})
    for kind in ("blob:none", "tree:0"):
        clone = made.clone(tmp_path / kind, f"--filter={kind}", "--no-checkout")
        base, head = open_pair("git:main~1", "git:main", clone.path)
        assert contents(base) == {"config.json": b'{"model_type": "llama"}'}
        assert contents(head).keys() == {"config.json", "tokenizer.json"}


def test_an_unmerged_index(made: GitRepository) -> None:
    made.git("checkout", "--quiet", "-b", "other")
    made.commit("a", {"config.json": "a"})
    made.git("checkout", "--quiet", "main")
    made.commit("b", {"config.json": "b"})
    made.git("merge", "other", check=False)
    _, head = open_staged(made.path)
    with pytest.raises(CannotLookError, match=r"config\.json is unmerged in the index; resolve the conflict"):
        head.entries()


def test_a_bare_repository_has_no_index(made: GitRepository, tmp_path: Path) -> None:
    bare = made.clone(tmp_path / "bare.git", "--bare")
    with pytest.raises(CannotLookError, match="is a bare repository and has no index"):
        open_staged(bare.path)


def test_neither_hooks_nor_filters_run_nor_files_change(made: GitRepository, tmp_path: Path) -> None:
    trap = f"touch {tmp_path}/ran; cat"
    made.git("config", "filter.trap.clean", trap)
    made.git("config", "filter.trap.smudge", trap)
    made.git("config", "core.fsmonitor", trap)
    made.git("config", "diff.external", trap)
    (made.path / ".git" / "hooks" / "post-index-change").write_text(f"#!/bin/sh\n{trap}\n")
    (made.path / ".git" / "hooks" / "post-index-change").chmod(0o755)
    made.write({".gitattributes": "*.json filter=trap"})
    blob = made.blob(b"* filter=trap")
    made.git("-c", "core.fsmonitor=false", "update-index", "--add", "--cacheinfo", f"100644,{blob},.gitattributes")
    (tmp_path / "ran").unlink(missing_ok=True)
    before = {path: path.stat().st_mtime_ns for path in made.path.rglob("*")}
    for source in (*open_staged(made.path), *open_pair("git:main", "git:HEAD", made.path)):
        contents(source)
    assert not (tmp_path / "ran").exists()
    assert {path: path.stat().st_mtime_ns for path in made.path.rglob("*")} == before


def test_git_sees_no_secret(made: GitRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    environment = Repository(made.path).environment()
    assert "secret" not in environment.values()
    assert "GIT_DIR" not in environment
    assert Repository(made.path).commit("main")


def given_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a clone another user's, or, where we may not give it away, ourselves another user."""
    if os.geteuid() != 0:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        return
    for each in [path, *path.rglob("*")]:
        os.lchown(each, 12345, 12345)


def partial(made: GitRepository, path: Path, *options: str) -> GitRepository:
    """A clone that fetches what it lacks when that is asked for."""
    made.git("config", "uploadpack.allowFilter", "true")
    made.git("config", "uploadpack.allowAnySHA1InWant", "true")
    return made.clone(path, *options)


@pytest.mark.parametrize("options", [(), ("--filter=blob:none",)], ids=["whole", "partial"])
def test_no_setting_of_the_clone_of_another_user_runs_a_program(
    made: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    made.write({".gitattributes": "* filter=trap diff=trap merge=trap\n"})
    made.commit("second", {"tokenizer.json": "{}"})
    made.git("branch", "off", "main~1")
    clone = partial(made, tmp_path / "clone", "--no-checkout", *options)
    clone.git("read-tree", "main")
    off = clone.git("commit-tree", "main^{tree}", "-p", "main~1", stdin=b"x")
    trap = tmp_path / "trap"
    trap.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/ran\n')
    trap.chmod(0o755)
    names = (
        *(
            "core.sshCommand",
            "core.gitProxy",
            "core.askPass",
            "core.fsmonitor",
            "core.alternateRefsCommand",
            "core.pager",
            "core.editor",
        ),
        *(
            "credential.helper",
            "remote.origin.uploadpack",
            "remote.origin.receivepack",
            "uploadpack.packObjectsHook",
            "gpg.program",
        ),
        *(
            "gpg.ssh.program",
            "gpg.ssh.defaultKeyCommand",
            "diff.external",
            "diff.trap.command",
            "diff.trap.textconv",
            "merge.trap.driver",
        ),
        *(
            "filter.trap.clean",
            "filter.trap.smudge",
            "filter.trap.process",
            "interactive.diffFilter",
            "sequence.editor",
            "diff.tool",
        ),
        *(
            "pager.config",
            "pager.rev-list",
            "pager.ls-tree",
            "pager.cat-file",
            "alias.rev-parse",
            "alias.ls-tree",
            "trailer.x.command",
        ),
    )
    for name in names:
        clone.git("config", name, str(trap))
    for protocol in ("ssh", "ext", "git", "file", "trap", "https"):
        clone.git("config", f"protocol.{protocol}.allow", "always")
    clone.git("config", "diff.trap.cachetextconv", "true")
    clone.git("config", "log.showSignature", "true")
    (clone.path / ".git" / "info" / "attributes").write_text("* filter=trap diff=trap merge=trap\n")
    hooks = clone.path / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "reference-transaction", "pre-auto-gc", "post-checkout", "fsmonitor-watchman"):
        (hooks / hook).write_bytes(trap.read_bytes())
        (hooks / hook).chmod(0o755)
    clone.git("config", "core.hooksPath", str(hooks))
    addresses = ["ssh://trap.invalid/x", "git://trap.invalid/x", "ext::sh -c 'touch ran'", "trap::x", "https://trap.invalid/x"]
    for address in [*addresses, clone.git("config", "remote.origin.url")]:
        made.git("config", "--file", str(clone.path / ".git" / "config"), "remote.origin.url", address)
        given_away(clone.path, monkeypatch)
        (tmp_path / "ran").unlink(missing_ok=True)
        repository = Repository(clone.path)
        for revision in ("d" * 40, "nope", "HEAD~9", "main~7"):
            with pytest.raises(CannotLookError):
                repository.commit(revision)
        repository.unborn()
        GitHistory(repository, repository.commit("main"), repository.commit(off), "main").resolve(["d" * 40, off, "e" * 7])
        commit_messages(repository, repository.commit("main~1"), off)
        repository_name(repository)
        for source in (*open_pair("git:main~1", "git:main", clone.path), *open_staged(clone.path)):
            for file in source.entries():
                with contextlib.suppress(UnreadError):
                    source.read(file)
            source.close()
        with contextlib.suppress(CannotLookError):  # the partial clone cannot make all differences
            Patches(repository).same(off, repository.commit("main"))
        list(CloneStore(repository).bring([Pointer(1, "0" * 64)]))
        assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()


def test_nothing_is_fetched_in_the_clone_of_another_user_and_it_is_said(
    made: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = made.git("rev-parse", "HEAD")
    made.commit("second", {"tokenizer.json": "{}"})
    shallow = partial(made, tmp_path / "shallow", "--depth=1")
    blobs = partial(made, tmp_path / "blobs", "--filter=blob:none", "--no-checkout")
    trees = partial(made, tmp_path / "trees", "--filter=tree:0", "--no-checkout")
    for clone in (shallow, blobs, trees):
        given_away(clone.path, monkeypatch)
    said = "nothing is fetched in a clone of another user, whose settings name programs; `git fetch"
    with pytest.raises(CannotLookError, match=f"commit {first} .*, and {said} --unshallow origin` by its owner may bring it"):
        Repository(shallow.path).commit(first)
    (source, _) = open_pair("git:main", "git:main", blobs.path)
    file = listed(source)["config.json"]
    with pytest.raises(UnreadError, match=f"{said} --refetch --no-filter origin` by its owner brings them"):
        source.read(file)
    source.close()
    (source, _) = open_pair("git:main", "git:main", trees.path)
    with pytest.raises(CannotLookError, match=f"lacks objects, and {said} --refetch --no-filter origin` by its owner"):
        source.entries()
    source.close()
    assert Repository(shallow.path, trusted=True).commit(first) == first


def test_with_sudo_the_clone_of_who_used_it_is_ours(made: GitRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = made.path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: 0 if owner else 12345)
    if owner:
        assert not Repository(made.path).fetches
        monkeypatch.setenv("SUDO_UID", str(owner))
        assert Repository(made.path).fetches
        return
    assert not Repository(made.path).fetches
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    given_away(made.path, monkeypatch)
    for uid, ours in (("12345", True), ("12346", False), ("", False), ("x", False), ("-1", False)):
        monkeypatch.setenv("SUDO_UID", uid)
        assert Repository(made.path).fetches == ours
    for who in ((made.path / ".git"), made.path):
        os.chown(who, 0, 0)
        assert not Repository(made.path).fetches or who == made.path


def test_the_settings_of_a_linked_work_tree_are_those_of_their_owner(
    made: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.git("worktree", "add", "--quiet", str(tmp_path / "tree"), "HEAD")
    assert Repository(tmp_path / "tree").fetches
    if os.geteuid() == 0:
        os.chown(made.path / ".git", 12345, 12345)  # not the folder of the work tree, nor its part of the git directory
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert not Repository(tmp_path / "tree").fetches


def test_an_object_that_is_not_in_the_clone(made: GitRepository) -> None:
    made.forget("config.json")
    source, _ = open_pair("git:main", "git:main", made.path)
    (file,) = source.entries()
    with pytest.raises(UnreadError, match="is not in the clone"):
        source.read(file)
    with pytest.raises(UnreadError, match="is no object id"):
        source.read(File("x", oid="HEAD\ncontents HEAD"))
    source.close()


def test_a_damaged_object_stops_nothing_else(made: GitRepository) -> None:
    made.commit("second", {"tokenizer.json": "{}"})
    oid = made.git("rev-parse", "HEAD:config.json")
    path = made.path / ".git" / "objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    path.write_bytes(b"damage")
    source, _ = open_pair("git:main", "git:main", made.path)
    files = listed(source)
    with pytest.raises(UnreadError, match=r"is damaged|is not in the clone"):
        source.read(files["config.json"])
    assert source.read(files["tokenizer.json"]) == b"{}"
    source.close()
    source.close()


def test_a_large_tree_is_listed_fast(made: GitRepository) -> None:
    blob = made.blob(b"{}")
    rows = "".join(f"100644 {blob}\tfolder{number % 100}/file{number}.json\n" for number in range(10_000))
    made.git("update-index", "--index-info", stdin=rows.encode())
    tree = made.git("write-tree")
    sha = made.git("commit-tree", tree, stdin=b"many\n")
    source, _ = open_pair(f"git:{sha}", f"git:{sha}", made.path)
    start = time.process_time()
    assert len(source.entries()) == 10_001
    assert time.process_time() - start < 1
    source.close()


def test_other_revisions(tmp_path: Path, made: GitRepository) -> None:
    with pytest.raises(UsageError, match="a folder, git:<revision> or hub:<organization>/<name>@<revision> is needed"):
        open_pair("", str(tmp_path), made.path)
    base, head = open_pair("git:main", str(tmp_path), made.path)
    assert (base.sha, head.sha) == (made.git("rev-parse", "main"), None)
