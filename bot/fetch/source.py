"""What a revision looks like to the rest of fetch: a list of entries, and the bytes of each on demand."""

from collections.abc import Sequence
from typing import Protocol

from bot.fetch.lfs import Lfs
from bot.snapshot import File


class UnreadError(Exception):
    """One file could not be taken; its text becomes `File.unread`."""


class Source(Protocol):
    """One revision that can be listed and read. Nothing is read before it is asked for."""

    @property
    def label(self) -> str:
        """What people call the revision, such as "main (merge base a1b2c3d)" or the path of a folder."""
        ...

    @property
    def sha(self) -> str | None:
        """The commit, 40 hex digits, or None where there is none."""
        ...

    @property
    def lfs(self) -> Lfs | None:
        """Where content may be that Git LFS keeps outside of the repository, None where nobody can be asked."""
        ...

    def entries(self) -> Sequence[File]:
        """Return the whole tree in order of path; `oid`, `kind` and a symlink's `target` are set, `content` is None.

        An entry that can never be read (a socket, say) has `unread` set. Raises CannotLookError when there is no tree.
        """
        ...

    def size(self, file: File) -> int:
        """Return the number of bytes of an entry. Raises UnreadError."""
        ...

    def read(self, file: File) -> bytes:
        """Return the bytes of an entry. Raises UnreadError."""
        ...

    def close(self) -> None:
        """End every process and connection of this source."""
        ...


class Nothing:
    """A revision without a single file: what stands for base where one revision is looked at alone."""

    label = ""
    sha: str | None = None
    lfs: Lfs | None = None

    def entries(self) -> Sequence[File]:
        """Return no entry."""
        return ()

    def size(self, file: File) -> int:
        """Raise UnreadError: there is no entry to ask for."""
        raise UnreadError(f"{file.path} is not there")

    def read(self, file: File) -> bytes:
        """Raise UnreadError: there is no entry to ask for."""
        raise UnreadError(f"{file.path} is not there")

    def close(self) -> None:
        """Do nothing."""


def printable(name: bytes) -> str:
    """Return a file name or link target as text that JSON can carry: bytes that are not UTF-8 become escapes."""
    return name.decode("utf-8", "backslashreplace")
