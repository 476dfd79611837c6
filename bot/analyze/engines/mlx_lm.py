"""MLX-LM: what a chat on a Mac stops on and which template it goes by.

Source: mlx-lm 0.32.2 (run on a processor, without weights): utils.py:363 reads config.json and lays a truthy eos_token_id of generation_config.json over
it, tokenizer_utils.py:359 adds the tokenizer's EOS. The tokenizer is that of transformers >= 5.7.0, and nothing but the top level of config.json is asked.
"""

import json
from functools import cache
from typing import Any, cast

from bot.analyze import data
from bot.analyze.engines.prediction import Prediction
from bot.analyze.model.document import Document, NotJson
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import CONFIG as MLC
from bot.analyze.model.tokenizer_file import NotTokenizer
from bot.analyze.model.tokens import needs_remote_code, tokenizer_file
from bot.analyze.rules import borrowed
from bot.analyze.rules.borrowed import Fields, does_not_load
from bot.answer import Answer, Known, Unknown

ID = "mlx-lm"
NAME = "MLX-LM"
VERSIONS = ("0.32.2",)
SOURCE = "mlx-lm 0.32.2, utils.py:363 and :700, tokenizer_utils.py:359"

# What the release allows: transformers>=5.7.0.
_TRANSFORMERS = ("5.7.0", "5.24.0")
# Ids of models whose files state none (TOKENIZER_DEFAULTS, models/muse_spark.py:37).
_DEFAULTS = {"muse_spark": (200001, 200008)}
_CONFIG = "config.json"
_GENERATION = "generation_config.json"


def applies(model: Model) -> bool:
    """MLX-LM reads config.json first; a folder that MLC-LLM compiled is none of its."""
    return model.has(_CONFIG) and not model.has(MLC)


def predict(model: Model, version: str) -> Prediction:
    """Predict loads, ids of roles, `stops` and the template."""
    unread = _unread(model, _CONFIG)
    fault = None if unread else _config_fault(model)
    if fault is not None:
        fields: Fields = {
            "loads.config": Known(value=False, places=(model.place(fault[1]),)),
            "stops": Known(None, (model.place(fault[1]),)),
        }
        if fault[0]:
            fields["errors.config.type"] = Known(fault[0], (model.place(fault[1]),))
        return Prediction(ID, version, fields, confidence="likely", source=SOURCE)
    listed = _listed(model)
    template = _template(model)
    loads = unread or _unread(model, _GENERATION) or Known(value=True)
    # Without a configuration nothing else is asked.
    tokenizer: Fields = dict.fromkeys(("loads.tokenizer", borrowed.EOS), unread) if unread else _tokenizer(model)
    fields = borrowed.with_template({"loads.config": loads, **tokenizer}, unread or template)
    fields["stops"] = borrowed.stops(fields, listed, borrowed.eos(fields))
    trusted: Fields = {}
    if needs_remote_code(model):
        trusted = borrowed.with_template(borrowed.of_remote_code(model), template)
        trusted["stops"] = borrowed.stops(trusted, listed, borrowed.eos(trusted))
    return Prediction(ID, version, fields, trusted, confidence="likely", source=SOURCE)


def _unread(model: Model, name: str) -> Unknown | None:
    """Why a file that is there says nothing."""
    document = model.document(name)
    return Unknown(f"{name} {document.reason}", document.places) if isinstance(document, Unknown) else None


def _config_fault(model: Model) -> tuple[str, str] | None:
    """The exception that ends reading the configuration, and the file; "" where it depends on what comes later."""
    if not model.has(_CONFIG):
        return "FileNotFoundError", _CONFIG
    for name in (_CONFIG, _GENERATION):
        document = model.document(name)
        if not isinstance(document, Known):
            continue
        if isinstance(document.value, NotJson):
            text = "UTF-8" in document.value.message
            if name == _CONFIG or text:  # a generation_config.json that is no JSON counts as none
                return ("UnicodeDecodeError" if text else "JSONDecodeError"), name
        elif not isinstance(document.value.value, dict):
            return ("AttributeError" if name == _GENERATION else ""), name
    error = _class_error(model)
    return (error, _CONFIG) if error else None


def _class_error(model: Model) -> str:
    """The exception that looking for the class of the model ends in, "" for none (utils.py:200 and :458)."""
    config = model.mapping(_CONFIG)
    if config.get("model_file") is not None:  # code of the repository
        return "ValueError"
    if "model_type" not in config:
        return "KeyError"
    name, known = config["model_type"], _types()
    if isinstance(name, list | dict):
        return "TypeError"
    stated = config.get("architectures") or ()
    for architecture in (stated,) if isinstance(stated, str) else cast("list[Any]", stated) if isinstance(stated, list) else ():
        if [name, architecture] in [row[:2] for row in known["by_architecture"]]:
            return ""
    return "" if known["renamed"].get(name, name) in known["modules"] else "ValueError"


@cache
def _types() -> dict[str, Any]:
    """The model types that there is a class for (tools/mlx_model_types.py)."""
    return json.loads(data.content(f"mlx-lm-{VERSIONS[-1]}.json"))


def _listed(model: Model) -> Answer[list[int]]:
    """The ids of the files: generation_config.json's unless they are falsy (0, an empty list), else config.json's, else the model's own."""
    for name in (_GENERATION, _CONFIG):
        unread = model.document(name)
        if isinstance(unread, Unknown):
            return Unknown(f"{name} {unread.reason}", unread.places)
    for name in (_GENERATION, _CONFIG):
        value: Any = model.mapping(name).get("eos_token_id")
        if value is None or (name == _GENERATION and not value):
            continue
        place = (model.place(name, "/eos_token_id"),)
        items = cast("list[Any]", value) if isinstance(value, list) else [value]
        if any(isinstance(item, bool) or not isinstance(item, int) for item in items):
            return Unknown(f"{name} gives eos_token_id a value that is no token id", place)
        return Known(items, place)
    model_type = model.mapping(_CONFIG).get("model_type")
    defaults = _DEFAULTS.get(model_type, ()) if isinstance(model_type, str) else ()
    return Known(list(defaults), (model.place(_CONFIG),))


def _tokenizer(model: Model) -> Fields:
    """That of transformers; a tokenizer.json that is no JSON ends it before transformers is asked (tokenizer_utils.py:692)."""
    file = tokenizer_file(model)
    if isinstance(file, Known) and isinstance(file.value, NotTokenizer):
        document = model.document("tokenizer.json")  # such a file is rare: only then it is parsed once more
        if isinstance(document, Known) and not isinstance(document.value, Document):
            error = "UnicodeDecodeError" if "UTF-8" in document.value.message else "JSONDecodeError"
            return does_not_load(error, model.place("tokenizer.json"))
    return borrowed.tokenizer(model, _TRANSFORMERS)


def _template(model: Model) -> Answer[str | None]:
    """The tokenizer's, unless tokenizer_config.json or the model's class names a function of MLX-LM in its place (tokenizer_utils.py:724)."""
    named = model.mapping("tokenizer_config.json").get("chat_template_type")
    found = borrowed.template(model)
    model_type = model.mapping(_CONFIG).get("model_type")
    if named or (model_type in _DEFAULTS and found == Known(None, found.places)):
        return Known(None, (model.place("tokenizer_config.json", "/chat_template_type"),))
    return found
