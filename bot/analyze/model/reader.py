"""The contents of an exchange folder, each parsed once however often it is asked for."""

import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

T = TypeVar("T")

LONGEST_POINTER = 1024
POINTER = b"version https://git-lfs.github.com/spec/v1"


class Reader(msgspec.Struct, frozen=True, eq=False):
    """Bytes by content key; what a function makes of a content is remembered, so equal blobs of base and head are read once."""

    contents: dict[str, Callable[[], bytes]]
    _parsed: dict[tuple[str, Callable[[bytes], Any]], Any] = msgspec.field(default_factory=dict[Any, Any])

    @staticmethod
    def of_folder(folder: Path) -> "Reader":
        """The contents that fetch left in `folder`, one file per key."""
        return Reader({path.name: path.read_bytes for path in folder.iterdir()})

    @staticmethod
    def of_open_folder(folder: Path) -> "Reader":
        """The same, through the folder as it is open now: later its path may be out of reach for the user that this process becomes."""
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        return Reader({path.name: partial(_read, opened, path.name) for path in folder.iterdir()})

    def raw(self, key: str) -> bytes:
        """The bytes of a content. Raises KeyError for one that fetch did not leave."""
        return self.contents[key]()

    def parsed(self, key: str, parse: Callable[[bytes], T]) -> T:
        """What `parse` makes of a content, remembered."""
        if (key, parse) not in self._parsed:
            self._parsed[key, parse] = parse(self.raw(key))
        return cast("T", self._parsed[key, parse])


def _read(folder: int, name: str) -> bytes:
    with os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder), "rb") as file:
        return file.read()


def pointed(content: bytes) -> str:
    """For a Git LFS pointer (the text that stands in for content stored elsewhere) the size it names, as " to 2.8 MB"; else ""."""
    if len(content) >= LONGEST_POINTER or not content.startswith(POINTER):
        return ""
    size = re.search(rb"^size (\d{1,15})$", content, re.MULTILINE)
    if size is None:
        return " of unknown size"
    number = int(size.group(1))
    return f" to {number / 1e6:.1f} MB" if number >= 1e5 else f" to {number / 1e3:.1f} kB"
