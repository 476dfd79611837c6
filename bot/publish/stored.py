"""Where the JSON report of an action is kept, so that later steps of the job find it and the checkout stays clean."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from bot.analyze.records import Comparison
from bot.errors import UsageError

NAME = "model-repo-drift-report.json"
COMMAND_FILES = Path("/github/file_commands")
"""Where the runner mounts the folder of its command files; outside of the container it is `_runner_file_commands` in RUNNER_TEMP."""


class Spot(NamedTuple):
    """A file, and the name under which later steps of the job, which run outside of the container, find it."""

    path: Path
    name: str


def spots(workspace: Path, asked: str, command_file: Path | None, temp: str) -> tuple[Spot, ...]:
    """Where the report may go, best first: where it was asked for, else beside the command files, else in the workspace.

    `asked` is a path below the workspace ("" for none), `temp` is RUNNER_TEMP. Raises UsageError for a path outside.
    """
    if asked:
        return (Spot(inside(workspace, "report", asked), asked),)
    found = [Spot(workspace / NAME, NAME)]
    if command_file:
        folder = command_file.parent
        outside = Path(temp, "_runner_file_commands") if folder == COMMAND_FILES and temp else folder
        found.insert(0, Spot(folder / NAME, str(outside / NAME)))
    return tuple(found)


def store(comparison: Comparison, places: Sequence[Spot]) -> str:
    """Write the report to the first place that takes it, and return its name for later steps. Raises OSError when none does."""
    content = msgspec.json.format(msgspec.json.encode(comparison), indent=2) + b"\n"
    reasons: list[OSError] = []
    for place in places:
        try:
            write(place.path, content)
        except OSError as error:
            reasons.append(error)
        else:
            return place.name
    raise OSError("; ".join(map(str, reasons)))


def inside(workspace: Path, option: str, asked: str) -> Path:
    """The file that an input names, below the workspace and not in its `.git`. Raises UsageError for a path outside, or where no plain file can be."""
    path = workspace / asked
    special = path.exists() and not path.is_file() and not path.is_symlink()
    if not asked.isprintable() or not path.parent.is_dir() or path.is_dir() or special:
        raise UsageError(f"{option} = {asked!r}: a file in an existing folder of the workspace is needed")
    folder = path.parent.resolve()
    if not folder.is_relative_to(workspace.resolve()):
        raise UsageError(f"{option} = {asked!r} is outside of the workspace; give a path below it")
    if ".git" in (*folder.relative_to(workspace.resolve()).parts, path.name):
        raise UsageError(f"{option} = {asked!r} is inside of git's own folder; give another path")
    return path


def clear(paths: Sequence[Path]) -> None:
    """Take away what stands where files are to be written: it is the checkout's, and must not pass for ours where we write none.

    Raises UsageError for a file that cannot be taken away.
    """
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise UsageError(f"{path} cannot be replaced: {error.strerror}") from error


def write(path: Path, content: bytes) -> None:
    """Write a file that is not there: never through a symbolic link, for the checkout is the pull request's, and so are its links. Raises OSError."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
