"""Quantization anywhere in a configuration tree."""

from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.model.folder import Model

KEYS = ("quantization_config", "compression_config")


def quantizations(model: Model) -> dict[str, dict[str, Any]]:
    """Every non-empty quantization object of config.json by its dotted path ("text_config.quantization_config")."""
    return {".".join(path): value for path, value in _walk(model.mapping("config.json"), ()) if value}


def pointer(dotted: str) -> str:
    """The JSON pointer of a dotted path."""
    return "/" + dotted.replace(".", "/")


def summary(config: dict[str, Any]) -> str:
    """One line about a quantization object: method, bits, group size, format."""
    group = next(iter(config.get("config_groups", {}).values()), {}) if isinstance(config.get("config_groups"), dict) else {}
    weights = cast("dict[str, Any]", group).get("weights") if isinstance(group, dict) else None
    flat: dict[str, Any] = {**config, **(cast("dict[str, Any]", weights) if isinstance(weights, dict) else {})}
    parts = [flat.get("quant_method") or flat.get("quant_algo") or "no method named"]
    bits = flat.get("num_bits", flat.get("bits"))
    parts += [f"{bits} bit"] if isinstance(bits, int) else []
    parts += [f"group {flat['group_size']}"] if isinstance(flat.get("group_size"), int) else []
    parts += [config["format"]] if isinstance(config.get("format"), str) else []
    return ", ".join(str(part) for part in parts)


def _walk(value: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    for key, inner in value.items():
        if key in KEYS:
            if isinstance(inner, dict):
                yield (*path, key), cast("dict[str, Any]", inner)
        elif isinstance(inner, dict) and len(path) < 8:
            yield from _walk(cast("dict[str, Any]", inner), (*path, key))
