"""The command watch: one look at the open pull requests of Hub repositories."""

import argparse
import os
from pathlib import Path

from bot.cli_output import one_line, say, write
from bot.errors import CannotLookError, UsageError
from bot.fetch.hub import PREFIX, parse
from bot.hub import access


def watch_repositories(given: argparse.Namespace) -> int:
    """Comment on the open pull requests of Hub repositories that moved since the last look; for a scheduled job, where no server receives webhooks."""
    from bot.server.discussion import Bot  # noqa: PLC0415 - only this command needs them here
    from bot.server.watching import Memory, watch  # noqa: PLC0415

    asks = access(os.environ)
    if not asks.token:
        raise UsageError("HF_TOKEN is not set: without a token that may write in discussions nothing can be commented on")
    repositories = [_name(written) for written in given.repositories]
    faults = 0
    for told in watch(repositories, Bot(asks), Memory(given.state)):
        where = f"{PREFIX}{told.repo}{f'#{told.number}' if told.number else ''}"
        if told.fault:
            faults += 1
            said = one_line(Exception(told.fault))
            say(f"model-repo-drift: {said if said.startswith(PREFIX) else f'{where}: {said}'}\n")
            continue
        said = " ".join(filter(None, [told.judged.url, told.judged.notice]))
        write(f"{where}: {told.judged.outcome}{f' {said}' if said else ''}\n", None, quiet=given.quiet)
    if faults:
        raise CannotLookError(f"{faults} of what was asked about could not be looked at; the lines above say why")
    return 0


def _name(written: str) -> str:
    asked = parse(written if written.startswith(PREFIX) else f"{PREFIX}{written}")
    if "@" in written:
        raise UsageError(f"{written}: watch takes a repository without a revision, such as {PREFIX}{asked.repository}")
    return asked.repository


def watch_options(parser: argparse.ArgumentParser) -> None:
    """The options of watch."""
    add = parser.add_argument
    add(
        "repositories",
        metavar="REPOSITORY",
        nargs="+",
        help="org/name on the Hugging Face Hub; HF_TOKEN has to be able to comment there",
    )
    state = "remember in this file what was judged, so that the next look only judges what moved (default: judge every open pull request)"
    add("--state", metavar="FILE", type=Path, help=state)
    add("-q", "--quiet", action="store_true", help="print only what could not be looked at")
