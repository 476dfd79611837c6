"""WebLLM: what a chat in the browser stops on.

Source: npm @mlc-ai/web-llm 0.2.86, lib/index.js:10707 and :12539 (run): only conv_template of
mlc-chat-config.json, with conv_config laid over it; no Hugging Face file is read. A token whose text contains a stop string ends too.
"""

from typing import Any, cast

from bot.analyze.engines.prediction import Prediction
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import tokens
from bot.answer import Answer, Known, Unknown

ID = "webllm"
NAME = "WebLLM"
VERSIONS = ("0.2.86",)
CONFIG = "mlc-chat-config.json"


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
    config = model.mapping(CONFIG)
    template = config.get("conv_template")
    if not isinstance(template, dict):
        # The shape of 2023: the template's name, whose ids stand in the packager and not in the repository.
        return Unknown(f"{CONFIG} names a conversation template instead of holding one", (model.place(CONFIG, "/conv_template"),))
    over = config.get("conv_config")
    merged = {**cast("dict[str, Any]", template), **(cast("dict[str, Any]", over) if isinstance(over, dict) else {})}
    ids, strings = merged.get("stop_token_ids"), merged.get("stop_str")
    place = (model.place(CONFIG, "/conv_template/stop_token_ids"),)
    if not isinstance(ids, list) or not isinstance(strings, list):
        return Known(None, place)  # the first token raises
    numbers = {i for i in cast("list[Any]", ids) if isinstance(i, int)}
    wanted = [text for text in cast("list[Any]", strings) if isinstance(text, str) and text]
    table = tokens(model)
    if wanted and isinstance(table, Known):
        numbers |= {i for i, text in table.value.texts.items() if any(s in text for s in wanted)}
    return Known(sorted(numbers), place)
