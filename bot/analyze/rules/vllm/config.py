"""What vLLM makes of config.json: which class reads it, where the language model's settings stand, which model class runs it.

Source: vllm 0.33.0 with transformers 5.19.0, transformers_utils/config.py:344-449 and 871-1009, config/model.py:1228-1290 (run); the classes
and architectures come from a table that tools/vllm_tables.py writes.
"""

from functools import cache
from typing import Any, cast

import msgspec

from bot.analyze import data
from bot.analyze.model.config import FILE
from bot.analyze.model.document import Document
from bot.analyze.model.folder import Model, fact
from bot.answer import Answer, Known, Missing, Unknown
from bot.place import Place

# What get_text_config of transformers looks for (configuration_utils.py:1366 in 5.19.0), and the name that vLLM maps onto text_config.
_NESTED = ("text_encoder", "decoder", "generator", "text_config", "llm_config")
# Composite classes that take the top level for the language model's settings where none are nested (each class of 5.19.0 was run).
_FLAT = {
    "ernie4_5_vl_moe",
    "fuyu",
    "glm4v",
    "glm4v_moe",
    "glm5_next",
    "glm_image",
    "glm_ocr",
    "hunyuan_vl",
    "isaac",
    "paddleocr_vl",
    "qwen2_5_vl",
    "qwen2_vl",
}
# The end of an architecture's name tells what it is for where the registry does not (config/model.py:2141-2158).
_POOLING = (
    "ForTextEncoding",
    "EmbeddingModel",
    "ForSequenceClassification",
    "ForTokenClassification",
    "ForAudioClassification",
    "ForImageClassification",
    "ForVideoClassification",
    "ClassificationModel",
    "ForRewardModeling",
    "RewardModel",
    "Model",
)
_GENERATE = ("ForCausalLM", "ForConditionalGeneration", "ChatModel", "LMHeadModel")
_POOLING_MODULES = (
    "sentence_transformers.models.Pooling",
    "sentence_transformers.sentence_transformer.modules.pooling.Pooling",
)


class Row(msgspec.Struct, frozen=True):
    """A configuration class: its model type, and what it has where config.json states nothing.

    `text` are the keys that lead to the language model's configuration and `inner` is the class of that, with "auto:" before it where the
    nested model_type decides and the class only stands in for none. `alias` maps names of lengths to the names they are kept under.
    """

    kind: str = ""
    text: tuple[str, ...] = ()
    inner: str = ""
    eos: Any = None
    lengths: dict[str, float] = {}
    alias: dict[str, str] = {}
    sampling: dict[str, float] = {}
    original: int | None = None
    positions: str = ""


class Table(msgspec.Struct, frozen=True):
    """What vLLM knows (see tools/vllm_tables.py): `architectures` maps a name to the letters g (generates), p (pools), m (takes more than text)."""

    transformers: str
    architectures: dict[str, str]
    processors: frozenset[str]
    types: dict[str, str]
    rows: dict[str, Row]


class Settings(msgspec.Struct, frozen=True):
    """A configuration as its class reads it: the keys that lead to it in config.json, what stands there, and what the class adds.

    `flat` is that of a language model whose settings stand at the top level of a composite one.
    """

    path: tuple[str, ...]
    values: dict[str, Any]
    row: Row
    flat: bool = False

    def place(self, model: Model, *keys: str) -> Place:
        """Where a value stands."""
        return model.place(FILE, "".join(f"/{key}" for key in (*self.path, *keys)))


@cache
def table() -> Table:
    """The table of 0.33.0."""
    return msgspec.json.decode(data.content("vllm-0.33.0.json"), type=Table)


def model_type(model: Model) -> str:
    """The model type that config.json states, "" for none."""
    kind = model.mapping(FILE).get("model_type")
    return kind if isinstance(kind, str) else ""


@fact
def top(model: Model) -> Answer[Settings]:
    """The whole config.json."""
    values = model.mapping(FILE)
    row = table().rows.get(table().types.get(model_type(model), ""))
    if row is None:
        return Unknown("the configuration class of the model type is not known", (model.place(FILE, "/model_type"),))
    return Known(Settings((), values, row))


@fact
def text(model: Model) -> Answer[Settings]:
    """The configuration of the language model."""
    whole = top(model)
    if not isinstance(whole, Known):
        return whole
    values, row = whole.value.values, whole.value.row
    if not row.text:
        nested = next((key for key in _NESTED if values.get(key) is not None), "")
        return Unknown(f"{nested} is not what the class reads", (model.place(FILE, f"/{nested}"),)) if nested else whole
    flat = row.kind in _FLAT and row.text[0] not in values
    for key in () if flat else row.text:
        inner: Any = values.get(key)
        if inner is not None and not isinstance(inner, dict):
            return Unknown(f"{key} is no object", (model.place(FILE),))
        values = cast("dict[str, Any]", inner or {})
    name = row.inner.removeprefix("auto:")
    if row.inner.startswith("auto:") and not flat and "model_type" in values:
        name = table().types.get(str(values["model_type"]), "")
    if name not in table().rows:
        return Unknown("the class of the nested configuration is not known", (model.place(FILE),))
    return Known(Settings(() if flat else row.text, values, table().rows[name], flat))


def architectures(model: Model) -> tuple[str, ...] | None:
    """The names in `architectures`, None where it is not a list of names."""
    names: Any = model.mapping(FILE).get("architectures")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in cast("list[Any]", names)):
        return None
    return tuple(cast("list[str]", names))


def letters(model: Model) -> str | None:
    """What the registry says of the first architecture that it has (see Table), None for none or where the class is not known."""
    found = next((name for name in architectures(model) or () if name in table().architectures), "")
    known = table().architectures.get(found, "?")
    return None if "?" in known else known


@fact
def pools(model: Model) -> Answer[bool]:
    """Whether the model runs as one that gives embeddings and no text (config/model.py:1228-1253)."""
    place = (model.place(FILE, "/architectures"),)
    module = _pooling_module(model)
    if module is None:
        return Unknown("modules.json could not be read", (model.place("modules.json"),))
    if module:
        return Known(value=True, places=(model.place("modules.json"),))
    names = architectures(model)
    if not names:
        return Unknown("config.json names no architecture", place)
    about = letters(model)
    for name in names:
        if name in table().architectures:
            if about is None:
                return Unknown(f"what {name} does is not known", place)
            if about.strip("m"):
                return Known("p" in about, place)
        suffix = next((end for end in (*_GENERATE, *_POOLING) if name.endswith(end)), "")
        if suffix:
            return Known(suffix in _POOLING, place)
    return Known(value=False, places=place)


def _pooling_module(model: Model) -> bool | None:
    """Whether modules.json of Sentence Transformers lists a pooling module, None where that cannot be read (transformers_utils/config.py:1012-1093)."""
    document = model.document("modules.json")
    if isinstance(document, Missing):
        return False
    value: Any = document.value.value if isinstance(document, Known) and isinstance(document.value, Document) else None
    rows = cast("list[Any]", value) if isinstance(value, list) else [None]
    types = [cast("dict[str, Any]", row).get("type") if isinstance(row, dict) else None for row in rows]
    return any(kind in _POOLING_MODULES for kind in types) if all(isinstance(kind, str) for kind in types) else None
