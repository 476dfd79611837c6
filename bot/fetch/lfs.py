"""Content that Git LFS keeps outside of a repository: what a pointer says, and where a clone has it."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from bot.fetch.git import Repository

LONGEST_POINTER = 1024  # bytes
# Three lines in this order, as git-lfs writes them (git-lfs/git-lfs, docs/spec.md, "The Pointer"). What has more lines, such as
# those of extensions, stands for bytes that went through a program.
POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\noid sha256:([0-9a-f]{64})\nsize (0|[1-9][0-9]{0,17})\n?")


class Pointer(msgspec.Struct, frozen=True, order=True):
    """What a pointer stands for: `size` bytes whose sha256 is `oid`, 64 hex digits."""

    size: int
    oid: str


class Absent(msgspec.Struct, frozen=True):
    """A content that could not be had; `reason` is one clause."""

    reason: str


class Lfs(Protocol):
    """A place that may have contents."""

    def bring(self, wanted: Sequence[Pointer]) -> Iterator[tuple[Pointer, bytes | Absent]]:
        """Return for each pointer the bytes that it stands for, of the right size and sha256, or why they are not to be had."""
        ...


def pointer(content: bytes) -> Pointer | None:
    """Read a pointer; None for everything else."""
    match = POINTER.fullmatch(content) if len(content) < LONGEST_POINTER else None
    return Pointer(int(match[2]), match[1].decode()) if match else None


def fits(content: bytes, wanted: Pointer) -> bool:
    """Say whether a content is what a pointer stands for."""
    return len(content) == wanted.size and hashlib.sha256(content).hexdigest() == wanted.oid


class CloneStore:
    """What git-lfs left in a clone, below lfs/objects of its git directory (docs/spec.md of git-lfs, "Intercepting Git")."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._folder: Path | None = None

    def bring(self, wanted: Sequence[Pointer]) -> Iterator[tuple[Pointer, bytes | Absent]]:
        """Read contents of the clone. Raises CannotLookError when git does not say where its directory is."""
        for one in wanted:
            yield one, self._content(one)

    def _content(self, wanted: Pointer) -> bytes | Absent:
        if self._folder is None:
            where = os.fsdecode(self._repository.ask("rev-parse", "--git-common-dir").rstrip(b"\n"))
            self._folder = self._repository.root / where / "lfs" / "objects"
        path = self._folder / wanted.oid[:2] / wanted.oid[2:4] / wanted.oid
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                about = os.fstat(descriptor)
                whole = stat.S_ISREG(about.st_mode) and about.st_size == wanted.size
                content = file.read(wanted.size + 1) if whole else b""
        except FileNotFoundError:
            return Absent("the clone does not have it")
        except OSError as error:
            return Absent(f"what the clone has cannot be read: {error.strerror}")
        return content if fits(content, wanted) else Absent("what the clone has is damaged")


class InTurn:
    """Two places: what the first does not have, the second is asked for."""

    def __init__(self, first: Lfs, second: Lfs) -> None:
        self._first, self._second = first, second

    def bring(self, wanted: Sequence[Pointer]) -> Iterator[tuple[Pointer, bytes | Absent]]:
        """Return what either has, or why the second does not have it."""
        left: list[Pointer] = []
        for one, found in self._first.bring(wanted):
            if isinstance(found, Absent):
                left.append(one)
            else:
                yield one, found
        yield from self._second.bring(left)
