"""WebLLM: what a chat in the browser stops on.

Source: npm @mlc-ai/web-llm 0.2.86, lib/index.js:10707 and :12539 (run): only conv_template of
mlc-chat-config.json, with conv_config laid over it; no Hugging Face file is read. A token of the loaded tokenizer file whose text contains a stop string ends too.
"""

from typing import Any

from bot.analyze.engines.prediction import Prediction
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import CONFIG, asked, config, conversation, conversation_place, stop_ids, stop_strings, table
from bot.answer import Answer, Known, Unknown

ID = "webllm"
NAME = "WebLLM"
VERSIONS = ("0.2.86",)


def applies(model: Model) -> bool:
    """Only a folder with mlc-chat-config.json is WebLLM's."""
    return model.has(CONFIG)


def predict(model: Model, version: str) -> Prediction:
    """Predict `stops`."""
    return Prediction(ID, version, {"stops": _stops(model)})


def _stops(model: Model) -> Answer[Any]:
    document = model.document(CONFIG)
    if isinstance(document, Unknown):
        return Unknown(f"{CONFIG} {document.reason}", document.places)
    if not config(model):
        return Unknown(f"{CONFIG} does not hold the configuration of a model", document.places)
    if not model.has(asked(model)) or config(model).get("tokenizer_info", {}) is None:
        return Known(None, (model.place(CONFIG, "/tokenizer_files"),))  # it does not load
    place = (conversation_place(model, "stop_token_ids"),)
    conv = conversation(model)
    if not isinstance(conv.get("stop_token_ids"), list) or not isinstance(conv.get("stop_str"), list):
        return Known(None, place)  # the first token raises; a template that is only named has neither
    ids = set(stop_ids(model) or ())
    wanted = stop_strings(model)
    if wanted:
        tokens = table(model)
        if isinstance(tokens, Unknown):
            return Unknown(f"which tokens contain a stop string cannot be told: {tokens.reason}", place)
        if isinstance(tokens, Known):
            ids |= {number for number, text in tokens.value.items() if any(string in text for string in wanted)}
    return Known(sorted(ids), place)
