"""The command init: write the first settings file of a repository."""

import argparse
import datetime as dt
from pathlib import Path

from bot.cli_output import write
from bot.errors import CannotLookError, UsageError
from bot.fetch.folder import FolderSource
from bot.fetch.git import Repository
from bot.fetch.revision import GIT
from bot.run import check
from bot.settings import FILE


def initialize(given: argparse.Namespace) -> int:
    """Write a first settings file, with --baseline such that what is wrong today is known and only more fails."""
    path = given.output or _root(given.revision or ".", given.repo) / FILE
    if not given.force and (path.exists() or path.is_symlink()):
        raise UsageError(f"{path} is there already; --force overwrites it, --output FILE writes elsewhere")
    known = ()
    if given.baseline:
        judged = given.revision or _committed(given.repo)
        comparison = check(judged, repo=given.repo)
        known = tuple(finding for finding in comparison.new if finding.severity != "note")
    from bot.init import first  # noqa: PLC0415 - no other command writes YAML

    text = first(known, dt.datetime.now(dt.UTC).date())
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from error
    silenced = f", which silences what is wrong today ({len(known)})" if given.baseline else ""
    write(f"Wrote {path}{silenced}\n", None)
    return 0


def init_options(parser: argparse.ArgumentParser) -> None:
    """The options of init."""
    add = parser.add_argument
    revision = "the root folder of the repository, or git:<revision> of the clone given by --repo (default: this folder, with --baseline its last commit)"
    add("revision", metavar="REVISION", nargs="?", default="", help=revision)
    add("--repo", metavar="DIR", type=Path, default=Path(), help="the clone; nothing is checked out (default: this folder)")
    add("--baseline", action="store_true", help="judge the revision, and silence each error and warning that it has today")
    add("--output", metavar="FILE", type=Path, help=f"write this file (default: {FILE} of the folder or clone)")
    add("--force", action="store_true", help="overwrite a file that is there")


def _committed(repo: Path) -> str:
    """The last commit of a clone, which tells more than its folder, or the folder where there is none."""
    try:
        return "." if Repository(repo).unborn() else "git:HEAD"
    except CannotLookError:
        return "."


def _root(revision: str, repo: Path) -> Path:
    """The folder that gets the file. Raises CannotLookError where it is not there, UsageError for a clone without files."""
    if not revision.startswith(GIT):
        FolderSource(Path(revision))  # says what is wrong with it
        try:
            root = Repository(Path(revision)).root
        except CannotLookError:
            return Path(revision)
        if root != Path(revision).resolve():
            raise UsageError(
                f"{revision} is not the root of its clone, where settings are looked for; go to {root}, or say --output FILE"
            )
        return Path(revision)
    repository = Repository(repo)
    if repository.bare:
        raise UsageError(f"{repository.root} is a bare repository; --output FILE says where to write")
    return repository.root
