"""Where the folder of a record of a real run lies."""

from functools import cache
from pathlib import Path

from tests.conftest import SHARED


@cache
def folder_of(snapshot: str) -> Path:
    """The folder that a record is about: its name spells the path with "__" for "/"."""
    first, *parts = snapshot.split("__")
    folder = SHARED / first
    while parts:
        # A name may hold "__" itself: the longest that exists is meant.
        for count in range(len(parts), 0, -1):
            candidate = folder / "__".join(parts[:count])
            if candidate.is_dir():
                folder, parts = candidate, parts[count:]
                break
        else:
            raise FileNotFoundError(snapshot)
    return folder
