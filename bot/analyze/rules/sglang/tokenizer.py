"""The tokenizer that sglang ends up with: what AutoTokenizer of transformers gives, loaded once more by its declared class, and repaired.

Source: sglang 0.5.23, utils/hf_transformers/tokenizer.py:48-259 and 267-310 (run); common.py:771-781 for the tokens that stop a request.
"""

from typing import Any

import msgspec

from bot.analyze.model.config import FILE as CONFIG
from bot.analyze.model.folder import Model, fact
from bot.analyze.model.picks import registered
from bot.analyze.model.tokenizer_class import FILE as BACKEND
from bot.analyze.model.tokenizer_class import row
from bot.analyze.model.tokens import needs_remote_code, refusal
from bot.analyze.rules.backend_parts import too_large
from bot.analyze.rules.encoding import LARGEST, Encoded, encoded_by
from bot.analyze.rules.loaded import Loaded, Refused, loaded
from bot.analyze.rules.plain_config import plain_config_error
from bot.analyze.rules.sglang.releases import NEWEST, Release
from bot.analyze.rules.sglang.types import has_class
from bot.analyze.rules.tokenizer_fields import tokenizer_fields
from bot.analyze.tables import knows_type
from bot.answer import Answer, Known, Unknown

Fields = dict[str, Answer[Any]]

SETTINGS = "tokenizer_config.json"
_LOADS, _ERROR, _CLASS = "loads.tokenizer", "errors.tokenizer.type", "tokenizer_class"
# Names in tokenizer_config.json that the second try passes over, or that are the generic class once more.
_PASSED_OVER = ("PreTrainedTokenizer", "PreTrainedTokenizerBase", "PreTrainedTokenizerFast", BACKEND)
# Errors of the second try after which the first result stays (tokenizer.py:113); the others stop the server.
_HARMLESS = ("OSError", "ValueError", "TypeError", "ImportError", "JSONDecodeError", "UnicodeDecodeError", "HFValidationError")


def fields_of_tokenizer(model: Model, release: Release) -> Fields:
    """The fields of records that the tokenizer gives, for an operator who does not trust remote code."""
    version = release.transformers
    if mistral_common(model):
        return _unknown("it depends on mistral-common, which reads tekken.json")
    asked = _asked(model, release)
    if isinstance(asked, str):
        return _unknown(asked)
    fields = _renamed(asked, tokenizer_fields(asked, version), release)
    match release.tokenizer:
        case "declared":
            return _repaired(model, _by_declared_class(model, version, fields))
        case "trusting":
            found = fields.get(_CLASS)
            code = isinstance(found, Known) and found.value == BACKEND and needs_remote_code(model)
            return _unknown("this release runs the repository's own code without being asked to") if code else fields
        case _:
            return fields


def always_stops(model: Model, fields: Fields, release: Release) -> Answer[tuple[int, ...]]:
    """The ids of the added tokens that stop every request."""
    rows = fields.get("added_tokens")
    if isinstance(rows, Known) and "sha256" not in rows.value:
        return Known(tuple(int(number) for number, token in rows.value.items() if token["content"] in release.always))
    for each in (model, _without_config(model)):
        found = loaded(each, release.transformers)
        if isinstance(found, Known) and isinstance(found.value, Loaded):
            return Known(tuple(token.id for token in found.value.added if token.text in release.always))
    return Unknown("the added tokens are not known")


def _asked(model: Model, release: Release) -> Model | str:
    """The folder as AutoTokenizer sees it within sglang, or why that cannot be told.

    A model type that only sglang knows has a configuration there, of which no tokenizer class is registered; and rope settings do not end the reading of
    a plain one (utils/hf_transformers_patches.py:159, from 0.5.12 on). What is left of config.json then plays no part.
    """
    config = model.mapping(CONFIG)
    kind: Any = config.get("model_type")
    if not isinstance(kind, str) or knows_type(kind, release.transformers) or not release.five:
        return model
    plain = plain_config_error(model, release.transformers)
    roped = (
        release.tokenizer == "declared"
        and isinstance(plain, Known)
        and plain.value == "AttributeError"
        and isinstance(config.get("rope_scaling"), dict)
    )
    if not roped and not has_class(kind, release.name):
        return model
    if config.get("tokenizer_class") and not model.mapping(SETTINGS).get("tokenizer_class"):
        return "config.json names the tokenizer class"
    return _without_config(model)


def _renamed(model: Model, fields: Fields, release: Release) -> Fields:
    """With a TypeError, and the ValueError about an unknown class, turned into RuntimeError, as sglang does (tokenizer.py:183-207)."""
    error = fields.get(_ERROR)
    if isinstance(error, Known) and error.value == "AttributeError" and release.pin != release.transformers:
        return {**fields, _ERROR: Unknown(f"it may be another in transformers {release.pin}", error.places)}
    if not isinstance(error, Known) or error.value not in ("TypeError", "ValueError"):
        return fields
    if error.value == "ValueError":
        found = loaded(model, release.transformers)
        reason = found.value.reason if isinstance(found, Known) and isinstance(found.value, Refused) else ""
        if "does not exist or is not currently imported" not in reason:
            return fields
    return {**fields, _ERROR: Known("RuntimeError", error.places)}


def _by_declared_class(model: Model, transformers: str, fields: Fields) -> Fields:
    """A tokenizer of the generic class is loaded again by the class that tokenizer_config.json names."""
    found = fields.get(_CLASS)
    if not (isinstance(found, Known) and found.value == BACKEND):
        return fields
    if not model.has(SETTINGS):
        # The hub client is asked for it, and refuses the path of the folder as the name of a repository.
        return _failed("HFValidationError", model)
    other = _loaded_again(model)
    if not isinstance(other, Model):
        return _unknown(other) if other else fields
    again = tokenizer_fields(other, transformers)
    loads, error = again[_LOADS], again.get(_ERROR)
    if isinstance(loads, Known) and not loads.value:
        if not isinstance(error, Known):
            return _unknown("how loading by the declared class fails is not known")
        return fields if error.value in _HARMLESS else again
    return again


def _loaded_again(model: Model) -> Model | str:
    """The folder as the declared class reads it; else why that cannot be told, "" where the generic class stays."""
    declared: Any = model.mapping(SETTINGS).get("tokenizer_class")
    if not declared or declared in _PASSED_OVER:
        return ""
    if not isinstance(declared, str):
        return "tokenizer_class is no text"
    if not row(declared.removesuffix("Fast")):
        backend = declared.endswith("Backend")  # the generic classes have names of their own in transformers 5
        return f"what {declared} makes of the folder is not known" if backend else ""
    return _without_config(model)


def encode(model: Model, release: Release, texts: tuple[str, ...]) -> Answer[Encoded]:
    """The ids of each text, special tokens included, told of the newest release only."""
    if release.name != NEWEST:
        return Unknown("what this release puts around texts was not looked up")
    if why := too_large(model, LARGEST):
        return Unknown(why, (model.place("tokenizer.json"),))
    fields = fields_of_tokenizer(model, release)
    if not isinstance(loads := fields[_LOADS], Known):
        return loads
    if not loads.value:
        return Unknown("the tokenizer does not load", loads.places)
    read = read_by(model, release)
    found = loaded(read, release.transformers) if isinstance(read, Model) else read
    return encoded_by(model, found, release.transformers, texts, engine="sglang")


def read_by(model: Model, release: Release) -> Model | Unknown:
    """The folder as the tokenizer reads it that sglang ends up with, for one that loads."""
    asked = _asked(model, release)
    if isinstance(asked, str):
        return Unknown(asked)
    if release.tokenizer != "declared":
        return asked
    found = loaded(asked, release.transformers)
    if isinstance(found, Known) and isinstance(found.value, Loaded) and found.value.cls == BACKEND:
        other = _loaded_again(model)
        again = loaded(other, release.transformers) if isinstance(other, Model) else found
        # What fails harmlessly leaves the first result, as in `_by_declared_class`.
        return (
            other if isinstance(other, Model) and not (isinstance(again, Known) and isinstance(again.value, Refused)) else asked
        )
    return asked


def _repaired(model: Model, fields: Fields) -> Fields:
    """The repair reads tokenizer.json with the tokenizers library, also where the class did without (tokenizer.py:287)."""
    loads = fields[_LOADS]
    if not (isinstance(loads, Known) and loads.value) or not model.has("tokenizer.json") or refusal(model) is None:
        return fields
    return _failed("Exception", model)


@fact
def _without_config(model: Model) -> Model:
    """The folder as a class reads it that is called by name: config.json says nothing to it."""
    files = {name: file for name, file in model.files.items() if name != CONFIG}
    return msgspec.structs.replace(model, files=files, _facts={})


def mistral_common(model: Model) -> bool:
    """Whether mistral-common, which sglang requires, may take the place of the tokenizer's class."""
    kind: Any = model.mapping(CONFIG).get("model_type")
    mistral = isinstance(kind, str) and registered(kind) == "MistralCommonBackend"
    return model.has("tekken.json") and (mistral or not model.has("tokenizer.json"))


def _failed(error: str, model: Model) -> Fields:
    places = (model.place(SETTINGS if model.has(SETTINGS) else "tokenizer.json"),)
    return {_LOADS: Known(value=False, places=places), _ERROR: Known(error, places)}


def _unknown(reason: str) -> Fields:
    keys = ("tokenizer_class", "eos_token_id", "bos_token_id", "pad_token_id", "all_special_ids", "added_tokens", "len_tokenizer")
    return dict.fromkeys((_LOADS, *keys), Unknown(reason))
