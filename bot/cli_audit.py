"""The command audit: judge many repositories of the Hub, with its options."""

import argparse
import os
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args
from urllib.parse import urlsplit

from bot.analyze.records import FailOn
from bot.cli_output import one_line, say, write
from bot.errors import UsageError
from bot.hub import Access, access, connect

if TYPE_CHECKING:
    from bot.audit.crew import Crew
    from bot.audit.pace import Pace
    from bot.audit.page import Tally
    from bot.audit.records import Asked, Line
    from bot.server.queue import Told

WORKERS = 4
INTERRUPTED = 130
WHAT = (
    "a repository as org/name or org/name@revision, org/* for all models of an organization, or a file with one of these a line"
)
QUEUE = "share the work with other machines, each with `audit --queue URL`: redis://host:port/0, or sqlite:PATH for several processes of one"
HISTORY = "compare every pair of neighbours in the history of each, or the newest N, instead of judging the newest revision"


def audit_repositories(given: argparse.Namespace) -> int:
    """Judge many repositories of the Hugging Face Hub, or their histories commit by commit; what is finished is not done again."""
    from bot.audit.names import hold  # noqa: PLC0415 - only this command needs them here
    from bot.audit.pace import Pace  # noqa: PLC0415

    _hold_numbers(given)
    hold(given.what)
    asks = access(os.environ)
    connect(asks)  # says what is wrong with the endpoint, before anything is written
    if not given.queue:
        from bot.audit.crew import Threads  # noqa: PLC0415 - as above

        pace = Pace(asks.endpoint, given.workers)
        return _audit(given, asks, pace, lambda _: Threads(given.workers, _judge(asks, pace)))
    try:
        from bot.server.audit import Noticed, Queued, open_queue, workers  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise UsageError(
            f"--queue needs {error.name}; install the extra `server`: `pip install '.[server]'` in a clone of Model Repo Drift"
        ) from error
    queue, board = open_queue(given.queue, _tell)
    pace = Pace(asks.endpoint, max(given.workers, 1), Noticed(board, urlsplit(asks.endpoint).hostname or ""))
    with _stopping(pace), workers(queue, board, _judge(asks, pace), given.workers):
        if given.what:
            return _audit(given, asks, pace, lambda audit: Queued(queue, board, audit))
        say("model-repo-drift: at work on the queue, until it is stopped\n")
        with suppress(KeyboardInterrupt):
            threading.Event().wait()
        return 0


def _judge(asks: Access, pace: "Pace") -> "Callable[[Asked], Line]":
    from bot.audit.judge import judge  # noqa: PLC0415 - as above

    return partial(judge, access=asks, pace=pace)


def _audit(given: argparse.Namespace, asks: Access, pace: "Pace", crew: "Callable[[str], Crew]") -> int:
    """Run an audit and write the page about it; `crew` opens those who judge for an audit of this name."""
    from bot.audit.audit import Audit  # noqa: PLC0415 - as above
    from bot.audit.journal import Journal  # noqa: PLC0415
    from bot.audit.page import opening, page, tally  # noqa: PLC0415
    from bot.audit.progress import progress  # noqa: PLC0415

    histories = given.history is not None
    stopped = False
    with closing(Journal(given.output, given.history)) as journal:
        with progress(pace, quiet=given.quiet) as tell, _stopping(pace):
            audit = Audit(given.what, journal, asks, pace, history=given.history, tell=tell)
            try:
                audit.run(crew(journal.id))
            except KeyboardInterrupt:
                stopped = True
        whole = tally(journal.lines())
        shown = page(whole, histories=histories, endpoint=asks.endpoint, unlisted=audit.unlisted)
        path = journal.write_page(shown)
    for reason in audit.unlisted:
        say(f"model-repo-drift: {one_line(Exception(reason))}\n")
    write(f"{opening(whole, histories=histories, unlisted=audit.unlisted)}\n{path}\n", None, quiet=given.quiet)
    if stopped:
        say("model-repo-drift: stopped; run the same again to go on\n")
        return INTERRUPTED
    return _status(whole, given.fail_on, unlisted=bool(audit.unlisted))


def _hold_numbers(given: argparse.Namespace) -> None:
    """Hold options to each other. Raises UsageError."""
    if bool(given.what) != bool(given.output):
        raise UsageError("audit takes WHAT and --output DIR; a machine that only works takes neither, and --queue")
    if not (given.what or given.queue):
        raise UsageError("audit takes WHAT to judge; see `model-repo-drift audit --help`")
    if given.workers < (1 if not given.queue or not given.what else 0):
        raise UsageError("--workers takes a number from 1 on, or 0 where others take from the --queue")
    if given.history is not None and given.history < 0:
        raise UsageError("--history takes a number from 1 on, and without one all of the history")


def _tell(told: "Told") -> None:
    """Say what somebody should look after; how many were judged is said elsewhere."""
    if told.outcome in ("again", "failed", "lost"):
        say(f"model-repo-drift: queue: {told.outcome} {one_line(Exception(told.key))}: {told.error}\n")


def audit_options(parser: argparse.ArgumentParser) -> None:
    """The options of audit."""
    add = parser.add_argument
    add("what", metavar="WHAT", nargs="*", help=WHAT)
    add(
        "--output",
        metavar="DIR",
        type=Path,
        help="where audit.jsonl and summary.md are; an audit that ended early goes on there",
    )
    add("--history", metavar="N", type=int, nargs="?", const=0, help=HISTORY)
    add("--workers", metavar="N", type=int, default=WORKERS, help=f"how many are judged at a time (default: {WORKERS})")
    add("--queue", metavar="URL", help=QUEUE)
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
