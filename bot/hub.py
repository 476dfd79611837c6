"""The Hugging Face Hub: where it is, with what it may be asked, and what it is called when it cannot be used.

The client itself is in `bot.hub_client`, which is imported only by runs that ask the Hub.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bot.errors import CannotLookError, UsageError

if TYPE_CHECKING:
    from bot.hub_client import Hub

ENDPOINT = "https://huggingface.co"
# What huggingface_hub reads when it is imported (2.4.0, constants.py): no question of its own, no token that nobody handed over.
QUIET = (
    "HF_HUB_DISABLE_IMPLICIT_TOKEN",
    "HF_HUB_DISABLE_PROGRESS_BARS",
    "HF_HUB_DISABLE_TELEMETRY",
    "HF_HUB_DISABLE_UPDATE_CHECK",
    "HF_HUB_DISABLE_XET",
)


class HubError(CannotLookError):
    """The Hub does not answer, or refuses: one line with the cure."""


class AbsentError(HubError):
    """The Hub has no such repository, revision or file, as far as we may see."""


@dataclass
class Budget:
    """Seconds that a run may still spend on waiting for the Hub, so that it ends within the time that a job has."""

    left: float = 240


@dataclass(frozen=True)
class Access:
    """Where the Hub is and with what it may be asked. The token is for the host of `endpoint` alone and shows in no repr.

    `cache` is a folder for contents, None for none.
    """

    endpoint: str = ENDPOINT
    token: str = field(default="", repr=False)
    cache: Path | None = None


def access(environ: Mapping[str, str]) -> Access:
    """Read HF_ENDPOINT, HF_TOKEN and where caches go.

    A token that `hf auth login` stored is not looked for: what a run may read is said where it is started.
    """
    endpoint = environ.get("HF_ENDPOINT", "").strip().rstrip("/") or ENDPOINT
    home = environ.get("HOME", "")
    caches = environ.get("XDG_CACHE_HOME", "") or (f"{home}/.cache" if home else "")
    cache = Path(caches) / "model-repo-drift" / "hub" if Path(caches).is_absolute() else None
    return Access(endpoint, environ.get("HF_TOKEN", "").strip(), cache)


def connect(access: Access, budget: Budget | None = None) -> "Hub":
    """Open the Hub; `budget` is what all requests of a run share. Asks nothing yet. Raises UsageError for an endpoint or a token that cannot be one."""
    if not _is_address(access.endpoint):
        raise UsageError(f"HF_ENDPOINT is not the address of a Hub, such as {ENDPOINT}")
    if not (access.token.isascii() and access.token.isprintable()) or " " in access.token:
        raise UsageError("HF_TOKEN holds what no token has: blanks, or letters that are not ASCII")
    os.environ.update(dict.fromkeys(QUIET, "1"))
    from bot.hub_client import Hub  # noqa: PLC0415 - not before the line above, and half a second that only these runs need

    return Hub(access, budget or Budget())


def _is_address(endpoint: str) -> bool:
    try:
        parts = urlsplit(endpoint)
        fit = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return fit and not (parts.username or parts.query or parts.fragment)
