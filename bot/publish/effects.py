"""What engines do differently, one row per distinct change: the rows of the table that every view shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from bot.analyze.records import Comparison, EngineChange, Unchecked
from bot.publish import words
from bot.publish.answers import failure, ids, said
from bot.publish.escape import quoted
from bot.publish.telling import telling

# What a row is about, in the order in which rows are shown.
_ABOUT = {
    "loads.config": ", `config.json`",
    "loads.tokenizer": ", tokenizer",
    "loads.generation_config": ", `generation_config.json`",
    "hollow": ", tokenizer",
    "stops": "",
    "stops_in_grammar": ", JSON mode",
    "template.sha256": ", chat template",
    "template.content_format": ", content of messages",
    "sampling_defaults": ", sampling defaults",
    "max_model_len": ", context",
    "dtype": ", type of the weights",
    "quantization": ", quantization",
}
_UNCHANGED = "unchanged"


@dataclass(frozen=True)
class Effect:
    """One row. `model` is the folder as people name it. All texts are sentences with marked values; `news` is the part of the second answer to stress ("" for none).

    `on_new` is True where the model was not there before, so that nothing of it can have changed.
    """

    folder: str
    model: str
    engines: str
    before: str
    after: str
    news: str
    on_new: bool


def effects(comparison: Comparison) -> tuple[Effect, ...]:
    """The rows of the comparison, those about loading first and those that stay beside others at the end; engines that do the same are one row."""
    one_sided = {model.folder: model.change for model in comparison.models if model.change in ("added", "removed")}
    rows: dict[tuple[str, ...], list[EngineChange]] = {}
    for change in sorted(telling(comparison.predictions), key=_rank):
        rows.setdefault(_key(change, one_sided.get(change.folder)), []).append(change)
    found: list[Effect] = []
    order, moved = words.in_order(comparison.modelled.engines), words.homes(comparison.models)
    for changes in rows.values():
        first = changes[0]
        named = _engines(changes, order)
        before, after, news = _answers(changes, one_sided.get(first.folder))
        model = words.folder(first.folder, moved)
        found.append(Effect(first.folder, model, named, before, after, news, on_new=first.folder in one_sided))
    return tuple(sorted(found, key=lambda each: (each.on_new, each.after == _UNCHANGED)))


def _key(change: EngineChange, one_sided: str | None) -> tuple[str, ...]:
    """What changes of one row have in common; errors do not count where a file fails to load."""
    return (change.folder, change.field, str(change.with_remote_code), *_answers([change], one_sided, why=False))


def _answers(changes: Sequence[EngineChange], one_sided: str | None, *, why: bool = True) -> tuple[str, str, str]:
    """The answers of changes that agree: before, after, and the part of the latter to stress."""
    first = changes[0]
    before, (after, news) = said(first, first.before, first.before_texts), _after(first)
    if why and first.field.startswith("loads."):
        before = failure([(each.engines, each.before_why) for each in changes]) if first.before is False else before
        after = failure([(each.engines, each.after_why) for each in changes]) if first.after is False else after
    if one_sided == "added":
        return "was not there", after, news
    return (before, "is gone", "") if one_sided == "removed" else (before, after, news)


def changes_behaviour(comparison: Comparison) -> bool:
    """Whether a model that was there before, and still is, is predicted to do something else or reads another prompt."""
    one_sided = {model.folder for model in comparison.models if model.change in ("added", "removed")}
    return any(each.folder not in one_sided for each in (*telling(comparison.predictions), *comparison.prompts))


def unread_changes(comparison: Comparison) -> tuple[Unchecked, ...]:
    """The changed files that could not be read."""
    return tuple(each for each in comparison.unchecked if each.kind == "file" and each.changed)


def _rank(change: EngineChange) -> tuple[int, bool, int]:
    fields = list(_ABOUT)
    field = fields.index(change.field) if change.field in _ABOUT else len(fields)
    return field, change.confidence != "certain", min(map(words.engine_rank, change.engines), default=0)


def _engines(changes: Sequence[EngineChange], modelled: words.Order) -> str:
    """The engines of a row and what it is about, those whose source was only read behind the others."""
    first = changes[0]
    about = _ABOUT.get(first.field, f", {quoted(first.field)}")
    named: dict[str, str] = {}
    for sure in ("certain", "likely", "guess"):
        same = list(chain.from_iterable(each.engines for each in changes if each.confidence == sure))
        if same:
            named[sure] = words.engines(same, modelled, generates=first.field == "stops")
    unsure = {"certain": "", "likely": "read in the source, not run", "guess": "a guess"}
    (sure, engines), *others = named.items()
    # Before the names, so that it is not taken for the last of them alone.
    held = ", ".join(filter(None, ["with `trust_remote_code`" if first.with_remote_code else "", unsure[sure]]))
    start = f"{held[0].upper()}{held[1:]}: " if held else ""
    return f"{start}{engines}{about}" + "".join(f"; {unsure[sure]}: {engines}" for sure, engines in others)


def _after(change: EngineChange) -> tuple[str, str]:
    """The second answer in two parts: what was so before, and what is new and deserves stress."""
    before, after = ids(change.before), ids(change.after)
    known = frozenset(before or ())
    same = [number for number in after or () if number in known]
    added = [number for number in after or () if number not in known]
    if change.field == "stops" and before and same == before and added:
        kept = ", ".join(words.token(number, change.after_texts) for number in before)
        news = words.tokens(added, change.after_texts)
        return (f"stops on {kept}", f"and {news}") if len(added) == 1 else (f"stops on {kept},", news)
    stayed = frozenset(same)
    lost = [number for number in before or () if number not in stayed]
    if change.field == "stops" and same and same == after and lost:
        return f"{said(change, after, change.after_texts)},", f"no longer on {words.tokens(lost, change.before_texts)}"
    if change.before == change.after and change.before_texts == change.after_texts:
        return _UNCHANGED, ""
    return said(change, change.after, change.after_texts), ""
