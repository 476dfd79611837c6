"""The settings that generate() of transformers starts from: which file gives them, and the stop ids and sampling defaults among them.

Source: transformers 4.46.3 to 5.24.0 (run). generation_config.json alone counts when it is a JSON object. When it is absent or no JSON, 4.x builds the
settings from the loaded config, class defaults included (modeling_utils.py:5092-5100 in 4.57.6), and 5.x from the raw config.json
(generation/utils.py:418 in 5.0.0, :578 in 5.24.0); both then fill what is unset from the language model's configuration.
"""

import math
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from bot.analyze.model.config import FILE as CONFIG
from bot.analyze.model.config import pointer
from bot.analyze.model.document import Document
from bot.analyze.model.folder import Model
from bot.analyze.model.link_text import is_link_text
from bot.analyze.rules.config_outcome import config_error
from bot.analyze.rules.generation_config import refusals
from bot.analyze.tables import config_eos, parts
from bot.answer import Answer, Known, Unknown
from bot.place import Place

FILE = "generation_config.json"
EOS = "eos_token_id"
# The settings that say how tokens are chosen and when to end, with the defaults of GenerationConfig of 4.x, which drops what equals one of them
# (generation/configuration_utils.py:1004-1025 in 4.57.6); that of 5.x has None for each and drops that (:1032-1053 in 5.0.0).
SAMPLING = {
    "do_sample": False,
    "temperature": 1.0,
    "top_k": 50,
    "top_p": 1.0,
    "max_length": 20,
    "max_new_tokens": None,
    "repetition_penalty": 1.0,
}
# Further settings of the same kind, of which no record tells whether they count among the sampling defaults.
_OTHERS = {
    "min_p": None,
    "typical_p": 1.0,
    "epsilon_cutoff": 0.0,
    "eta_cutoff": 0.0,
    "top_h": None,
    "penalty_alpha": None,
    "num_beams": 1,
    "num_beam_groups": 1,
    "diversity_penalty": 0.0,
    "length_penalty": 1.0,
    "early_stopping": False,
    "no_repeat_ngram_size": 0,
    "encoder_repetition_penalty": 1.0,
    "min_length": 0,
    "min_new_tokens": None,
    "max_time": None,
    "num_return_sequences": 1,
    "guidance_scale": None,
}
# The roles that become tensors together with EOS before the first token (_prepare_special_tokens, generation/utils.py): one that cannot makes all fail.
_TENSORS = (EOS, "bos_token_id", "pad_token_id", "decoder_start_token_id")
_INNER = ("decoder", "generator", "text_config")  # where the language model's configuration stands
_INT64 = 2**63


class Settings(msgspec.Struct, frozen=True):
    """The settings by key, the file that gives them, and the keys that lead to those that a nested configuration gives."""

    values: Mapping[str, Any]
    file: str
    inner: Mapping[str, tuple[str, ...]] = {}

    def place(self, model: Model, key: str) -> Place:
        """Where a setting stands."""
        return model.place(self.file, pointer(*self.inner.get(key, ()), key) if key in self.values else "")


def loads(model: Model, version: str) -> Answer[bool | None]:
    """Whether GenerationConfig.from_pretrained loads generation_config.json; None where there is no such file."""
    if not model.has(FILE):
        return Known(None, (model.place(FILE),))
    document = model.document(FILE)
    if not isinstance(document, Known):
        return Unknown(f"{FILE} {_reason(document)}", document.places)
    if is_link_text(model, FILE):
        return Unknown(f"{FILE} holds a path, as a symbolic link does that was checked out as text", document.places)
    read = document.value.value if isinstance(document.value, Document) else None
    refusal = next(refusals(read, version), None)
    return Known(refusal is None, (model.place(FILE, pointer(refusal.key) if refusal and refusal.key else ""),))


def settings(model: Model, version: str, *, trusted: bool = False) -> Answer[Settings | None]:
    """What generate() starts from; None where the model does not load or no file is there. `trusted` lets the repository's code read config.json."""
    document = model.document(FILE)
    if isinstance(document, Unknown):
        return Unknown(f"{FILE} {document.reason}", document.places)
    if isinstance(document, Known) and isinstance(document.value, Document):
        loaded = loads(model, version)
        if not isinstance(loaded, Known) or not loaded.value:
            return Known(None, loaded.places) if isinstance(loaded, Known) else loaded
        return Known(Settings(model.mapping(FILE), FILE), (model.place(FILE),))
    error = config_error(model, version, trusted=trusted)
    if not isinstance(error, Known):
        return error
    if error.value is not None:
        return Known(None, error.places)
    return _of_config(model, version)


def _of_config(model: Model, version: str) -> Answer[Settings | None]:
    config = model.mapping(CONFIG)
    stated = {key: value for key, value in config.items() if value is not None}
    refusal = next(refusals({**stated, "_from_model_config": True}, version), None)
    if refusal is not None:
        return Known(None, (model.place(CONFIG, pointer(refusal.key)),))
    inner = next((key for key in _INNER if isinstance(config.get(key), dict) and config[key]), None)
    below = {key: value for key, value in cast("dict[str, Any]", config[inner] if inner else {}).items() if value is not None}
    if parts(version) < (5,):
        default = config_eos(version).get(str(config.get("model_type")), {})
        if "unknown" in default and EOS not in config:
            return Unknown("the EOS of the configuration class is not known", (model.place(CONFIG, "/model_type"),))
        if EOS not in config and "top" in default:
            stated[EOS] = default["top"]
        if inner and EOS not in config[inner] and "text" in default:
            below[EOS] = default["text"]
    unset = {
        key for key in below if key not in stated or (key in SAMPLING and stated[key] == SAMPLING[key] and parts(version) < (5,))
    }
    merged = stated | {key: below[key] for key in unset}
    return Known(Settings(merged, CONFIG, dict.fromkeys(unset, (inner,)) if inner else {}), (model.place(CONFIG),))


def stops(model: Model, answer: Answer[Settings | None]) -> Answer[list[int] | None]:
    """The ids that a plain generate() stops on, sorted; None where it has none or fails over one of the roles."""
    if not isinstance(answer, Known) or answer.value is None:
        return Known(None, answer.places) if isinstance(answer, Known) else Unknown(_reason(answer), answer.places)
    found = answer.value
    value = found.values.get(EOS)
    places = (found.place(model, EOS),)
    tensors = {key: _tensor(found.values.get(key)) for key in _TENSORS}
    if value is None:
        return Known(None, places)
    failing = next((key for key, made in tensors.items() if made is False), None)
    if failing:
        return Known(None, (found.place(model, failing),))
    if None in tensors.values():
        return Unknown("an id has a value of which PyTorch may or may not make a number", places)
    ids = cast("list[float]", value if isinstance(value, list) else [value])
    if not ids and found.values.get("pad_token_id") is not None:
        return Unknown("the list of end tokens is empty", places)
    return Known(sorted({int(number) for number in ids}) or None, places)


def _tensor(value: Any) -> bool | None:
    """Whether torch.tensor(value, dtype=torch.long) makes ids of a value; None where we do not say. An absent one is skipped."""
    items = cast("list[Any]", value) if isinstance(value, list) else [value]
    if value is None:
        return True
    if any(isinstance(item, list | bool) or (isinstance(item, float) and not math.isfinite(item)) for item in items):
        return None
    return all(isinstance(item, int | float) and abs(item) < _INT64 for item in items)


def sampling_defaults(model: Model, answer: Answer[Settings | None], version: str) -> Answer[dict[str, Any] | None]:
    """The settings of SAMPLING that the file states, as to_diff_dict() of the version gives them; None where the model does not load."""
    if not isinstance(answer, Known) or answer.value is None:
        return Known(None, answer.places) if isinstance(answer, Known) else Unknown(_reason(answer), answer.places)
    found, four = answer.value, parts(version) < (5,)
    said = {key: found.values[key] for key in (*SAMPLING, *_OTHERS) if key in found.values}
    kept = {key: value for key, value in said.items() if (value != (SAMPLING | _OTHERS)[key] if four else value is not None)}
    places = tuple(found.place(model, key) for key in kept) or (model.place(found.file),)
    other = next((key for key in _OTHERS if key in kept), None)
    if other:
        return Unknown(f"no record shows whether {other} counts among the sampling defaults", (found.place(model, other),))
    if any(isinstance(value, float) and not math.isfinite(value) for value in kept.values()):
        return Unknown("a setting is no finite number, which JSON cannot state", places)
    return Known(kept, places)


def _reason(answer: Answer[Any]) -> str:
    return answer.reason if isinstance(answer, Unknown) else "is not there"
