"""What each release of vLLM knows by name, read from its Python files without importing them.

`python -m tools.vllm_versions NAME=FOLDER…`: each FOLDER holds the unpacked Python files of the release NAME. Writes the table of the package.
"""

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parent.parent / "bot/analyze/engines/data/vllm-versions.json"
_CONFIGS = ("config.py", "config/__init__.py", "config/model.py")


def main() -> None:
    """Write the table."""
    folders = [argument.split("=", 1) for argument in sys.argv[1:]]
    rows = ",\n".join(f" {json.dumps(name)}: {json.dumps(release(Path(folder)))}" for name, folder in folders)
    TABLE.write_text("{\n" + rows + "\n}\n", "utf-8")


def release(root: Path) -> dict[str, list[str]]:
    """The names of one release (see Names in bot/analyze/rules/vllm/release.py)."""
    registered = names(root, ("transformers_utils/config.py",), "_CONFIG_REGISTRY")
    methods = names(root, ("model_executor/layers/quantization/__init__.py",), "QuantizationMethods")
    deprecated = names(root, ("model_executor/layers/quantization/__init__.py",), "DEPRECATED_QUANTIZATION_METHODS")
    template, backend = "_MODEL_TYPE_TO_CHAT_TEMPLATE_FALLBACK", "_MODEL_TYPES_WITH_INCORRECT_TOKENIZER_CLASS"
    return {
        "registered": sorted(registered),
        "methods": sorted(methods - deprecated),
        "fallback": sorted(names(root, ("transformers_utils/chat_templates/registry.py",), template)),
        "backend": sorted(names(root, ("tokenizers/registry.py",), backend)),
        "not_in_float16": sorted(names(root, _CONFIGS, "_FLOAT16_NOT_SUPPORTED_MODELS")),
    }


def names(root: Path, files: tuple[str, ...], variable: str) -> set[str]:
    """The keys of the dictionaries, or the strings of the lists, that are assigned to a variable or to one whose name ends so."""
    found: set[str] = set()
    for path in (root / name for name in files):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))) if path.is_file() else ():
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                target: Any = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if isinstance(target, ast.Name) and target.id.startswith(variable):
                    found |= set(_keys(node.value))
    return found


def _keys(value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.Dict):
        for key, inner in zip(value.keys, value.values, strict=True):
            yield from _keys(inner) if key is None else _strings(key)
    elif isinstance(value, ast.Call):
        for word in value.keywords:
            yield from _keys(word.value) if word.arg is None else (word.arg,)
    else:
        yield from _strings(value)


def _strings(value: ast.expr) -> Iterator[str]:
    for node in ast.walk(value):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


if __name__ == "__main__":
    main()
