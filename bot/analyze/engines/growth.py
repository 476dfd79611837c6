"""How much longer a tokenizer can make a text: a tokenizer.json may be written to fill all memory with a few words."""

from typing import Any, cast

import msgspec

from bot.analyze.model.tokenizer_parts import Component, steps

# Real tokenizers have fewer than ten steps, and none makes a text ten times as long.
_STEPS = 40
_LONGEST = 10_000


def outgrows(*parts: bytes) -> bool:
    """Whether parts of a tokenizer, as JSON texts, have more steps or may make a text longer than any real one does."""
    found = [step for part in parts for step in steps(msgspec.json.decode(part))]
    if len(found) > _STEPS:
        return True
    factor, added = 1, 0
    for step in found:
        factor *= _factor(step)
        added += _added(step)
    return factor > _LONGEST or added > _LONGEST


def pads(padding: bytes) -> bool:
    """Whether a padding block makes texts longer than any real one does."""
    block: Any = msgspec.json.decode(padding)
    if not isinstance(block, dict):
        return False
    row = cast("Component", block)
    strategy = row.get("strategy")
    fixed: Any = cast("Component", strategy).get("Fixed") if isinstance(strategy, dict) else None
    return any(isinstance(value, int) and value > _LONGEST for value in (fixed, row.get("pad_to_multiple_of")))


def _factor(step: Component) -> int:
    """By how much a step may multiply the length of a text."""
    kind, content, pattern = step.get("type"), step.get("content"), step.get("pattern")
    if kind == "ByteLevel":
        return 2
    if kind == "Replace" and isinstance(content, str):
        plain: Any = cast("Component", pattern).get("String") if isinstance(pattern, dict) else None
        return max(1, -(-len(content) // len(plain))) if isinstance(plain, str) and plain else len(content) + 1
    single: Any = step.get("single")
    return max(1, sum("Sequence" in piece for piece in _rows(single))) if kind == "TemplateProcessing" else 1


def _added(step: Component) -> int:
    """How much a step may put in front or behind."""
    if step.get("type") == "Prepend":
        return len(str(step.get("prepend")))
    table: Any = step.get("special_tokens")
    if step.get("type") != "TemplateProcessing" or not isinstance(table, dict):
        return 0
    names = (cast("Component", piece.get("SpecialToken") or {}).get("id") for piece in _rows(step.get("single")))
    rows: list[Any] = [cast("Component", table).get(name) for name in names if isinstance(name, str)]
    ids: list[Any] = [cast("Component", row).get("ids") for row in rows if isinstance(row, dict)]
    return sum(len(cast("list[Any]", each)) for each in ids if isinstance(each, list))


def _rows(value: Any) -> list[Component]:
    rows = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("Component", row) for row in rows if isinstance(row, dict)]
