"""The Jinja of transformers.js, npm @huggingface/jinja, installed at the locked version into a cache where Node and a registry are at hand."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tools import npm

HERE = Path(__file__).parent
_SECONDS = 120


@cache
def installed() -> Path | None:
    """The folder with node_modules, None where it cannot be had."""
    try:
        return npm.installed(HERE)
    except npm.NotInstalledError:
        return None


def render(questions: Sequence[tuple[str, Mapping[str, Any]]]) -> list[dict[str, str]]:
    """What becomes of templates with their variables: {"text"} or {"error"} each."""
    lines = "".join(json.dumps({"template": text, "context": context}) + "\n" for text, context in questions)
    command = ["node", str(HERE / "render.cjs"), str(installed())]
    done = subprocess.run(command, input=lines, check=True, capture_output=True, text=True, timeout=_SECONDS)
    return [json.loads(line) for line in done.stdout.splitlines()]
