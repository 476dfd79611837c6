"""The whole of fetch, from two names to an exchange folder."""

import hashlib
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.errors import CannotLookError, UsageError
from bot.fetch import exchange
from bot.fetch.change import build_change, repository_name
from bot.fetch.folder import FolderSource
from bot.fetch.gather import gather
from bot.fetch.git import Repository
from bot.fetch.history import NoHistory
from bot.fetch.words import LONGEST_TEXT, MOST_WORDS
from bot.snapshot import Exchange, File, Snapshot, Text
from tests.repositories import GitRepository

Files = Mapping[str, str | bytes | None]


@pytest.fixture
def made(tmp_path: Path) -> GitRepository:
    return GitRepository(tmp_path / "made")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "exchange"


def folder(path: Path, files: Mapping[str, str | bytes]) -> str:
    for name, content in files.items():
        place = path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    path.mkdir(exist_ok=True)
    return str(path)


def by_path(snapshot: Snapshot) -> dict[str, File]:
    return {file.path: file for file in snapshot.files}


def text(out: Path, file: File) -> bytes:
    assert file.content is not None
    assert file.content.isalnum()
    return (out / "contents" / file.content).read_bytes()


def test_two_plain_folders(tmp_path: Path, out: Path) -> None:
    base = folder(tmp_path / "base", {"config.json": "{}", "notes.txt": "x", "model.safetensors": b"\0" * 9000})
    head = folder(tmp_path / "head", {"config.json": "[]", "notes.txt": "x", "model.safetensors": b"\0" * 9000})
    got = gather(out, base=base, head=head, repo=tmp_path)
    assert got == Exchange.load(out)
    assert (got.base.label, got.base.sha, got.head.label) == (base, None, head)
    files = by_path(got.head)
    assert text(out, files["config.json"]) == b"[]"
    assert files["model.safetensors"] == File("model.safetensors", oid="size:9000", size=9000)
    assert files["notes.txt"].content is None
    assert files["notes.txt"].unread == ""
    assert {path.name for path in (out / "contents").iterdir()} == {hashlib.sha256(it).hexdigest() for it in (b"{}", b"[]")}
    assert not got.change.complete_refs
    assert got.change.refs_reason == "there is no clone to look in; --history FILE gives refs and commits"


def test_equal_folders_are_unchanged_and_not_written(tmp_path: Path, out: Path) -> None:
    base = folder(tmp_path / "base", {"config.json": "{}", "m/tokenizer.json": "{}"})
    got = gather(out, base=base, head=base, repo=tmp_path)
    assert (got.base.files, got.head.files, got.head.unchanged) == ((), (), (".", "m"))
    assert list((out / "contents").iterdir()) == []


def test_unchanged_folders_are_not_read(made: GitRepository, out: Path) -> None:
    made.commit("first", {"a/config.json": "a", "b/config.json": "b1", "b/tokenizer.json": "same", "b/w.bin": "weights"})
    made.commit("second", {"b/config.json": "b2"})
    made.forget("a/config.json")
    made.forget("b/w.bin")
    got = gather(out, base="git:HEAD~1", head="git:HEAD", repo=made.path)
    assert got.head.unchanged == ("a",)
    assert list(by_path(got.head)) == ["b/config.json", "b/tokenizer.json", "b/w.bin"]
    assert all(not file.unread for file in (*got.base.files, *got.head.files))
    assert sorted(path.read_text() for path in (out / "contents").iterdir()) == ["b1", "b2", "same"]
    same = by_path(got.base)["b/tokenizer.json"]
    assert same == by_path(got.head)["b/tokenizer.json"]
    assert same.content == same.oid
    assert same.size == 4


def test_a_moved_folder_is_there_on_both_sides(made: GitRepository, out: Path) -> None:
    made.commit("first", {"old/config.json": "{}", "old/model.safetensors": "w"})
    made.git("mv", "old", "new")
    made.commit("moved")
    got = gather(out, base="git:HEAD~1", head="git:HEAD", repo=made.path)
    assert list(by_path(got.base)) == ["old/config.json", "old/model.safetensors"]
    assert list(by_path(got.head)) == ["new/config.json", "new/model.safetensors"]
    assert by_path(got.base)["old/config.json"].content == by_path(got.head)["new/config.json"].content
    assert got.head.unchanged == ()


def test_missing_bytes_say_so(made: GitRepository, out: Path) -> None:
    made.commit("first", {"config.json": "1", "tokenizer.json": "2"})
    made.commit("second", {"config.json": "3"})
    made.forget("tokenizer.json")
    got = gather(out, base="git:HEAD~1", head="git:HEAD", repo=made.path)
    file = by_path(got.head)["tokenizer.json"]
    assert file.content is None
    assert file.unread == f"object {file.oid[:12]} is not in the clone"


def test_links_submodules_and_pointers(made: GitRepository, out: Path) -> None:
    base = made.commit("first", {"README.md": "x"})
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 9\n"
    rows = [
        ("100644", b"real.json", b"{}"),
        ("120000", b"config.json", b"real.json"),
        ("120000", b"tokenizer.json", b"../../etc/passwd"),
        ("120000", b"tokenizer_config.json", b"nowhere"),
        ("120000", b"generation_config.json", b"generation_config.json"),
        ("120000", b"vocab.json", b"model.safetensors"),
        ("120000", b"weights.bin", b"/cache/weights.bin"),
        ("160000", b"added_tokens.json", b"a" * 40),
        ("100644", b"model.safetensors", pointer),
        ("100644", b"tokenizer.model", pointer),
    ]
    got = gather(out, base=f"git:{base}", head=f"git:{made.tree_commit(rows, base)}", repo=made.path)
    files = by_path(got.head)
    assert (text(out, files["config.json"]), files["config.json"].target) == (b"{}", "real.json")
    assert files["config.json"].content == files["real.json"].content
    assert {path: file.unread for path, file in files.items() if file.unread} == {
        "tokenizer.json": "symbolic link to ../../etc/passwd, which leads out of the tree",
        "tokenizer_config.json": "symbolic link to nowhere, which is not in the tree",
        "generation_config.json": "symbolic link to generation_config.json, which leads in a circle",
        "vocab.json": "symbolic link to model.safetensors, which is a file of weights",
        "added_tokens.json": "is a submodule, whose content is in another repository",
    }
    assert files["weights.bin"].content is None
    assert files["model.safetensors"].content is None
    assert text(out, files["tokenizer.model"]) == pointer


def test_links_of_a_plain_folder(tmp_path: Path, out: Path) -> None:
    (tmp_path / "secret.json").write_text("secret")
    base = folder(tmp_path / "base", {"config.json": "{}"})
    head = Path(folder(tmp_path / "head", {"real.json": "[]"}))
    (head / "config.json").symlink_to("real.json")
    (head / "tokenizer.json").symlink_to("../secret.json")
    os.mkfifo(head / "generation_config.json")
    got = gather(out, base=base, head=str(head), repo=tmp_path)
    files = by_path(got.head)
    assert text(out, files["config.json"]) == b"[]"
    assert files["tokenizer.json"].unread == "symbolic link to ../secret.json, which leads out of the tree"
    assert files["generation_config.json"].unread == "is a named pipe, not a file"
    assert all(b"secret" not in path.read_bytes() for path in (out / "contents").iterdir())


def test_links_to_files_that_nobody_would_read_by_name(tmp_path: Path, out: Path) -> None:
    sides: list[str] = []
    for side, letter in (("base", "a"), ("head", "b")):
        files = {"blobs/1": letter * 2000, "blobs/2": "c" * 2000, "config.json": "{}"}
        path = Path(folder(tmp_path / side, files))
        (path / "tokenizer.json").symlink_to("blobs/1")
        (path / "tokenizer_config.json").symlink_to("blobs/2")
        sides.append(str(path))
    got = gather(out, base=sides[0], head=sides[1], repo=tmp_path)
    assert [text(out, by_path(side)["tokenizer.json"])[:1] for side in (got.base, got.head)] == [b"a", b"b"]
    assert [text(out, by_path(side)["tokenizer_config.json"])[:1] for side in (got.base, got.head)] == [b"c", b"c"]


def test_links_that_lead_to_no_file_are_told_from_those_that_leave_the_tree(tmp_path: Path, out: Path) -> None:
    base = folder(tmp_path / "base", {"config.json": "{}"})
    head = Path(folder(tmp_path / "head", {"real.json": "{}", "blobs/w": "w" * 2000}))
    targets = {
        "config.json": "real.json",
        "tokenizer.json": "../../blobs/0",
        "vocab.json": "/blobs/1",
        "generation_config.json": "nowhere",
        "tokenizer_config.json": "tokenizer_config.json",
        "added_tokens.json": "blobs",
        "processor_config.json": "tokenizer.json",
        "model.safetensors": "blobs/w",
        "pytorch_model.bin": "blobs/none",
    }
    for name, target in targets.items():
        (head / name).symlink_to(target)
    got = gather(out, base=base, head=str(head), repo=tmp_path)
    assert {path for path, file in by_path(got.head).items() if file.dangling} == {
        "generation_config.json",
        "tokenizer_config.json",
        "added_tokens.json",
        "pytorch_model.bin",
    }


@pytest.mark.parametrize("folder_first", [True, False])
def test_a_commit_and_its_archive_are_equal(made: GitRepository, tmp_path: Path, out: Path, *, folder_first: bool) -> None:
    made.write({"config.json": "{}", "code.py": "import os\n", "model.safetensors": "w" * 5000, "docs/config.json": "{}"})
    (made.path / "tokenizer.json").symlink_to("config.json")
    (made.path / "vocab.json").symlink_to("../outside")
    made.commit("first", {"README.md": "x", "empty.json": "", "sub/deep/table.bin": "t" * 5000})
    copy = tmp_path / "copy"
    copy.mkdir()
    made.git("archive", "--format=tar", f"--output={tmp_path / 'a.tar'}", "HEAD")
    with tarfile.open(tmp_path / "a.tar") as archive:
        archive.extractall(copy, filter="fully_trusted")
    sides = (str(copy), "git:HEAD") if folder_first else ("git:HEAD", str(copy))
    got = gather(out, base=sides[0], head=sides[1], repo=made.path)
    assert (got.base.files, got.head.files) == ((), ())
    assert got.head.unchanged == (".", "docs")


def test_a_commit_and_a_folder_with_other_files_differ_in_these(made: GitRepository, tmp_path: Path, out: Path) -> None:
    files = {"config.json": "{}", "code.py": "1", "model.safetensors": "w" * 5000, "other.safetensors": "w" * 5000}
    made.commit("first", files)
    copy = folder(tmp_path / "copy", {**files, "code.py": "2", "model.safetensors": "v" * 5000, "other.safetensors": "w" * 5001})
    got = gather(out, base="git:HEAD", head=copy, repo=made.path)
    base, head = by_path(got.base), by_path(got.head)
    assert {path for path in base if base[path].oid != head[path].oid} == {"code.py", "model.safetensors", "other.safetensors"}
    assert base["config.json"].content == head["config.json"].content == made.git("rev-parse", "HEAD:config.json")
    assert base["code.py"].content != head["code.py"].content
    assert head["other.safetensors"].oid == "size:5001"


def test_weights_that_are_not_in_the_clone_are_not_taken_for_equal(made: GitRepository, tmp_path: Path, out: Path) -> None:
    files = {"config.json": "{}", "model.safetensors": "w" * 5000}
    made.commit("first", files)
    made.forget("model.safetensors")
    got = gather(out, base="git:HEAD", head=folder(tmp_path / "copy", files), repo=made.path)
    assert by_path(got.head)["model.safetensors"].oid == "size:5000"


def test_odd_names_cross(tmp_path: Path, out: Path) -> None:
    base = folder(tmp_path / "base", {"config.json": "{}"})
    head = folder(tmp_path / "head", {"config.json": "{}", "a\nb.json": "1", "-x.json": "2", "\u202e.json": "3"})
    Path(os.fsdecode(os.fsencode(head) + b"/caf\xe9.json")).write_text("4")
    gather(out, base=base, head=head, repo=tmp_path)
    files = by_path(Exchange.load(out).head)
    assert {path: text(out, files[path]) for path in ("a\nb.json", "-x.json", "\u202e.json", "caf\\xe9.json")} == {
        "a\nb.json": b"1",
        "-x.json": b"2",
        "\u202e.json": b"3",
        "caf\\xe9.json": b"4",
    }


def test_files_over_the_limits(made: GitRepository, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made.commit("first", {"README.md": "x"})
    mib = 1 << 20
    monkeypatch.setattr(exchange, "LARGEST_FILE", 2 * mib)
    monkeypatch.setattr(exchange, "LARGEST_SIDE", 3 * mib)
    made.commit(
        "second",
        {"config.json": "{}", "a.json": b"a" * (mib + 1), "b.json": b"b" * (2 * mib), "c.json": b"c" * (2 * mib + 200_000)},
    )
    got = gather(out, base="git:HEAD~1", head="git:HEAD", repo=made.path)
    assert {path: file.unread for path, file in by_path(got.head).items()} == {
        "README.md": "",
        "config.json": "",
        "a.json": "",
        "b.json": "2.0 MiB, which is over the limit of 3 MiB for all files of a revision",
        "c.json": "2.2 MiB, over the limit of 2 MiB",
    }
    assert by_path(got.head)["c.json"].size == 2 * mib + 200_000


def test_real_limits() -> None:
    assert (exchange.LARGEST_FILE, 2 * exchange.LARGEST_SIDE) == (64 << 20, 512 << 20)


def test_the_index(made: GitRepository, out: Path) -> None:
    made.commit("first", {"config.json": "1"})
    made.write({"config.json": "2"})
    made.git("add", "config.json")
    got = gather(out, base="", head="", repo=made.path, staged=True)
    assert (got.base.label, got.head.label) == ("HEAD", "index")
    assert text(out, by_path(got.head)["config.json"]) == b"2"
    assert got.change.complete_refs


def test_a_claim_in_the_readme_of_the_root_alone(made: GitRepository, out: Path) -> None:
    made.commit("first", {"README.md": "hello", "m/config.json": "{}"})
    made.git("checkout", "--quiet", "-b", "work")
    orphan = made.commit("never merged", {"m/config.json": "1"})
    made.git("update-ref", "refs/pr/4", orphan)
    made.git("checkout", "--quiet", "main")
    made.git("branch", "--quiet", "-D", "work")
    made.git("checkout", "--quiet", "-b", "feature")
    sha = made.commit("say so", {"README.md": f"fixed in commit `{orphan[:7]}`"})
    got = gather(out, base="git:main", head="git:feature", repo=made.path)
    assert list(by_path(got.head)) == ["README.md"]
    assert got.head.unchanged == ("m",)
    (commit,) = got.change.commits
    assert (commit.word, commit.sha, commit.status, commit.reason) == (orphan[:7], orphan, "orphaned", "only refs/pr/4 holds it")
    assert got.change.texts == (Text(f"commit:{sha}", "say so\n"),)
    assert got.change.complete_refs


def test_texts_and_messages(made: GitRepository, out: Path) -> None:
    first = made.commit("first", {"config.json": "1"})
    made.git("config", "i18n.commitEncoding", "iso-8859-1")
    second = made.commit("second", {"config.json": "2"})
    message = made.git("cat-file", "commit", second).replace("second", f"caf\udce9 reverts {first[:9]}")
    latin = made.git("hash-object", "-w", "-t", "commit", "--stdin", stdin=message.encode("utf-8", "surrogateescape"))
    texts = (Text("pull-request:title", "Fix deadbeef"), Text("pull-request:body", f"see {first}"))
    got = gather(out, base=f"git:{first}", head=f"git:{latin}", repo=made.path, texts=texts)
    assert got.change.texts == (*texts, Text(f"commit:{latin}", f"café reverts {first[:9]}"))
    assert [(commit.word, commit.status, commit.reason) for commit in got.change.commits] == [
        ("deadbeef", "orphaned", "no commit of this repository has this id"),
        (first, "reachable", "on the base branch"),
        (first[:9], "reachable", "on the base branch"),
    ]
    given = (Text(f"commit:{latin}", "given by the caller"),)
    assert gather(out, base=f"git:{first}", head=f"git:{latin}", repo=made.path, texts=given).change.texts == given


def test_more_messages_than_are_read(made: GitRepository, out: Path) -> None:
    made.commit("first", {"config.json": "1"})
    base = parent = made.git("rev-parse", "HEAD")
    tree = made.git("rev-parse", "HEAD^{tree}")
    for number in range(251):
        parent = made.git("commit-tree", tree, "-p", parent, stdin=f"{number}\n".encode())
    got = gather(out, base=f"git:{base}", head=f"git:{parent}", repo=made.path)
    assert len(got.change.texts) == 250
    assert got.change.texts[0].text == "250\n"
    assert got.change.unread == ("only the newest 250 commit messages were read",)


def test_a_history_file_knows_head_s_own_commits(made: GitRepository, out: Path, tmp_path: Path) -> None:
    made.commit("first", {"config.json": "1"})
    sha = made.commit("second", {"config.json": "2"})
    refs = tmp_path / "refs.json"
    refs.write_text(f'{{"main": ["{"a" * 40}"], "refs/pr/1": ["{"b" * 40}"]}}')
    texts = (Text("pull-request:body", f"{sha} and bbbbbbb"),)
    got = gather(out, base="git:HEAD~1", head="git:HEAD", repo=made.path, history=refs, texts=texts)
    assert [(commit.status, commit.reason) for commit in got.change.commits] == [
        ("reachable", "in head"),
        ("orphaned", "only refs/pr/1 holds it"),
    ]


def test_opened_sources_may_be_given(tmp_path: Path, out: Path) -> None:
    base = FolderSource(Path(folder(tmp_path / "base", {"config.json": "1"})))
    head = folder(tmp_path / "head", {"config.json": "2"})
    history = NoHistory("not asked")
    got = gather(out, base=base, head=head, repo=tmp_path, history=history, repository="o/n")
    assert text(out, by_path(got.base)["config.json"]) == b"1"
    assert (got.change.repository, got.change.refs_reason) == ("o/n", "not asked")


def test_what_cannot_be_gathered(made: GitRepository, out: Path, tmp_path: Path) -> None:
    made.commit("first", {"config.json": "1"})
    here = folder(tmp_path / "here", {})
    with pytest.raises(CannotLookError, match="there is no such folder"):
        gather(out, base="git:main", head=str(tmp_path / "nowhere"), repo=made.path)
    with pytest.raises(CannotLookError, match="has no revision nope"):
        gather(out, base=here, head="git:nope", repo=made.path)
    with pytest.raises(UsageError, match="no such history file"):
        gather(out, base=here, head=here, repo=made.path, history=tmp_path / "none.json")
    got = gather(out, base=here, head=here, repo=made.path)
    assert (got.base.files, got.head.unchanged) == ((), (".",))


def test_what_is_left_out_of_long_texts_is_said() -> None:
    many = " ".join(f"{number:07x}" for number in range(MOST_WORDS + 1))
    texts = [Text("pull-request:body", many), *(Text(f"commit:{n}", many.replace("0", str(n))) for n in range(1, 6))]
    change = build_change(texts, [("README.md", " " * (LONGEST_TEXT + 1))], NoHistory("x"), left_out=["given"])
    assert len(change.commits) == 2_000
    assert change.unread[:2] == ("given", "only the first 500 hexadecimal words of pull-request:body were looked up")
    assert "only the first 1,048,576 characters of README.md were searched for commits" in change.unread
    assert change.unread[-1].startswith("only the first 2,000 of ")


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://github.com/org/name", "org/name"),
        ("https://github.com/org/name.git/", "org/name"),
        ("https://user:secret@github.com/org/name.git", "org/name"),
        ("git@github.com:org/name.git", "org/name"),
        ("ssh://git@github.com:22/org/name.git", "org/name"),
        ("https://huggingface.co/org/name", "org/name"),
        ("git@hf.co:org/name", "org/name"),
        ("https://huggingface.co/datasets/org/name", ""),
        ("https://github.com.example.org/org/name", ""),
        ("https://github.com@example.org/org/name", ""),
        ("https://example.org/org/name", ""),
        ("/srv/github.com/org/name", ""),
        ("../org/name", ""),
    ],
)
def test_the_name_of_the_repository(made: GitRepository, url: str, name: str) -> None:
    made.git("remote", "add", "origin", url)
    assert repository_name(Repository(made.path)) == name


@pytest.mark.needs("shared")
def test_shared_pairs_of_folders(shared: Path, out: Path) -> None:
    pairs = [case.parent for root in ("cases", "corpus") for case in sorted((shared / root).glob("*/base"))]
    assert len(pairs) > 100
    for number, pair in enumerate(pairs):
        got = gather(out / str(number), base=str(pair / "base"), head=str(pair / "head"), repo=pair)
        assert got.base.files or got.base.unchanged == (".",)
        assert not [file for file in got.head.files if file.unread]
