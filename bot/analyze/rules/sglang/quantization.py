"""Which quantization sglang finds in a folder.

Source: sglang 0.5.23, configs/model_config.py:1727-1897 and 2000-2149, layers/quantization/__init__.py:58-160 (run).
"""

from typing import Any, cast

from bot.analyze.model.config import FILE, holders
from bot.analyze.model.folder import Model
from bot.analyze.rules.sglang.releases import NEWEST, Release
from bot.analyze.rules.sglang.types import Read, reading
from bot.answer import Answer, Known, Missing, Unknown

SIDE = "hf_quant_config.json"
SLIM = "quant_model_description.json"
# The methods that it has on every kind of accelerator or on CUDA.
_METHODS = {
    "fp8",
    "mxfp8",
    "minimax_m3_nvfp4",
    "blockwise_int8",
    "modelopt",
    "modelopt_fp8",
    "modelopt_fp4",
    "nvfp4_online",
    "modelopt_mixed",
    "w8a8_int8",
    "w8a8_fp8",
    "awq",
    "awq_marlin",
    "bitsandbytes",
    "gguf",
    "gptq_marlin",
    "moe_wna16",
    "compressed-tensors",
    "w4afp8",
    "petit_nvfp4",
    "quark",
    "quark_mxfp4",
    "auto-round",
    "auto-round-int8",
    "modelslim",
    "quark_int4fp8_moe",
    "humming",
    "mxfp_w4a8",
    "mxfp4",
}
_EVERYWHERE = ("fp8", "compressed-tensors", "w8a8_fp8", "w8a8_int8")  # named so by every release that is predicted
_BY_DEVICE = ("gptq", "awq")  # they become gptq_marlin and awq_marlin where the device can
_KEYS = ("quantization_config", "compression_config")
_HALF_BYTE = ("NVFP4", "W4A16_NVFP4")


def quantization(model: Model, release: Release) -> Answer[str | None]:
    """The method, None for none and "" where sglang does not start because of it."""
    found = _of_newest(model, release)
    if release.name == NEWEST or not isinstance(found, Known) or found.value in (None, *_EVERYWHERE):
        return found
    return Unknown("it was read at 0.5.23 only", found.places)


def _of_newest(model: Model, release: Release) -> Answer[str | None]:
    if model.has(SLIM):
        slim = model.readable(SLIM)
        return Known("modelslim", (model.place(SLIM),)) if slim else Unknown(f"{SLIM} could not be read", (model.place(SLIM),))
    read = reading(model, release.name)
    if isinstance(read, str) and not _named_anywhere(model):
        return _beside(model)
    if isinstance(read, str):
        return Unknown(read, (model.place(FILE),))
    for key in _KEYS:
        found = _stated(model, read, key)
        if not isinstance(found, Missing):
            return _method(found.value, found) if isinstance(found, Known) else found
    return _beside(model)


def _named_anywhere(model: Model) -> bool:
    """Whether config.json has a key of a quantization, at whatever level."""
    return any(key in holder.values for holder in holders(model) for key in _KEYS)


def _stated(model: Model, read: Read, key: str) -> Answer[dict[str, Any]]:
    """An object of config.json: of the top level, or the language model's where the top level has no such key. Missing where it is absent or null."""
    row = read.row
    inner: Any = read.inner.get(key) if read.nested else None
    if inner is not None and not row.knows("quantization"):
        return Unknown(f"whether {key} of the nested configuration counts is not known", (read.place(model, key, inner=True),))
    nested = row.quantization_from == "nested" or (row.quantization_from == "" and key not in read.top)
    value = inner if inner is not None and nested else read.top.get(key)
    place = (read.place(model, key, inner=inner is not None and nested),)
    if value is None:
        return Missing(place)
    return Known(cast("dict[str, Any]", value), place) if isinstance(value, dict) else Unknown(f"{key} is no object", place)


def _method(values: dict[str, Any], found: Known[Any]) -> Answer[str | None]:
    stated: Any = values.get("quant_method", "")
    if "quant_method" not in values or stated == "modelopt":
        parsed = _modelopt(values)
        if isinstance(parsed, Unknown):
            return parsed
        stated = parsed or stated
    if not isinstance(stated, str):
        return Known("", found.places)
    name = stated.lower()
    if name in _BY_DEVICE:
        return Unknown(f"what becomes of {name} depends on the accelerator", found.places)
    return Known(name if name in _METHODS else "", found.places)


def _modelopt(values: dict[str, Any]) -> str | Unknown | None:
    """The method that ModelOpt's name of an algorithm stands for, None for one that sglang does not know (configs/model_config.py:1838-1897)."""
    held: Any = values.get("quantization", values)
    if not isinstance(held, dict) or not held:
        return None
    inner: Any = cast("dict[str, Any]", held).get("quantization")
    config = cast("dict[str, Any]", inner if isinstance(inner, dict) else held)
    algorithm: Any = config.get("quant_algo")
    if not algorithm:
        return None
    if not isinstance(algorithm, str):
        return Unknown("quant_algo is no text")
    if algorithm == "MIXED_PRECISION":
        layers: Any = config.get("quantized_layers") or {}
        rows = cast("dict[str, Any]", layers).values() if isinstance(layers, dict) else ()
        kinds = [str(cast("dict[str, Any]", row).get("quant_algo", "")).upper() for row in rows if isinstance(row, dict)]
        return "modelopt_mixed" if any(kind in _HALF_BYTE for kind in kinds) else "w4afp8"
    if "FP4" in algorithm:
        return "modelopt_fp4"
    return {"FP8": "modelopt_fp8", "MXFP8": "mxfp8"}.get(algorithm)


def _beside(model: Model) -> Answer[str | None]:
    """The method of hf_quant_config.json, which counts where config.json states none."""
    place = (model.place(SIDE),)
    if not model.has(SIDE):
        return Known(None, (model.place(FILE),))
    if not model.readable(SIDE):
        return Unknown(f"{SIDE} could not be read", place)
    parsed = _modelopt(model.mapping(SIDE))
    return parsed if isinstance(parsed, Unknown) else Known(parsed, place)
