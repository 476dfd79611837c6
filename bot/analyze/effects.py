"""What each engine does differently after the change: predictions of base and head, side by side."""

from collections.abc import Iterable, Iterator
from typing import Any, cast

import msgspec

from bot.analyze.engines.choice import Chosen
from bot.analyze.engines.prediction import Prediction, shown
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import texts_of
from bot.analyze.records import EngineChange, Unchecked
from bot.answer import Known, Unknown

FIELDS = {"stops": "which tokens end a reply", "stops_in_grammar": "which tokens may end a JSON answer"}


def effects(base: Model, head: Model, asked: Iterable[tuple[Chosen, Chosen]], unchecked: list[Unchecked]) -> list[EngineChange]:
    """The fields that change, engines with equal answers sharing one; `asked` are the version for base and the one for head."""
    changes: dict[str, EngineChange] = {}
    for old, new in asked:
        if not old.engine.applies(base) or not new.engine.applies(head):
            continue
        try:
            before, after = old.engine.predict(base, old.version), new.engine.predict(head, new.version)
        except Exception as error:  # noqa: BLE001 - as for checks: said, and the other engines go on
            reason = f"the prediction broke: {type(error).__name__}: {error}"
            unchecked.append(Unchecked(kind="engine", id=new.name, folder=base.name, reason=reason))
            continue
        for change in _fields(before, after, base, head, unchecked):
            key = repr((change.field, change.before, change.after, change.with_remote_code))
            known = changes.get(key)
            changes[key] = change if known is None else _merged(known, change)
    return list(changes.values())


def _fields(
    before: Prediction, after: Prediction, base: Model, head: Model, unchecked: list[Unchecked]
) -> Iterator[EngineChange]:
    for field in (key for key in FIELDS if key in before.fields and key in after.fields):
        old, new = before.trusted(field), after.trusted(field)
        if shown(old) == shown(new) or (isinstance(old, Unknown) and isinstance(new, Unknown)):
            continue
        if isinstance(old, Unknown) or isinstance(new, Unknown):
            answer = old if isinstance(old, Unknown) else new
            side = "before" if answer is old else "after"
            reason = f"{FIELDS.get(field, field)} could not be predicted {side} the change: {cast('Unknown', answer).reason}"
            unchecked.append(
                Unchecked(kind="engine", id=after.name, folder=base.name, reason=reason, places=cast("Unknown", answer).places)
            )
            continue
        if (
            field == "stops_in_grammar"
            and shown(after.trusted("stops")) == shown(new)
            and shown(before.trusted("stops")) == shown(old)
        ):
            continue  # said by the row about plain chat
        yield EngineChange(
            engines=(after.name,),
            folder=base.name,
            field=field,
            before=shown(old),
            after=shown(new),
            because=tuple(place for answer in (old, new) if isinstance(answer, Known) for place in answer.places),
            before_texts=_texts_of_ids(base, shown(old)),
            after_texts=_texts_of_ids(head, shown(new)),
            with_remote_code=field in before.with_remote_code or field in after.with_remote_code,
            confidence=after.confidence,
        )


def _merged(one: EngineChange, other: EngineChange) -> EngineChange:
    because = tuple(dict.fromkeys((*one.because, *other.because)))
    return msgspec.structs.replace(one, engines=(*one.engines, *other.engines), because=because)


def _texts_of_ids(model: Model, ids: Any) -> dict[str, str]:
    texts = texts_of(model)
    return {str(i): texts[i] for i in ids if i in texts} if isinstance(ids, list) else {}
