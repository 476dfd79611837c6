"""Model folders in memory, for tests of the analyze room."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from bot.analyze.model.folder import Model
from bot.analyze.model.reader import Reader
from bot.place import Revision
from bot.snapshot import File


def model(files: Mapping[str, bytes | str], revision: Revision = "head", *, reader: Reader | None = None) -> Model:
    """A model at the root of a revision from names and contents."""
    reader = reader or Reader({})
    entries: dict[str, File] = {}
    for name, content in files.items():
        raw = content.encode() if isinstance(content, str) else content
        key = hashlib.sha256(raw).hexdigest()
        reader.contents[key] = lambda raw=raw: raw
        entries[name] = File(name, oid=key, size=len(raw), content=key)
    return Model(revision, ".", ".", entries, reader)


def model_of(folder: Path, revision: Revision = "head") -> Model:
    """A model from a folder on disk; weights and other large files by name only."""
    names = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file() and p.suffix != ".safetensors")
    return model({name: (folder / name).read_bytes() for name in names if name.count("/") < 2}, revision)
