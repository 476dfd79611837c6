"""Changes written down as small TOML cases: a snapshot, and what base and head make of it.

A case names a folder below tests/snapshots and gives, for `base` and `head`, a table of file names. A string is the whole text of a file,
`false` deletes it, and a table is laid over the JSON object that the snapshot has there: "<absent>" takes a key out, "<null>" writes null.
A table with one of these keys alone is no JSON: "<link>" makes a symbolic link with that target, "<hex>" a file of those bytes, and
"<copy>" a file with the bytes that the snapshot has under that name.
"""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, cast

import msgspec

from bot.analyze.comparison import compare
from bot.analyze.model.reader import Reader
from bot.analyze.records import Comparison, Finding
from bot.fetch.gather import gather
from bot.snapshot import Exchange, Text
from tests.repositories import GitRepository

HERE = Path(__file__).parent
CASES = HERE / "cases"
SNAPSHOTS = HERE / "snapshots"


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One case of a check; `severity`, `path`, `pointer` and `title` bind the first finding of one that fires.

    `git` makes both sides commits of one repository, head with the commit message `message`, instead of two plain folders.
    `repository` is the "owner/name" that the run knows, `history` a file of refs, `texts` are the texts of the pull request.
    """

    check: str
    name: str
    expect: Literal["fires", "near miss", "already on base"]
    snapshot: str = "chatml"
    base: dict[str, Any] = {}
    head: dict[str, Any] = {}
    severity: str = ""
    path: str = ""
    pointer: str = ""
    title: str = ""
    git: bool = False
    message: str = "Change the model"
    repository: str = ""
    history: dict[str, Any] | None = None
    texts: dict[str, str] = {}

    def __str__(self) -> str:
        return f"{self.check}: {self.name}"


def cases(file: Path) -> list[Case]:
    """The cases of a file; its name is the check."""
    check = file.stem.replace("_", "-")
    rows = tomllib.loads(file.read_text("utf-8"))["case"]
    return msgspec.convert([{"check": check, **row} for row in rows], list[Case])


def write(folder: Path, snapshot: str, changes: Mapping[str, Any]) -> Path:
    """Write one side of a case."""
    source = SNAPSHOTS / snapshot
    original = {path.relative_to(source).as_posix(): path.read_bytes() for path in source.rglob("*") if path.is_file()}
    files, links = dict(original), dict[str, str]()
    for name, change in changes.items():
        match change:
            case False:
                files.pop(name, None)
            case str():
                files[name] = change.encode()
            case {"<link>": str(target)}:
                files.pop(name, None)
                links[name] = target
            case {"<hex>": str(digits)}:
                files[name] = bytes.fromhex(digits)
            case {"<copy>": str(other)}:
                files[name] = original[other]
            case _:
                value: Any = json.loads(files[name]) if name in files else {}
                files[name] = json.dumps(_laid_over(value, change), indent=2, ensure_ascii=False).encode()
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for name, target in links.items():
        (folder / name).symlink_to(target)
    return folder


def _laid_over(value: Any, change: Any) -> Any:
    if change == "<null>":
        return None
    if not isinstance(change, dict):
        return change
    laid = dict(cast("dict[str, Any]", value)) if isinstance(value, dict) else {}
    for key, inner in cast("dict[str, Any]", change).items():
        if inner == "<absent>":
            laid.pop(key, None)
        else:
            laid[key] = _laid_over(laid.get(key), inner)
    return laid


def compared(
    base: Path | str,
    head: Path | str,
    work: Path,
    *,
    repo: Path = HERE,
    repository: str = "",
    history: Path | None = None,
    texts: tuple[Text, ...] = (),
) -> Comparison:
    """Compare two folders, or two revisions of `repo`, in this process, without the jail."""
    exchange: Exchange = gather(
        work, base=str(base), head=str(head), repo=repo, history=history, texts=texts, repository=repository
    )
    return compare(exchange, Reader.of_folder(work / "contents"))


def outcome(case: Case, work: Path) -> tuple[Finding, ...]:
    """What the case's check newly reports."""
    history = None
    if case.history is not None:
        history = work / "refs.json"
        history.write_text(json.dumps(case.history), "utf-8")
    texts = tuple(Text(path, text) for path, text in case.texts.items())
    sides: tuple[Path | str, Path | str] = ("git:base", "git:head")
    if case.git:
        _commit(case, work / "repo")
    else:
        sides = write(work / "base", case.snapshot, case.base), write(work / "head", case.snapshot, case.head)
    exchange = work / "exchange"
    comparison = compared(*sides, exchange, repo=work / "repo", repository=case.repository, history=history, texts=texts)
    assert [row for row in comparison.unchecked if " broke: " in row.reason] == []
    return tuple(finding for finding in comparison.new if finding.check == case.check)


def _commit(case: Case, path: Path) -> None:
    """Make a repository with a branch `base`, and a branch `head` one commit further."""
    repository = GitRepository(path)
    for branch, changes, message in (("base", case.base, "Add the model"), ("head", case.head, case.message)):
        repository.git("rm", "-r", "--quiet", "--ignore-unmatch", ".")
        write(path, case.snapshot, changes)
        repository.commit(message)
        repository.git("branch", branch)
