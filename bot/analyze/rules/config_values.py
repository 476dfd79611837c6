"""What a loaded configuration of transformers says of the weights: their type, their quantization, and the size of the vocabulary.

Source: configuration_utils.py of transformers 4.46.3 to 5.24.0 (run, with PyTorch).
"""

from typing import Any, cast

from bot.analyze.model.config import FILE, pointer, whole
from bot.analyze.model.folder import Model
from bot.analyze.tables import parts
from bot.answer import Answer, Known, Unknown

_ALIASES = {"half": "float16", "float": "float32", "double": "float64"}
_NESTED = ("text_config", "decoder", "generator")


def config_values(model: Model, version: str) -> dict[str, Answer[Any]]:
    """`dtype`, `quantization` and `vocab_size_config` of a config.json that loads."""
    return {
        "dtype": _dtype(model, version),
        "quantization": _quantization(model, version),
        "vocab_size_config": _vocab_size(model),
    }


def _dtype(model: Model, version: str) -> Answer[str | None]:
    """The type of the top level. `dtype` wins over `torch_dtype` since 4.56 (configuration_utils.py:440 in 5.24.0); 4.46 does not know it."""
    config = model.mapping(FILE)
    old = parts(version) < (4, 56)
    key = next((key for key in ("dtype", "torch_dtype") if config.get(key) is not None), None)
    if key is None:
        inner = _stating(config, "dtype", "torch_dtype")
        return _mirrored(model, inner, "dtype") if inner else Known(None, (model.place(FILE),))
    place = (model.place(FILE, pointer(key)),)
    if old and key == "dtype":
        return Unknown("this version does not know the key dtype", place)
    value = config[key]
    return Known(_ALIASES.get(value, value), place) if isinstance(value, str) else Unknown("the type is given by no name", place)


def _quantization(model: Model, version: str) -> Answer[str | None]:
    """The method of the top level's quantization_config; one that only a nested configuration has counts for none since 5.0."""
    config = model.mapping(FILE)
    stated = config.get("quantization_config")
    place = (model.place(FILE, "/quantization_config" if stated is not None else ""),)
    if stated is None:
        inner = _stating(config, "quantization_config")
        return _mirrored(model, inner, "quantization") if inner and parts(version) < (5,) else Known(None, place)
    method = cast("dict[str, Any]", stated).get("quant_method") if isinstance(stated, dict) else None
    return Known(method, place) if method is None or isinstance(method, str) else Unknown("the method is given by no name", place)


def _stating(config: dict[str, Any], *keys: str) -> str | None:
    """The nested configuration of the language model that states one of the keys."""
    for name in _NESTED:
        inner = config.get(name)
        if isinstance(inner, dict) and any(cast("dict[str, Any]", inner).get(key) is not None for key in keys):
            return name
    return None


def _mirrored(model: Model, inner: str, what: str) -> Unknown:
    return Unknown(f"only {inner} states the {what}, which some classes show as their own", (model.place(FILE, pointer(inner)),))


def _vocab_size(model: Model) -> Answer[int]:
    config = model.mapping(FILE)
    path = next(((name, "vocab_size") for name in _NESTED if isinstance(config.get(name), dict)), ("vocab_size",))
    values: Any = config
    for part in path:
        values = cast("dict[str, Any]", values).get(part)
    size = whole(values)
    place = (model.place(FILE, pointer(*path) if size is not None else ""),)
    return (
        Unknown("the file states none, and the default of the class is not known", place) if size is None else Known(size, place)
    )
