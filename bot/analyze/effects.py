"""What each engine does differently after the change: predictions of base and head, side by side."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from bot.analyze.engines.choice import Chosen
from bot.analyze.engines.prediction import Prediction, prediction
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import texts_of
from bot.analyze.records import EngineChange, Unchecked
from bot.answer import Answer, Known, Missing, Unknown, shown
from bot.place import Place

TEMPLATE = "template.sha256"
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


def effects(base: Model, head: Model, asked: Iterable[tuple[Chosen, Chosen]], unchecked: list[Unchecked]) -> list[EngineChange]:
    """The fields that change, engines with equal answers sharing one; `asked` are the version for base and the one for head.

    An engine that keeps its chat template while another's changes is among them, with equal values.
    """
    rows: list[EngineChange] = []
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
        unchecked.extend(_untold(before, after, base.name))
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
            confidence="certain" if before.sure(field) == after.sure(field) == "certain" else after.confidence,
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


def _untold(before: Prediction, after: Prediction, folder: str) -> Iterator[Unchecked]:
    """What is told of one side only, fields that share a reason in one row."""
    reasons: dict[tuple[str, str], tuple[list[str], tuple[Place, ...]]] = {}
    for field, about in FIELDS.items():
        old, new = _answers(field, before, after)
        if old is None or new is None or isinstance(old, Unknown) == isinstance(new, Unknown):
            continue
        side, answer = ("before", old) if isinstance(old, Unknown) else ("after", new)
        if isinstance(answer, Unknown):
            reasons.setdefault((side, answer.reason), ([], answer.places))[0].append(about)
    for (side, reason), (about, places) in reasons.items():
        what = " and ".join(filter(None, [", ".join(about[:-1]), about[-1]]))
        said = f"{what} could not be predicted {side} the change: {reason}"
        yield Unchecked(kind="engine", id=_name(before, after), folder=folder, reason=said, places=places)


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


def _merged(one: EngineChange, other: EngineChange) -> EngineChange:
    because = tuple(dict.fromkeys((*one.because, *other.because)))
    return msgspec.structs.replace(one, engines=(*one.engines, *other.engines), because=because)


def _texts_of_ids(model: Model, ids: Any) -> dict[str, str]:
    texts = texts_of(model)
    return {str(i): texts[i] for i in ids if i in texts} if isinstance(ids, list) else {}
