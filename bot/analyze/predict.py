"""Predict what engines will do with the model folders of one revision or of several, each by itself."""

import hashlib
from typing import Any, cast

import msgspec

from bot.analyze.comparison import FACTS
from bot.analyze.engines.choice import Chosen, named
from bot.analyze.model.discovery import Pair, models_of
from bot.analyze.model.folder import Model
from bot.analyze.model.reader import Reader
from bot.analyze.model.tokens import texts_of
from bot.analyze.predictions import Predictions, Row
from bot.analyze.probes import ASKED, TEXTS
from bot.analyze.records import Unchecked, encodable
from bot.analyze.render import Prompt, Renders
from bot.analyze.unread import left_out, unread
from bot.answer import Known, Unknown, shown
from bot.snapshot import Exchange

_FAULT = "fault"


def predict(exchange: Exchange, reader: Reader, left: tuple[Unchecked, ...] = ()) -> Predictions:
    """The predictions for head and every further revision of an exchange; `left` is what is already known to be unchecked."""
    chosen = named(exchange.engines)
    rows: list[Row] = []
    unchecked: list[Unchecked] = list(left)
    for snapshot in (exchange.head, *exchange.more):
        for name, model in models_of(exchange, snapshot, reader):
            rows.extend(_row(name, model, each, unchecked) for each in chosen)
            unchecked.extend(unread(Pair(None, model)))
        alone = msgspec.structs.replace(exchange, head=snapshot)
        unchecked.extend(left_out(alone, unchecked) if snapshot.sha else ())
    return encodable(Predictions(date=FACTS, rows=tuple(rows), unchecked=tuple(dict.fromkeys(unchecked))))


def _row(name: str, model: Model, chosen: Chosen, unchecked: list[Unchecked]) -> Row:
    prediction = whole(model, chosen)
    if _FAULT in prediction:
        reason = prediction[_FAULT]["unknown"]
        unchecked.append(Unchecked(kind="engine", id=chosen.name, folder=name, reason=reason))
    ids = [prediction.get(field) for field in ("stops", "stops_in_grammar")]
    ids += [cast("dict[str, Any]", prediction.get("with_remote_code", {})).get("stops")]
    texts = texts_of(model)
    numbers = {number for listed in ids if isinstance(listed, list) for number in cast("list[int]", listed)}
    said = {str(i): texts[i] for i in sorted(numbers) if i in texts}
    return Row(folder=name, prediction=prediction, texts=said, applies=chosen.engine.applies(model))


def whole(model: Model, chosen: Chosen) -> dict[str, Any]:
    """One prediction as its record, with the ids of texts and the prompts of conversations; one that breaks has a field of its own for the reason and no other, and hinders no other prediction."""
    try:
        record = chosen.engine.predict(model, chosen.version).record()
        encode, renders = (getattr(chosen.engine, name, None) for name in ("encode", "renders"))
        if renders is not None:
            record["renders"] = rendered(renders(model, chosen.version, ASKED))
        return record if encode is None else {**record, "encode": shown(encode(model, chosen.version, TEXTS))}
    except Exception as error:  # noqa: BLE001 - as for checks: said, and the other engines go on
        reason = f"the prediction broke: {type(error).__name__}: {error}"
        return {"engine": chosen.engine.ID, "version": chosen.version, "confidence": "guess", _FAULT: {"unknown": reason}}


def rendered(prompts: Renders) -> Any:
    """The prompts of an engine as a record has them: by probe the sha256 of the text, the error, that it depends on the clock, or why it is not known."""
    if not isinstance(prompts, Known):
        return shown(prompts)
    return {name: _outcome(prompt) for name, prompt in prompts.value.items()}


def _outcome(prompt: Prompt | Unknown) -> Any:
    if isinstance(prompt, Unknown):
        return shown(prompt)
    if prompt.kind == "limits":
        return {"unknown": f"the chat template {prompt.error}"}
    if prompt.text is None:
        return {"error": {"type": prompt.type, "message": prompt.error}}
    return {"time_dependent": True} if prompt.dated else {"sha256": digest(prompt.text)}


def digest(text: str) -> str:
    """The sha256 of a prompt."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
