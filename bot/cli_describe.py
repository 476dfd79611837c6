"""The commands that describe a revision: inspect, predict, render, with their options."""

import argparse
import os
from pathlib import Path

import msgspec

from bot.cli_output import as_json, is_colored, write
from bot.errors import UsageError
from bot.hub import access
from bot.probe import read_messages
from bot.run import inspect, predict, render

REVISION = "a folder, git:<revision> of the clone given by --repo, or hub:<organization>/<name>@<revision> of the Hugging Face Hub (by default its main; HF_TOKEN for what is private)"
ENGINE = "an engine, or NAME>=VERSION for a range, or all; may be repeated"
ENGINES = f"{ENGINE} (default: the newest version of each)"


def inspect_revision(given: argparse.Namespace) -> int:
    """Describe one revision: its tokens, stop ids, templates, quantization, code, each value with its place."""
    inspection = inspect(given.revision, repo=given.repo, hub=access(os.environ))
    if given.format == "json":
        shown = as_json(inspection)
    else:
        from bot.publish import inspected  # noqa: PLC0415 - no other view needs it

        shown = inspected.inspected(inspection, color=given.output is None and is_colored(), verbose=given.verbose)
    write(shown, given.output)
    return 0


def revision_options(parser: argparse.ArgumentParser) -> None:
    """The options of every command about one revision."""
    add = parser.add_argument
    add("revision", metavar="REVISION", help=REVISION)
    add("--repo", metavar="DIR", type=Path, default=Path(), help="the clone; nothing is checked out (default: this folder)")
    add("--format", choices=("text", "json"), default="text", help="(default: text)")
    add("--output", metavar="FILE", type=Path, help="write to this file instead of standard output")
    add("-v", "--verbose", action="store_true", help="show everything in full (text only)")


def predict_revisions(given: argparse.Namespace) -> int:
    """Predict what every inference engine will do with model folders: load errors, stop tokens, templates, defaults."""
    from bot.analyze.engines.choice import choose, newest  # noqa: PLC0415 - only this command needs them here

    chosen = choose(given.engine) if given.engine else newest()
    names = tuple(each.name for each in chosen)
    parts = tuple(predict(given.revisions, repo=given.repo, engines=names, hub=access(os.environ)))
    rows = tuple(row for part in parts for row in part.rows)
    if given.format == "jsonl":
        shown = "".join(msgspec.json.encode({"folder": row.folder, **row.prediction}).decode() + "\n" for row in rows)
    else:
        whole = msgspec.structs.replace(parts[0], rows=rows, unchecked=tuple(each for part in parts for each in part.unchecked))
        if given.format == "json":
            shown = as_json(whole)
        else:
            from bot.publish import predicted  # noqa: PLC0415 - no other view needs it

            shown = predicted.predicted(whole, color=given.output is None and is_colored(), verbose=given.verbose)
    write(shown, given.output)
    return 0


def predict_options(parser: argparse.ArgumentParser) -> None:
    """The options of predict."""
    add = parser.add_argument
    add("revisions", metavar="REVISION", nargs="+", help=REVISION)
    add("--repo", metavar="DIR", type=Path, default=Path(), help="the clone; nothing is checked out (default: this folder)")
    add("--engine", metavar="NAME[@VERSION]", action="append", default=[], help=ENGINES)
    add("--format", choices=("text", "json", "jsonl"), default="text", help="(default: text)")
    add("--output", metavar="FILE", type=Path, help="write to this file instead of standard output")
    add("-v", "--verbose", action="store_true", help="show everything in full (text only)")


def render_revision(given: argparse.Namespace) -> int:
    """Show the exact prompt that each inference engine makes of a conversation, and with --tokens its tokens."""
    from bot.analyze.engines.choice import rendering  # noqa: PLC0415 - only this command needs them here
    from bot.analyze.probes import picked  # noqa: PLC0415

    if given.messages is not None and given.probe:
        raise UsageError("--messages brings a conversation of its own; leave --probe out")
    probes = picked(given.probe) if given.messages is None else (read_messages(given.messages),)
    engines = tuple(each.name for each in rendering(given.engine))
    renderings = render(
        given.revision, repo=given.repo, probes=probes, engines=engines, tokens=given.tokens, hub=access(os.environ)
    )
    if given.format == "json":
        shown = as_json(renderings)
    else:
        from bot.publish import rendered  # noqa: PLC0415 - no other view needs it

        shown = rendered.renderings(renderings, color=given.output is None and is_colored(), verbose=given.verbose)
    write(shown, given.output)
    return 0


def render_options(parser: argparse.ArgumentParser) -> None:
    """The options of render."""
    revision_options(parser)
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
        help=f"{ENGINE} (default: the newest transformers)",
    )
    add("--tokens", action="store_true", help="show where each token ends, and the ids, as the engine encodes the prompt")
