"""Read a plain folder; no symbolic link is ever followed by the operating system."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from bot.errors import CannotLookError
from bot.fetch.links import Tree
from bot.fetch.selection import ROOT, Owners, beside, candidates
from bot.fetch.source import Source, UnreadError, printable
from bot.snapshot import File

BLOCK = 1 << 20
SMALL = 1024  # bytes; so that two LFS pointers, which are all of one size, are told apart
SPECIAL = ((stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISBLK, "a device"), (stat.S_ISCHR, "a device"))


class FolderSource:
    """A folder as it stands, without any `.git` in it.

    `oid` is the sha256 of the bytes for small files and for those whose bytes may matter. For all others, weights above
    all, it is "size:N", which says no more than their size in bytes: reading them would take longer than everything else.
    After `name_like` it is the id of a git blob instead of the sha256, also of those others that are as large as the
    other revision's file of the same path.
    """

    sha = None
    lfs = None

    def __init__(self, folder: Path) -> None:
        self.label = printable(os.fsencode(folder))
        self._root = folder
        self._where: dict[str, str] = {}
        self._entries: tuple[File, ...] | None = None
        self._other: Source | None = None
        self._others: dict[str, File] = {}
        self._owners = Owners({ROOT})
        try:
            there, is_folder = folder.exists(), folder.is_dir()
        except OSError as error:
            raise CannotLookError(f"{folder} cannot be looked at: {error.strerror}") from error
        if not there:
            hint = f"; a revision of a git repository is written git:{folder}" if len(folder.parts) == 1 else ""
            raise CannotLookError(f"{folder}: there is no such folder{hint}")
        if not is_folder:
            raise CannotLookError(f"{folder} is a file, but a folder with a model in it is needed")

    def name_like(self, commit: Source) -> None:
        """Identify files as git does, so that those equal to files of `commit` are seen to be; what was listed before is listed again."""
        self._other = commit
        self._entries = None
        self._others = {file.path: file for file in commit.entries()}

    def entries(self) -> tuple[File, ...]:
        """Return the whole tree. Raises CannotLookError when the folder cannot be listed."""
        if self._entries is None:
            found = sorted(self._walk(), key=lambda file: file.path)
            self._owners = Owners(candidates(found) | {ROOT})
            wanted = _wanted(found, self._owners)
            self._entries = tuple(self._named(file, wanted=file.path in wanted) for file in found)
        return self._entries

    def size(self, file: File) -> int:
        """Return the number of bytes of a file. Raises UnreadError when it is gone."""
        try:
            return os.lstat(self._where[file.path]).st_size
        except OSError as error:
            raise UnreadError(f"cannot be read: {error.strerror}") from error

    def read(self, file: File) -> bytes:
        """Return the bytes of a file. Raises UnreadError when it is gone, forbidden or no longer a file."""
        with self._open(file, whole=True) as blocks:
            parts = list(blocks)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def _walk(self) -> Iterator[File]:
        ahead = [("", str(self._root))]
        while ahead:
            prefix, folder = ahead.pop()
            try:
                with os.scandir(folder) as listing:
                    found = list(listing)
            except OSError as error:
                if not prefix:
                    raise CannotLookError(f"{self._root} cannot be listed: {error.strerror}") from error
                yield File(prefix.rstrip("/"), unread=f"the folder cannot be listed: {error.strerror}")
                continue
            for entry in found:
                if entry.name == ".git":
                    continue
                path = prefix + printable(os.fsencode(entry.name))
                self._where[path] = entry.path
                if entry.is_dir(follow_symlinks=False):
                    ahead.append((path + "/", entry.path))
                else:
                    yield _entry(path, entry)

    def _named(self, file: File, *, wanted: bool) -> File:
        """Give an entry its identity."""
        if file.unread:
            return file
        if file.kind == "symlink":
            target = os.fsencode(file.target)
            return _with_oid(file, self._identity(file.path, len(target), [target]))
        size = file.size or 0
        if not wanted and size > SMALL and not self._as_large(file):
            return _with_oid(file, f"size:{size}")
        try:
            with self._open(file) as blocks:
                return _with_oid(file, self._identity(file.path, size, blocks))
        except UnreadError as reason:
            return File(file.path, file.kind, size=file.size, unread=str(reason))

    def _identity(self, path: str, size: int, blocks: Iterable[bytes]) -> str:
        """Return the sha256 of `size` bytes, or what git calls them, the SHA-1 of a header and the bytes. Raises UnreadError when they are not as many.

        Of a file that the other revision identifies by its sha256, as the Hub does where Git LFS keeps the content, it is that as well.
        """
        digest, seen = hashlib.sha256(), 0
        other = self._others.get(path)
        if self._other is not None and (other is None or len(other.oid) != len(digest.hexdigest())):
            digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        for block in blocks:
            digest.update(block)
            seen += len(block)
        if seen != size:
            raise UnreadError("changed while it was read")
        return digest.hexdigest()

    def _as_large(self, file: File) -> bool:
        """Whether the other revision's file of this path has as many bytes, so that it may be equal, and a model folder changes with it."""
        other = self._others.get(file.path)
        if self._other is None or self._owners.own(file.path) is None or other is None or other.kind != "file":
            return False
        try:
            return self._other.size(other) == file.size
        except UnreadError:
            return False  # of which equal bytes cannot be said

    def _open(self, file: File, *, whole: bool = False) -> "_Blocks":
        return _Blocks(self._where[file.path], max(BLOCK, file.size or 0) if whole else BLOCK)


class _Blocks:
    """The bytes of one file, block by block; refuses anything that is not a plain file, also when it was swapped meanwhile."""

    def __init__(self, path: str, block: int) -> None:
        self._path = path
        self._block = block
        self._descriptor = -1

    def __enter__(self) -> Iterator[bytes]:
        try:
            self._descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise UnreadError(f"cannot be read: {error.strerror}") from error
        return self._read()

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def _read(self) -> Iterator[bytes]:
        if not stat.S_ISREG(os.fstat(self._descriptor).st_mode):
            raise UnreadError("is no longer a file")
        try:
            while block := os.read(self._descriptor, self._block):
                yield block
        except OSError as error:
            raise UnreadError(f"cannot be read: {error.strerror}") from error


def _wanted(entries: list[File], owners: Owners) -> set[str]:
    """Return the files whose bytes may matter: those of any candidate folder, by name, and what links of such a name lead to."""
    tree = Tree(entries)
    wanted = {file.path for file in entries if owners.wants(file.path) or beside(file.path, owners.folders)}
    for path in list(wanted):
        if tree.files[path].kind == "symlink":
            with suppress(UnreadError):  # a link to nowhere needs no identity; `exchange` says why it has no bytes
                wanted.add(tree.follow(tree.files[path]).path)
    return wanted


def _entry(path: str, entry: os.DirEntry[str]) -> File:
    """Describe one name of a listing, following nothing."""
    try:
        about = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(about.st_mode):
            target = printable(os.fsencode(Path(entry.path).readlink()))
            return File(path, "symlink", size=about.st_size, target=target)
    except OSError as error:
        return File(path, unread=f"cannot be read: {error.strerror}")
    for is_kind, words in SPECIAL:
        if is_kind(about.st_mode):
            return File(path, unread=f"is {words}, not a file")
    return File(path, size=about.st_size)


def _with_oid(file: File, oid: str) -> File:
    return File(file.path, file.kind, oid, file.size, target=file.target)
