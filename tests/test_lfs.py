"""Content that Git LFS keeps: from the clone, from the server, and never at the price of the token."""

import contextlib
import hashlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from urllib3 import Retry

from bot import run
from bot.analyze.records import Comparison
from bot.fetch import exchange, lfs_server
from bot.fetch.attributes import kept_in_lfs
from bot.fetch.gather import gather
from bot.fetch.git import Repository
from bot.fetch.lfs import Absent, CloneStore, InTurn, Lfs, Pointer, pointer
from bot.fetch.lfs_server import LfsServer, RefusedError, patient, refuse_open
from bot.fetch.source import UnreadError
from bot.fetch.tree import GitSource
from bot.snapshot import File, Snapshot
from tests.doubles.github_lfs import LfsDouble, pointer_to
from tests.doubles.job import TOKEN
from tests.doubles.model_repository import ModelRepository
from tests.repositories import GitRepository
from tests.test_attributes import TABLE

ATTRIBUTES = "*.json filter=lfs diff=lfs merge=lfs -text\n"
BASE, HEAD = b'{"eos_token_id": 3}', b'{"eos_token_id": 2, "more": 1}'
NONE = Retry(0, read=False)


@pytest.fixture
def lfs() -> Iterator[LfsDouble]:
    with LfsDouble(TOKEN) as double:
        yield double


@pytest.fixture
def made(tmp_path: Path) -> GitRepository:
    """Two commits, in both of which generation_config.json is a pointer."""
    repository = GitRepository(tmp_path / "made")
    repository.commit("first", {".gitattributes": ATTRIBUTES, "generation_config.json": pointer_to(BASE)})
    repository.commit("second", {"generation_config.json": pointer_to(HEAD)})
    return repository


def server(lfs: LfsDouble) -> LfsServer:
    return LfsServer(lfs.server.url, lfs.repository, lfs.token, retry=NONE)


def keep(repository: GitRepository, content: bytes, name: bytes | None = None) -> Path:
    """Let a clone have a content as git-lfs would leave it, under the name of `name` where that is another one."""
    oid = hashlib.sha256(content if name is None else name).hexdigest()
    path = repository.path / ".git" / "lfs" / "objects" / oid[:2] / oid[2:4] / oid
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def sources(repository: Path, lfs: Lfs | None, *revisions: str) -> list[GitSource]:
    clone = Repository(repository)
    return [GitSource(clone, name, clone.commit(name), lfs=lfs) for name in revisions or ("HEAD~1", "HEAD")]


def fetched(made: GitRepository, out: Path, lfs: Lfs | None = None) -> tuple[Snapshot, Snapshot]:
    base, head = sources(made.path, lfs)
    got = gather(out, base=base, head=head, repo=made.path)
    return got.base, got.head


def file(snapshot: Snapshot, path: str = "generation_config.json") -> File:
    return next(file for file in snapshot.files if file.path == path)


def text(out: Path, file: File) -> bytes:
    return (out / "contents" / str(file.content)).read_bytes()


# What a pointer is.


@given(st.binary(max_size=200))
def test_what_git_lfs_writes_is_read(content: bytes) -> None:
    assert pointer(pointer_to(content)) == Pointer(len(content), hashlib.sha256(content).hexdigest())
    assert pointer(content) is None


NO_POINTERS: tuple[Callable[[bytes], bytes], ...] = (
    lambda text: b"\xef\xbb\xbf" + text,
    lambda text: text + b"\n",
    lambda text: text.replace(b"\n", b"\r\n"),
    lambda text: text.replace(b"sha256:", b"sha512:"),
    lambda text: text.replace(b"size ", b"size -"),
    lambda text: text.replace(b"size ", b"size 0"),
    lambda text: text.replace(b"size", b"ext-0-case sha256:" + b"0" * 64 + b"\nsize"),
    lambda text: text.replace(b"https://git-lfs.github.com", b"https://git-lfs.example.com"),
    lambda text: text.upper(),
    lambda text: text + b" " * 1024,
)


@pytest.mark.parametrize("change", NO_POINTERS)
def test_nothing_else_is_a_pointer(change: Callable[[bytes], bytes]) -> None:
    assert pointer(change(pointer_to(BASE))) is None


@pytest.mark.parametrize("name", TABLE)
def test_git_reads_attributes_from_contents_as_it_does_from_files(name: str) -> None:
    files, expected = TABLE[name]
    found = kept_in_lfs({folder: text.encode() for folder, text in files.items()}, expected)
    assert {path: path in found for path in expected} == expected


def test_attributes_in_folders_that_no_file_system_should_see() -> None:
    with pytest.raises(UnreadError, match="git could not say whether"):
        kept_in_lfs({"../x": b"* filter=lfs\n"}, ["../x/a"])
    assert kept_in_lfs({"ü x": b"* filter=lfs\n"}, ["ü x/a", "b"]) == {"ü x/a"}
    assert kept_in_lfs({"\ud800": b"* filter=lfs\n"}, ["\ud800/a"]) == {"\ud800/a"}
    assert kept_in_lfs({}, ["a"]) == frozenset()


# From a clone.


def test_the_content_that_a_clone_has_stands_in_the_place_of_its_pointer(made: GitRepository, tmp_path: Path) -> None:
    keep(made, BASE)
    keep(made, HEAD)
    before, after = fetched(made, tmp_path / "out")
    for snapshot, content, revision in ((before, BASE, "HEAD~1"), (after, HEAD, "HEAD")):
        found = file(snapshot)
        assert text(tmp_path / "out", found) == content
        assert (found.size, found.content, found.unread) == (len(content), hashlib.sha256(content).hexdigest(), "")
        assert found.oid == made.git("rev-parse", f"{revision}:generation_config.json")


def test_what_the_clone_has_is_found_from_a_worktree_and_in_a_bare_clone(made: GitRepository, tmp_path: Path) -> None:
    keep(made, HEAD)
    made.git("worktree", "add", "--quiet", str(tmp_path / "tree"), "HEAD~1")
    made.git("clone", "--quiet", "--bare", str(made.path), str(tmp_path / "bare"))
    (made.path / ".git" / "lfs").rename(made.path / ".git" / "kept")
    (made.path / ".git" / "lfs").symlink_to("kept")
    (tmp_path / "bare" / "lfs").symlink_to(made.path / ".git" / "lfs")
    wanted = Pointer(len(HEAD), hashlib.sha256(HEAD).hexdigest())
    for path in (tmp_path / "tree", tmp_path / "bare"):
        assert list(CloneStore(Repository(path)).bring([wanted])) == [(wanted, HEAD)]


LOST: tuple[tuple[Callable[[Path], object], str], ...] = (
    (lambda path: path.unlink(), "the clone does not have it"),
    (lambda path: path.write_bytes(HEAD[:-1] + b"x"), "what the clone has is damaged"),
    (lambda path: path.write_bytes(HEAD + b"x"), "what the clone has is damaged"),
    (lambda path: (path.unlink(), path.symlink_to("/etc/passwd")), "what the clone has cannot be read: "),
    (lambda path: (path.unlink(), path.mkdir()), "what the clone has "),
)


@pytest.mark.parametrize(("spoil", "reason"), LOST)
def test_what_the_clone_cannot_give_leaves_the_pointer_and_a_reason(
    made: GitRepository, tmp_path: Path, spoil: Callable[[Path], object], reason: str
) -> None:
    keep(made, BASE)
    spoil(keep(made, HEAD))
    before, after = fetched(made, tmp_path / "out")
    assert text(tmp_path / "out", file(before)) == BASE
    found = file(after)
    assert text(tmp_path / "out", found) == pointer_to(HEAD)
    assert found.unread.startswith(reason)
    assert (found.content, found.size) == (found.oid, len(pointer_to(HEAD)))


def test_a_pointer_that_no_attribute_explains_stays_as_it_is(tmp_path: Path, lfs: LfsDouble) -> None:
    made = GitRepository(tmp_path / "made")
    made.commit("first", {".gitattributes": "*.bin filter=lfs\n", "config.json": "{}"})
    made.commit("second", {"config.json": lfs.add(HEAD)})
    keep(made, HEAD)
    _, after = fetched(made, tmp_path / "out", server(lfs))
    assert text(tmp_path / "out", file(after, "config.json")) == pointer_to(HEAD)
    assert file(after, "config.json").unread == ""
    assert lfs.server.log == []


def test_a_link_is_resolved_by_the_attributes_of_the_file_that_it_leads_to(tmp_path: Path) -> None:
    made = GitRepository(tmp_path / "made")
    made.commit("first", {"m/config.json": "{}", "blobs/.gitattributes": "* filter=lfs\n.gitattributes !filter\n"})
    made.write({"blobs/1": pointer_to(HEAD)})
    (made.path / "m" / "tokenizer.json").symlink_to("../blobs/1")
    made.commit("second")
    keep(made, HEAD)
    _, after = fetched(made, tmp_path / "out")
    assert text(tmp_path / "out", file(after, "m/tokenizer.json")) == HEAD


def test_the_index_is_read_through_lfs_as_a_commit_is(made: GitRepository, tmp_path: Path) -> None:
    made.write({"generation_config.json": pointer_to(BASE + b" ")})
    made.git("add", "--all")
    keep(made, BASE + b" ")
    got = gather(tmp_path / "out", base="", head="", repo=made.path, staged=True)
    assert text(tmp_path / "out", file(got.head)) == BASE + b" "
    assert file(got.base).unread == "the clone does not have it"


# From the server.


def test_the_server_is_asked_once_for_a_revision_and_only_for_what_the_clone_lacks(
    made: GitRepository, tmp_path: Path, lfs: LfsDouble
) -> None:
    keep(made, BASE)
    lfs.add(BASE)
    made.commit("third", {"generation_config.json": lfs.add(HEAD), "tokenizer.json": lfs.add(b"[]"), "x.json": lfs.add(b"[]")})
    before, after = fetched(made, tmp_path / "out", InTurn(CloneStore(Repository(made.path)), server(lfs)))
    assert text(tmp_path / "out", file(before)) == text(tmp_path / "out", file(after)) == HEAD
    assert text(tmp_path / "out", file(after, "tokenizer.json")) == b"[]"
    assert lfs.server.log == ["POST /acme/model.git/info/lfs/objects/batch"] * 2  # one a side: the second for what is new in it
    assert sorted(lfs.storage.log) == sorted(f"GET /{hashlib.sha256(content).hexdigest()}" for content in (HEAD, b"[]"))


def test_only_the_server_sees_the_token_whatever_a_netrc_says(
    made: GitRepository, tmp_path: Path, lfs: LfsDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login x password other-secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    lfs.add(BASE)
    lfs.add(HEAD)
    lfs.override = lambda found: found["actions"]["download"].pop("header")
    _, after = fetched(made, tmp_path / "out", server(lfs))
    assert text(tmp_path / "out", file(after)) == HEAD
    assert set(lfs.storage.credentials) == {""}
    assert not any(TOKEN in value or "x-access-token" in value for headers in lfs.storage.headers for value in headers.values())


def test_a_download_that_is_sent_on_carries_no_header(made: GitRepository, tmp_path: Path, lfs: LfsDouble) -> None:
    lfs.add(BASE)
    oid = hashlib.sha256(lfs.contents[pointer_of(lfs.add(HEAD)).oid]).hexdigest()
    lfs.contents.pop(pointer_of(pointer_to(BASE)).oid)
    lfs.location["download"] = f"{lfs.server.url}/acme/elsewhere"
    _, after = fetched(made, tmp_path / "out", server(lfs))
    assert file(after).unread == "the LFS server answered 404"
    assert lfs.server.credentials[-1] == ""
    lfs.location["download"] = f"/moved?oid={oid}"
    _, after = fetched(made, tmp_path / "more", server(lfs))
    assert text(tmp_path / "more", file(after)) == HEAD
    assert lfs.storage.credentials[-2:] == ["Storage only", ""]


def pointer_of(content: bytes) -> Pointer:
    found = pointer(content)
    assert found is not None
    return found


Spoil = Callable[[LfsDouble], object]


def aside(**attributes: object) -> Spoil:
    """Set attributes of the double."""

    def spoil(lfs: LfsDouble) -> None:
        for name, value in attributes.items():
            setattr(lfs, name, value)

    return spoil


def sent(change: Callable[[bytes], bytes]) -> Spoil:
    """Change what is downloaded."""
    return aside(sent=change)


def told(change: Callable[[dict[str, Any]], object]) -> Spoil:
    """Change what the server tells about an object."""
    return aside(override=change)


def action(change: Callable[[dict[str, Any]], object]) -> Spoil:
    """Change where the server says that an object is."""
    return told(lambda found: change(found["actions"]["download"]))


FAULTS: dict[str, tuple[Spoil, str]] = {
    "it is not there": (lambda lfs: lfs.contents.clear(), "the LFS server does not have it (404)"),
    "a token it does not like": (aside(token="other"), "the LFS server answered 401"),
    "it is down": (aside(status=503), "the LFS server answered 503"),
    "it sends us elsewhere": (
        lambda lfs: lfs.location.update(batch=f"{lfs.storage.url}/batch"),
        "the LFS server answered 307",
    ),
    "other bytes": (sent(lambda content: b"x" * len(content)), "what the LFS server sent is not what the pointer names"),
    "fewer bytes": (sent(lambda content: content[:-1]), "what the LFS server sent is not what the pointer names"),
    "many more bytes": (sent(lambda content: content * 100_000), "the LFS server sends more than it should"),
    "a circle": (lambda lfs: lfs.location.update(download="/again"), "the LFS server sends us on and on"),
    "another object": (told(lambda found: found.update(oid="0" * 64)), "the LFS server says nothing about it"),
    "no action": (told(lambda found: found.pop("actions")), "the LFS server does not say where it is"),
    "an answer of another kind": (
        told(lambda found: found.update(actions=[])),
        "the answer of the LFS server is not what git-lfs describes",
    ),
    "an address of another kind": (
        action(lambda place: place.update(href="file:///etc/passwd")),
        "the LFS server names an address that is not https",
    ),
    "an address that is none": (
        action(lambda place: place.update(href="http://[::1/")),
        "it could not be downloaded (ValueError)",
    ),
    "the token for another host": (
        action(lambda place: place["header"].update(Authorization=f"Bearer {TOKEN}")),
        "the LFS server would have us show the token to another host",
    ),
    "the token in an address": (
        action(lambda place: place.update(href=f"{place['href']}&token={TOKEN}")),
        "the LFS server would have us show the token to another host",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_whatever_goes_wrong_the_pointer_stays_and_the_reason_is_told(
    made: GitRepository, tmp_path: Path, lfs: LfsDouble, name: str
) -> None:
    lfs.add(BASE)
    lfs.add(HEAD)
    asked = server(lfs)
    spoil, reason = FAULTS[name]
    spoil(lfs)
    before, after = fetched(made, tmp_path / "out", asked)
    for snapshot, content in ((before, BASE), (after, HEAD)):
        assert file(snapshot).unread == reason
        assert text(tmp_path / "out", file(snapshot)) == pointer_to(content)
    assert not any(TOKEN in value for headers in lfs.storage.headers for value in headers.values())


def test_a_connection_that_nobody_takes_is_told(made: GitRepository, tmp_path: Path) -> None:
    with LfsDouble(TOKEN) as gone:
        asked = server(gone)
    _, after = fetched(made, tmp_path / "out", asked)
    assert file(after).unread == "it could not be downloaded (ConnectionError)"


def test_over_https_no_other_address_is_asked() -> None:
    asked = LfsServer("https://127.0.0.1:1", "acme/model", TOKEN, retry=NONE)
    wanted = Pointer(1, "0" * 64)
    assert list(asked.bring([wanted])) == [(wanted, Absent("it could not be downloaded (ConnectionError)"))]
    for address in ("http://127.0.0.1/x", "ftp://127.0.0.1/x", "//127.0.0.1/x", ""):
        with pytest.raises(RefusedError, match="is not https"):
            refuse_open(address, "https://example.com/x")
    refuse_open("https://127.0.0.1/x", "https://example.com/x")
    refuse_open("http://127.0.0.1/x", "http://example.com/x")


def test_what_the_repository_says_about_its_server_is_not_read(made: GitRepository, tmp_path: Path, lfs: LfsDouble) -> None:
    made.commit("aim", {".lfsconfig": f"[lfs]\n\turl = {lfs.storage.url}\n", "generation_config.json": lfs.add(HEAD + b" ")})
    lfs.add(HEAD)
    _, after = fetched(made, tmp_path / "out", server(lfs))
    assert text(tmp_path / "out", file(after)) == HEAD + b" "
    assert not any(line.startswith("POST") for line in lfs.storage.log)


def test_large_and_many_files_are_left_where_they_are(
    made: GitRepository, tmp_path: Path, lfs: LfsDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "MOST_KEPT", 120)
    many = {f"{number:03}.json": lfs.add(b"x" * (number + 1)) for number in range(125)}
    huge = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 67108865\n"
    made.commit("many", many | {"generation_config.json": huge})
    _, after = fetched(made, tmp_path / "out", server(lfs))
    assert file(after).unread == "64.0 MiB, over the limit of 64 MiB"
    assert [path for path in many if file(after, path).unread] == [f"{number:03}.json" for number in range(120, 125)]
    assert file(after, "124.json").unread == "only the 120 smallest files of a revision are brought from Git LFS"
    assert len(lfs.server.log) == 3  # base, and two of at most 100


def test_a_server_that_takes_too_long_is_left(
    made: GitRepository, tmp_path: Path, lfs: LfsDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lfs_server, "SECONDS", -1)
    lfs.add(HEAD)
    _, after = fetched(made, tmp_path / "out", server(lfs))
    assert file(after).unread == "it took more than -1 seconds to download what Git LFS keeps"


class Dripping:
    """A server that answers every request letter by letter, and never comes to an end before it is told to."""

    def __init__(self, start: bytes) -> None:
        self._start, self._stop = start, threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            connection, _ = self._socket.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(self._start)
                while not self._stop.wait(0.02):
                    connection.sendall(b"x")


@pytest.mark.parametrize(
    "start", [b"HTTP/1.1 200 OK\r\nX-Long: ", b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"], ids=["headers", "content"]
)
def test_a_server_that_sends_a_letter_now_and_then_is_left_in_time(monkeypatch: pytest.MonkeyPatch, start: bytes) -> None:
    monkeypatch.setattr(lfs_server, "SECONDS", 0.3)
    slow = Dripping(start)
    try:
        asked = LfsServer(slow.url, "acme/model", TOKEN, retry=NONE)
        wanted = [Pointer(size, "0" * 64) for size in range(1, 200)]  # of two questions, the second is not even asked
        late = Absent("it took more than 0.3 seconds to download what Git LFS keeps")
        assert list(asked.bring(wanted)) == [(one, late) for one in wanted]
    finally:
        slow.close()


def test_faults_of_the_server_are_tried_again() -> None:
    again = patient()
    assert (again.total, again.is_retry("POST", 503), again.is_retry("GET", 404)) == (2, True, False)


# What a comparison makes of it.


def compared(made: GitRepository, lfs: Lfs | None) -> Comparison:
    base, head = sources(made.path, lfs, "main", "change")
    return run.compare(base=base, head=head, repo=made.path, prove="never")


def unread(comparison: Comparison) -> dict[str, str]:
    return {row.id: row.reason for row in comparison.unchecked if row.kind == "file"}


@pytest.fixture
def origin(tmp_path: Path, lfs: LfsDouble) -> ModelRepository:
    """A model whose generation_config.json is kept in LFS, and a branch that spoils it."""
    made = ModelRepository(tmp_path / "origin")
    made.git("switch", "--quiet", "main")
    made.commit(
        "Keep it in LFS",
        {".gitattributes": ATTRIBUTES.replace("*", "generation_config"), "generation_config.json": lfs.add(BASE)},
    )
    made.git("branch", "--quiet", "--force", "change")
    made.git("switch", "--quiet", "change")
    made.commit("Spoil", {"generation_config.json": lfs.add(b'{"eos_token_id": 2}')})
    return made


def test_a_model_in_lfs_is_judged_like_any_other(origin: ModelRepository, lfs: LfsDouble, tmp_path: Path) -> None:
    plain = ModelRepository(tmp_path / "plain")
    plain.commit("Spoil", {"generation_config.json": b'{"eos_token_id": 2}'})
    expected = compared(plain, None)
    found = compared(origin, server(lfs))
    assert [row.fingerprint for row in found.new] == [row.fingerprint for row in expected.new] != []
    assert [(row.field, row.after) for row in found.predictions] == [(row.field, row.after) for row in expected.predictions] != []
    assert unread(found) == {}
    assert (found.pointers, expected.pointers) == (("generation_config.json",), ())


def test_changed_pointers_that_cannot_be_read_are_unchecked(origin: ModelRepository, lfs: LfsDouble) -> None:
    lfs.contents.clear()
    found = compared(origin, server(lfs))
    assert unread(found) == {
        "generation_config.json": "is a Git LFS pointer to 0.0 kB, its content is not available here: the LFS server does not have it (404)"
    }
    assert [row.changed for row in found.unchecked if row.kind == "file"] == [True]
    assert [row.check for row in found.new if row.check == "lfs-pointer"] == []
    assert found.pointers == ()


def test_a_pointer_on_one_side_is_read_on_the_other(origin: ModelRepository, lfs: LfsDouble) -> None:
    # The same file as itself in base, and as a pointer whose content is gone in head; and the other way round.
    origin.git("switch", "--quiet", "main")
    origin.commit("Itself", {".gitattributes": "", "generation_config.json": BASE})
    lfs.contents.clear()
    found = compared(origin, server(lfs))
    assert list(unread(found)) == ["generation_config.json"]
    base, head = sources(origin.path, server(lfs), "change", "main")
    back = run.compare(base=base, head=head, repo=origin.path, prove="never")
    assert unread(back) == {}
    assert [row.check for row in (*found.new, *back.new) if row.severity == "error"] == []


def test_content_that_lfs_keeps_since_head_is_judged_anew(origin: ModelRepository, lfs: LfsDouble) -> None:
    """The pointer is the same file on both sides, and is read as another thing where head declares it."""
    pointed = {"generation_config.json": lfs.add(b'{"eos_token_id": 2}'), "tokenizer.json": lfs.add(b'{"version": "1.0"}')}
    origin.git("switch", "--quiet", "main")
    origin.commit("Undeclared", {".gitattributes": "", **pointed})
    origin.git("switch", "--quiet", "--force-create", "change")
    origin.commit("Declared", {".gitattributes": ATTRIBUTES})
    found = compared(origin, server(lfs))
    assert {row.key for row in found.resolved if row.check == "lfs-pointer"} == set(pointed)
    assert "tokenizer-json-unloadable" in {row.check for row in found.new}
