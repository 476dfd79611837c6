"""The Jinja of transformers.js, npm @huggingface/jinja, installed at the locked version into a cache where Node and a registry are at hand."""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_SECONDS = 120


@cache
def installed() -> Path | None:
    """The folder with node_modules, None where it cannot be had."""
    if not shutil.which("node") or not shutil.which("npm"):
        return None
    lock = (HERE / "package-lock.json").read_bytes()
    kept = Path(os.environ.get("XDG_CACHE_HOME") or tempfile.gettempdir()) / "model-repo-drift"
    place = kept / f"npm-{hashlib.sha256(lock).hexdigest()[:16]}"
    if not place.is_dir():
        kept.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept) as scratch:
            work = Path(scratch) / "installed"
            work.mkdir()
            for name in ("package.json", "package-lock.json"):
                shutil.copy(HERE / name, work)
            command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
            try:
                done = subprocess.run(command, cwd=work, check=False, capture_output=True, timeout=_SECONDS)
            except subprocess.TimeoutExpired:
                return None
            if done.returncode:
                return None
            with suppress(OSError):  # another process may have been faster
                work.rename(place)
    return place


def render(questions: Sequence[tuple[str, Mapping[str, Any]]]) -> list[dict[str, str]]:
    """What becomes of templates with their variables: {"text"} or {"error"} each."""
    lines = "".join(json.dumps({"template": text, "context": context}) + "\n" for text, context in questions)
    command = ["node", str(HERE / "render.cjs"), str(installed())]
    done = subprocess.run(command, input=lines, check=True, capture_output=True, text=True, timeout=_SECONDS)
    return [json.loads(line) for line in done.stdout.splitlines()]
