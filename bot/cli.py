"""The command line: every option's parser and help, and which view is printed."""

import argparse
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, get_args

import msgspec

from bot import __version__
from bot.analyze.records import FailOn, Prove
from bot.cli_output import as_json, is_colored, one_line, page, say, shown_as, write
from bot.errors import CannotLookError, UsageError
from bot.probe import read_messages, read_probes
from bot.run import check, compare, engines_of, exit_status, inspect, predict, render

FORMATS = ("text", "json", "markdown", "summary")
_ENGINE_HELP = "an engine, or NAME>=VERSION for a range, or all; may be repeated"
ENGINES = f"{_ENGINE_HELP} (default: the newest version of each)"
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
        write(f"{__version__}\n{words.facts(FACTS)}\n", None)
        for row in words.engine_rows(names, names):
            write(f"  {row}\n", None)
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
    shown = shown_as(comparison, given.format, verbose=given.verbose, color=given.output is None and is_colored())
    write(shown, given.output, quiet=given.quiet)
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
        shown = as_json(comparison)
    else:
        from bot.publish import text  # noqa: PLC0415 - as above

        shown = text.judged(comparison, color=given.output is None and is_colored(), verbose=given.verbose)
    write(shown, given.output, quiet=given.quiet)
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
        shown = as_json(inspection)
    else:
        from bot.publish import inspected  # noqa: PLC0415 - as above

        shown = inspected.inspected(inspection, color=given.output is None and is_colored(), verbose=given.verbose)
    write(shown, given.output)
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
            shown = as_json(whole)
        else:
            from bot.publish import predicted  # noqa: PLC0415 - as above

            shown = predicted.predicted(whole, color=given.output is None and is_colored(), verbose=given.verbose)
    write(shown, given.output)
    return 0


def _predict_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("revisions", metavar="REVISION", nargs="+", help="a model folder, or git:<revision> of the clone given by --repo")
    add("--repo", metavar="DIR", type=Path, default=Path(), help="the clone; nothing is checked out (default: this folder)")
    add("--engine", metavar="NAME[@VERSION]", action="append", default=[], help=ENGINES)
    add("--format", choices=("text", "json", "jsonl"), default="text", help="(default: text)")
    add("--output", metavar="FILE", type=Path, help="write to this file instead of standard output")
    add("-v", "--verbose", action="store_true", help="show everything in full (text only)")


def _render(given: argparse.Namespace) -> int:
    """Show the exact prompt that each inference engine makes of a conversation, and with --tokens its tokens."""
    from bot.analyze.engines.choice import rendering  # noqa: PLC0415 - only this command needs them here
    from bot.analyze.probes import picked  # noqa: PLC0415

    if given.messages is not None and given.probe:
        raise UsageError("--messages brings a conversation of its own; leave --probe out")
    probes = picked(given.probe) if given.messages is None else (read_messages(given.messages),)
    engines = tuple(each.name for each in rendering(given.engine))
    renderings = render(given.revision, repo=given.repo, probes=probes, engines=engines, tokens=given.tokens)
    if given.format == "json":
        shown = as_json(renderings)
    else:
        from bot.publish import rendered  # noqa: PLC0415 - as above

        shown = rendered.renderings(renderings, color=given.output is None and is_colored(), verbose=given.verbose)
    write(shown, given.output)
    return 0


def _render_options(parser: argparse.ArgumentParser) -> None:
    _revision_options(parser)
    add = parser.add_argument
    probe = "a built-in conversation by its name or a part of it, or all; may be repeated (default: a user message)"
    add("--probe", metavar="NAME", action="append", default=[], help=probe)
    add(
        "--messages",
        metavar="FILE",
        type=Path,
        help="a conversation of yours: a JSON list of messages, or an object with messages",
    )
    add(
        "--engine",
        metavar="NAME[@VERSION]",
        action="append",
        default=[],
        help=f"{_ENGINE_HELP} (default: the newest transformers)",
    )
    add("--tokens", action="store_true", help="show where each token ends, and the ids, as the engine encodes the prompt")


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


def _no_options(_: argparse.ArgumentParser) -> None:
    pass


COMMANDS: dict[str, tuple[Callable[[argparse.Namespace], int], Callable[[argparse.ArgumentParser], None]]] = {
    "compare": (_compare, _compare_options),
    "check": (_check, _check_options),
    "inspect": (_inspect, _revision_options),
    "predict": (_predict, _predict_options),
    "render": (_render, _render_options),
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
