"""transformers.js: which template it takes, whether its tokenizer loads, on which ids generate() stops.

Source: npm @huggingface/transformers 4.3.2, src/tokenization_utils.js:174-306 and :662-698, src/models/modeling_utils.js:566-617 (read), and
@huggingface/tokenizers 0.2.0, dist/tokenizers.mjs (run). It reads tokenizer.json, tokenizer_config.json, config.json and generation_config.json only.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from bot.analyze.engines.prediction import Prediction
from bot.analyze.model.folder import Model
from bot.analyze.model.tokenizer_file import NotTokenizer
from bot.analyze.model.tokenizer_parts import Pipeline, steps
from bot.analyze.model.tokens import ROLES, refusal, tokenizer_file
from bot.analyze.rules.javascript import Failed, Parsed, ids, json_file
from bot.answer import Answer, Known, Missing, Unknown

ID = "transformers.js"
NAME = "transformers.js"
VERSIONS = ("4.3.2",)
ALIASES = {"jinja-0.5.11": "4.3.2"}
_SOURCE = "src/tokenization_utils.js:174-306, src/models/modeling_utils.js:566-617 of @huggingface/transformers 4.3.2"
_CONFIG = "tokenizer_config.json"

# dist/tokenizers.mjs:1030-1062, 1401-1433, 2508-2523 and 2836-2858: any other type raises.
_KNOWN_TYPES = {
    "normalizer": "BertNormalizer Precompiled Replace NFC NFD NFKC NFKD Strip StripAccents Lowercase Prepend",
    "pre_tokenizer": "BertPreTokenizer Whitespace WhitespaceSplit Metaspace ByteLevel Split Punctuation Digits Replace FixedLength",
    "post_processor": "TemplateProcessing ByteLevel BertProcessing RobertaProcessing",
    "decoder": "ByteLevel WordPiece Metaspace BPEDecoder CTC Replace Fuse Strip ByteFallback",
}


def applies(model: Model) -> bool:
    """Only a folder with a model in ONNX, or with settings for it, is loaded in JavaScript."""
    return "transformers.js_config" in model.mapping("config.json") or any(name.endswith(".onnx") for name in model.files)


def predict(model: Model, version: str) -> Prediction:
    """Predict the template, `loads.tokenizer` and `stops`."""
    fields = {**_template(model), **_loads(model), "stops": _stops(model)}
    return Prediction(ID, version, fields, confidence="likely", source=_SOURCE)


def _template(model: Model) -> dict[str, Answer[Any]]:
    """chat_template of tokenizer_config.json, and no file beside it; the processors of Gemma 3 and 4 take chat_template.jinja by themselves."""
    read = json_file(model, _CONFIG)
    if isinstance(read, Unknown):
        return dict.fromkeys(("template.file", "template.sha256"), read)
    content: Any = read.value if isinstance(read, Parsed) else None
    value: Any = cast("dict[str, Any]", content).get("chat_template") if isinstance(content, dict) else None
    place = (model.place(_CONFIG, "/chat_template" if value is not None else ""),)
    named = _named(value)
    text = value if isinstance(value, str) else named.get("default")
    fields: dict[str, Answer[Any]] = {
        "template.file": Known(None if value is None else _CONFIG, place),
        "template.sha256": Known(_sha256(text), place),
    }
    if named:
        fields["template.named"] = Known({name: _sha256(each) for name, each in named.items()}, place)
    return fields


def _named(value: Any) -> dict[str, str]:
    """The templates of a list of {name, template}, or of an object, which is used as it stands."""
    if isinstance(value, list):
        rows = [cast("dict[str, Any]", row) for row in cast("list[Any]", value) if isinstance(row, dict)]
        value = {row.get("name"): row.get("template") for row in rows if isinstance(row.get("name"), str)}
    found = cast("dict[str, Any]", value).items() if isinstance(value, dict) else ()
    return {name: text for name, text in found if isinstance(text, str)}


def _sha256(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _loads(model: Model) -> dict[str, Answer[Any]]:
    """Whether AutoTokenizer makes a tokenizer of the two files, and what it throws."""
    read = json_file(model, _CONFIG)
    if isinstance(read, Unknown):
        return {"loads.tokenizer": read}
    if isinstance(read, Missing):  # then no file is asked for at all, and there is nothing to build one from
        return _throws("TypeError", read)
    if not model.has("tokenizer.json"):
        return _throws("Error", Missing((model.place("tokenizer.json"),)))
    if isinstance(read, Failed):
        return _throws("SyntaxError", Known(None, (model.place(_CONFIG),)))
    if not isinstance(read.value, dict):
        return {"loads.tokenizer": Unknown("tokenizer_config.json holds no object", (model.place(_CONFIG),))}
    settings = cast("dict[str, Any]", read.value)
    for name in ROLES:
        if _refused(settings.get(name)):
            return _throws("Error", Known(None, (model.place(_CONFIG, f"/{name}"),)))
    templates: Any = settings.get("chat_template")
    if isinstance(templates, list) and len(_named(templates)) < len(cast("list[Any]", templates)):
        return _throws("Error", Known(None, (model.place(_CONFIG, "/chat_template"),)))
    return _tokenizer(model)


def _refused(value: Any) -> bool:
    """Whether a token is an object that does not say that it is one ("Unknown token: [object Object]"), or a list."""
    return isinstance(value, list) or (isinstance(value, dict) and cast("dict[str, Any]", value).get("__type") != "AddedToken")


def _throws(error: str, because: Answer[Any]) -> dict[str, Answer[Any]]:
    return {"loads.tokenizer": Known(value=False, places=because.places), "errors.tokenizer.type": Known(error, because.places)}


def _tokenizer(model: Model) -> dict[str, Answer[Any]]:
    file = tokenizer_file(model)
    if isinstance(file, Unknown):
        return {"loads.tokenizer": file}
    if not isinstance(file, Known) or isinstance(file.value, NotTokenizer) or refusal(model):
        if isinstance(json_file(model, "tokenizer.json"), Failed):
            return _throws("SyntaxError", file)
        return {
            "loads.tokenizer": Unknown("the tokenizers library refuses tokenizer.json, which JavaScript may take", file.places)
        }
    parts = file.value.parts
    for name, component in _unknown(parts):
        place = model.place("tokenizer.json", f"/{name}")
        return _throws("Error", Known(component, (place,)))
    content = model.content("tokenizer.json")
    if isinstance(content, Known) and (lacking := _lacking(content.value, parts)):
        return _throws("Error", Known(lacking, file.places))
    if not file.value.added:
        why = "tokenizer.json may lack the list of added tokens, without which JavaScript does not load it"
        return {"loads.tokenizer": Unknown(why, file.places)}
    return {"loads.tokenizer": Known(value=True, places=file.places)}


def _unknown(parts: Pipeline) -> Iterator[tuple[str, str]]:
    """The parts of a type that is not known there, with the type."""
    for name, known in _KNOWN_TYPES.items():
        for step in steps(getattr(parts, name)):
            if step.get("type") not in known.split():
                yield name, str(step.get("type"))


def _lacking(content: bytes, parts: Pipeline) -> str:
    """The key that is absent, "" for none: it has to be there, be it null (dist/tokenizers.mjs:2865)."""
    absent = [name for name in _KNOWN_TYPES if getattr(parts, name) is None]
    return next((name for name in absent if not re.search(rb'"%s"\s*:\s*null' % name.encode(), content)), "")


def _stops(model: Model) -> Answer[Any]:
    """generation_config.json lies over config.json, in which decoder, generator and text_config lie over the top level; the tokenizer's EOS counts nowhere.

    A key that is null in generation_config.json takes the EOS away.
    """
    read = {name: json_file(model, name) for name in ("config.json", "generation_config.json")}
    for name, answer in read.items():
        if isinstance(answer, Unknown):
            return answer
        if isinstance(answer, Failed) or (name == "config.json" and isinstance(answer, Missing)):
            return Known(None, (model.place(name),))  # the model does not load
    config, generation = (_mapping(answer) for answer in read.values())
    place = model.place("config.json")
    eos = config.get("eos_token_id")
    for part in ("decoder", "generator", "text_config"):
        inner = config.get(part)
        if isinstance(inner, dict):
            config = {**config, **cast("dict[str, Any]", inner)}
            if "eos_token_id" in inner:
                eos, place = cast("dict[str, Any]", inner)["eos_token_id"], model.place("config.json", f"/{part}/eos_token_id")
    if "eos_token_id" in generation:
        eos, place = generation["eos_token_id"], model.place("generation_config.json", "/eos_token_id")
    found = ids(eos)
    return Unknown("eos_token_id is neither a number nor a text of digits", (place,)) if found is None else Known(found, (place,))


def _mapping(read: object) -> Mapping[str, Any]:
    value: Any = read.value if isinstance(read, Parsed) else None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
