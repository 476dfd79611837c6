"""What engines take from transformers when their release leaves open which version of it runs, or names one that is not modelled.

An engine names the oldest and the newest version that its release allows; where these agree, so do those between them as far as is known.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from bot.analyze.model import templates
from bot.analyze.model.folder import Model
from bot.analyze.rules.tokenizer_fields import ERROR, MESSAGE, fields_of_remote_code, tokenizer_fields
from bot.answer import Answer, Known, Missing, Unknown, shown
from bot.place import Place

LOADS = "loads.tokenizer"
EOS = "eos_token_id"
_LONGEST = 60  # letters of a value that a reason cites
_IDS = (EOS, "bos_token_id", "pad_token_id")

Fields = dict[str, Answer[Any]]


def tokenizer(model: Model, versions: tuple[str, ...]) -> Fields:
    """Whether the tokenizer loads, the error if it does not, else the ids of its roles: what these versions of transformers agree on."""
    each = {version: tokenizer_fields(model, version) for version in versions}
    loads = agreed({version: fields[LOADS] for version, fields in each.items()})
    if isinstance(loads, Known) and loads.value:
        kept = _IDS
    elif isinstance(loads, Known):
        kept = (ERROR, MESSAGE)
    else:
        return {LOADS: loads, **dict.fromkeys(_IDS, loads)}
    return {LOADS: loads, **{key: agreed({version: fields[key] for version, fields in each.items()}) for key in kept}}


def of_remote_code(model: Model) -> Fields:
    """The same for an operator who trusts the tokenizer of the repository's own code: its ids are those that tokenizer_config.json declares."""
    fields = fields_of_remote_code(model)
    return {key: fields[key] for key in (LOADS, *_IDS)}


def eos(tokenizer: Fields) -> Answer[Any]:
    """The tokenizer's EOS; Missing where it does not load."""
    return tokenizer.get(EOS, Missing())


def does_not_load(error: str, *places: Place) -> Fields:
    """The fields of a tokenizer that an engine does not get to load, by the exception that ends it."""
    return {LOADS: Known(value=False, places=places), ERROR: Known(error, places)}


def agreed(answers: Mapping[str, Answer[Any]]) -> Answer[Any]:
    """The one answer of all versions; Unknown, naming two of them, where they differ."""
    first, *others = answers
    for version, answer in answers.items():
        if not isinstance(answer, Known):
            return Unknown(answer.reason if isinstance(answer, Unknown) else f"transformers {version} gives none", answer.places)
    for version in others:
        if shown(answers[version]) != shown(answers[first]):
            one, other = (f"{name} {_told(shown(answers[name]))}" for name in (first, version))
            return Unknown(
                f"the versions of transformers that its release allows differ: {one}, {other}", answers[version].places
            )
    return answers[first]


def template(model: Model) -> Answer[str | None]:
    """The digest of the template that a tokenizer of transformers from 4.52 on uses where nobody names one; None for none."""
    found = templates.sources(model)
    for unread in found.unread:
        return unread
    default = next((each for each in templates.of_tokenizer(model) if each.name == templates.DEFAULT), None)
    if default is None:
        return Known(None, (model.place("tokenizer_config.json"),))
    return Known(hashlib.sha256(default.text.encode("utf-8", "surrogatepass")).hexdigest(), (templates.place_of(model, default),))


def with_template(tokenizer: Fields, answer: Answer[str | None]) -> Fields:
    """The fields of a tokenizer with its template, which one that does not load has not."""
    loads = tokenizer[LOADS]
    return tokenizer if isinstance(loads, Known) and not loads.value else {**tokenizer, "template.sha256": answer}


def ids(answer: Answer[Any]) -> set[int]:
    """The ids of an answer that is one id, several, or none."""
    value = answer.value if isinstance(answer, Known) else None
    return set() if value is None else {value} if isinstance(value, int) else set(value)


def stops(tokenizer: Fields, *answers: Answer[Any]) -> Answer[list[int] | None]:
    """All ids of several answers in order, None where the tokenizer does not load; the first of them that is Unknown."""
    loads = tokenizer[LOADS]
    if isinstance(loads, Known) and not loads.value:
        return Known(None, loads.places)
    for answer in (loads, *answers):
        if isinstance(answer, Unknown):
            return answer
    places = tuple(place for answer in answers if isinstance(answer, Known) for place in answer.places)
    return Known[list[int] | None](sorted(set[int]().union(*(ids(answer) for answer in answers))), places)


def _told(value: Any) -> str:
    """An answer as the end of "5.24.0 …"."""
    if isinstance(value, bool):
        return "loads it" if value else "does not"
    if value is None:
        return "gives none"
    stated = msgspec.json.encode(value).decode()
    return f"gives {stated if len(stated) <= _LONGEST else stated[: _LONGEST - 1] + '…'}"
