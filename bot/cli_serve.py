"""The command serve: the bot for pull requests on the Hub. Its secrets come by the environment, which nothing below reads."""

import argparse
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bot.errors import UsageError
from bot.hub import access

if TYPE_CHECKING:
    from bot.server.serving import Setup

SECRET = "MODEL_REPO_DRIFT_WEBHOOK_SECRET"  # noqa: S105 - the name of a variable
QUEUE = "MODEL_REPO_DRIFT_QUEUE"
DEFAULT_QUEUE = "sqlite:model-repo-drift-queue.db"
DEFAULT_LISTEN = "127.0.0.1:8080"
MOST_WORKERS = 64
SHORTEST_SECRET = 16


def serve_bot(given: argparse.Namespace) -> int:
    """Receive webhooks of the Hub and comment on pull requests there, until it is stopped."""
    try:
        from bot.server.discussion import Bot  # noqa: PLC0415 - an extra, and long to import
        from bot.server.log import Log  # noqa: PLC0415
        from bot.server.serving import serve  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("bot"):
            raise
        raise UsageError(
            f"serve needs {error.name}; install the extra `server`: `pip install '.[server]'` in a clone of Model Repo Drift"
        ) from error
    serve(_setup(given, os.environ), Bot(access(os.environ)), Log(sys.stderr))
    return 0


def serve_options(parser: argparse.ArgumentParser) -> None:
    """The options of serve."""
    add = parser.add_argument
    add("--queue", metavar="URL", help=f"sqlite:PATH or redis://host:port/0 (default: that of {QUEUE}, or {DEFAULT_QUEUE})")
    add("--only", choices=("web", "worker"), help="only receive, or only work: several machines share one Redis queue")
    add("--workers", metavar="N", type=int, default=2, help="pull requests that are judged at the same time (default: 2)")
    add(
        "--listen",
        metavar="HOST:PORT",
        help=f"answer /webhook, /healthz and /metrics here (default: {DEFAULT_LISTEN}; with --only worker nowhere)",
    )
    add(
        "--silence",
        metavar="SECONDS",
        type=float,
        default=30,
        help="take a worker for dead when it is silent for so long (default: 30)",
    )
    add("--grace", metavar="SECONDS", type=float, default=30, help="let running jobs end for so long when stopped (default: 30)")
    add("--retry-failed", action="store_true", help="begin with what was given up, such as after a new token")


def _setup(given: argparse.Namespace, environ: Mapping[str, str]) -> "Setup":
    """Read options and environment. Raises UsageError for what is wrong or missing."""
    from bot.server.queue import Times  # noqa: PLC0415 - as above
    from bot.server.serving import Setup  # noqa: PLC0415

    secret = "" if given.only == "worker" else _secret(environ)
    if given.only != "web" and not environ.get("HF_TOKEN", "").strip():
        raise UsageError("HF_TOKEN is not set: without a token that may write in discussions the bot could not comment")
    if not 1 <= given.workers <= MOST_WORKERS:
        raise UsageError(f"--workers {given.workers}: a number from 1 to {MOST_WORKERS} is needed")
    if given.silence < 1 or given.grace < 0:
        raise UsageError("--silence must be at least 1 second, and --grace at least 0")
    listen = given.listen or ("" if given.only == "worker" else DEFAULT_LISTEN)
    return Setup(
        part=given.only or "both",
        queue=given.queue or environ.get(QUEUE, "").strip() or DEFAULT_QUEUE,
        workers=given.workers,
        listen=_address(listen) if listen else None,
        secret=secret,
        retry=given.retry_failed,
        times=Times(silence=given.silence, tick=min(3, given.silence / 5), grace=given.grace),
    )


def _secret(environ: Mapping[str, str]) -> str:
    secret = environ.get(SECRET, "").strip()
    if not secret:
        raise UsageError(f"{SECRET} is not set: without the secret of the webhook anybody could send deliveries")
    if len(secret) < SHORTEST_SECRET or not secret.isascii() or not secret.isprintable():
        raise UsageError(f"{SECRET} must be at least {SHORTEST_SECRET} printable ASCII letters: the Hub sends no others")
    return secret


def _address(listen: str) -> tuple[str, int]:
    host, _, port = listen.rpartition(":")
    if not host or not port.isdecimal() or int(port) >= 1 << 16:
        raise UsageError(f"--listen {listen}: HOST:PORT is needed, such as {DEFAULT_LISTEN}")
    return host.strip("[]"), int(port)
