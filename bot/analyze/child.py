"""Start the process that reads a repository, early if possible: its imports take as long as those of the process that asks."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from bot.analyze.limits import hide_environment

# -I leaves out the working directory, the user's packages and every PYTHON* variable; this package's own folder comes first, so that no
# other installation of it answers.
# typing_extensions is kept out: msgspec takes it where it is there, has no need of it, and it takes longer to import than msgspec itself.
START = "import gc; gc.disable(); import sys; sys.modules['typing_extensions'] = None; own = sys.argv.pop(1); own in sys.path or sys.path.insert(0, own); import runpy; runpy.run_module('bot.analyze', run_name='__main__', alter_sys=True)"
_NEEDED = ("PATH", "LD_LIBRARY_PATH")

Child = subprocess.Popen[bytes]
_waiting: list[Child] = []


def start(environment: Mapping[str, str], program: str = "", settings: Mapping[str, str] = MappingProxyType({})) -> Child:
    """Start a child that runs `program`, START by default. Of `environment` it gets only what an interpreter needs to start, so no secret.

    `settings` are further variables for it.
    """
    hide_environment()
    kept = {name: environment[name] for name in _NEEDED if name in environment}
    return subprocess.Popen(
        [sys.executable, "-I", "-c", program or START, str(Path(__file__).parent.parent.parent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**kept, "LC_ALL": "C.UTF-8", "TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1", **settings},
        cwd="/",
    )


def prepare(environment: Mapping[str, str]) -> None:
    """Start a child that waits for `take`, or for `dismiss`."""
    _waiting.append(start(environment))


def take(environment: Mapping[str, str]) -> Child:
    """The child that waits, or a new one."""
    return _waiting.pop() if _waiting else start(environment)


def dismiss() -> None:
    """End the child that nobody took."""
    while _waiting:
        end(_waiting.pop())


def end(child: Child) -> None:
    """End a child, whatever it does, and close its streams."""
    if child.poll() is None:
        child.kill()
    child.wait()
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream is not None:
            stream.close()
