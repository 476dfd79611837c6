"""What engines do differently, one row per distinct change: the rows of the table that every view shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from bot.analyze.records import Comparison, EngineChange, Unchecked
from bot.publish import words
from bot.publish.escape import quoted

_ORDER = ("stops", "stops_in_grammar", "loads", "template")


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
    for change in sorted(comparison.predictions, key=_rank):
        before, (after, news) = _said(change, change.before, change.before_texts), _after(change)
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
    return any(each.folder not in one_sided for each in (*comparison.predictions, *comparison.prompts))


def unread_changes(comparison: Comparison) -> tuple[Unchecked, ...]:
    """The changed files that could not be read."""
    return tuple(each for each in comparison.unchecked if each.kind == "file" and each.changed)


def _rank(change: EngineChange) -> int:
    family = change.field.partition(".")[0]
    return _ORDER.index(family) if family in _ORDER else len(_ORDER)


def _suffix(change: EngineChange) -> str:
    family, _, part = change.field.partition(".")
    named = {"stops": "", "stops_in_grammar": ", JSON mode", "template": ", chat template"}.get(family)
    if named is None:
        named = f", {quoted(part if family == 'loads' else change.field)}"
    sure = {"certain": "", "likely": " (read in the source, not run)", "guess": " (a guess)"}[change.confidence]
    return named + (", with `trust_remote_code`" if change.with_remote_code else "") + sure


def _after(change: EngineChange) -> tuple[str, str]:
    """The second answer in two parts: what was so before, and what is new and deserves stress."""
    before, after = _ids(change.before), _ids(change.after)
    same = [number for number in after or () if number in (before or ())]
    added = [number for number in after or () if number not in (before or ())]
    if change.field == "stops" and before and same == before and added:
        return _said(change, before, change.after_texts), f"and {words.tokens(added, change.after_texts)}"
    lost = [number for number in before or () if number not in same]
    if change.field == "stops" and same and same == after and lost:
        return f"{_said(change, after, change.after_texts)},", f"no longer on {words.tokens(lost, change.before_texts)}"
    if change.before == change.after and change.before_texts == change.after_texts:
        return "unchanged", ""
    return _said(change, change.after, change.after_texts), ""


def _said(change: EngineChange, answer: Any, texts: Mapping[str, str]) -> str:
    """One answer as a clause."""
    if isinstance(answer, dict) and "unknown" in answer:
        return f"could not be predicted: {cast('dict[str, object]', answer)['unknown']}"
    numbers = _ids(answer)
    if change.field == "stops" and (answer is None or numbers is not None):
        return _stops(numbers, texts, generates=all(name.startswith("transformers@") for name in change.engines))
    if change.field == "stops_in_grammar" and (answer is None or numbers is not None):
        return _stops_in_grammar(numbers, texts)
    if change.field.startswith("loads."):
        if answer is None:
            return "is not there"
        if isinstance(answer, bool):
            return "loads" if answer else "fails to load"
    if change.field.startswith("template.sha256") and (answer is None or isinstance(answer, str)):
        return "has none" if answer is None else f"reads {quoted(words.short(answer))}"
    return words.value(answer)


def _stops(numbers: Sequence[int] | None, texts: Mapping[str, str], *, generates: bool) -> str:
    if numbers is None:
        return "has no stop token, or does not load" if generates else "does not load"
    return f"stops on {words.tokens(numbers, texts)}" if numbers else "never stops by token"


def _stops_in_grammar(numbers: Sequence[int] | None, texts: Mapping[str, str]) -> str:
    if numbers is None:
        return "does not load"
    return f"may end a JSON answer only with {words.tokens(numbers, texts)}" if numbers else "can never end a JSON answer"


def _ids(answer: Any) -> list[int] | None:
    """The answer where it is a list of token ids, else None."""
    if not isinstance(answer, list):
        return None
    listed = cast("list[object]", answer)
    numbers = [each for each in listed if isinstance(each, int) and not isinstance(each, bool)]
    return numbers if len(numbers) == len(listed) else None
