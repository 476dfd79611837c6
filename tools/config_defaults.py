"""Put the default EOS ids of the installed transformers' config classes into the file that holds those of all releases: `python -m tools.config_defaults`.

Older releases were put there by running it with their packages in front of the path.
"""

import json
import logging
from pathlib import Path
from typing import Any

import transformers
from transformers import CONFIG_MAPPING

from tools.history import at, ordered, since

PATH = Path(__file__).parent.parent / "bot/analyze/engines/data/transformers-config-eos.json"


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


def text() -> str:
    """The file as it is committed, the rows of the installed version made anew."""
    kept: dict[str, dict[str, Any]] = {}
    if PATH.is_file():
        whole = json.loads(PATH.read_text("utf-8"))
        kept = {version: at(whole["types"], whole["releases"], version) for version in whole["releases"]}
    tables = kept | {transformers.__version__: config_eos()}
    rows = [f"{json.dumps(name)}:{json.dumps(steps, separators=(',', ':'))}" for name, steps in since(tables).items()]
    return f'{{"releases":{json.dumps(ordered(tables))},\n"types":{{\n' + ",\n".join(rows) + "\n}}\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
    print(PATH)
