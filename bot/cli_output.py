"""How the command line writes: records as JSON or as a view, to a file, a terminal or a pipe, whatever state they are in."""

import contextlib
import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bot.analyze.records import Comparison
from bot.errors import UsageError

if TYPE_CHECKING:
    from bot.analyze.checks.check import Loaded


def page(loaded: "Loaded") -> str:
    """What `explain` prints of a check."""
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


def shown_as(comparison: Comparison, view: str, *, verbose: bool, color: bool) -> str:
    """A comparison in one of its formats."""
    if view == "json":
        return as_json(comparison)
    from bot.publish import comment, links, sarif, summary, text  # noqa: PLC0415 - start-up is most of a comparison's time

    if view == "markdown":
        return comment.comment(comparison, links=links.Links())
    if view == "sarif":
        return sarif.encode(comparison).decode() + "\n"
    if view == "summary":
        return summary.summary(comparison, links.Links())
    return text.text(comparison, color=color, verbose=verbose)


def as_json(record: object) -> str:
    """A record as JSON that people can read."""
    return msgspec.json.format(msgspec.json.encode(record), indent=2).decode() + "\n"


def is_colored() -> bool:
    """Whether standard output is a terminal that is not asked to do without colour."""
    return sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")  # pyright: ignore[reportUnnecessaryComparison] - None when it was closed


def write(shown: str, output: Path | None, *, quiet: bool = False) -> None:
    """Write to a file, or to standard output unless `quiet`. Raises UsageError where that cannot be written."""
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


def say(text: str) -> None:
    """Write to standard error, where there is one: the exit status says the rest."""
    if sys.stderr is not None:  # pyright: ignore[reportUnnecessaryComparison] - None when it was closed
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()


def one_line(error: Exception) -> str:
    """An error's words on one line, with nothing in them that a terminal obeys."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(error).strip().replace("\n", "; "))
