"""The folder of an audit: the lines that were written so far are all it needs to go on after any end."""

import fcntl
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import TypeVar

import msgspec

from bot import __version__
from bot.audit.records import Asked, Line
from bot.errors import UsageError

T = TypeVar("T")

LINES, ABOUT, PAGE = "audit.jsonl", "audit.json", "summary.md"


class About(msgspec.Struct, frozen=True):
    """What kind of audit a folder holds: how far back histories are compared (None: the newest revision is judged), and by which version of this program.

    `id` is the name that workers on other machines know it by.
    """

    history: int | None
    version: str
    id: str


class _Part(msgspec.Struct, frozen=True):
    """Of a line what says which one it is."""

    repo: str
    base: str | None
    of: int


class Journal:
    """The lines in `folder`, which one process at a time may write. Whatever a line stands for is finished; who takes out a line has it judged again.

    Which these are is kept in a database without a name, which SQLite holds on disk and takes away: nothing grows in memory with the repositories.
    Raises UsageError where the folder cannot be used.
    """

    def __init__(self, folder: Path, history: int | None) -> None:
        self._folder = folder
        self._path = folder / LINES
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        except OSError as error:
            raise UsageError(f"--output {folder}: cannot be written ({error.strerror})") from error
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UsageError(f"--output {folder}: another audit is writing there; give another folder") from error
        self.id = self._about(history).id
        self._index = sqlite3.connect("")
        self._index.execute("CREATE TABLE line (repo, base, parts, PRIMARY KEY (repo, base)) WITHOUT ROWID")
        self._index.execute("CREATE TABLE seen (repo PRIMARY KEY) WITHOUT ROWID")
        self._drop_torn()
        for part in self._read(_Part):
            self._enter(part)

    def close(self) -> None:
        """Let another process write."""
        self._index.close()
        os.close(self.file)

    def first(self, repo: str) -> bool:
        """Whether this is the first time in this run that we are asked about a repository."""
        return self._index.execute("INSERT OR IGNORE INTO seen VALUES (?)", (repo,)).rowcount == 1

    def finished(self, repo: str) -> bool:
        """Whether there are lines of all that is to be said of a repository."""
        count, parts = self._index.execute("SELECT count(*), max(parts) FROM line WHERE repo = ?", (repo,)).fetchone()
        return count > 0 and count >= parts

    def has(self, asked: Asked) -> bool:
        """Whether there is a line of it."""
        found = self._index.execute("SELECT 1 FROM line WHERE repo = ? AND base = ?", (asked.repo, asked.base))
        return found.fetchone() is not None

    def add(self, line: Line) -> None:
        """Append a line in one write; once this returns, it stays whatever becomes of this process."""
        whole = memoryview(msgspec.json.encode(line) + b"\n")
        try:
            while whole:
                whole = whole[os.write(self.file, whole) :]
        except OSError as error:
            raise UsageError(f"{self._path}: cannot be written ({error.strerror}); run the same again to go on") from error
        self._enter(line)

    def lines(self) -> Iterator[Line]:
        """Every line, one by one."""
        yield from self._read(Line)

    def _read(self, kind: type[T]) -> Iterator[T]:
        with self._path.open("rb") as file:
            for number, row in enumerate(file, 1):
                try:
                    yield msgspec.json.decode(row, type=kind)
                except msgspec.DecodeError as error:
                    raise UsageError(f"{self._path}:{number}: is no line of an audit ({error}); take it out to go on") from error

    def write_page(self, text: str) -> Path:
        """Write the summary, whole or not at all."""
        path = self._folder / PAGE
        _replace(path, text.encode())
        return path

    def _enter(self, line: "Line | _Part") -> None:
        self._index.execute("INSERT OR REPLACE INTO line VALUES (?, ?, ?)", (line.repo, line.base or "", line.of))

    def _drop_torn(self) -> None:
        """Cut off what a machine that went down left of a line."""
        size = os.fstat(self.file).st_size
        end = size
        while end:
            start = max(0, end - (1 << 16))
            found = os.pread(self.file, end - start, start).rfind(b"\n")
            if found >= 0:
                end = start + found + 1
                break
            end = start
        if end != size:
            os.ftruncate(self.file, end)

    def _about(self, history: int | None) -> About:
        path = self._folder / ABOUT
        asked = About(history, __version__, token_hex(8))
        try:
            held = msgspec.json.decode(path.read_bytes(), type=About)
        except FileNotFoundError:
            _replace(path, msgspec.json.encode(asked) + b"\n")
            return asked
        except (OSError, msgspec.DecodeError) as error:
            raise UsageError(f"{path}: cannot be read ({error}); give another folder") from error
        if (held.history, held.version) != (asked.history, asked.version):
            raise UsageError(f"--output {self._folder}: holds {_kind(held)}, and this is {_kind(asked)}; give another folder")
        return held


def _kind(about: About) -> str:
    what = {None: "of newest revisions", 0: "of whole histories"}.get(
        about.history, f"of the newest {about.history} pairs of histories"
    )
    return f"an audit {what} by version {about.version}"


def _replace(path: Path, content: bytes) -> None:
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from error
