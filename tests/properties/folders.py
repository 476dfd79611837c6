"""Two model folders in memory, compared without fetching: also two that are equal, which fetch would leave out."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from bot.analyze.checks.check import checks
from bot.analyze.comparison import compare
from bot.analyze.describe import inspect
from bot.analyze.inspection import Inspection
from bot.analyze.model.reader import Reader
from bot.analyze.records import Comparison, Finding
from bot.place import Place
from bot.snapshot import Exchange, File, Snapshot
from tests.changes import SNAPSHOTS

Files = Mapping[str, bytes]

CHATML: dict[str, bytes] = {path.name: path.read_bytes() for path in sorted((SNAPSHOTS / "chatml").iterdir())}
OF_ONE_SIDE = {check.id for check in checks() if check.find is not None and check.find_in_change is None}


def compared(base: Files, head: Files) -> Comparison:
    """The comparison, after checking what every comparison has to keep to."""
    reader = Reader({})
    exchange = Exchange(_snapshot("base", base, reader), _snapshot("head", head, reader))
    comparison = compare(exchange, reader)
    assert msgspec.json.decode(msgspec.json.encode(comparison), type=Comparison) == comparison
    described = inspect(exchange, reader)
    told = msgspec.json.encode(described)
    assert msgspec.json.encode(msgspec.json.decode(told, type=Inspection)) == told
    said = [each.reason for each in comparison.unchecked]
    assert not [reason for reason in said if "broke" in reason], said
    for finding in (*comparison.new, *comparison.resolved, *comparison.unchanged):
        assert finding.places
        assert finding.title
    places = [
        *(place for finding in (*comparison.new, *comparison.resolved, *comparison.unchanged) for place in finding.places),
        *(place for change in comparison.predictions for place in change.because),
        *(place for each in comparison.unchecked for place in each.places),
    ]
    for place in places:
        _stands(place, base if place.revision == "base" else head)
    return comparison


def told(findings: tuple[Finding, ...], only: set[str] | None = None) -> set[tuple[str, str, str, str]]:
    """What makes findings the same ones: id, subject, severity and what is said."""
    return {(f.fingerprint, f.severity, f.title, f.detail) for f in findings if only is None or f.check in only}


def predicted(comparison: Comparison, *, backwards: bool = False) -> set[str]:
    """The changed predictions, one text for each engine."""
    rows: set[str] = set()
    for change in comparison.predictions:
        sides = (change.before, change.before_texts), (change.after, change.after_texts)
        for engine in change.engines:
            rows.add(repr((engine, change.field, sides[::-1] if backwards else sides, change.with_remote_code)))
    return rows


def with_value(content: bytes, pointer: tuple[str | int, ...], value: Any) -> bytes:
    """A JSON file with another value somewhere."""
    document: Any = json.loads(content)
    if not pointer:
        return json.dumps(value).encode()
    inner = document
    for part in pointer[:-1]:
        inner = inner[part]
    inner[pointer[-1]] = value
    return json.dumps(document, indent=1).encode()


def _snapshot(label: str, files: Files, reader: Reader) -> Snapshot:
    entries: list[File] = []
    for path, content in sorted(files.items()):
        key = hashlib.sha256(content).hexdigest()
        reader.contents[key] = lambda content=content: content
        entries.append(File(path, oid=key, size=len(content), content=key))
    return Snapshot(label, None, tuple(entries))


def _stands(place: Place, files: Files) -> None:
    """A place is a line of a file that is there; one of a file that is missing on its side says so by its first line."""
    content = files.get(place.path)
    if content is None:
        assert place.line == 1, place
        return
    assert 1 <= place.line <= content.count(b"\n") + 1, place
