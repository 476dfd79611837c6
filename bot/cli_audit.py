"""The command audit: judge many repositories of the Hub, with its options."""

import argparse
import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from bot.analyze.records import FailOn
from bot.cli_output import one_line, say, write
from bot.errors import UsageError
from bot.hub import access, connect

if TYPE_CHECKING:
    from bot.audit.pace import Pace
    from bot.audit.page import Tally

WORKERS = 4
INTERRUPTED = 130
WHAT = (
    "a repository as org/name or org/name@revision, org/* for all models of an organization, or a file with one of these a line"
)
HISTORY = "compare every pair of neighbours in the history of each, or the newest N, instead of judging the newest revision"


def audit_repositories(given: argparse.Namespace) -> int:
    """Judge many repositories of the Hugging Face Hub, or their histories commit by commit; what is finished is not done again."""
    from bot.audit.audit import Audit  # noqa: PLC0415 - only this command needs them here
    from bot.audit.crew import Threads  # noqa: PLC0415
    from bot.audit.journal import Journal  # noqa: PLC0415
    from bot.audit.judge import judge  # noqa: PLC0415
    from bot.audit.names import hold  # noqa: PLC0415
    from bot.audit.pace import Pace  # noqa: PLC0415
    from bot.audit.page import opening, page, tally  # noqa: PLC0415
    from bot.audit.progress import progress  # noqa: PLC0415

    if given.workers < 1:
        raise UsageError("--workers takes a number from 1 on")
    if given.history is not None and given.history < 0:
        raise UsageError("--history takes a number from 1 on, and without one all of the history")
    hold(given.what)
    asks = access(os.environ)
    connect(asks)  # says what is wrong with the endpoint, before anything is written
    journal = Journal(given.output, given.history)
    pace = Pace(asks.endpoint, reserve=given.workers)
    stopped = False
    try:
        with progress(pace, quiet=given.quiet) as tell, _stopping(pace):
            audit = Audit(given.what, journal, asks, pace, history=given.history, tell=tell)
            try:
                audit.run(Threads(given.workers, partial(judge, access=asks, pace=pace)))
            except KeyboardInterrupt:
                stopped = True
        whole = tally(journal.lines())
        shown = page(whole, histories=given.history is not None, endpoint=asks.endpoint, unlisted=audit.unlisted)
        path = journal.write_page(shown)
    finally:
        journal.close()
    for reason in audit.unlisted:
        say(f"model-repo-drift: {one_line(Exception(reason))}\n")
    write(f"{opening(whole, histories=given.history is not None, unlisted=audit.unlisted)}\n{path}\n", None, quiet=given.quiet)
    if stopped:
        say("model-repo-drift: stopped; run the same again to go on\n")
        return INTERRUPTED
    return _status(whole, given.fail_on, unlisted=bool(audit.unlisted))


def audit_options(parser: argparse.ArgumentParser) -> None:
    """The options of audit."""
    add = parser.add_argument
    add("what", metavar="WHAT", nargs="+", help=WHAT)
    add(
        "--output",
        metavar="DIR",
        type=Path,
        required=True,
        help="where audit.jsonl and summary.md are; an audit that ended early goes on there",
    )
    add("--history", metavar="N", type=int, nargs="?", const=0, help=HISTORY)
    add("--workers", metavar="N", type=int, default=WORKERS, help=f"how many are judged at a time (default: {WORKERS})")
    add("--fail-on", choices=get_args(FailOn), default="error", help="exit with 1 from this severity on (default: error)")
    add("-q", "--quiet", action="store_true", help="print nothing; only files and the exit status speak")


def _status(whole: "Tally", fail_on: FailOn, *, unlisted: bool) -> int:
    """1 for findings at or above `fail_on`, else 3 when something could not be looked at, else 0."""
    severities = {
        "error": ("error",),
        "unchecked": ("error",),
        "warning": ("error", "warning"),
        "note": ("error", "warning", "note"),
    }
    if any(whole.severities[each] for each in severities.get(fail_on, ())) or (fail_on == "unchecked" and whole.gaps):
        return 1
    return 3 if whole.unread or unlisted else 0


@contextmanager
def _stopping(pace: "Pace") -> Generator[None, None, None]:
    """Let a signal end waiting as well as working."""

    def stop(*_: object) -> None:
        pace.stop()
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
