"""Write the tables that predictions take from the installed transformers: `python -m tools.tables`.

The table of a version is committed as bot/analyze/engines/data/transformers-<version>.json, and a test compares the one of the
installed version with what this script finds.
"""

import inspect
import json
from pathlib import Path
from typing import Any

import transformers
from transformers.models.auto import tokenization_auto

from tools import model_types, tables_config

FOLDER = Path(__file__).parent.parent / "bot/analyze/engines/data"


def tokenizer_mapping() -> dict[str, str]:
    """The tokenizer class that transformers registers for a model type."""
    rows = dict(tokenization_auto.TOKENIZER_MAPPING_NAMES)
    return {str(model_type): str(name) for model_type, name in sorted(rows.items()) if name}


def tokenizer_classes() -> dict[str, dict[str, Any]]:
    """For every registered class: whether it rebuilds its backend (it has an __init__ of its own), and its default role strings; `no_pad` that it leaves the padding role empty whatever a padding block says."""
    found: dict[str, dict[str, Any]] = {}
    for name in sorted(set(tokenizer_mapping().values())):
        cls = tokenization_auto.tokenizer_class_from_name(name)
        if cls is None:
            continue
        parameters = inspect.signature(cls.__init__).parameters if "__init__" in cls.__dict__ else {}
        roles = {key: p.default for key, p in parameters.items() if key.endswith("_token") and isinstance(p.default, str)}
        found[cls.__name__] = {"rebuilds": "__init__" in cls.__dict__, "roles": roles, **_empty(cls, roles)}
        if "pad_token" in parameters and parameters["pad_token"].default is None:
            found[cls.__name__]["no_pad"] = True
    return found


def _empty(cls: Any, roles: dict[str, str]) -> dict[str, Any]:
    """What a class holds without any file: `minimal` are the entries of its vocabulary in order, roles by their name; `more` that it has further special tokens, `python` that it is written in Python."""
    if not issubclass(cls, transformers.TokenizersBackend):
        return {"python": True}
    try:
        made = cls(**{name: f"[{name}]" for name in roles})
    except Exception:  # noqa: BLE001 - some need a vocabulary
        return {}
    named = {f"[{name}]": name for name in roles}
    vocab = made.backend_tokenizer.get_vocab(with_added_tokens=False)
    more = set(made.all_special_tokens) - set(named)
    found: dict[str, Any] = (
        {"minimal": [named.get(text, text) for text in sorted(vocab, key=lambda text: vocab[text])]} if len(vocab) < 10 else {}
    )
    return {**found, **({"more": True} if more else {})}


def path() -> Path:
    """Where the table of the installed version is kept."""
    return FOLDER / f"transformers-{transformers.__version__}.json"


def text() -> str:
    """The table as it is committed."""
    tables = {
        "incorrect_hub_class": sorted(tokenization_auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS),
        "tokenizer_classes": tokenizer_classes(),
        "tokenizer_mapping": tokenizer_mapping(),
    }
    return json.dumps(tables, indent=1, sort_keys=True) + "\n"


if __name__ == "__main__":
    written = ((path(), text()), (tables_config.path(), tables_config.text()), (model_types.PATH, model_types.text()))
    for table, content in written:
        table.write_text(content, encoding="utf-8")
        print(table)
