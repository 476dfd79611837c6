"""Plain folders, with everything that a disk can hold."""

import hashlib
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.errors import CannotLookError
from bot.fetch.folder import FolderSource
from bot.fetch.source import UnreadError
from bot.snapshot import File


def listed(folder: Path) -> dict[str, File]:
    return {file.path: file for file in FolderSource(folder).entries()}


@pytest.fixture
def as_nobody() -> Iterator[Path]:
    """A folder that an ordinary user may look into, and that user's rights, also when the tests run as root."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        path.chmod(0o755)
        root = os.geteuid() == 0
        yield path
        if root:
            os.seteuid(0)
        for entry in path.iterdir():
            entry.chmod(0o755)


def drop_rights() -> None:
    if os.geteuid() == 0:
        os.seteuid(65534)


def test_identity_of_files(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(b"{}")
    (tmp_path / "model.safetensors").write_bytes(b"w" * 1025)
    (tmp_path / "pointer.safetensors").write_bytes(b"version")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "x.json").write_bytes(b"x" * 1025)
    files = listed(tmp_path)
    assert list(files) == ["config.json", "model.safetensors", "pointer.safetensors", "sub/x.json"]
    assert files["config.json"].oid == hashlib.sha256(b"{}").hexdigest()
    assert files["model.safetensors"] == File("model.safetensors", oid="size:1025", size=1025)
    assert files["pointer.safetensors"].oid == hashlib.sha256(b"version").hexdigest()
    assert files["sub/x.json"].oid == "size:1025"


def test_git_folders_are_left_out(tmp_path: Path) -> None:
    for name in (".git", "sub/.git"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "config.json").write_text("{}")
    (tmp_path / "worktree").mkdir()
    (tmp_path / "worktree" / ".git").write_text("gitdir: elsewhere")
    assert listed(tmp_path) == {}


def test_links_are_facts_and_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.json").write_text("secret")
    root = tmp_path / "root"
    root.mkdir()
    (root / "config.json").write_text("{}")
    for name, target in {
        "a.json": "config.json",
        "b.json": "../outside/secret.json",
        "c.json": "c.json",
        "d": "../outside",
    }.items():
        (root / name).symlink_to(target)
    files = listed(root)
    assert {path: (file.kind, file.target) for path, file in files.items()} == {
        "config.json": ("file", ""),
        "a.json": ("symlink", "config.json"),
        "b.json": ("symlink", "../outside/secret.json"),
        "c.json": ("symlink", "c.json"),
        "d": ("symlink", "../outside"),
    }


def test_a_root_behind_a_link_is_listed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "config.json").write_text("{}")
    (tmp_path / "link").symlink_to("real")
    assert list(listed(tmp_path / "link")) == ["config.json"]


def test_names_that_are_not_utf8_or_odd(tmp_path: Path) -> None:
    for name in (b"caf\xe9.json", b"two words.json", b"two\nlines.json", b"-rf.json"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_bytes(name)
    source = FolderSource(tmp_path)
    found = {file.path: source.read(file) for file in source.entries()}
    assert found == {
        "caf\\xe9.json": b"caf\xe9.json",
        "two words.json": b"two words.json",
        "two\nlines.json": b"two\nlines.json",
        "-rf.json": b"-rf.json",
    }


def test_what_is_no_file_says_so(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.json")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "tokenizer.json"))
        files = listed(tmp_path)
    assert files["config.json"].unread == "is a named pipe, not a file"
    assert files["tokenizer.json"].unread == "is a socket, not a file"


def test_forbidden_files_and_folders_say_so(as_nobody: Path) -> None:
    (as_nobody / "config.json").write_text("{}")
    (as_nobody / "config.json").chmod(0)
    (as_nobody / "closed").mkdir(mode=0)
    drop_rights()
    files = listed(as_nobody)
    assert files["config.json"].unread == "cannot be read: Permission denied"
    assert files["closed"].unread == "the folder cannot be listed: Permission denied"


def test_a_forbidden_root_cannot_be_looked_at(as_nobody: Path) -> None:
    (as_nobody / "closed").mkdir(mode=0)
    drop_rights()
    with pytest.raises(CannotLookError, match="closed cannot be listed: Permission denied"):
        listed(as_nobody / "closed")


def test_a_file_that_changes_its_kind_meanwhile_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    root = tmp_path / "root"
    root.mkdir()
    (root / "config.json").write_text("{}")
    source = FolderSource(root)
    (file,) = source.entries()
    (root / "config.json").unlink()
    with pytest.raises(UnreadError, match="No such file"):
        source.size(file)
    (root / "config.json").symlink_to(tmp_path / "secret")
    with pytest.raises(UnreadError, match="cannot be read"):
        source.read(file)
    (root / "config.json").unlink()
    os.mkfifo(root / "config.json")
    with pytest.raises(UnreadError, match="is no longer a file"):
        source.read(file)


def test_a_folder_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        CannotLookError, match=r"^main: there is no such folder; a revision of a git repository is written git:main$"
    ):
        FolderSource(Path("main"))
    with pytest.raises(CannotLookError, match=r"x/y: there is no such folder$"):
        FolderSource(tmp_path / "x" / "y")
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotLookError, match="file is a file, but a folder with a model in it is needed"):
        FolderSource(tmp_path / "file")


def test_a_path_that_the_system_refuses_to_look_at(as_nobody: Path) -> None:
    (as_nobody / "closed").mkdir(mode=0)
    drop_rights()
    with pytest.raises(CannotLookError, match="closed/model cannot be looked at: Permission denied"):
        FolderSource(as_nobody / "closed" / "model")
    with pytest.raises(CannotLookError, match="xxx cannot be looked at: File name too long"):
        FolderSource(as_nobody / ("x" * 300))


def test_a_file_that_grows_while_it_is_hashed_has_no_identity() -> None:
    assert listed(Path("/proc/self/fdinfo"))["0"].unread == "changed while it was read"
