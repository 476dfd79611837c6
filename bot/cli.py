"""The command line: every option's parser and help, and which view is printed."""

import argparse
import contextlib
import io
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, get_args

import msgspec

from bot import __version__
from bot.analyze.records import Comparison, FailOn, Prove
from bot.errors import CannotLookError, UsageError
from bot.probe import read_probes
from bot.run import check, compare, engines_of, exit_status, inspect, predict

if TYPE_CHECKING:
    from bot.analyze.checks.check import Loaded

FORMATS = ("text", "json", "markdown", "summary")
ENGINES = "an engine, or NAME>=VERSION for a range, or all; may be repeated (default: the newest version of each)"
PROVE = "load both revisions with the installed transformers: where tokenizer or template files changed, always or never (default: auto)"
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
        _write(f"{__version__}\n{words.facts(FACTS)}\n", None)
        for row in words.engine_rows(names, names):
            _write(f"  {row}\n", None)
        raise SystemExit(0)


def _compare(given: argparse.Namespace) -> int:
    """Compare BASE with HEAD and print what HEAD newly gets wrong."""
    base, head = str(given.base), str(given.head)
    if given.staged == bool(base or head) or bool(base) != bool(head):
        raise UsageError("compare takes BASE and HEAD, two folders or git:<revision>, or --staged instead of them")
    engines, after = _engines(given.engine, given.engine_after)
    comparison = compare(
        base=base or "git:HEAD",
        head=head or "git:HEAD",
        repo=given.repo,
        history=given.history,
        staged=given.staged,
        engines=engines,
        engines_after=after,
        probes=read_probes(given.probes) if given.probes else (),
        prove=given.prove,
    )
    shown = _shown(comparison, given.format, verbose=given.verbose, color=given.output is None and _color())
    _write(shown, given.output, quiet=given.quiet)
    return exit_status(comparison, given.fail_on)


def _engines(before: list[str], after: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the versions that are asked, and those that are asked about head where they are others."""
    if not after:
        return engines_of(before), ()
    from bot.analyze.engines.choice import in_pairs  # noqa: PLC0415 - only this question needs it here

    pairs = in_pairs(before, after)
    return tuple(old.name for old, _ in pairs), tuple(new.name for _, new in pairs)


def _compare_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("base", metavar="BASE", nargs="?", default="", help="a folder, or git:<revision> of the clone given by --repo")
    add("head", metavar="HEAD", nargs="?", default="", help="likewise; two git revisions are compared from their merge base on")
    add("--repo", metavar="DIR", type=Path, default=Path(), help="the clone; nothing is checked out (default: this folder)")
    add("--staged", action="store_true", help="compare what is staged for the next commit with HEAD")
    add("--history", metavar="FILE", type=Path, help="refs and their commits as JSON, for claims about commits without a clone")
    add("--engine", metavar="NAME[@VERSION]", action="append", default=[], help=ENGINES)
    add(
        "--engine-after",
        metavar="NAME@VERSION",
        action="append",
        default=[],
        help="ask this version about HEAD: what changes with a move from --engine to it",
    )
    add(
        "--probes",
        metavar="FILE",
        type=Path,
        help="render exactly the conversations of this JSON file, instead of the built-in ones",
    )
    add("--prove", choices=get_args(Prove), default="auto", help=PROVE)
    add("--format", choices=FORMATS, default="text", help="markdown is the comment, summary the job summary (default: text)")
    add("--fail-on", choices=get_args(FailOn), default="error", help="exit with 1 from this severity on (default: error)")
    add("--output", metavar="FILE", type=Path, help="write to this file instead of standard output")
    add("-q", "--quiet", action="store_true", help="print nothing; only the exit status speaks")
    add("-v", "--verbose", action="store_true", help="show notes and folded parts in full (text only)")


def _check(given: argparse.Namespace) -> int:
    """Judge one revision by itself: everything that is wrong with it today."""
    comparison = check(given.revision, repo=given.repo, history=given.history)
    if given.format == "json":
        shown = _json(comparison)
    else:
        from bot.publish import text  # noqa: PLC0415 - as above

        shown = text.judged(comparison, color=given.output is None and _color(), verbose=given.verbose)
    _write(shown, given.output, quiet=given.quiet)
    return exit_status(comparison, given.fail_on)


def _check_options(parser: argparse.ArgumentParser) -> None:
    _revision_options(parser)
    add = parser.add_argument
    add("--history", metavar="FILE", type=Path, help="refs and their commits as JSON, for claims about commits without a clone")
    add("--fail-on", choices=get_args(FailOn), default="error", help="exit with 1 from this severity on (default: error)")
    add("-q", "--quiet", action="store_true", help="print nothing; only the exit status speaks")


def _inspect(given: argparse.Namespace) -> int:
    """Describe one revision: its tokens, stop ids, templates, quantization, code, each value with its place."""
    inspection = inspect(given.revision, repo=given.repo)
    if given.format == "json":
        shown = _json(inspection)
    else:
        from bot.publish import inspected  # noqa: PLC0415 - as above

        shown = inspected.inspected(inspection, color=given.output is None and _color(), verbose=given.verbose)
    _write(shown, given.output)
    return 0


def _revision_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("revision", metavar="REVISION", help="a folder, or git:<revision> of the clone given by --repo")
    add("--repo", metavar="DIR", type=Path, default=Path(), help="the clone; nothing is checked out (default: this folder)")
    add("--format", choices=("text", "json"), default="text", help="(default: text)")
    add("--output", metavar="FILE", type=Path, help="write to this file instead of standard output")
    add("-v", "--verbose", action="store_true", help="show everything in full (text only)")


def _predict(given: argparse.Namespace) -> int:
    """Predict what every inference engine will do with model folders: load errors, stop tokens, templates, defaults."""
    from bot.analyze.engines.choice import choose, newest  # noqa: PLC0415 - only this command needs them here

    chosen = choose(given.engine) if given.engine else newest()
    parts = tuple(predict(given.revisions, repo=given.repo, engines=tuple(each.name for each in chosen)))
    rows = tuple(row for part in parts for row in part.rows)
    if given.format == "jsonl":
        shown = "".join(msgspec.json.encode({"folder": row.folder, **row.prediction}).decode() + "\n" for row in rows)
    else:
        whole = msgspec.structs.replace(parts[0], rows=rows, unchecked=tuple(each for part in parts for each in part.unchecked))
        if given.format == "json":
            shown = _json(whole)
        else:
            from bot.publish import predicted  # noqa: PLC0415 - as above

            shown = predicted.predicted(whole, color=given.output is None and _color(), verbose=given.verbose)
    _write(shown, given.output)
    return 0


def _predict_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("revisions", metavar="REVISION", nargs="+", help="a model folder, or git:<revision> of the clone given by --repo")
    add("--repo", metavar="DIR", type=Path, default=Path(), help="the clone; nothing is checked out (default: this folder)")
    add("--engine", metavar="NAME[@VERSION]", action="append", default=[], help=ENGINES)
    add("--format", choices=("text", "json", "jsonl"), default="text", help="(default: text)")
    add("--output", metavar="FILE", type=Path, help="write to this file instead of standard output")
    add("-v", "--verbose", action="store_true", help="show everything in full (text only)")


def _explain(given: argparse.Namespace) -> int:
    """Print what a check sees, why it matters, how to fix it and when it keeps silent."""
    from bot.analyze.checks.check import checks  # noqa: PLC0415 - only this command needs them here

    found = {loaded.id: loaded for loaded in checks()}
    if not given.check:
        _write("".join(f"{name:34} {loaded.check.title}\n" for name, loaded in found.items()), None)
        return 0
    if given.check not in found:
        raise UsageError(f"there is no check {given.check!r}; `model-repo-drift explain` lists them")
    _write(_page(found[given.check]), None)
    return 0


def _explain_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("check", metavar="CHECK", nargs="?", default="", help="its id; without one, all are listed")


def _action(_: argparse.Namespace) -> int:
    """Run as a GitHub Action: everything is read from the environment that the runner sets."""
    from bot.action import main as act  # noqa: PLC0415 - PyGithub takes longer to import than everything else together

    return act()


def _no_options(_: argparse.ArgumentParser) -> None:
    pass


COMMANDS: dict[str, tuple[Callable[[argparse.Namespace], int], Callable[[argparse.ArgumentParser], None]]] = {
    "compare": (_compare, _compare_options),
    "check": (_check, _check_options),
    "inspect": (_inspect, _revision_options),
    "predict": (_predict, _predict_options),
    "explain": (_explain, _explain_options),
    "action": (_action, _no_options),
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


def _page(loaded: "Loaded") -> str:
    check = loaded.check
    rows = {
        "Sees": check.sees,
        "Why": check.why,
        "Fix": check.fix,
        "Silent when": check.wrong_when,
        "Severity": f"{check.severity} or less, {check.confidence}. {check.weighed}",
        "Affects": ", ".join(check.engines),
    }
    return f"{loaded.id}: {check.title}\n\n" + "".join(f"{name}: {said}\n" for name, said in rows.items() if said)


def _shown(comparison: Comparison, view: str, *, verbose: bool, color: bool) -> str:
    if view == "json":
        return _json(comparison)
    from bot.publish import comment, links, summary, text  # noqa: PLC0415 - start-up is most of a comparison's time

    if view == "markdown":
        return comment.comment(comparison, links=links.Links())
    if view == "summary":
        return summary.summary(comparison, links.Links())
    return text.text(comparison, color=color, verbose=verbose)


def _json(record: object) -> str:
    return msgspec.json.format(msgspec.json.encode(record), indent=2).decode() + "\n"


def _color() -> bool:
    return sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")  # pyright: ignore[reportUnnecessaryComparison] - None when it was closed


def _write(shown: str, output: Path | None, *, quiet: bool = False) -> None:
    where = "standard output" if output is None else f"--output {output}"
    try:
        if output is not None:
            output.write_text(shown, encoding="utf-8")
        elif not quiet:
            if isinstance(sys.stdout, io.TextIOWrapper):  # what stands in a repository need not be in the terminal's alphabet
                sys.stdout.reconfigure(encoding="utf-8")
            sys.stdout.write(shown)
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except (OSError, AttributeError) as error:  # AttributeError: it was closed before we started
        raise UsageError(f"{where}: cannot be written ({getattr(error, 'strerror', None) or 'it is closed'})") from error


def run() -> int:
    """Run a command and return its status: 0, 1 for findings, 2 for wrong usage, 3 for not being able to look."""
    try:
        given = parser().parse_args()
        return given.act(given)
    except SystemExit as done:  # --help and --version
        return int(done.code or 0)
    except UsageError as error:
        _say(f"model-repo-drift: {_one_line(error)}\n")
        return 2
    except CannotLookError as error:
        _say(f"model-repo-drift: {_one_line(error)}\n")
        return 3
    except BrokenPipeError:
        return 141
    except Exception:  # noqa: BLE001 - a fault of ours is no finding: it must not end with status 1
        _say(f"{traceback.format_exc()}model-repo-drift: this is a fault in the program; nothing was judged\n")
        return 3


def _say(text: str) -> None:
    """Write to standard error, where there is one: the exit status says the rest."""
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison] - None when it was closed
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()


def _one_line(error: Exception) -> str:
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(error).strip().replace("\n", "; "))
