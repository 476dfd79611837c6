"""Which quantization vLLM finds in a folder.

Source: vllm 0.33.0, transformers_utils/config.py:946-986, transformers_utils/model_arch_config_convertor.py:241-292, config/model.py:1374-1473 and
the override_quantization_method of model_executor/layers/quantization (run, without an accelerator). Older releases (read): 0.8.5 config.py:745-800,
0.10.2 config/__init__.py:1095-1160, 0.15.0 transformers_utils/model_arch_config_convertor.py:138-180, 0.23.0 config/model.py:996, 0.28.0 config/model.py:1199.
"""

from typing import Any, cast

from bot.analyze.model.config import FILE
from bot.analyze.model.folder import Model
from bot.analyze.rules.vllm import config as vllm_config
from bot.analyze.rules.vllm.release import Release
from bot.answer import Answer, Known, Unknown
from bot.place import Place

OTHER = "hf_quant_config.json"
_LEGACY = {
    "FP8": "modelopt",
    "FP8_PER_CHANNEL_PER_TOKEN": "modelopt",
    "FP8_PB_WO": "modelopt",
    "NVFP4": "modelopt_fp4",
    "MIXED_PRECISION": "modelopt_mixed",
}
_RENAMED = {"gptq": "auto_gptq", "awq": "auto_awq", "auto-round": "inc"}
# Methods that older releases turn into that of a kernel where the device has it, and the release since when one name stands for all.
_BY_DEVICE = {"gptq": "0.23.0", "awq": "0.24.0", "auto-round": "0.15.0"}


def quantization(model: Model, release: Release) -> Answer[str | None]:
    """The method, None for none; Unknown where the server refuses to start over it."""
    settings = vllm_config.top(model)
    if not isinstance(settings, Known):
        return settings
    found = _stated(model, nested=release.since("0.10.2"))
    if isinstance(found, Unknown):
        return found
    config, place = found
    if config is None:
        return Known(None, place)
    method = _method(config, legacy=release.since("0.26.0"))
    if method is None or (method == "" and not release.since("0.11.0")):
        return Unknown("the server refuses the settings of the quantization", place)
    if not release.was_run and method in _BY_DEVICE and not release.since(_BY_DEVICE[method]):
        return Unknown(f"how {method} is run depends on the device before {_BY_DEVICE[method]}", place)
    if not release.was_run and method.startswith("modelopt"):
        return Unknown("which algorithms of ModelOpt are known was only read at 0.33.0", place)
    method = _overridden(config, method, settings.value.row.kind, release)
    if method and method not in release.names.methods:
        return Unknown(f"the server refuses the quantization method {method}", place)
    return Known(method or None, place)


def _stated(model: Model, *, nested: bool) -> tuple[dict[str, Any] | None, tuple[Place, ...]] | Unknown:
    """The settings that count: of the top level, of a file of their own, then of the language model."""
    values = model.mapping(FILE)
    found: Any = values.get("quantization_config")
    place = (model.place(FILE, "/quantization_config"),)
    if found is None and model.has(OTHER):
        place = (model.place(OTHER),)
        if not model.readable(OTHER):
            return Unknown(f"{OTHER} could not be read", place)
        found = model.mapping(OTHER)
    if found is None:
        found, place = values.get("compression_config"), (model.place(FILE, "/compression_config"),)
    if found is None:
        text = values.get("text_config") if nested else None
        inner = cast("dict[str, Any]", text) if isinstance(text, dict) else {}
        key = next((key for key in ("quantization_config", "compression_config") if inner.get(key) is not None), "")
        found, place = inner.get(key), (model.place(FILE, f"/text_config/{key}" if key else ""),)
    if found is not None and not isinstance(found, dict):
        return Unknown("the quantization settings are no object", place)
    return cast("dict[str, Any] | None", found), place


def _method(config: dict[str, Any], *, legacy: bool) -> str | None:
    """The method as the file names it, "" for none, None for settings that raise."""
    producer, own = config.get("producer", {}), config.get("quantization", {})
    if not isinstance(producer, dict):
        return None
    old = legacy and isinstance(own, dict) and "modelopt_quant_config" in own
    if cast("dict[str, Any]", producer).get("name") == "modelopt" or old:
        algo = cast("dict[str, Any]", own).get("quant_algo") if isinstance(own, dict) else None
        if algo is not None:
            return _LEGACY.get(str(algo).upper())
    method = config.get("quant_method", "")
    return method.lower().replace("compressed_tensors", "compressed-tensors") if isinstance(method, str) else None


def _overridden(config: dict[str, Any], method: str, kind: str, release: Release) -> str:
    """The method that takes a checkpoint over."""
    if method in _RENAMED:
        return _RENAMED[method]
    if method.startswith("modelopt"):
        own = config.get("quantization", config)
        algo = str(cast("dict[str, Any]", own).get("quant_algo", "")).upper() if isinstance(own, dict) else ""
        named = {"FP8": "modelopt", "MIXED_PRECISION": "modelopt_mixed"}.get(algo)
        return named or ("modelopt_mxfp8" if "MXFP8" in algo else "modelopt_fp4" if "FP4" in algo else method)
    if not release.since("0.20.0"):  # the two names below came with it (model_executor/layers/quantization/__init__.py)
        return method
    if method in ("mxfp4", "gpt_oss_mxfp4") and kind == "gpt_oss":
        return "gpt_oss_mxfp4"
    return "deepseek_v4_fp8" if method in ("fp8", "deepseek_v4_fp8") and kind.startswith("deepseek_v4") else method
