"""The command line: every command, and the exit status of each way to end."""

import argparse
import traceback
from collections.abc import Callable
from typing import NoReturn

from bot import __version__
from bot.cli_audit import audit_options, audit_repositories
from bot.cli_describe import (
    inspect_revision,
    predict_options,
    predict_revisions,
    render_options,
    render_revision,
    revision_options,
)
from bot.cli_init import init_options, initialize
from bot.cli_judge import check_options, check_revision, compare_options, compare_revisions
from bot.cli_output import one_line, page, say, write
from bot.cli_serve import serve_bot, serve_options
from bot.cli_watch import watch_options, watch_repositories
from bot.errors import CannotLookError, UsageError

STATUS = "exit status: 0 nothing new at or above --fail-on; 1 such findings; 2 wrong usage or settings; 3 could not look"


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are ours: one line, exit status 2."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")


class _Version(argparse.Action):
    """Prints what is modelled, which takes an import that no other run needs."""

    def __call__(self, *_: object) -> None:
        from bot.analyze.comparison import FACTS  # noqa: PLC0415 - see above
        from bot.analyze.engines.choice import modelled  # noqa: PLC0415
        from bot.publish import words  # noqa: PLC0415

        names = [f"{engine}@{version}" for engine, versions in modelled().items() for version in versions]
        write(f"{__version__}\n{words.facts(FACTS)}\n", None)
        for row in words.engine_rows(names, names):
            write(f"  {row}\n", None)
        raise SystemExit(0)


def _explain(given: argparse.Namespace) -> int:
    """Print what a check sees, why it matters, how to fix it and when it keeps silent."""
    from bot.analyze.checks.check import checks  # noqa: PLC0415 - only this command needs them here

    found = {loaded.id: loaded for loaded in checks()}
    if not given.check:
        write("".join(f"{name:34} {loaded.check.title}\n" for name, loaded in found.items()), None)
        return 0
    if given.check not in found:
        raise UsageError(f"there is no check {given.check!r}; `model-repo-drift explain` lists them")
    write(page(found[given.check]), None)
    return 0


def _explain_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("check", metavar="CHECK", nargs="?", default="", help="its id; without one, all are listed")


def _action(_: argparse.Namespace) -> int:
    """Run as a GitHub Action: everything is read from the environment that the runner sets."""
    from bot.action import main as act  # noqa: PLC0415 - PyGithub takes longer to import than everything else together

    return act()


def _publish(given: argparse.Namespace) -> int:
    """Publish the report of another run, in a GitHub job that is started by a workflow_run event."""
    from bot.action import main as act  # noqa: PLC0415 - as above

    return act(report=given.report)


def _publish_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("report", metavar="FILE", help="the report, below the workspace; it is taken for a stranger's")


def _no_options(_: argparse.ArgumentParser) -> None:
    pass


COMMANDS: dict[str, tuple[Callable[[argparse.Namespace], int], Callable[[argparse.ArgumentParser], None]]] = {
    "compare": (compare_revisions, compare_options),
    "check": (check_revision, check_options),
    "inspect": (inspect_revision, revision_options),
    "predict": (predict_revisions, predict_options),
    "render": (render_revision, render_options),
    "audit": (audit_repositories, audit_options),
    "init": (initialize, init_options),
    "explain": (_explain, _explain_options),
    "action": (_action, _no_options),
    "publish": (_publish, _publish_options),
    "serve": (serve_bot, serve_options),
    "watch": (watch_repositories, watch_options),
}


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    about = "Compare two revisions of a model repository and say what newly goes wrong, per inference engine."
    whole = _Parser(prog="model-repo-drift", description=about, epilog=STATUS, allow_abbrev=False)
    whole.add_argument("--version", action=_Version, nargs=0, help="print the version, and which engines are modelled as of when")
    commands = whole.add_subparsers(metavar="COMMAND", required=True)
    for name, (act, options) in COMMANDS.items():
        said = act.__doc__ or ""
        command = commands.add_parser(name, help=said, description=said, allow_abbrev=False)
        options(command)
        command.set_defaults(act=act)
    return whole


def run() -> int:
    """Run a command and return its status: 0, 1 for findings, 2 for wrong usage, 3 for not being able to look."""
    try:
        given = parser().parse_args()
        return given.act(given)
    except SystemExit as done:  # --help and --version
        return int(done.code or 0)
    except UsageError as error:
        say(f"model-repo-drift: {one_line(error)}\n")
        return 2
    except CannotLookError as error:
        say(f"model-repo-drift: {one_line(error)}\n")
        return 3
    except BrokenPipeError:
        return 141
    except Exception:  # noqa: BLE001 - a fault of ours is no finding: it must not end with status 1
        say(f"{traceback.format_exc()}model-repo-drift: this is a fault in the program; nothing was judged\n")
        return 3
