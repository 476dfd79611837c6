"""Which quantization vLLM finds in a folder.

Source: vllm 0.33.0, transformers_utils/config.py:946-986, transformers_utils/model_arch_config_convertor.py:241-292, config/model.py:1374-1473 and
the override_quantization_method of model_executor/layers/quantization (run, without an accelerator).
"""

from typing import Any, cast

from bot.analyze.engines import vllm_config
from bot.analyze.model.config import FILE
from bot.analyze.model.folder import Model
from bot.answer import Answer, Known, Unknown
from bot.place import Place

OTHER = "hf_quant_config.json"
# model_executor/layers/quantization/__init__.py:14-48; the two deprecated ones are refused.
_METHODS = {
    "awq",
    "auto_awq",
    "fp8",
    "modelopt",
    "modelopt_fp4",
    "modelopt_mxfp8",
    "modelopt_mixed",
    "auto_gptq",
    "gptq",
    "gptq_marlin",
    "awq_marlin",
    "humming",
    "compressed-tensors",
    "experts_int8",
    "quark",
    "moe_wna16",
    "torchao",
    "inc",
    "mxfp4",
    "gpt_oss_mxfp4",
    "deepseek_v4_fp8",
    "online",
    "fp8_per_tensor",
    "fp8_per_block",
    "fp8_per_channel",
    "int8_per_channel_weight_only",
    "nvfp4_per_token",
    "mxfp8",
}
_LEGACY = {
    "FP8": "modelopt",
    "FP8_PER_CHANNEL_PER_TOKEN": "modelopt",
    "FP8_PB_WO": "modelopt",
    "NVFP4": "modelopt_fp4",
    "MIXED_PRECISION": "modelopt_mixed",
}
_RENAMED = {"gptq": "auto_gptq", "awq": "auto_awq", "auto-round": "inc"}


def quantization(model: Model) -> Answer[str | None]:
    """The method, None for none; Unknown where the server refuses to start over it."""
    settings = vllm_config.top(model)
    if not isinstance(settings, Known):
        return settings
    found = _stated(model)
    if isinstance(found, Unknown):
        return found
    config, place = found
    if config is None:
        return Known(None, place)
    method = _method(config)
    if method is None:
        return Unknown("the server refuses the settings of the quantization", place)
    method = _overridden(config, method, settings.value.row.kind)
    if method and method not in _METHODS:
        return Unknown(f"the server refuses the quantization method {method}", place)
    return Known(method or None, place)


def _stated(model: Model) -> tuple[dict[str, Any] | None, tuple[Place, ...]] | Unknown:
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
        nested = values.get("text_config")
        inner = cast("dict[str, Any]", nested) if isinstance(nested, dict) else {}
        key = next((key for key in ("quantization_config", "compression_config") if inner.get(key) is not None), "")
        found, place = inner.get(key), (model.place(FILE, f"/text_config/{key}" if key else ""),)
    if found is not None and not isinstance(found, dict):
        return Unknown("the quantization settings are no object", place)
    return cast("dict[str, Any] | None", found), place


def _method(config: dict[str, Any]) -> str | None:
    """The method as the file names it, "" for none, None for settings that raise."""
    producer, own = config.get("producer", {}), config.get("quantization", {})
    if not isinstance(producer, dict):
        return None
    legacy = isinstance(own, dict) and "modelopt_quant_config" in own
    if cast("dict[str, Any]", producer).get("name") == "modelopt" or legacy:
        algo = cast("dict[str, Any]", own).get("quant_algo") if isinstance(own, dict) else None
        if algo is not None:
            return _LEGACY.get(str(algo).upper())
    method = config.get("quant_method", "")
    return method.lower().replace("compressed_tensors", "compressed-tensors") if isinstance(method, str) else None


def _overridden(config: dict[str, Any], method: str, kind: str) -> str:
    """The method that takes a checkpoint over."""
    if method in _RENAMED:
        return _RENAMED[method]
    if method.startswith("modelopt"):
        own = config.get("quantization", config)
        algo = str(cast("dict[str, Any]", own).get("quant_algo", "")).upper() if isinstance(own, dict) else ""
        named = {"FP8": "modelopt", "MIXED_PRECISION": "modelopt_mixed"}.get(algo)
        return named or ("modelopt_mxfp8" if "MXFP8" in algo else "modelopt_fp4" if "FP4" in algo else method)
    if method in ("mxfp4", "gpt_oss_mxfp4") and kind == "gpt_oss":
        return "gpt_oss_mxfp4"
    return "deepseek_v4_fp8" if method in ("fp8", "deepseek_v4_fp8") and kind.startswith("deepseek_v4") else method
