"""Write the tables that the engines take from the installed transformers: `python -m tools.tables`.

The table of a version is committed as bot/analyze/engines/data/transformers-<version>.json, and a test compares the one of the
installed version with what this script finds.
"""

import json
import logging
from pathlib import Path
from typing import Any

import transformers
from transformers import CONFIG_MAPPING

FOLDER = Path(__file__).parent.parent / "bot/analyze/engines/data"


def config_eos() -> dict[str, dict[str, Any]]:
    """The default EOS ids of every config class by model_type: `top` of the class, `text` of its language model's config.

    A key is left out where the class has no such attribute or its value is None; `{}` still says that the model type is known.
    """
    transformers.logging.set_verbosity(logging.CRITICAL)
    found: dict[str, dict[str, Any]] = {}
    for model_type in sorted(CONFIG_MAPPING.keys()):
        try:
            config = CONFIG_MAPPING[model_type]()
            text = config.get_text_config()
        except Exception as error:  # noqa: BLE001 - some classes cannot be made without arguments: the table says so
            found[model_type] = {"unknown": type(error).__name__}
            continue
        rows = {"top": getattr(config, "eos_token_id", None), "text": getattr(text, "eos_token_id", None)}
        found[model_type] = {key: value for key, value in rows.items() if value is not None}
    return found


def path() -> Path:
    """Where the table of the installed version is kept."""
    return FOLDER / f"transformers-{transformers.__version__}.json"


def text() -> str:
    """The table as it is committed."""
    return json.dumps({"config_eos": config_eos()}, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    path().write_text(text(), encoding="utf-8")
    print(path())
