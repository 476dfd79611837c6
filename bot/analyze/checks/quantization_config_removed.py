"""The quantization is stated no more while the weights are still packed."""

import re
from collections.abc import Iterator
from typing import Any

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.quantization import pointer, quantizations, summary
from bot.analyze.model.weights import shards, tensors
from bot.analyze.wording import value

CHECK = Check(
    title="quantization_config is gone while the tensors are still packed",
    says="takes away the quantization settings that the weights need",
    sees="a filled quantization_config in base and none at any level in head, with tensors of a quantized checkpoint in the index "
    "or weight files that did not change",
    why="The checkpoint is loaded as if it were not quantized: packed tensors do not fit the layers.",
    fix="Put `quantization_config` back, or replace the weights by unquantized ones.",
    wrong_when="the weights changed as well and the index names no packed tensor, bitsandbytes settings were left from training and the index names plain tensors only, or the quantization moved to another level or to hf_quant_config.json",
    severity="error",
    weighed="An error: certain where the index still names packed tensors, likely where only the weights are the same; silent on every real pair.",
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
    ".quant_state.bitsandbytes__nf4",
    ".quant_state.bitsandbytes__fp4",
)
_WEIGHTS = re.compile(r".+\.safetensors|(pytorch_)?model.*\.(bin|pt|pth)|consolidated.*\.pth?")


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare the configurations, then look for packed tensors."""
    gone = quantizations(base)
    if not gone or quantizations(head) or head.has("hf_quant_config.json") or not head.readable("config.json"):
        return
    tensor = next((tensor for tensor in tensors(head) if tensor.endswith(_PACKED)), None)
    same = _same_weights(base, head)
    if tensor is None and (not same or (any(tensors(head)) and all(map(_bitsandbytes, gone.values())))):
        return
    left = f"the index still names {value(tensor)}" if tensor else f"{value(same)} {_how(head, same)}"
    for path, quantization in gone.items():
        yield Seen(
            key=path,
            title=f"{value(path)} ({value(summary(quantization))}) is gone, and {left}",
            places=(head.place("config.json"), base.place("config.json", pointer(path))),
            confidence="certain" if tensor else "likely",
        )


def _bitsandbytes(quantization: dict[str, Any]) -> bool:
    """Whether packed tensors would have names of their own, absmax or SCB, so that an index without them is one of plain tensors.

    transformers 5.24.0, quantizers/auto.py:164 and the names in quantizer_bnb_4bit.py:165 and quantizer_bnb_8bit.py:159.
    """
    flags = (quantization.get("load_in_4bit"), quantization.get("load_in_8bit"))
    return quantization.get("quant_method") == "bitsandbytes" or True in flags


def _same_weights(base: Model, head: Model) -> str:
    """The first weight file, when all that the model loads are the same as before; else "".

    Those are the files that the index names, or without an index all that carry a name of weights.
    """
    named = set(shards(head))
    names = sorted(name for name in head.files if (name in named if named else _WEIGHTS.fullmatch(name)))
    same = all(name in base.files and base.files[name].oid == head.files[name].oid != "" for name in names)
    return names[0] if names and same and len(names) >= len(named) else ""


def _how(head: Model, name: str) -> str:
    """In a plain folder large files are told apart by their size only."""
    return "has the same size" if head.files[name].oid.startswith("size:") else "did not change"
