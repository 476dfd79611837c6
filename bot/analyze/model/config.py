"""The objects of config.json that hold settings: the top level and the configurations nested in it."""

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from bot.analyze.model.eos import TEXT_CONFIGS
from bot.analyze.model.folder import Model, fact
from bot.place import Place

FILE = "config.json"
_DEEPEST = 4  # thinker_config.text_config is the deepest that is known
_WITHOUT_SUFFIX = ("decoder", "encoder", "generator", "text_encoder", "audio_encoder")
# What transformers calls the language model of a composite configuration (get_text_config, configuration_utils.py:1539 in 5.24.0), and vLLM besides.
_TEXT = ("", "decoder", "generator", *TEXT_CONFIGS)


class Holder(msgspec.Struct, frozen=True):
    """An object of config.json: the keys that lead to it, and what it holds."""

    path: tuple[str, ...]
    values: dict[str, Any]

    @property
    def name(self) -> str:
        """The dotted path, "" for the top level."""
        return ".".join(self.path)

    def dotted(self, key: str) -> str:
        """The dotted path of a key."""
        return ".".join((*self.path, key))

    def place(self, model: Model, *keys: str) -> Place:
        """Where a value below this object stands."""
        return model.place(FILE, pointer(*self.path, *keys))


def pointer(*parts: str) -> str:
    """The RFC 6901 pointer of a path of keys."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)


@fact
def holders(model: Model) -> tuple[Holder, ...]:
    """The top level of config.json and every configuration nested in it; none when there is no object to be read."""
    return tuple(_walk((), model.mapping(FILE))) if model.readable(FILE) else ()


@fact
def text_holders(model: Model) -> tuple[Holder, ...]:
    """The objects that describe the language model: the top level, then nested ones, such as text_config."""
    rows = [holder for holder in holders(model) if all(part in _TEXT for part in holder.path)]
    return tuple(sorted(rows, key=lambda holder: len(holder.path)))


@fact
def vocab_size(model: Model) -> tuple[int, Place] | None:
    """The largest vocab_size that config.json states of the language model: in composites one of two copies is often stale."""
    sizes = [(size, holder) for holder in text_holders(model) if (size := whole(holder.values.get("vocab_size"))) is not None]
    if not sizes:
        return None
    size, holder = max(sizes, key=lambda row: row[0])
    return size, holder.place(model, "vocab_size")


def whole(value: Any) -> int | None:
    """An integer, which in Python a truth value is not meant to be."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def shown(value: Any) -> str:
    """A value as JSON has it, for a title."""
    words = {None: "null", True: "true", False: "false"}
    return words[value] if value is None or isinstance(value, bool) else str(value)


def _walk(path: tuple[str, ...], values: dict[str, Any]) -> Iterator[Holder]:
    yield Holder(path, values)
    for key, inner in values.items():
        named = key.endswith("_config") or key in _WITHOUT_SUFFIX
        if named and isinstance(inner, dict) and len(path) < _DEEPEST:
            yield from _walk((*path, key), cast("dict[str, Any]", inner))
