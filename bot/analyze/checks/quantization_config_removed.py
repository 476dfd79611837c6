"""The quantization is stated no more while the weights are still packed."""

from collections.abc import Iterator
from typing import cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.quantization import pointer, quantizations, summary
from bot.analyze.wording import value

CHECK = Check(
    title="quantization_config is gone while the tensors are still packed",
    says="takes away the quantization settings that the weights need",
    sees="a filled quantization_config in base and none at any level in head, with tensors of a quantized checkpoint in the index "
    "or weight files that did not change",
    why="The checkpoint is loaded as if it were not quantized: packed tensors do not fit the layers.",
    fix="Put `quantization_config` back, or replace the weights by unquantized ones.",
    wrong_when="the weights changed as well and the index names no packed tensor, or the quantization moved to another level or to hf_quant_config.json",
    severity="error",
)

# Endings of tensor names that only quantized checkpoints have (compressed-tensors, GPTQ, AWQ, bitsandbytes, fp8, MXFP4).
_PACKED = (
    ".weight_packed",
    ".weight_scale",
    ".weight_scale_inv",
    ".qweight",
    ".qzeros",
    ".scales",
    ".g_idx",
    ".absmax",
    "_blocks",
    "_scales",
    ".SCB",
)
_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth")


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare the configurations, then look for packed tensors."""
    gone = quantizations(base)
    if not gone or quantizations(head) or head.has("hf_quant_config.json") or not head.readable("config.json"):
        return
    tensor = next((tensor for tensor in _tensors(head) if tensor.endswith(_PACKED)), None)
    same = [n for n, f in head.files.items() if n.endswith(_WEIGHTS) and f.oid and n in base.files and base.files[n].oid == f.oid]
    if tensor is None and not same:
        return
    left = f"the index still names {value(tensor)}" if tensor else f"{value(same[0])} did not change"
    for path, quantization in gone.items():
        yield Seen(
            key=path,
            title=f"{value(path)} ({value(summary(quantization))}) is gone, and {left}",
            places=(head.place("config.json"), base.place("config.json", pointer(path))),
            confidence="certain" if tensor else "likely",
        )


def _tensors(model: Model) -> Iterator[str]:
    for name in model.files:
        if name.endswith(".index.json"):
            weights = model.mapping(name).get("weight_map")
            yield from cast("dict[str, str]", weights) if isinstance(weights, dict) else ()
