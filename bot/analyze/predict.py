"""Predict what engines will do with the model folders of one revision or of several, each by itself."""

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from bot.analyze.comparison import FACTS
from bot.analyze.engines.choice import Chosen, named
from bot.analyze.model.discovery import Pair, pairs, root
from bot.analyze.model.folder import Model
from bot.analyze.model.reader import Reader
from bot.analyze.model.tokens import texts_of
from bot.analyze.predictions import Predictions, Row
from bot.analyze.probes import TEXTS
from bot.analyze.records import Unchecked, encodable
from bot.analyze.unread import left_out, unread
from bot.answer import shown
from bot.snapshot import Exchange, Snapshot

_FAULT = "fault"


def predict(exchange: Exchange, reader: Reader, left: tuple[Unchecked, ...] = ()) -> Predictions:
    """The predictions for head and every further revision of an exchange; `left` is what is already known to be unchecked."""
    chosen = named(exchange.engines)
    rows: list[Row] = []
    unchecked: list[Unchecked] = list(left)
    for snapshot in (exchange.head, *exchange.more):
        for name, model in _models(exchange, snapshot, reader):
            rows.extend(_row(name, model, each, unchecked) for each in chosen)
            unchecked.extend(unread(Pair(None, model)))
        alone = msgspec.structs.replace(exchange, head=snapshot)
        unchecked.extend(left_out(alone, unchecked) if snapshot.sha else ())
    return encodable(Predictions(date=FACTS, rows=tuple(rows), unchecked=tuple(dict.fromkeys(unchecked))))


def _models(exchange: Exchange, snapshot: Snapshot, reader: Reader) -> Iterator[tuple[str, Model]]:
    """The model folders of a revision, each with the name that it is reported by; a plain folder is itself one, whatever it holds."""
    if snapshot.sha is None:
        yield snapshot.label, root(snapshot, reader)
        return
    found = pairs(msgspec.structs.replace(exchange, head=snapshot), reader)
    yield from ((pair.head.folder, pair.head) for pair in found if pair.head is not None)


def _row(name: str, model: Model, chosen: Chosen, unchecked: list[Unchecked]) -> Row:
    prediction = _prediction(model, chosen)
    if _FAULT in prediction:
        reason = prediction[_FAULT]["unknown"]
        unchecked.append(Unchecked(kind="engine", id=chosen.name, folder=name, reason=reason))
    ids = [prediction.get(field) for field in ("stops", "stops_in_grammar")]
    ids += [cast("dict[str, Any]", prediction.get("with_remote_code", {})).get("stops")]
    texts = texts_of(model)
    numbers = {number for listed in ids if isinstance(listed, list) for number in cast("list[int]", listed)}
    said = {str(i): texts[i] for i in sorted(numbers) if i in texts}
    return Row(folder=name, prediction=prediction, texts=said, applies=chosen.engine.applies(model))


def _prediction(model: Model, chosen: Chosen) -> dict[str, Any]:
    """One prediction as its record; one that breaks has a field of its own for the reason and no other, and hinders no other prediction."""
    try:
        record = chosen.engine.predict(model, chosen.version).record()
        encode = getattr(chosen.engine, "encode", None)
        return record if encode is None else {**record, "encode": shown(encode(model, chosen.version, TEXTS))}
    except Exception as error:  # noqa: BLE001 - as for checks: said, and the other engines go on
        reason = f"the prediction broke: {type(error).__name__}: {error}"
        return {"engine": chosen.engine.ID, "version": chosen.version, "confidence": "guess", _FAULT: {"unknown": reason}}
