"""How many tokens sglang takes, and in which type it computes.

Source: sglang 0.5.23, utils/hf_transformers/common.py:556-694, configs/model_config.py:1291-1329 and 2284-2345 (run). get_context_length is the same
from 0.4.6 on.
"""

from typing import Any, cast

from bot.analyze.model.config import FILE, whole
from bot.analyze.model.folder import Model
from bot.analyze.rules.sglang.releases import Release
from bot.analyze.rules.sglang.types import Read, reading
from bot.answer import Answer, Known, Unknown

_NONE_STATED = 2048
_CAPPED = "EmbeddingGemma2Model"
_ORIGINAL = "original_max_position_embeddings"
_NAMES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    **{name: name for name in ("bfloat16", "float16", "float32", "float64")},
}


def max_model_len(model: Model, release: Release) -> Answer[int]:
    """The length that the server takes where nobody gives another: the first key that the configuration has, times the factor of the rope settings."""
    read = reading(model, release.name)
    place = (model.place(FILE),)
    if isinstance(read, str):
        return Unknown(read, place)
    if not read.row.knows("context") or _architecture(model).startswith("Llava"):
        return Unknown("which length the class of the model type takes is not known", place)
    length = _length(model, read)
    if not isinstance(length, Known):
        return length
    factor = _factor(read) if length.value is not None else 1
    if factor is None:
        return Unknown("what the rope settings make of the length is not known", length.places)
    tokens = _NONE_STATED if length.value is None else int(factor * length.value)
    return Known(min(tokens, 8192) if _architecture(model) == _CAPPED else tokens, length.places)


def _length(model: Model, read: Read) -> Answer[int | None]:
    """The length without the factor; None where nothing gives one."""
    for key in read.row.keys:
        value = read.inner.get(key)
        if value is not None:
            size = whole(value)
            place = (read.place(model, key, inner=True),)
            return Known(size, place) if size is not None else Unknown(f"{key} is no number of tokens", place)
    above = [key for key in read.row.keys_top if read.top.get(key) is not None]
    if above:
        return Unknown(f"{above[0]} stands beside the language model's configuration", (read.place(model, above[0]),))
    place = (model.place(FILE, "/model_type"),)
    if any(key in read.inner for key in read.row.keys):
        return Unknown("config.json gives a length that is null", place)
    if not read.given and read.row.context_absent is not None:
        return Known(read.row.context_absent, place)
    return Known(read.row.context, place) if read.usual else Unknown("the length of the nested model type is not known", place)


def _factor(read: Read) -> float | None:
    """What the rope settings multiply the length with, None where that is not known. A filled rope_scaling comes before rope_parameters."""
    above = read.row.keys_top and not read.given and any(read.top.get(key) for key in ("rope_scaling", "rope_parameters"))
    if above:
        return None  # such a class may take the settings of the top level for the language model's
    key = next((key for key in ("rope_scaling", "rope_parameters") if read.inner.get(key)), "")
    settings: Any = read.inner.get(key)
    if not isinstance(settings, dict):
        return 1 if settings is None else None
    values = cast("dict[str, Any]", settings)
    factor, kind = values.get("factor", 1), values.get("rope_type", values.get("type", "default"))
    scaling = key == "rope_scaling"
    if factor == 1 or _ORIGINAL in values or values.get("rope_type") == "llama3" or (read.row.rope == "layers" and scaling):
        return 1
    number = isinstance(factor, int | float) and not isinstance(factor, bool)
    if not number or read.row.rope == "?" or read.inner.get(_ORIGINAL) is not None:
        return None
    if read.row.rope == "old":
        return factor if scaling else 1
    if kind == "llama3":
        return 1
    if kind == "yarn":
        return {"yarn": factor, "": 1}.get(read.row.rope)
    return factor if kind in ("linear", "dynamic") else None


def dtype(model: Model, release: Release) -> Answer[str]:
    """The type of the weights in memory: the one that is stated, half precision in place of float32 and of none."""
    read = reading(model, release.name)
    place = (model.place(FILE),)
    if isinstance(read, str):
        return Unknown(read, place)
    name = _architecture(model)
    if name.startswith("Llava") and name.endswith("ForCausalLM"):
        return Known("float16", (model.place(FILE, "/architectures"),))
    if not read.row.knows("dtype") or (len(read.row.path) > 1 and _named(cast("dict[str, Any]", read.top.get(read.row.path[0])))):
        return Unknown("which type the class of the model type takes is not known", place)
    inner = None if read.row.dtype_from == "top" or not read.nested else _named(read.inner)
    stated = inner or _named(read.top)
    null = any(key in values for values in (read.top, read.inner) for key in ("dtype", "torch_dtype"))
    if stated is None and null and read.row.dtype != read.row.half:
        return Unknown("what null makes of the type that the class prefers is not known", place)
    if stated is None and read.usual:
        return Known(read.row.dtype, place)
    kind = _NAMES.get(stated) if isinstance(stated, str) else "float32" if stated is None else None
    if kind is None:
        return Unknown("config.json states a type that is not known here", place)
    if kind != "float32":
        return Known(kind, place)
    gemma = [str(name).startswith("gemma") for name in (read.inner.get("model_type", read.row.inner), read.row.inner)]
    if read.nested and gemma[0] != gemma[1]:
        return Unknown("the nested model type is not the usual one", place)
    return Known(read.row.half, place)


def _named(values: Any) -> Any:
    """What an object says of the type; None for nothing."""
    held = cast("dict[str, Any]", values) if isinstance(values, dict) else {}
    first = held.get("dtype")
    return held.get("torch_dtype") if first is None else first


def _architecture(model: Model) -> str:
    names: Any = model.mapping(FILE).get("architectures")
    first = cast("list[Any]", names)[0] if isinstance(names, list) and names else ""
    return first if isinstance(first, str) else ""
