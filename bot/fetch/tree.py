"""Read one commit, or the index, of a git repository: the list of its entries, and blobs by id."""

from collections.abc import Iterator

import msgspec

from bot.errors import CannotLookError
from bot.fetch.git import Repository
from bot.fetch.lfs import CloneStore, Lfs
from bot.fetch.objects import Objects
from bot.fetch.source import UnreadError, printable
from bot.snapshot import File, Kind

KINDS: dict[bytes, Kind] = {b"120000": "symlink", b"160000": "submodule"}
EMPTY_BLOB = b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
LONGEST_TARGET = 4096  # bytes of a symbolic link, as on Linux


class GitSource:
    """One commit, read from the object database: no checkout, no hooks, no filters.

    `name` is the revision as it was given and `tip` the commit that it named; `sha` may be an older one, the merge base.
    `lfs` is by default what git-lfs left in the clone.
    """

    def __init__(
        self, repository: Repository, name: str, tip: str, *, sha: str = "", label: str = "", lfs: Lfs | None = None
    ) -> None:
        self.repository = repository
        self.name = name
        self.tip = tip
        self.sha: str | None = sha or tip
        self.label = label or name
        self.lfs: Lfs | None = lfs or CloneStore(repository)
        self._objects = Objects(repository)
        self._entries: tuple[File, ...] | None = None

    def entries(self) -> tuple[File, ...]:
        """Return the whole tree."""
        if self._entries is None:
            linked = (self._linked(file) for file in self._listed())
            self._entries = tuple(sorted(linked, key=lambda file: file.path))
        return self._entries

    def size(self, file: File) -> int:
        """Return the number of bytes of a blob. Raises UnreadError when it is not in the clone."""
        return self._objects.size(file.oid)

    def read(self, file: File) -> bytes:
        """Return the bytes of a blob. Raises UnreadError when it is not in the clone."""
        return self._objects.content(file.oid)

    def close(self) -> None:
        """End git."""
        self._objects.close()

    def _listed(self) -> Iterator[File]:
        listed = self.repository.ask("ls-tree", "-r", "-z", "--full-tree", self.sha or self.tip, fetching=True)
        for row in listed.split(b"\0")[:-1]:
            about, _, path = row.partition(b"\t")
            mode, _, oid = about.split()
            yield _file(mode, oid, path)

    def _linked(self, file: File) -> File:
        """Fill in where a symbolic link leads."""
        if file.kind != "symlink":
            return file
        try:
            size = self._objects.size(file.oid)
            if size > LONGEST_TARGET:
                return msgspec.structs.replace(file, unread=f"symbolic link with a target of {size:,} bytes")
            return msgspec.structs.replace(file, size=size, target=printable(self._objects.content(file.oid)))
        except UnreadError as reason:
            return msgspec.structs.replace(file, unread=f"symbolic link to an unknown place: {reason}")


class IndexSource(GitSource):
    """What is staged: the tree that a commit made now would have."""

    def __init__(self, repository: Repository, head: str) -> None:
        if repository.bare:
            raise CannotLookError(f"{repository.root} is a bare repository and has no index; --staged needs a working tree")
        super().__init__(repository, "index", head)
        self.sha = None
        self._staged: set[bytes] | None = None

    def _listed(self) -> Iterator[File]:
        for row in self.repository.ask("ls-files", "--stage", "-z").split(b"\0")[:-1]:
            about, _, path = row.partition(b"\t")
            mode, oid, stage = about.split()
            if stage != b"0":
                raise CannotLookError(f"{printable(path)} is unmerged in the index; resolve the conflict and `git add` it first")
            if oid != EMPTY_BLOB or path in self._empty():
                yield _file(mode, oid, path)

    def _empty(self) -> set[bytes]:
        """Return paths among which are all files staged as empty, and none that `git add -N` only announced."""
        if self._staged is None:
            changed = self.repository.ask(
                "diff-index", "--cached", "--ita-invisible-in-index", "--name-only", "-z", "--no-renames", self.tip
            )
            before = self.repository.ask("ls-tree", "-r", "-z", "--name-only", "--full-tree", self.tip, fetching=True)
            self._staged = {*changed.split(b"\0"), *before.split(b"\0")}
        return self._staged


def _file(mode: bytes, oid: bytes, path: bytes) -> File:
    return File(printable(path), KINDS.get(mode, "file"), oid.decode())
