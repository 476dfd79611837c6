"""How much longer a tokenizer can make a text: a tokenizer.json may be written to fill all memory with a few words."""

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from bot.analyze.model.tokenizer_parts import Component

# Real tokenizers have fewer than ten steps, and none makes a text ten times as long.
_STEPS = 40
_LONGEST = 10_000
_TEXT, _ALL = 100, 1_000_000  # characters: of a text that is asked for, and of what it may become
# What shows that an object is a step: the library takes one without a type by its options.
_OPTIONS = {"type", "pattern", "prepend", "single", "trim_offsets", "normalizers", "pretokenizers", "processors"}


def outgrows(*parts: bytes, letters: int = 0) -> bool:
    """Whether parts of a tokenizer, as JSON texts, have more steps or may make a text (of so many letters) longer than any real one does.

    Raises msgspec.DecodeError for a part that is no JSON, RecursionError for one that is nested too deeply.
    """
    found = [step for part in parts for step in _steps(msgspec.json.decode(part))]
    if len(found) > _STEPS:
        return True
    factor, added = 1, 0
    for step in found:
        factor *= _factor(step)
        added += _added(step)
    return added > _LONGEST or factor * (added + max(letters, _TEXT)) > _ALL


def pads(padding: bytes) -> bool:
    """Whether a padding block makes texts longer than any real one does."""
    block: Any = msgspec.json.decode(padding)
    if not isinstance(block, dict):
        return False
    row = cast("Component", block)
    strategy = row.get("strategy")
    fixed: Any = cast("Component", strategy).get("Fixed") if isinstance(strategy, dict) else None
    return any(isinstance(value, int) and value > _LONGEST for value in (fixed, row.get("pad_to_multiple_of")))


def _steps(value: Any) -> Iterator[Component]:
    """Every step in a part, at any depth, in any order."""
    waiting: list[Any] = [value]
    while waiting:
        at = waiting.pop()
        if isinstance(at, dict):
            row = cast("Component", at)
            if not _OPTIONS.isdisjoint(row):
                yield row
            waiting.extend(row.values())
        elif isinstance(at, list):
            waiting.extend(cast("list[Any]", at))


def _factor(step: Component) -> int:
    """By how much a step may multiply the length of a text."""
    content, pattern = step.get("content"), step.get("pattern")
    if step.get("type") == "ByteLevel" or "trim_offsets" in step:
        return 2
    if isinstance(content, str):
        plain: Any = cast("Component", pattern).get("String") if isinstance(pattern, dict) else None
        return max(1, -(-len(content) // len(plain))) if isinstance(plain, str) and plain else len(content) + 1
    return max(1, sum("Sequence" in piece for piece in _rows(step.get("single"))))


def _added(step: Component) -> int:
    """How much a step may put in front or behind."""
    prepend, table = step.get("prepend"), step.get("special_tokens")
    if isinstance(prepend, str):
        return len(prepend)
    if not isinstance(table, dict):
        return 0
    names = (cast("Component", piece.get("SpecialToken") or {}).get("id") for piece in _rows(step.get("single")))
    rows: list[Any] = [cast("Component", table).get(name) for name in names if isinstance(name, str)]
    ids: list[Any] = [cast("Component", row).get("ids") for row in rows if isinstance(row, dict)]
    return sum(len(cast("list[Any]", each)) for each in ids if isinstance(each, list))


def _rows(value: Any) -> list[Component]:
    rows = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("Component", row) for row in rows if isinstance(row, dict)]
