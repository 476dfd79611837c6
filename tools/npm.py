"""Packages of npm at the versions of a lock file, installed into a cache that is kept."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

_SECONDS = 120


class NotInstalledError(Exception):
    """The packages cannot be had; the text says in one line why."""


def installed(folder: Path) -> Path:
    """The folder with the node_modules of what `package.json` and `package-lock.json` of a folder name; no script of a package runs.

    The lock names no host, so that npm asks the registry it is set up for. NotInstalledError where Node, npm or that registry is not at hand.
    """
    missing = [name for name in ("node", "npm") if not shutil.which(name)]
    if missing:
        raise NotInstalledError(f"{' and '.join(missing)} not found")
    lock = (folder / "package-lock.json").read_bytes()
    kept = Path(os.environ.get("XDG_CACHE_HOME") or tempfile.gettempdir()) / "model-repo-drift"
    place = kept / f"npm-{hashlib.sha256(lock).hexdigest()[:16]}"
    if not place.is_dir():
        kept.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept) as scratch:
            work = Path(scratch) / "installed"
            work.mkdir()
            for name in ("package.json", "package-lock.json"):
                shutil.copy(folder / name, work)
            command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
            try:
                done = subprocess.run(command, cwd=work, check=False, capture_output=True, text=True, timeout=_SECONDS)
            except subprocess.TimeoutExpired:
                raise NotInstalledError(f"npm ci took more than {_SECONDS} s") from None
            if done.returncode:
                first, *_ = [*done.stderr.splitlines(), ""]
                raise NotInstalledError(f"npm ci failed with status {done.returncode}: {first!r}")
            with suppress(OSError):  # another process may have been faster
                work.rename(place)
    return place
