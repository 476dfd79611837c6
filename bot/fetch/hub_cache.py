"""Contents of the Hub that were brought before, on disk, each by its hash."""

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

LARGEST = 2 << 30  # bytes of all contents
OFTEN = 100  # looks through the cache while all of it is filled
SHA256 = 64  # digits


def fits(oid: str, content: bytes) -> bool:
    """Say whether a content is what its id says: the id of a git blob (40 digits), or the sha256 of what Git LFS keeps (64)."""
    if len(oid) == SHA256:
        return hashlib.sha256(content).hexdigest() == oid
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() == oid


class ContentCache:
    """A folder of contents, which several processes may share; None keeps nothing. Whatever is wrong with it, it is only slower.

    What is read is held to its id again. The folder is for its owner alone: contents may come from private repositories.
    """

    _added: ClassVar[dict[Path, int]] = {}  # bytes by folder that this process added since it looked through all of them

    def __init__(self, folder: Path | None, largest: int = LARGEST) -> None:
        self._folder = folder
        self._largest = largest

    def get(self, oid: str) -> bytes | None:
        """Return a content, None where it is not here or damaged."""
        if self._folder is None:
            return None
        path = self._folder / oid[:2] / oid
        try:
            content = path.read_bytes()
            if not fits(oid, content):
                path.unlink()
                return None
            os.utime(path)  # so that what is used stays longest
        except OSError:
            return None
        return content

    def put(self, oid: str, content: bytes) -> None:
        """Keep a content that fits its id: whole, or not at all."""
        if self._folder is None:
            return
        with suppress(OSError):  # a full or foreign disk: the next run asks again
            where = self._folder / oid[:2]
            where.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=where, prefix=".new-")
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(content)
                Path(name).replace(where / oid)
            except OSError:
                Path(name).unlink()
                raise
            self._added[self._folder] = self._added.get(self._folder, self._largest) + len(content)

    def prune(self) -> None:
        """Take out what was not used for longest until the rest is small enough.

        Asks the disk only when this process added something, then again for each hundredth of what may be there: looking through a full cache takes seconds.
        """
        if self._folder is None or self._added.get(self._folder, 0) * OFTEN < self._largest:
            return
        self._added[self._folder] = 0
        found: list[tuple[float, int, Path]] = []
        for path in self._folder.glob("??/*"):
            with suppress(OSError):  # another process took it out
                about = path.stat()
                found.append((about.st_mtime, about.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= self._largest:
                break
            with suppress(OSError):
                path.unlink()
                total -= size
