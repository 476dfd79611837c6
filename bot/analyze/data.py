"""The files of data that come with the program: tables taken from packages, each written by a script below tools/."""

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "engines/data"


@cache
def content(name: str) -> bytes:
    """The bytes of a file of data, read once."""
    return (FOLDER / name).read_bytes()


def fetch() -> None:
    """Read every file: later the files of this package may be out of reach."""
    for path in FOLDER.iterdir():
        content(path.name)
