"""The plain configuration that AutoTokenizer of transformers 5 falls back on when AutoConfig gives none.

Source: models/auto/tokenization_auto.py:806-830 in 5.24.0 (only ValueError and OSError lead there; before 5.4 every exception),
configuration_utils.py and modeling_rope_utils.py of 5.0.0 to 5.24.0, run with every kind of rope settings.
"""

from typing import Any, cast

from bot.analyze.model.document import Document
from bot.analyze.model.folder import Model
from bot.analyze.rules.config_faults import is_dtype, no_dtype
from bot.analyze.tables import parts
from bot.answer import Answer, Known, Unknown

_STRICT, _COMPARED = (5, 4), (5, 12)  # ids of tokens were not held against the vocabulary in 5.8.1
_INNER = ("text_config", "decoder", "generator", "text_encoder", "language_config", "llm_config", "thinker_config")
_FIELD = "StrictDataclassFieldValidationError"
# Kinds of rope settings that ask for the length of the model, which the plain class has not.
_MEASURED = ("yarn", "longrope", "llama3")
_NEEDS: dict[str, tuple[str, ...]] = {
    "linear": ("factor",),
    "dynamic": ("factor",),
    "yarn": ("factor", "original_max_position_embeddings"),
    "longrope": ("short_factor", "long_factor", "original_max_position_embeddings"),
    "proportional": ("rope_theta",),
    "llama3": ("rope_theta",),
}
_TYPES: dict[str, tuple[type, ...]] = {
    "architectures": (list,),
    "transformers_version": (str,),
    "is_encoder_decoder": (bool,),
    "return_dict": (bool,),
    "id2label": (dict,),
}


def plain_config_error(model: Model, version: str) -> Answer[str | None]:
    """The exception that the plain configuration raises for config.json, or None where it takes it; there need not be such a file."""
    document = model.document("config.json")
    where = (model.place("config.json"),)
    if isinstance(document, Unknown):
        return Unknown(f"config.json {document.reason}", document.places)
    if not isinstance(document, Known):
        return Known(None, where)
    if not isinstance(document.value, Document):
        return Known("OSError", where)
    if not isinstance(document.value.value, dict):
        return Known("TypeError", where)
    return _of_object(document.value.mapping, parts(version), model)


def _of_object(config: dict[str, Any], at: tuple[int, ...], model: Model) -> Answer[str | None]:
    where = (model.place("config.json"),)
    if config.get("quantization_config") is not None and not isinstance(config["quantization_config"], dict):
        return Known("AttributeError", where)
    dtype: Any = next((config[key] for key in ("dtype", "torch_dtype") if config.get(key) is not None), None)
    if isinstance(dtype, list) and "." not in str(cast("list[Any]", dtype)):
        return Known("IndexError", where)
    if isinstance(dtype, str) and no_dtype(dtype):
        return Known("AttributeError", where)
    if isinstance(dtype, str) and not is_dtype(dtype):
        return Unknown(f"PyTorch may or may not have a type {dtype}", where)
    if at < _STRICT:
        return Known(None, where)
    for key, kinds in _TYPES.items():
        if at < (5, 19) and config.get(key) is not None and not isinstance(config[key], kinds):
            return Known(_FIELD, (model.place("config.json", f"/{key}"),))
    layers = config.get("layer_types")
    if (
        isinstance(layers, list)
        and isinstance(count := config.get("num_hidden_layers"), int)
        and count != len(cast("list[Any]", layers))
    ):
        return Known("StrictDataclassClassValidationError", (model.place("config.json", "/layer_types"),))
    size = config.get("vocab_size")
    if at >= _COMPARED and size is not None and not isinstance(size, int | float) and any(map(_is_id, config.items())):
        # 5.24.0 configuration_utils.py, validate_token_ids; of a composite configuration it is the inner one that is looked at.
        if any(isinstance(config.get(key), dict) for key in _INNER):
            return Unknown("vocab_size is no number, beside a configuration within", (model.place("config.json", "/vocab_size"),))
        return Known("StrictDataclassClassValidationError", (model.place("config.json", "/vocab_size"),))
    return _of_rope(config, at, model)


def _is_id(item: tuple[str, Any]) -> bool:
    """Whether a setting is an id of a token, which is held against the size of the vocabulary."""
    return item[0].endswith("_token_id") and isinstance(item[1], int) and item[1] >= 0


def _of_rope(config: dict[str, Any], at: tuple[int, ...], model: Model) -> Answer[str | None]:
    rope = config.get("rope_scaling")
    where = (model.place("config.json", "/rope_scaling"),)
    if not rope:
        kind = _kind(config.get("rope_parameters"))
        if kind in ("", "default"):
            return Known(None, where)
        return Unknown(f"rope_parameters of type {kind} under a configuration of no known class", where)
    if not isinstance(rope, dict):
        return Known("AttributeError", where)
    settings, theta = cast("dict[str, Any]", rope), bool(config.get("rope_theta"))
    kind = _kind(settings)
    if any(isinstance(value, dict) for value in settings.values()):
        return Unknown("rope_scaling is given by type of layer under a configuration of no known class", where)
    if kind in _MEASURED and theta:
        return Known("AttributeError" if at >= (5, 5) else "KeyError", where)
    early = at < (5, 6) and not theta and (kind in _NEEDS or kind == "default")
    lacking = [key for key in _NEEDS.get(kind, ()) if settings.get(key) is None and not (key == "rope_theta" and theta)]
    if kind not in ("default", "su", "mrope", "xdrope", *_NEEDS):
        return Unknown(f"rope_scaling of type {kind} under a configuration of no known class", where)
    return Known("KeyError" if early or lacking else None, where)


def _kind(settings: Any) -> str:
    if not isinstance(settings, dict):
        return ""
    values = cast("dict[str, Any]", settings)
    kind = values.get("rope_type", values.get("type", "default"))
    return kind if isinstance(kind, str) else "default"
