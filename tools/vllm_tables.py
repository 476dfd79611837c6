"""What vLLM knows of architectures and configuration classes, taken from its Python files and the transformers that is installed beside them.

Run where both can be imported (no compiled extension is needed): `python tools/vllm_tables.py OUTPUT.json`. Imports nothing of this repository.
"""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import transformers
from transformers import CONFIG_MAPPING, PreTrainedConfig
from transformers.models.auto.configuration_auto import AutoConfig

# transformers_utils/model_arch_config_convertor.py:376-394 of 0.33.0
LENGTHS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
    "max_target_positions",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
)
# config/model.py:1884-1894 of 0.33.0; the others are no attributes of GenerationConfig and are not taken from config.json.
SAMPLING = ("repetition_penalty", "temperature", "top_k", "top_p", "min_p", "max_new_tokens")
CONFIGS = {"text_config", "llm_config", "language_config", "thinker_config", "decoder", "generator", "text_encoder"}


def main() -> None:
    """Write the table."""
    rows: dict[str, Any] = {}
    types: dict[str, str] = {}
    own_classes = of("vllm.transformers_utils.config", "_CONFIG_REGISTRY")
    for kind in sorted({*CONFIG_MAPPING.keys(), *own_classes}):
        cls = own_classes[kind] if kind in own_classes else CONFIG_MAPPING[kind]
        if add(rows, cls):
            types[kind] = cls.__name__
    table = {
        "transformers": transformers.__version__,
        "architectures": architectures(),
        "processors": sorted(of("transformers.models.auto.processing_auto", "PROCESSOR_MAPPING_NAMES")),
        "types": types,
        "rows": dict(sorted(rows.items())),
    }
    text = ",\n".join(f" {json.dumps(key)}: {lines(value)}" for key, value in table.items())
    Path(sys.argv[1]).write_text("{\n" + text + "\n}\n", "utf-8")


def of(module: str, name: str) -> Any:
    """An object of a module that is not installed where the types of this file are checked."""
    return getattr(importlib.import_module(module), name)


def lines(value: Any) -> str:
    """An entry a line for objects, one line for the rest."""
    if not isinstance(value, dict):
        return json.dumps(value)
    return "{\n" + ",\n".join(f"  {json.dumps(key)}: {json.dumps(value[key])}" for key in value) + "\n }"


def architectures() -> dict[str, str]:
    """By name: g where it generates, p where it pools, m where it takes more than text; "?" where the class cannot be imported here."""
    found: dict[str, str] = {}
    registry = "vllm.model_executor.models.registry"
    for name, lazy in sorted(of(registry, "ModelRegistry").models.items()):
        try:
            info = of(registry, "_ModelInfo").from_model_cls(lazy.load_model_cls())
        except ImportError:
            found[name] = "?"
            continue
        found[name] = "g" * info.is_text_generation_model + "p" * info.is_pooling_model + "m" * info.supports_multimodal
    return found


def add(rows: dict[str, Any], cls: type[PreTrainedConfig]) -> bool:
    """Add the row of a class and of its text configuration; whether the class can be made without arguments."""
    if cls.__name__ in rows:
        return True
    try:
        config = cls()
        text = config.get_text_config()
    except Exception as error:  # noqa: BLE001 - a class that cannot be made as it stands has no row
        print(f"no row for {cls.__name__}: {type(error).__name__}", file=sys.stderr)
        return False
    rows[cls.__name__] = row = own(config)
    path = where(config, text)
    if path:
        row["text"] = path
        sub_configs: Any = type(config).sub_configs
        inner = sub_configs.get(path[0]) if len(path) == 1 else type(text)
        row["inner"] = ("auto:" if inner in (AutoConfig, PreTrainedConfig) else "") + type(text).__name__
        add(rows, type(text))
    elif text is not config:
        del rows[cls.__name__]
        return False
    return True


def where(config: PreTrainedConfig, text: PreTrainedConfig) -> list[str]:
    """The attributes that lead to the text configuration."""
    for name in sorted(CONFIGS):
        inner = getattr(config, name, None)
        if inner is text:
            return [name]
        if isinstance(inner, PreTrainedConfig) and (path := where(inner, text)):
            return [name, *path]
    return []


def own(config: PreTrainedConfig) -> dict[str, Any]:
    """What a class has where config.json states nothing."""
    values = config.to_dict()
    row: dict[str, Any] = {
        "eos": getattr(config, "eos_token_id", None),
        "alias": {key: real for key, real in type(config).attribute_map.items() if key in LENGTHS},
        "lengths": {key: value for key in LENGTHS if (value := getattr(config, key, None)) is not None},
        "sampling": {key: values[key] for key in SAMPLING if values.get(key) is not None},
        "original": getattr(config, "original_max_position_embeddings", None),
        "positions": getattr(config, "position_embedding_type", ""),
        "kind": config.model_type,
    }
    return {key: value for key, value in row.items() if value not in (None, {}, "")}


if __name__ == "__main__":
    main()
