"""The settings file of a revision, and what head does to it."""

import hashlib
from pathlib import Path
from typing import Literal

from bot.errors import CannotLookError, UsageError
from bot.fetch.source import Nothing, Source, UnreadError
from bot.snapshot import LARGEST_SETTINGS, SETTINGS, File, SettingsFile

MISNAMED = SETTINGS.removesuffix(".yml") + ".yaml"


def settings_in(source: Source) -> bytes | None:
    """Return the settings file of a revision, None where it has none. Raises UsageError for what is no plain file of a legal size, CannotLookError."""
    file = _entry(source)
    if file is None:
        if any(each.path == MISNAMED for each in source.entries()):
            raise UsageError(f"{MISNAMED} of {source.label} is not read; call it {SETTINGS}")
        return None
    try:
        content = _content(source, file)
    except UnreadError as why:
        raise CannotLookError(f"{SETTINGS} of {source.label} could not be read: {why}") from why
    if isinstance(content, str):
        raise UsageError(f"{SETTINGS} of {source.label} {content}; a plain file is needed, of at most {LARGEST_SETTINGS:,} bytes")
    return content


def settings_change(before: Source, after: Source, folder: Path) -> SettingsFile | None:
    """Return what head does to the settings file, None for nothing; head's bytes are written below `folder`/contents."""
    old, new = _entry(before), _entry(after)
    if isinstance(before, Nothing) or (old is None and new is None):
        return None
    if new is None:
        return SettingsFile("removed")
    if old is not None and old.kind == new.kind and old.oid == new.oid and not _tells_size_only(old):
        return None
    change: Literal["added", "changed"] = "changed" if old is not None else "added"
    content = _content_or_reason(after, new)
    if isinstance(content, str):
        return SettingsFile(change, unread=content)
    if old is not None and _content_or_reason(before, old) == content:
        return None
    key = hashlib.sha256(content).hexdigest()
    (folder / "contents" / key).write_bytes(content)
    return SettingsFile(change, key)


def _entry(source: Source) -> File | None:
    return next((file for file in source.entries() if file.path == SETTINGS), None)


def _tells_size_only(file: File) -> bool:
    return not file.oid or file.oid.startswith("size:")


def _content(source: Source, file: File) -> bytes | str:
    """The bytes of a settings file, or the end of a sentence that says why it is none. Raises UnreadError."""
    if file.kind != "file":
        return f"is a {file.kind} and no plain file"
    if file.unread:
        raise UnreadError(file.unread)
    size = source.size(file)
    return source.read(file) if size <= LARGEST_SETTINGS else f"has {size:,} bytes"


def _content_or_reason(source: Source, file: File) -> bytes | str:
    try:
        return _content(source, file)
    except UnreadError as why:
        return f"could not be read: {why}"
