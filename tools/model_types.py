"""Put what is known of the installed transformers' config classes into the file that holds that of all releases: `python -m tools.model_types`.

Older releases were put there by running it with their packages in front of the path.
"""

import copy
import json
import logging
import warnings
from pathlib import Path
from typing import Any, cast

import transformers
from transformers import CONFIG_MAPPING

from tools.history import at, ordered, since

PATH = Path(__file__).parent.parent / "bot/analyze/engines/data/transformers-model-types.json"


# Settings as real and small models have them. A class that raises for one of them has a rule of its own, which the table names and nobody states.
_ALONE: dict[str, Any] = {
    "head_dim": 8,
    "num_hidden_layers": 1,
    "sliding_window": None,
    "vocab_size": 272,
    "text_config": {"num_hidden_layers": 1, "vocab_size": 272},
}
_TOGETHER: tuple[dict[str, Any], ...] = (
    {"hidden_size": 8, "num_attention_heads": 1, "num_key_value_heads": 1, "intermediate_size": 16, "num_hidden_layers": 1},
    {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2},
)
_PAIRS = ({"hidden_size": 8, "num_attention_heads": 1},)  # small as above, and nothing beside
# Rope settings, and whether the common rule refuses them for lack of one.
_ROPES: tuple[tuple[dict[str, Any], bool], ...] = (
    ({"rope_type": "linear"}, True),
    ({"rope_type": "dynamic"}, True),
    ({"type": "dynamic"}, True),
    ({"rope_type": "llama3", "factor": 8.0}, True),
    ({"rope_type": "yarn"}, True),
    ({"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}, False),
    ({"rope_type": "yarn", "factor": 4.0}, False),
    (
        {
            "rope_type": "llama3",
            "factor": 8.0,
            "high_freq_factor": 4.0,
            "low_freq_factor": 1.0,
            "original_max_position_embeddings": 8192,
        },
        False,
    ),
    ({"type": "mrope", "mrope_section": [16, 24, 24]}, False),
    ({"rope_type": "longrope", "short_factor": [1.0], "long_factor": [1.0]}, False),
)


def types() -> dict[str, dict[str, Any]]:
    """What is known of every config class by model type.

    `top` is its default EOS, `text` that of its language model's config; a key is left out where the class has no such attribute or its value is
    None. `odd` are typical settings for which the class raises for a reason that no other table tells, "*" several together and "a,b" those two. `rope` says "none" where
    it looks at no rope settings, or lists the kinds of settings that it does not take as most classes do. `by_layer` is true where it depends on the layers
    that are in use whether a lacking setting is looked for. `{}` still says that the type is known.
    """
    transformers.logging.set_verbosity(logging.CRITICAL)
    found: dict[str, dict[str, Any]] = {}
    for model_type in sorted(CONFIG_MAPPING.keys()):
        cls = CONFIG_MAPPING[model_type]
        try:
            config = cls()
            text = config.get_text_config()
        except Exception as error:  # noqa: BLE001 - some classes cannot be made without arguments: the table says so
            found[model_type] = {"unknown": type(error).__name__}
            continue
        rows = {"top": getattr(config, "eos_token_id", None), "text": getattr(text, "eos_token_id", None)}
        rows |= {"odd": _odd(cls), "rope": _rope(cls), "by_layer": _by_layer(cls)}
        found[model_type] = {
            key: value for key, value in rows.items() if value is not None and value is not False and value != []
        }
    return cast("dict[str, dict[str, Any]]", json.loads(json.dumps(found)))  # no tuples


def _error(cls: Any, values: dict[str, Any]) -> str:
    """The name of the exception that a class raises for values, "" for none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            cls.from_dict(copy.deepcopy(values))
        except Exception as error:  # noqa: BLE001 - whatever it raises
            return type(error).__name__
    return ""


def _odd(cls: Any) -> list[str]:
    told = ("", "StrictDataclassFieldValidationError")  # the table of fields tells of these
    alone = [key for key, value in _ALONE.items() if _error(cls, {key: value}) not in told]
    rest = [{key: value for key, value in values.items() if key not in alone} for values in _TOGETHER]
    pairs = [values for values in _PAIRS if not set(values) & set(alone) and _error(cls, values) not in told]
    return alone + [",".join(values) for values in pairs] + ([] if all(_error(cls, values) in told for values in rest) else ["*"])


def _rope(cls: Any) -> str | list[str]:
    loaded = [not _error(cls, {"rope_scaling": values}) for values, _ in _ROPES]
    if all(loaded):
        return "none"
    rows = zip(_ROPES, loaded, strict=True)
    return sorted({values.get("rope_type") or values["type"] for (values, refused), loads in rows if loads is refused})


def _by_layer(cls: Any) -> bool:
    """Whether one layer is enough for the class to let pass what it refuses otherwise."""
    lacking = [{"rope_scaling": values} for values, refused in _ROPES if refused]
    return any(_error(cls, values) and not _error(cls, {**values, "num_hidden_layers": 1}) for values in lacking)


def text() -> str:
    """The file as it is committed, the rows of the installed version made anew."""
    kept: dict[str, dict[str, Any]] = {}
    if PATH.is_file():
        whole = json.loads(PATH.read_text("utf-8"))
        kept = {version: at(whole["types"], whole["releases"], version) for version in whole["releases"]}
    tables = kept | {transformers.__version__: types()}
    rows = [f"{json.dumps(name)}:{json.dumps(steps, separators=(',', ':'))}" for name, steps in since(tables).items()]
    return f'{{"releases":{json.dumps(ordered(tables))},\n"types":{{\n' + ",\n".join(rows) + "\n}}\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
    print(PATH)
