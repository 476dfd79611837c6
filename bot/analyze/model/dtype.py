"""The type in which config.json says that the weights are stored."""

from typing import Any

from bot.analyze.model.config import text_holders
from bot.analyze.model.folder import Model
from bot.place import Place

# `dtype` wins where both stand (run with transformers 4.57.6, 5.24.0, vLLM 0.33.0 and sglang 0.5.23; configuration_utils.py:440 in 5.24.0).
KEYS = ("dtype", "torch_dtype")


def named(value: Any) -> str:
    """The name of a type, "" for what is none."""
    return value.removeprefix("torch.") if isinstance(value, str) else ""


def stated(model: Model) -> tuple[str, Place] | None:
    """The type that counts: of the top level, else of the language model's configuration."""
    for holder in text_holders(model):
        for key in KEYS:
            name = named(holder.values.get(key))
            if name:
                return name, holder.place(model, key)
    return None
