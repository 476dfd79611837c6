"""Count the characters of the chat templates for which Ollama has one of its own, from a clone of its repository.

Usage: python tools/ollama_templates.py CLONE COMMIT > bot/analyze/engines/data/ollama-templates.json

The strings on which each of these stops (template/NAME.json) are kept as well. Ollama puts its own template in the place of one that is less than 100 edits away (template/template.go:72 at fb30760). The counts alone tell
that a template is further away than that, and are all that is kept: the texts are not ours to copy.
"""

import json
import subprocess
import sys
from collections import Counter
from typing import Any


def main(clone: str, commit: str) -> None:
    """Print the counts as JSON."""

    def read(name: str) -> Any:
        shown = subprocess.run(["git", "-C", clone, "show", f"{commit}:template/{name}.json"], check=False, capture_output=True)
        return json.loads(shown.stdout) if shown.returncode == 0 else {}  # a template without a file of its own stops on nothing

    rows: list[dict[str, Any]] = [
        {
            "name": row["name"],
            "stops": read(row["name"]).get("stop", []),
            "counts": dict(sorted(Counter(row["template"]).items())),
        }
        for row in read("index")
    ]
    lines = ",\n".join(json.dumps(row, ensure_ascii=True, separators=(",", ":")) for row in rows)
    print(f'{{"source": "ollama/ollama {commit}, template/index.json", "templates": [\n{lines}\n]}}')


if __name__ == "__main__":
    main(*sys.argv[1:])
