"""The commands that judge: compare and check, with their options."""

import argparse
import os
from contextlib import ExitStack
from pathlib import Path
from typing import get_args

from bot.analyze.records import Prove
from bot.cli_describe import ENGINES, REVISION, revision_options
from bot.cli_output import as_json, is_colored, shown_as, write
from bot.cli_settings import add_settings, of_base, settings
from bot.errors import UsageError
from bot.fetch.revision import open_pair, open_revision, open_staged
from bot.hub import access
from bot.probe import read_probes
from bot.run import check, compare, engines_of, exit_status

FORMATS = ("text", "json", "markdown", "summary", "sarif")
PROVE = "load both revisions with the installed transformers: where tokenizer or template files changed, always or never (default: that of the settings, or auto)"


def compare_revisions(given: argparse.Namespace) -> int:
    """Compare BASE with HEAD and print what HEAD newly gets wrong."""
    base, head = str(given.base), str(given.head)
    if given.staged == bool(base or head) or bool(base) != bool(head):
        raise UsageError(
            "compare takes BASE and HEAD, each a folder, git:<revision> or hub:<repository>@<revision>, or --staged instead of them"
        )
    with ExitStack() as stack:
        before, after = open_staged(given.repo) if given.staged else open_pair(base, head, given.repo, access(os.environ))
        for source in (before, after):
            stack.callback(source.close)
        settled = of_base(before, after)
        stack.callback(settled.close)
        chosen = settings(given, settled)
        engines, engines_after = _engines(given.engine, given.engine_after, chosen.engines)
        comparison = compare(
            base=before,
            head=after,
            repo=given.repo,
            history=given.history,
            engines=engines,
            engines_after=engines_after,
            probes=read_probes(given.probes) if given.probes else (),
            prove=chosen.prove,
            policy=chosen.policy(),
        )
    shown = shown_as(comparison, given.format, verbose=given.verbose, color=given.output is None and is_colored())
    write(shown, given.output, quiet=given.quiet)
    return exit_status(comparison, chosen.fail_on)


def _engines(before: list[str], after: list[str], settled: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the versions that are asked, and those that are asked about head where they are others; `settled` are those of the settings."""
    if not after and not before:
        try:
            return engines_of(settled), ()
        except UsageError as error:
            raise UsageError(f"setting engines: {error}") from error
    if not after:
        return engines_of(before), ()
    from bot.analyze.engines.choice import in_pairs  # noqa: PLC0415 - only this question needs it here

    pairs = in_pairs(before, after)
    return tuple(old.name for old, _ in pairs), tuple(new.name for _, new in pairs)


def compare_options(parser: argparse.ArgumentParser) -> None:
    """The options of compare."""
    add = parser.add_argument
    add("base", metavar="BASE", nargs="?", default="", help=REVISION)
    add(
        "head",
        metavar="HEAD",
        nargs="?",
        default="",
        help="likewise; two revisions of one repository are compared from their merge base on",
    )
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
    add("--prove", choices=get_args(Prove), help=PROVE)
    add(
        "--format",
        choices=FORMATS,
        default="text",
        help="markdown is the comment, summary the job summary, sarif is for code scanning (default: text)",
    )
    add_settings(parser)
    add("--output", metavar="FILE", type=Path, help="write to this file instead of standard output")
    add("-q", "--quiet", action="store_true", help="print nothing; only the exit status speaks")
    add("-v", "--verbose", action="store_true", help="show notes and folded parts in full (text only)")


def check_revision(given: argparse.Namespace) -> int:
    """Judge one revision by itself: everything that is wrong with it today."""
    with ExitStack() as stack:
        source = open_revision(given.revision, given.repo, access(os.environ))
        stack.callback(source.close)
        chosen = settings(given, source)
        comparison = check(source, repo=given.repo, history=given.history, policy=chosen.policy())
    if given.format == "json":
        shown = as_json(comparison)
    else:
        from bot.publish import text  # noqa: PLC0415 - no other view needs it

        shown = text.judged(comparison, color=given.output is None and is_colored(), verbose=given.verbose)
    write(shown, given.output, quiet=given.quiet)
    return exit_status(comparison, chosen.fail_on)


def check_options(parser: argparse.ArgumentParser) -> None:
    """The options of check."""
    revision_options(parser)
    add = parser.add_argument
    add("--history", metavar="FILE", type=Path, help="refs and their commits as JSON, for claims about commits without a clone")
    add_settings(parser)
    add("-q", "--quiet", action="store_true", help="print nothing; only the exit status speaks")
