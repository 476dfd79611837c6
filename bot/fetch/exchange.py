"""Write the exchange folder: the bytes that analysis needs, each distinct content once."""

import hashlib
import re
from pathlib import Path

import msgspec

from bot.fetch.links import NowhereError, Tree, reason
from bot.fetch.selection import Owners, Selection, beside, is_weight, taken
from bot.fetch.source import Source, UnreadError
from bot.snapshot import File, Snapshot

MIB = 1 << 20
LARGEST_FILE = 64 * MIB
LARGEST_SIDE = 256 * MIB  # of one revision; a run has two
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

    def put(self, key: str, content: bytes) -> None:
        """Write one content."""
        (self._folder / key).write_bytes(content)
        self._keys.add(key)


def _snapshot(source: Source, selection: Selection, contents: Contents) -> Snapshot:
    """Take one revision: smallest files first, so that a few large ones cannot push the others over the limit."""
    entries = source.entries()
    tree = Tree(entries)
    owners = Owners({*selection.changed, *selection.unchanged})
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
        except UnreadError as why:
            files[path] = msgspec.structs.replace(file, unread=str(why))
    return Snapshot(source.label, source.sha, tuple(files.values()), selection.unchanged)


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
