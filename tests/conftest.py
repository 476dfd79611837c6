"""What every test may ask for, and the one marker that may skip."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from tests import javascript

ROOT = Path(__file__).parent.parent
SHARED = Path(os.environ.get("MODEL_REPO_DRIFT_SHARED", ROOT.parent / "shared"))


@cache
def present(what: str) -> bool:
    """Whether something that not every machine has is here: 'shared', 'docker', 'node', 'npm' (its locked packages), 'chromium', 'redis' (its server) or 'compose'."""
    if what == "shared":
        return (SHARED / "cases").is_dir()
    if what == "docker":
        return (
            shutil.which("docker") is not None
            and subprocess.run(["docker", "version"], check=False, capture_output=True).returncode == 0
        )
    if what == "npm":
        return javascript.installed() is not None
    if what in ("node", "chromium"):
        return shutil.which(what) is not None
    if what == "redis":
        return shutil.which("redis-server") is not None
    if what == "compose":
        return shutil.which("docker-compose") is not None
    raise ValueError(f"unknown need {what!r}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for mark in item.iter_markers("needs"):
            for what in mark.args:
                if not present(what):
                    item.add_marker(pytest.mark.skip(reason=f"needs {what}, which is not here"))


@pytest.fixture(scope="session")
def shared() -> Path:
    return SHARED
