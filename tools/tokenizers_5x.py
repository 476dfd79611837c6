"""Write the table of what transformers 5 makes of a tokenizer class, by version: `python -m tools.tokenizers_5x FOLDER`.

FOLDER holds the wheels of older versions (`pip download --no-deps transformers==…`), which are only read; the newest version is the installed
one. The table is committed as bot/analyze/engines/data/transformers-5-tokenizers.json; a test makes again what the installed version alone decides.
"""

import ast
import json
import logging
import sys
import zipfile
from pathlib import Path
from typing import Any

import transformers
from transformers.models.auto import tokenization_auto

PATH = Path(__file__).parent.parent / "bot/analyze/engines/data/transformers-5-tokenizers.json"
_SOURCE = "transformers/models/auto/tokenization_auto.py"
Picks = tuple[dict[str, str], set[str]]


def picks(source: str) -> Picks:
    """The class of each model type, and the model types whose own class wins over a declared one, from the text of tokenization_auto.py."""
    mapping: dict[str, str] = {}
    incorrect: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets if isinstance(node, ast.Assign) else []
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        value: Any = getattr(node, "value", None)
        if "TOKENIZER_MAPPING_NAMES" in names:
            rows = ((ast.literal_eval(row.elts[0]), _name(row.elts[1])) for row in value.args[0].elts)
            mapping.update({kind: name.removesuffix("Fast") for kind, name in rows if name})
        if "MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS" in names:
            incorrect.update(ast.literal_eval(value))
    return {**dict.fromkeys(incorrect, "TokenizersBackend"), **mapping}, incorrect


def _name(node: Any) -> str:
    """The class that an entry gives where every optional package is installed."""
    return _name(node.body) if isinstance(node, ast.IfExp) else ast.literal_eval(node) or ""


def installed() -> Picks:
    """What the installed version says."""
    return picks(Path(tokenization_auto.__file__).read_text("utf-8"))


def pipelines() -> dict[str, Any]:
    """What a class puts around its vocabulary, whatever tokenizer.json says: each class that has an __init__ of its own, made without arguments."""
    transformers.logging.set_verbosity(logging.CRITICAL)
    found: dict[str, Any] = {}
    for name in sorted(set(installed()[0].values())):
        cls = tokenization_auto.tokenizer_class_from_name(name)
        if cls is None or "__init__" not in cls.__dict__ or not issubclass(cls, transformers.TokenizersBackend):
            continue
        try:
            made = json.loads(cls().backend_tokenizer.to_str())
        except Exception:  # noqa: BLE001 - some need a vocabulary: nothing is said of them
            continue
        found[cls.__name__] = {
            "model": made["model"]["type"],
            "normalizer": made["normalizer"],
            "pre_tokenizer": made["pre_tokenizer"],
        }
    return found


def _runs(values: list[tuple[str, Any]], nothing: Any) -> dict[str, Any]:
    """Where a value changes: {version: the value from there on}."""
    found: dict[str, Any] = {}
    before = nothing
    for version, value in values:
        if value != before:
            found[version] = before = value
    return found


def text(folder: Path) -> str:
    """The table as it is committed, an entry a line."""
    read: dict[str, Picks] = {transformers.__version__: installed()}
    for wheel in folder.glob("transformers-*.whl"):
        with zipfile.ZipFile(wheel) as opened:
            read[wheel.name.split("-")[1]] = picks(opened.read(_SOURCE).decode())
    versions = sorted(read, key=lambda version: [int(part) for part in version.split(".")])
    kinds = sorted({kind for mapping, _ in read.values() for kind in mapping})
    known = sorted({kind for _, incorrect in read.values() for kind in incorrect})
    table = {
        "incorrect": {kind: _runs([(v, kind in read[v][1]) for v in versions], nothing=False) for kind in known},
        "mapping": {kind: _runs([(v, read[v][0].get(kind, "")) for v in versions], nothing="") for kind in kinds},
        "pipelines": pipelines(),
        "versions": dict.fromkeys(versions, True),
    }
    parts = (
        f'"{part}": {{\n' + ",\n".join(f"{json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items()) + "\n}"
        for part, rows in table.items()
    )
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    PATH.write_text(text(Path(sys.argv[1])), encoding="utf-8")
    print(PATH)
