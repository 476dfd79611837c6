"""MLC-LLM's own engine: which tokenizer file it takes, on which ids it stops, and what its packager takes from a Hugging Face folder.

Source: mlc-ai/mlc-llm 79d603f (read): cpp/tokenizers/tokenizers.cc:143-195, python/mlc_llm/serve/engine_base.py:132-139 and :773-777,
python/mlc_llm/protocol/mlc_chat_config.py:24-57 and conversation_protocol.py:24-108, python/mlc_llm/interface/gen_config.py:151-216 and :293-300.
"""

from typing import Any, cast

from bot.analyze.engines.prediction import Prediction
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import CONFIG, Table, numbers, table_of
from bot.answer import Answer, Known, Unknown

ID = "mlc-llm"
NAME = "MLC-LLM"
VERSIONS = ("2026-07-23",)
ALIASES = {"79d603f": "2026-07-23"}
_SOURCE = "cpp/tokenizers/tokenizers.cc:143-195, python/mlc_llm/serve/engine_base.py:773-777 at mlc-ai/mlc-llm 79d603f"

_BYTE_LEVEL = ("merges.txt", "vocab.json", "added_tokens.json")
# What gen_config copies, in this order (gen_config.py:293-300); special_tokens_map.json and chat templates are left behind.
_COPIED = ("tokenizer.model", "tokenizer.json", "vocab.json", "merges.txt", "added_tokens.json", "tokenizer_config.json")
# Without one of them the configuration is refused (mlc_chat_config.py:24-57; the other keys have defaults).
_NEEDED = (
    "model_type", "quantization", "model_config", "vocab_size", "context_window_size", "sliding_window_size", "prefill_chunk_size",
    "attention_sink_size", "tensor_parallel_shards", "conv_template",
)  # fmt: skip
_NEEDED_OF_TEMPLATE = ("roles", "seps")


def applies(model: Model) -> bool:
    """Only a packaged model is run; a Hugging Face folder is packaged first, and then read no more."""
    return model.has(CONFIG)


def predict(model: Model, version: str) -> Prediction:
    """Predict the tokenizer file and `stops` of a packaged model, and for any other folder what the packager copies."""
    if not model.has(CONFIG):
        return Prediction(ID, version, {"gen_config.tokenizer_files": _copied(model)}, confidence="likely", source=_SOURCE)
    loads = _loads(model)
    fields: dict[str, Answer[Any]] = {"loads.config": loads, **_tokenizer(model)}
    fields["stops"] = _stops(model, loads)
    return Prediction(ID, version, fields, confidence="likely", source=_SOURCE)


def _copied(model: Model) -> Answer[Any]:
    """The list that gen_config writes into tokenizer_files: what is there, whatever it holds."""
    found = [name for name in _COPIED if model.has(name)]
    if "tokenizer.json" not in found and ("tokenizer.model" in found or any(name.endswith(".tiktoken") for name in model.files)):
        return Unknown("the packager tries to make a tokenizer.json of another file, and goes on without one where that fails")
    return Known(found)


def _file(model: Model) -> str:
    """The tokenizer that is found on disk, whatever tokenizer_files lists; "" for none."""
    return next((name for name in ("tokenizer.json", "tokenizer.model") if model.has(name)), "") or (
        "vocab.json"
        if all(model.has(name) for name in _BYTE_LEVEL)
        else "tokenizer_model"
        if model.has("tokenizer_model")
        else ""
    )


def _tokenizer(model: Model) -> dict[str, Answer[Any]]:
    file = _file(model)
    place = (model.place(file or "tokenizer.json"),)
    fields: dict[str, Answer[Any]] = {"tokenizer_file": Known(file or None, place)}
    if not file:
        return {**fields, "loads.tokenizer": Known(value=False, places=place)}
    found = _table(model)
    if isinstance(found, Known):
        return {**fields, "loads.tokenizer": Known(value=True, places=found.places)}
    return {**fields, "loads.tokenizer": Unknown(cast("Unknown", found).reason, place)}


def _table(model: Model) -> Answer[Table]:
    file = _file(model)
    if file in ("tokenizer.json", "tokenizer.model"):
        return table_of(model, file)
    return Unknown(f"the tokens of {file} are not modelled" if file else "there is no tokenizer file")


def _loads(model: Model) -> Answer[bool]:
    """Whether the settings are taken: a key that is needed is absent, or conv_template is only a name."""
    document = model.document(CONFIG)
    if isinstance(document, Unknown):
        return Unknown(f"{CONFIG} {document.reason}", document.places)
    settings = model.mapping(CONFIG)
    lacking = not model.readable(CONFIG) or any(key not in settings for key in _NEEDED)
    conv = settings.get("conv_template")
    template = cast("dict[str, Any]", conv) if isinstance(conv, dict) else {}
    lacking = lacking or any(key not in template for key in _NEEDED_OF_TEMPLATE)
    return Known(value=not lacking, places=(model.place(CONFIG),))


def _stops(model: Model, loads: Answer[bool]) -> Answer[Any]:
    """conv_template.stop_token_ids, none where the key is absent, and tokens whose text holds a stop string; no other file says anything."""
    if isinstance(loads, Unknown):
        return loads
    if loads == Known(value=False, places=loads.places) or not _file(model):
        return Known(None, loads.places)
    conv = cast("dict[str, Any]", model.mapping(CONFIG)["conv_template"])
    ids, strings = conv.get("stop_token_ids", []), conv.get("stop_str", [])
    place = (model.place(CONFIG, "/conv_template/stop_token_ids" if "stop_token_ids" in conv else "/conv_template"),)
    if not isinstance(ids, list) or not isinstance(strings, list):
        return Known(None, place)
    found = set(numbers(cast("list[Any]", ids)))
    wanted = [string for string in cast("list[Any]", strings) if isinstance(string, str)]
    if wanted:
        tokens = _table(model)
        if not isinstance(tokens, Known):
            return Unknown(f"which tokens contain a stop string cannot be told: {cast('Unknown', tokens).reason}", place)
        found |= {number for number, text in tokens.value.items() if any(string in text for string in wanted)}
    return Known(sorted(found), place)
