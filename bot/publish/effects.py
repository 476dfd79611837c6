"""What engines do differently, one row per distinct change: the rows of the table that every view shows."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from bot.analyze.records import Comparison, EngineChange, Unchecked
from bot.publish import words
from bot.publish.answers import ids, said
from bot.publish.escape import quoted

_ORDER = ("loads", "hollow", "stops", "stops_in_grammar", "template", "sampling_defaults")
_NAMED = {
    "stops": "",
    "stops_in_grammar": ", JSON mode",
    "template": ", chat template",
    "template.content_format": ", content of messages",
    "sampling_defaults": ", sampling defaults",
    "max_model_len": ", context",
    "dtype": ", type of the weights",
    "quantization": ", quantization",
    "hollow": ", tokenizer",
}


@dataclass(frozen=True)
class Effect:
    """One row. All texts are sentences with marked values; `news` is the part of the second answer to stress ("" for none).

    `on_new` is True where the model was not there before, so that nothing of it can have changed.
    """

    folder: str
    engines: str
    before: str
    after: str
    news: str
    on_new: bool


def effects(comparison: Comparison) -> tuple[Effect, ...]:
    """The rows of the comparison, those about ends of replies first; equal rows of several engines are one."""
    one_sided = {model.folder: model.change for model in comparison.models if model.change in ("added", "removed")}
    rows: dict[tuple[str, ...], list[EngineChange]] = {}
    for change in sorted(_telling(comparison.predictions), key=_rank):
        before, (after, news) = said(change, change.before, change.before_texts, change.before_why), _after(change)
        if one_sided.get(change.folder) == "added":
            before = "was not there"
        elif one_sided.get(change.folder) == "removed":
            after, news = "is gone", ""
        row = (change.folder, change.field, str(change.with_remote_code), change.confidence, before, after, news)
        rows.setdefault(row, []).append(change)
    found: list[Effect] = []
    for (folder, _, _, _, before, after, news), changes in rows.items():
        first = changes[0]
        ids = [each for change in changes for each in change.engines]
        named = words.engines(ids, comparison.modelled.engines, generates=first.field == "stops") + _suffix(first)
        found.append(Effect(folder, named, before, after, news, on_new=folder in one_sided))
    return tuple(sorted(found, key=lambda each: each.on_new))


def changes_behaviour(comparison: Comparison) -> bool:
    """Whether a model that was there before, and still is, is predicted to do something else or reads another prompt."""
    one_sided = {model.folder for model in comparison.models if model.change in ("added", "removed")}
    return any(each.folder not in one_sided for each in (*_telling(comparison.predictions), *comparison.prompts))


def _telling(changes: Sequence[EngineChange]) -> list[EngineChange]:
    """The changes without those that follow from others.

    Of what does not load, nothing else needs to be said; a template that every engine reads anew is told by the prompts.
    """
    stopped = {(each.folder, engine) for each in changes if _fails(each) for engine in each.engines}
    same: dict[tuple[str, str], set[str]] = {}
    for each in changes:
        same.setdefault((each.folder, each.field), set()).add(repr((each.before, each.after)))
    found: list[EngineChange] = []
    for each in changes:
        both = each.before is not None and each.after is not None
        if each.field == "template.sha256" and both and len(same[each.folder, each.field]) == 1:
            continue
        if each.field == "template.content_format" and not both:
            continue  # there is no template on one side, which has a row of its own
        left = tuple(engine for engine in each.engines if (each.folder, engine) not in stopped)
        if each.field.startswith("loads.") or both:
            found.append(each)
        elif left:
            found.append(msgspec.structs.replace(each, engines=left))
    return found


def _fails(change: EngineChange) -> bool:
    """Whether a file newly keeps the engine from loading the model, or no longer does."""
    return change.field.startswith("loads.") and {change.before, change.after} == {True, False}


def unread_changes(comparison: Comparison) -> tuple[Unchecked, ...]:
    """The changed files that could not be read."""
    return tuple(each for each in comparison.unchecked if each.kind == "file" and each.changed)


def _rank(change: EngineChange) -> int:
    family = change.field.partition(".")[0]
    return _ORDER.index(family) if family in _ORDER else len(_ORDER)


def _suffix(change: EngineChange) -> str:
    family, _, part = change.field.partition(".")
    named = _NAMED.get(change.field, _NAMED.get(family))
    if named is None:
        named = f", {quoted(part if family == 'loads' else change.field)}"
    sure = {"certain": "", "likely": " (read in the source, not run)", "guess": " (a guess)"}[change.confidence]
    return named + (", with `trust_remote_code`" if change.with_remote_code else "") + sure


def _after(change: EngineChange) -> tuple[str, str]:
    """The second answer in two parts: what was so before, and what is new and deserves stress."""
    before, after = ids(change.before), ids(change.after)
    same = [number for number in after or () if number in (before or ())]
    added = [number for number in after or () if number not in (before or ())]
    if change.field == "stops" and before and same == before and added:
        return said(change, before, change.after_texts), f"and {words.tokens(added, change.after_texts)}"
    lost = [number for number in before or () if number not in same]
    if change.field == "stops" and same and same == after and lost:
        return f"{said(change, after, change.after_texts)},", f"no longer on {words.tokens(lost, change.before_texts)}"
    if change.before == change.after and change.before_texts == change.after_texts:
        return "unchanged", ""
    return said(change, change.after, change.after_texts, change.after_why), ""
