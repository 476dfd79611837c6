"""Write the names that transformers 4 and 5 know: `python -m tools.names FOLDER`, FOLDER being the unpacked package of transformers 4.57.6.

The names of transformers 5 are those of the installed version, the ones of 4.57.6 are read from its source without importing it.
"""

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import transformers
from transformers.models.auto import feature_extraction_auto, image_processing_auto, processing_auto, tokenization_auto

PATH = Path(__file__).parent.parent / "bot/analyze/engines/data/names.json"
_CLASS = re.compile(r"^class (\w*Tokenizer\w*)\(", re.MULTILINE)


def of_5() -> dict[str, list[str]]:
    """Model types, tokenizer classes without the ending Fast, and the model types that have a processor of images, sounds or several."""
    find: Any = tokenization_auto.tokenizer_class_from_name
    named = {*dir(transformers), *map(str, tokenization_auto.TOKENIZER_MAPPING_NAMES.values())}
    classes = {name for name in named if ("Tokenizer" in name or name.endswith("Backend")) and find(name) is not None}
    processed: set[str] = set()
    for module in (feature_extraction_auto, image_processing_auto, processing_auto):
        for name, rows in vars(module).items():
            processed |= (
                set(map(str, rows))
                if name.endswith("PROCESSOR_MAPPING_NAMES") or name == "FEATURE_EXTRACTOR_MAPPING_NAMES"
                else set()
            )
    return {
        "model_types": sorted(transformers.CONFIG_MAPPING.keys()),
        "processed": sorted(processed),
        "tokenizer_classes": sorted({name.removesuffix("Fast") for name in classes}),
    }


def of_4(package: Path) -> dict[str, list[str]]:
    """The same of transformers 4, from its source."""
    tree = ast.parse((package / "models/auto/configuration_auto.py").read_text("utf-8"))
    sources = package.rglob("tokenization_*.py")
    classes = {name for path in sources for name in _CLASS.findall(path.read_text("utf-8"))}
    return {
        "model_types": sorted(_keys(tree, "CONFIG_MAPPING_NAMES")),
        "tokenizer_classes": sorted({name.removesuffix("Fast") for name in classes}),
    }


def _keys(tree: ast.Module, name: str) -> Iterator[str]:
    """The keys of an OrderedDict of pairs that is assigned to a name."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and ast.unparse(node.targets[0]) == name:
            yield from dict(ast.literal_eval(node.value.args[0]))


if __name__ == "__main__":
    rows = {"transformers 4.57.6": of_4(Path(sys.argv[1])), f"transformers {transformers.__version__}": of_5()}
    PATH.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(PATH)
