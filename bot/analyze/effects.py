"""What each engine does differently after the change: predictions of base and head, side by side."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from bot.analyze.engines.choice import Chosen
from bot.analyze.engines.prediction import Prediction, prediction
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import texts_of
from bot.analyze.records import Confidence, EngineChange, Unchecked
from bot.answer import Answer, Known, Missing, Unknown, shown
from bot.place import Place

TEMPLATE = "template.sha256"
_SURENESS: tuple[Confidence, ...] = ("certain", "likely", "guess")
# What has to load before anything else can be asked.
_FIRST = ("loads.config", "loads.tokenizer")
# The fields whose change is behaviour, each with what it is about; the others only tell how an engine gets there.
FIELDS = {
    "stops": "which tokens end a reply",
    "stops_in_grammar": "which tokens may end a JSON answer",
    "loads.config": "whether config.json loads",
    "loads.tokenizer": "whether the tokenizer loads",
    "loads.generation_config": "whether generation_config.json loads",
    "hollow": "whether the tokenizer has a vocabulary",
    TEMPLATE: "which chat template is read",
    "template.content_format": "how templates get the content of messages",
    "sampling_defaults": "the sampling defaults",
    "max_model_len": "the context length",
    "dtype": "the type of the weights",
    "quantization": "the quantization method",
}
_FOLLOWING = [FIELDS[field] for field in ("stops", "stops_in_grammar", TEMPLATE, "template.content_format")]


class _Gap(NamedTuple):
    """Fields of an engine that are told of one `side` ("before" or "after") only, and why not of the other."""

    engine: str
    side: str
    reason: str
    fields: tuple[str, ...]
    places: tuple[Place, ...]


def effects(base: Model, head: Model, asked: Iterable[tuple[Chosen, Chosen]], unchecked: list[Unchecked]) -> list[EngineChange]:
    """The fields that change, engines with equal answers sharing one; `asked` are the version for base and the one for head.

    An engine that keeps its chat template while another's changes is among them, with equal values.
    """
    rows: list[EngineChange] = []
    gaps: list[_Gap] = []
    for old, new in asked:
        if not old.engine.applies(base) or not new.engine.applies(head):
            continue
        try:
            before, after = prediction(base, old.engine, old.version), prediction(head, new.engine, new.version)
        except Exception as error:  # noqa: BLE001 - as for checks: said, and the other engines go on
            reason = f"the prediction broke: {type(error).__name__}: {error}"
            unchecked.append(Unchecked(kind="engine", id=new.name, folder=base.name, reason=reason))
            continue
        rows.extend(_fields(before, after, base, head))
        gaps.extend(_gaps(before, after))
    unchecked.extend(_untold(gaps, base.name))
    replaced = any(row.field == TEMPLATE and row.before != row.after for row in rows)
    merged: dict[str, EngineChange] = {}
    for row in rows:
        if row.before != row.after or (row.field == TEMPLATE and replaced and row.before is not None):
            key = repr((row.field, row.before, row.after, row.before_why, row.after_why, row.with_remote_code, row.confidence))
            merged[key] = _merged(merged[key], row) if key in merged else row
    return list(merged.values())


def _fields(before: Prediction, after: Prediction, base: Model, head: Model) -> Iterator[EngineChange]:
    """A row for every field that both sides tell, also where it is the same."""
    for field in FIELDS:
        old, new = _answers(field, before, after)
        if old is None or new is None or isinstance(old, Unknown) or isinstance(new, Unknown):
            continue
        yield EngineChange(
            engines=(_name(before, after),),
            folder=base.name,
            field=field,
            before=shown(old),
            after=shown(new),
            because=tuple(dict.fromkeys(place for answer in (old, new) for place in _places(answer))),
            before_texts=_texts_of_ids(base, shown(old)) if field in ("stops", "stops_in_grammar") else {},
            after_texts=_texts_of_ids(head, shown(new)) if field in ("stops", "stops_in_grammar") else {},
            before_why=_why(before, field),
            after_why=_why(after, field),
            with_remote_code=field in before.with_remote_code or field in after.with_remote_code,
            confidence=_of_both(before.sure(field), after.sure(field)),
        )


def _answers(field: str, before: Prediction, after: Prediction) -> tuple[Answer[Any] | None, Answer[Any] | None]:
    """The answers of both sides for an operator who trusts the repository's code; None for a field that the engine does not give."""
    old, new = (side.with_remote_code.get(field, side.fields.get(field)) for side in (before, after))
    if field == "hollow":  # said of a tokenizer that loads, and only where it is so
        loads = [
            isinstance(loaded := side.fields.get("loads.tokenizer"), Known) and loaded.value is True for side in (before, after)
        ]
        return (old or Known(value=False), new or Known(value=False)) if all(loads) and (old or new) else (None, None)
    return old, new


def _gaps(before: Prediction, after: Prediction) -> Iterator[_Gap]:
    """What is told of one side only, fields that share a reason as one, also where one reason is the other and more."""
    found: dict[str, dict[str, tuple[str, tuple[Place, ...]]]] = {"before": {}, "after": {}}
    starts = [[shown(each) if isinstance(each, Known) else None for each in _answers(step, before, after)] for step in _FIRST]
    newly = any({old, new} == {True, False} for old, new in starts)
    for field, about in FIELDS.items():
        old, new = _answers(field, before, after)
        if old is None or new is None or isinstance(old, Unknown) == isinstance(new, Unknown):
            continue
        if newly and not field.startswith("loads."):
            continue  # that it loads on one side only says enough
        side, answer = ("before", old) if isinstance(old, Unknown) else ("after", new)
        if isinstance(answer, Unknown):
            found[side][about] = (answer.reason, answer.places)
    for side, by_field in found.items():
        reasons: dict[str, list[str]] = {}
        for about, (reason, _) in by_field.items():
            longest = max((other for other, _ in by_field.values() if other.startswith(reason)), key=len)
            reasons.setdefault(longest, []).append(about)
        follows = any(FIELDS[step] in by_field for step in _FIRST)
        for reason, abouts in reasons.items():
            fields = [about for about in abouts if not (follows and about in _FOLLOWING)]
            if follows and len(fields) < len(abouts):
                fields.extend(["what follows from it"] if fields else [])
            if not fields:
                continue
            places = next(places for other, places in by_field.values() if other == reason)
            yield _Gap(_name(before, after), side, reason, tuple(fields), places)


def _untold(gaps: Iterable[_Gap], folder: str) -> Iterator[Unchecked]:
    """A row for each gap, worded alike for engines that share the reason."""
    together: dict[tuple[str, str], list[_Gap]] = {}
    for gap in gaps:
        together.setdefault((gap.side, gap.reason), []).append(gap)
    for (side, reason), same in together.items():
        event = "move" if " -> " in same[0].engine else "change"
        alike = len({gap.fields for gap in same}) == 1
        what = " and ".join(filter(None, [", ".join(same[0].fields[:-1]), same[0].fields[-1]])) if alike else "not everything"
        said = f"{what} could {'not ' if alike else ''}be predicted {side} the {event}: {reason}"
        for gap in same:
            yield Unchecked(kind="engine", id=gap.engine, folder=folder, reason=said, places=gap.places)


def _name(before: Prediction, after: Prediction) -> str:
    return after.name if before.version == after.version else f"{before.name} -> {after.version}"


def _why(side: Prediction, field: str) -> str:
    """The error that keeps a file from loading, "" where it loads or the error is not known."""
    step = field.removeprefix("loads.")
    if step == field or not isinstance(loads := side.fields.get(field), Known) or loads.value is not False:
        return ""
    told = [side.fields.get(f"errors.{step}.{part}") for part in ("type", "message")]
    return ": ".join(str(answer.value) for answer in told if isinstance(answer, Known) and answer.value)


def _places(answer: Answer[Any]) -> tuple[Place, ...]:
    return () if isinstance(answer, Missing) else answer.places


def _of_both(one: Confidence, other: Confidence) -> Confidence:
    """What can be said of both sides together."""
    return _SURENESS[max(_SURENESS.index(one), _SURENESS.index(other))]


def _merged(one: EngineChange, other: EngineChange) -> EngineChange:
    because = tuple(dict.fromkeys((*one.because, *other.because)))
    return msgspec.structs.replace(one, engines=(*one.engines, *other.engines), because=because)


def _texts_of_ids(model: Model, ids: Any) -> dict[str, str]:
    texts = texts_of(model)
    return {str(i): texts[i] for i in ids if i in texts} if isinstance(ids, list) else {}
