"""Write which model types MLX-LM has a class for: `python -m tools.mlx_model_types WHEEL`, WHEEL being that of mlx-lm.

They are the modules of mlx_lm/models, and the names that mlx_lm/utils.py turns into another (MODEL_REMAPPING, MODEL_ARCHITECTURE_REMAPPING).
Nothing is imported.
"""

import ast
import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any

PATH = Path(__file__).parent.parent / "bot/analyze/engines/data"
_MODULE = re.compile(r"mlx_lm/models/([A-Za-z]\w*)(?:\.py|/__init__\.py)")


def read(wheel: Path) -> dict[str, Any]:
    """The version, the modules, and what is renamed: by model type, and by model type and architecture."""
    with zipfile.ZipFile(wheel) as opened:
        modules = {found[1] for name in opened.namelist() if (found := _MODULE.fullmatch(name))}
        tree = ast.parse(opened.read("mlx_lm/utils.py"))
    constants = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.endswith("_REMAPPING")
    }
    return {
        "version": wheel.name.split("-")[1],
        "modules": sorted(modules),
        "renamed": constants["MODEL_REMAPPING"],
        "by_architecture": [[*key, value] for key, value in constants["MODEL_ARCHITECTURE_REMAPPING"].items()],
    }


if __name__ == "__main__":
    table = read(Path(sys.argv[1]))
    (PATH / f"mlx-lm-{table['version']}.json").write_text(json.dumps(table, indent=1) + "\n", "utf-8")
