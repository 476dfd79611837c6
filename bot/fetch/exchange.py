"""Write the exchange folder: the bytes that analysis needs, each distinct content once."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from bot.fetch.attributes import kept_in_lfs
from bot.fetch.lfs import LONGEST_POINTER, Absent, Lfs, Pointer, pointer
from bot.fetch.links import NowhereError, Tree, reason
from bot.fetch.selection import Selection, beside, is_weight, taken
from bot.fetch.source import Source, UnreadError
from bot.snapshot import File, Snapshot

MIB = 1 << 20
LARGEST_FILE = 64 * MIB
LARGEST_SIDE = 256 * MIB  # of one revision; a run has two
LARGEST_ATTRIBUTES = MIB
MOST_KEPT = 200  # files of one revision that are brought from Git LFS
OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def fill(folder: Path, base: Source, head: Source, selection: Selection) -> tuple[Snapshot, Snapshot]:
    """Write what crosses of both revisions below `folder`/contents and return the snapshots."""
    contents = Contents(folder / "contents")
    return _snapshot(base, selection, contents), _snapshot(head, selection, contents)


class Contents:
    """The folder of contents: one file per distinct content, named by its object id, or by its sha256 where it has none."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._keys: set[str] = set()

    def has(self, key: str) -> bool:
        """Say whether a content was taken in this run."""
        return key in self._keys

    def start(self, key: str) -> bytes:
        """Return a content, of one that is no pointer for its length only the beginning."""
        with (self._folder / key).open("rb") as file:
            return file.read(LONGEST_POINTER)

    def put(self, key: str, content: bytes) -> None:
        """Write one content."""
        (self._folder / key).write_bytes(content)
        self._keys.add(key)


def _snapshot(source: Source, selection: Selection, contents: Contents) -> Snapshot:
    """Take one revision: smallest files first, so that a few large ones cannot push the others over the limit."""
    entries = source.entries()
    tree = Tree(entries)
    owners = selection.owners
    files = {file.path: _placed(tree, file) for file in taken(entries, selection)}
    sized: list[tuple[int, str, File]] = []
    for file in files.values():
        if not file.unread and (owners.wants(file.path) or beside(file.path, selection.changed)):
            try:
                holder = _holder(tree, file)
                sized.append((source.size(holder), file.path, holder))
            except UnreadError as why:
                files[file.path] = msgspec.structs.replace(file, unread=str(why))
    left = LARGEST_SIDE
    holders: dict[str, File] = {}
    for size, path, holder in sorted(sized, key=lambda item: item[:2]):
        file = files[path]
        if file.kind == "file":
            file = msgspec.structs.replace(file, size=size)
        key = holder.oid
        try:
            if not contents.has(key):
                _refuse_large(size, left)
                content = source.read(holder)
                key = key if OBJECT_ID.fullmatch(key) else hashlib.sha256(content).hexdigest()
                contents.put(key, content)
                left -= size
            files[path] = msgspec.structs.replace(file, content=key)
            holders[path] = holder
        except UnreadError as why:
            files[path] = msgspec.structs.replace(file, unread=str(why))
    if source.lfs is not None:
        files |= _kept(
            source, source.lfs, tree, {path: (files[path], holder) for path, holder in holders.items()}, contents, left
        )
    return Snapshot(source.label, source.sha, tuple(files.values()), selection.unchanged)


def _kept(
    source: Source, lfs: Lfs, tree: Tree, read: Mapping[str, tuple[File, File]], contents: Contents, left: int
) -> dict[str, File]:
    """Put what Git LFS keeps in the place of its pointers, and say of each pointer that has to stay why it does.

    `read` are the files that were taken, by path, each with the file that holds its bytes, and `left` the bytes that may still be taken.
    A pointer that .gitattributes does not declare is none to git, and stays without a word.
    """
    found = {path: pointer(contents.start(file.content)) for path, (file, _) in read.items() if file.content is not None}
    pointers = {path: one for path, one in found.items() if one is not None}
    reasons: dict[Pointer, str] = {}
    try:
        held = {path: read[path][1].path for path in pointers}
        declared = kept_in_lfs(_attributes(source, tree, held.values()), held.values())
        pointers = {path: one for path, one in pointers.items() if held[path] in declared}
        asked, reasons = _within({one for one in pointers.values() if not contents.has(one.oid)}, left)
        for one, content in lfs.bring(asked) if asked else ():
            if isinstance(content, Absent):
                reasons[one] = content.reason
            else:
                contents.put(one.oid, content)
    except UnreadError as why:
        reasons = dict.fromkeys(pointers.values(), str(why))
    settled: dict[str, File] = {}
    for path, one in pointers.items():
        file = read[path][0]
        if contents.has(one.oid):
            size = one.size if file.kind == "file" else file.size
            settled[path] = msgspec.structs.replace(file, content=one.oid, size=size)
        else:
            settled[path] = msgspec.structs.replace(file, unread=reasons.get(one, ""))
    return settled


def _within(wanted: Iterable[Pointer], left: int) -> tuple[list[Pointer], dict[Pointer, str]]:
    """Choose what may be asked for of `wanted`, smallest first, and say why of the others."""
    asked: list[Pointer] = []
    reasons: dict[Pointer, str] = {}
    for one in sorted(wanted):
        try:
            _refuse_large(one.size, left)
        except UnreadError as why:
            reasons[one] = str(why)
            continue
        if len(asked) < MOST_KEPT:
            asked.append(one)
            left -= one.size
        else:
            reasons[one] = f"only the {MOST_KEPT} smallest files of a revision are brought from Git LFS"
    return asked, reasons


def _attributes(source: Source, tree: Tree, paths: Iterable[str]) -> dict[str, bytes]:
    """Return the .gitattributes that may speak of some paths, by folder. Raises UnreadError when one cannot be read."""
    folders = {"/".join(path.split("/")[:depth]) for path in paths for depth in range(path.count("/") + 1)}
    found: dict[str, bytes] = {}
    for folder in sorted(folders):
        file = tree.files.get(f"{folder}/.gitattributes".lstrip("/"))
        if file is not None and file.kind == "file":
            if source.size(file) > LARGEST_ATTRIBUTES:
                raise UnreadError(f"{file.path}, which says what Git LFS keeps, is too large")
            found[folder] = source.read(file)
    return found


def _placed(tree: Tree, file: File) -> File:
    """Mark a symbolic link that leads to no file."""
    if file.kind == "symlink":
        try:
            tree.follow(file)
        except NowhereError:
            return msgspec.structs.replace(file, dangling=True)
        except UnreadError:
            return file  # it may lead to a file; `_holder` says why that cannot be read
    return file


def _holder(tree: Tree, file: File) -> File:
    """Return the file that holds the bytes of an entry: itself, or where a symbolic link leads. Raises UnreadError."""
    if file.kind == "submodule":
        raise UnreadError("is a submodule, whose content is in another repository")
    if file.kind == "file":
        return file
    holder = tree.follow(file)
    if is_weight(holder.path):
        raise UnreadError(reason(file, "which is a file of weights"))
    if holder.unread:
        raise UnreadError(reason(file, f"which {holder.unread}"))
    return holder


def _refuse_large(size: int, left: int) -> None:
    if size > LARGEST_FILE:
        raise UnreadError(f"{size / MIB:.1f} MiB, over the limit of {LARGEST_FILE // MIB} MiB")
    if size > left:
        raise UnreadError(
            f"{size / MIB:.1f} MiB, which is over the limit of {LARGEST_SIDE // MIB} MiB for all files of a revision"
        )
