"""Write the table of tokenizer classes of transformers 4: `python -m tools.tables_4x`, in an environment that has that version.

It is committed as bot/analyze/engines/data/transformers-<version>-tokenizers.json. Only this environment can make it, so no test makes it again:
tests/oracles compare what follows from it with what that version did.
"""

import inspect
import json
from pathlib import Path
from typing import Any

import transformers
from transformers.models.auto import tokenization_auto

FOLDER = Path(__file__).parent.parent / "bot/analyze/engines/data"


def names() -> list[str]:
    """Every tokenizer class that AutoTokenizer finds by name, as tokenizer_class of tokenizer_config.json may spell it."""
    rows: Any = tokenization_auto.TOKENIZER_MAPPING_NAMES
    found = {str(name) for pair in rows.values() for name in pair if name}
    return sorted({*found, "PreTrainedTokenizerFast", "PreTrainedTokenizer"})


def mapping() -> dict[str, str]:
    """The class of a model type, the fast one where there is one."""
    rows: Any = tokenization_auto.TOKENIZER_MAPPING_NAMES
    return {str(kind): str(fast or slow) for kind, (slow, fast) in sorted(rows.items()) if fast or slow}


def fast() -> dict[str, dict[str, Any]]:
    """For every fast class its default role strings, whether its __init__ brings further special tokens along, and whether it leaves the padding role empty."""
    found: dict[str, dict[str, Any]] = {}
    for name in names():
        cls = tokenization_auto.tokenizer_class_from_name(name)
        if cls is None or not name.endswith("Fast"):
            continue
        parameters = inspect.signature(cls.__init__).parameters
        roles = {key: p.default for key, p in parameters.items() if key.endswith("_token") and isinstance(p.default, str)}
        own = name != "PreTrainedTokenizerFast" and "__init__" in vars(cls)
        no_pad = "pad_token" in parameters and parameters["pad_token"].default is None
        found[name] = {
            "roles": roles,
            "more": own and "additional_special_tokens" in inspect.getsource(cls.__init__),
            "no_pad": no_pad,
        }
    return found


if __name__ == "__main__":
    path = FOLDER / f"transformers-{transformers.__version__}-tokenizers.json"
    path.write_text(
        json.dumps({"fast": fast(), "mapping": mapping(), "names": names()}, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )
    print(path)
