"""What was taken from packages as data: defaults and class names of transformers, written by tools/tables.py."""

import json
from functools import cache
from pathlib import Path
from typing import Any

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
