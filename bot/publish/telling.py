"""Which predicted changes are worth a row: those that do not follow from another one."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from bot.analyze.records import EngineChange

TEMPLATE = "template.sha256"
_FIRST = ("loads.config", "loads.tokenizer")
_LOADS = (*_FIRST, "loads.generation_config")


def telling(changes: Sequence[EngineChange]) -> list[EngineChange]:
    """The changes without those that follow from others.

    Of what newly does not load, or loads at last, nothing else needs to be said; JSON mode is told where it differs from chat; a template that
    every engine reads anew is told by the prompts.
    """
    found = list(_without_consequences(changes))
    same: dict[str, set[str]] = {}
    for each in found:
        if each.field == TEMPLATE:
            same.setdefault(each.folder, set()).add(repr((each.before, each.after)))
    replaced = {each.folder for each in found if each.field == TEMPLATE and each.before != each.after}
    return [
        each
        for each in found
        if each.field != TEMPLATE
        or (each.folder in replaced and (len(same[each.folder]) > 1 or each.before is None or each.after is None))
    ]


def _without_consequences(changes: Sequence[EngineChange]) -> Iterator[EngineChange]:
    alike: dict[str, int] = {}  # equal answers have one number, so that no two are compared for every engine that gives them
    number = [alike.setdefault(repr((_as_set(each.before), _as_set(each.after))), len(alike)) for each in changes]
    loads = {
        (each.folder, engine, each.field): at
        for at, each in enumerate(changes)
        if each.field in _FIRST or (each.field in _LOADS and False in (each.before, each.after))
        for engine in each.engines
    }
    stops = {(each.folder, engine): at for at, each in enumerate(changes) if each.field == "stops" for engine in each.engines}

    def follows(at: int, engine: str) -> bool:
        each = changes[at]
        if each.field.startswith("loads."):
            config = loads.get((each.folder, engine, "loads.config"))
            return each.field != "loads.config" and config is not None and number[config] == number[at]
        one_sided = each.before is None or each.after is None
        steps = {step: changes[load] for step in _LOADS if (load := loads.get((each.folder, engine, step))) is not None}
        if any(False in (load.before, load.after) for step, load in steps.items() if step in _FIRST) or (one_sided and steps):
            return True
        ends = stops.get((each.folder, engine))
        if each.field == "stops" or ends is None:
            return False
        if each.field == "stops_in_grammar" and number[ends] == number[at]:
            return True
        nothing = None in (changes[ends].before, changes[ends].after)
        return one_sided and nothing and not engine.startswith("transformers@")  # the engine does not start on that side

    for at, each in enumerate(changes):
        one_sided = each.before is None or each.after is None
        if one_sided and each.field in ("template.content_format", "loads.generation_config"):
            continue  # the template has a row of its own, and the list of changed files tells of the other
        if left := tuple(engine for engine in each.engines if not follows(at, engine)):
            yield msgspec.structs.replace(each, engines=left)


def _as_set(side: Any) -> Any:
    """An answer, in which the order of a list does not count."""
    return sorted({repr(each) for each in cast("list[Any]", side)}) if isinstance(side, list) else side
