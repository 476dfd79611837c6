"""How config.json scales rotary positions: every set of rope settings, wherever it stands and whichever key holds it."""

from typing import Any, cast

import msgspec

from bot.analyze.model.config import Holder, holders
from bot.analyze.model.folder import Model, fact
from bot.place import Place

# rope_scaling is read by every version; rope_parameters by transformers 5 only, where a filled rope_scaling wins (modeling_rope_utils.py:777 in 5.24.0).
KEYS = ("rope_scaling", "rope_parameters")


class Rope(msgspec.Struct, frozen=True):
    """One set of rope settings: the object that holds it, the keys that lead to it from there, its values (None for what is no object)."""

    holder: Holder
    keys: tuple[str, ...]
    values: dict[str, Any] | None

    @property
    def name(self) -> str:
        """The dotted path."""
        return self.holder.dotted(".".join(self.keys))

    @property
    def kind(self) -> str:
        """The type of scaling: rope_type, or for lack of that key the older `type` (modeling_rope_utils.py:891 in 5.24.0)."""
        values = self.values or {}
        kind = values.get("rope_type", values.get("type", "default"))
        return kind if isinstance(kind, str) else ""

    def place(self, model: Model, *keys: str) -> Place:
        """Where it stands, or a value in it."""
        return self.holder.place(model, *self.keys, *keys)


@fact
def ropes(model: Model) -> tuple[Rope, ...]:
    """The rope settings that count in each object of config.json, split by layer type where they are given so."""
    found: list[Rope] = []
    for holder in holders(model):
        key = next((key for key in KEYS if holder.values.get(key)), "")
        if not key:
            continue
        settings: Any = holder.values[key]
        if not isinstance(settings, dict):
            found.append(Rope(holder, (key,), None))
            continue
        values = cast("dict[str, Any]", settings)
        # Gemma 3 and newer give one set for each type of layer; null stands for layers without rotary positions.
        layers = {name: inner for name, inner in values.items() if isinstance(inner, dict)}
        if layers:
            found += [Rope(holder, (key, name), cast("dict[str, Any]", inner)) for name, inner in layers.items()]
        else:
            found.append(Rope(holder, (key,), values))
    return tuple(found)


# The settings that a type of scaling cannot do without (modeling_rope_utils.py:932-1080 in 5.24.0, :568-716 in 4.57.6, run with both).
_NEEDS = {
    "linear": ("factor",),
    "dynamic": ("factor",),
    "yarn": ("factor",),
    "longrope": ("short_factor", "long_factor"),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor"),
}


def lacking(rope: Rope) -> tuple[str, ...]:
    """The mandatory settings that are absent or null."""
    return tuple(key for key in _NEEDS.get(rope.kind, ()) if (rope.values or {}).get(key) is None)


def conflict(rope: Rope) -> tuple[str, str] | None:
    """The types that rope_type and `type` give, where vLLM refuses to choose (0.33.0 transformers_utils/config.py, patch_legacy_rope_type, run)."""
    values = rope.values or {}
    new, old = values.get("rope_type"), values.get("type")
    if (
        not isinstance(new, str)
        or not isinstance(old, str)
        or new == old
        or (old, new) in (("su", "longrope"), ("mrope", "default"))
    ):
        return None
    return new, old
