"""Text Generation Inference: which chat template its router takes, and on which ids it stops.

Source: huggingface/text-generation-inference db931fc (3.3.7), router/src/server.rs:1662-1689, router/src/infer/mod.rs:71-78, router/src/lib.rs:119-204,
server/text_generation_server/models/flash_causal_lm.py:1239-1247 and utils/tokens.py:200 (read). The tokenizer is that of transformers 4.51.3
(server/requirements_cuda.txt:354): what the modelled versions before and after it agree on.
"""

import hashlib
from typing import Any

import msgspec

from bot.analyze.engines.prediction import Prediction
from bot.analyze.model import eos
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import needs_remote_code
from bot.analyze.rules import borrowed
from bot.analyze.rules.from_transformers import generation_config_refused
from bot.answer import Answer, Known, Unknown

ID = "tgi"
NAME = "TGI"
VERSIONS = ("3.3.7",)
ALIASES = {"emulation-minijinja-2.9.0": "3.3.7"}
_SOURCE = "router/src/server.rs:1662-1689, flash_causal_lm.py:1239-1247 at huggingface/text-generation-inference db931fc"

_TRANSFORMERS = ("4.46.3", "4.57.6")  # the modelled versions around 4.51.3


class _Named(msgspec.Struct):
    name: str
    template: str


class _Token(msgspec.Struct):
    content: str


_Templates = str | list[_Named]


class _TokenizerConfig(msgspec.Struct):
    """What the router declares of tokenizer_config.json: one value of another type, and the file counts for nothing (router/src/lib.rs:137-151)."""

    chat_template: _Templates | None = None
    completion_template: str | None = None
    bos_token: str | _Token | None = None
    eos_token: str | _Token | None = None
    tokenizer_class: str | None = None
    add_bos_token: bool | None = None
    add_eos_token: bool | None = None


class _Standalone(msgspec.Struct):
    """chat_template.json."""

    chat_template: _Templates


class _Processor(msgspec.Struct):
    """processor_config.json, which counts for nothing without image_seq_len (router/src/lib.rs:195)."""

    image_seq_len: int
    chat_template: _Templates | None = None
    processor_class: str | None = None


# In the order in which they win.
_FILES: tuple[tuple[str, type[msgspec.Struct]], ...] = (
    ("chat_template.json", _Standalone),
    ("tokenizer_config.json", _TokenizerConfig),
    ("processor_config.json", _Processor),
)


def applies(model: Model) -> bool:
    """It serves whatever has a configuration."""
    return model.has("config.json")


def predict(model: Model, version: str) -> Prediction:
    """Predict the template, `loads.tokenizer` and `stops`; the operator who trusts the repository's code gets the tokenizer of that code."""
    fields, trusted = _fields(model, borrowed.tokenizer(model, _TRANSFORMERS)), {}
    if needs_remote_code(model):
        trusted = _fields(model, borrowed.of_remote_code(model))
    differs = {key: answer for key, answer in trusted.items() if answer != fields.get(key)}
    return Prediction(ID, version, fields, differs, confidence="likely", source=_SOURCE)


def _fields(model: Model, tokenizer: borrowed.Fields) -> dict[str, Answer[Any]]:
    told = {key: tokenizer[key] for key in (borrowed.LOADS, borrowed.ERROR) if key in tokenizer}
    return {**told, **_template(model), "stops": _stops(model, tokenizer)}


def _template(model: Model) -> dict[str, Answer[Any]]:
    """The first file that states a template; of a list the entry `default` alone. chat_template.jinja is not read."""
    for name, kind in _FILES:
        stated = _stated(model, name, kind)
        if isinstance(stated, Unknown):
            return dict.fromkeys(("template.file", "template.sha256"), stated)
        if stated is None:
            continue
        place = (model.place(name, "/chat_template"),)
        text = stated if isinstance(stated, str) else next((row.template for row in stated if row.name == "default"), None)
        sha256 = None if text is None else hashlib.sha256(text.encode()).hexdigest()
        return {"template.file": Known(name, place), "template.sha256": Known(sha256, place)}
    nothing = Known(None, (model.place("tokenizer_config.json"),))
    return {"template.file": nothing, "template.sha256": nothing}


def _stated(model: Model, name: str, kind: type[msgspec.Struct]) -> _Templates | Unknown | None:
    """The template of a file, None where it has none or is refused as a whole."""
    if not model.has(name):
        return None
    content = model.content(name)
    if not isinstance(content, Known):
        return Unknown(f"{name} {getattr(content, 'reason', 'is not there')}", content.places)
    try:
        return getattr(msgspec.json.decode(content.value.decode("utf-8"), type=kind), "chat_template", None)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _stops(model: Model, tokenizer: borrowed.Fields) -> Answer[Any]:
    """A list in generation_config.json replaces the tokenizer's EOS; a single number there is not looked at, nor a file that is refused."""
    loads = tokenizer[borrowed.LOADS]
    if not isinstance(loads, Known) or not loads.value:
        return Known(None, loads.places) if isinstance(loads, Known) else loads
    document = model.document("generation_config.json")
    if isinstance(document, Unknown):
        return Unknown(f"generation_config.json {document.reason}", document.places)
    content = model.mapping("generation_config.json")
    refused = bool(content) and generation_config_refused(content, five=False) is not None
    if isinstance(content.get("eos_token_id"), list) and not refused:
        stated = eos.stated(model, "generation_config.json")
        return Known(sorted(set(stated.value)), stated.places) if isinstance(stated, Known) else stated
    return borrowed.stops(tokenizer, borrowed.eos(tokenizer))
