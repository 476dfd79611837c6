"""What was taken from packages as data: defaults and class names of transformers, written by tools/tables.py."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

TABLE = Path(__file__).parent / "engines/data/transformers-5.24.0.json"


@cache
def tables() -> dict[str, Any]:
    """The tables by name: config_eos, tokenizer_mapping, tokenizer_classes, incorrect_hub_class (see tools/tables.py)."""
    return json.loads(TABLE.read_text("utf-8"))


@cache
def tokenizers_of_4() -> dict[str, Any]:
    """The tokenizer classes of transformers 4.57.6: names, mapping and fast (see tools/tables_4x.py)."""
    return json.loads((TABLE.parent / "transformers-4.57.6-tokenizers.json").read_text("utf-8"))


def config_eos() -> dict[str, dict[str, Any]]:
    """Default EOS ids of the config classes by model_type."""
    return tables()["config_eos"]


FIELDS = TABLE.with_name("transformers-5.24.0-fields.json")


class FieldTables(msgspec.Struct, frozen=True):
    """The types that configuration classes accept (see tools/tables_config.py); a row is taken apart only where it is asked for.

    `kinds` and `names` are what rows number; `classes` gives the class of a model type, `layer_types` the types of layers that exist.
    """

    kinds: list[Any]
    names: list[str]
    layer_types: list[str]
    classes: dict[str, str]
    rows: dict[str, msgspec.Raw]


@cache
def field_tables() -> FieldTables:
    """The table of fields."""
    return msgspec.json.decode(FIELDS.read_bytes(), type=FieldTables)
