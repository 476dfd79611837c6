"""The command line: every option's parser and help, and which view is printed."""

import os
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import App, CycloptsError, Parameter

from bot import __version__
from bot.analyze.records import Comparison
from bot.errors import CannotLookError, UsageError
from bot.run import compare, exit_status
from bot.settings import FailOn

if TYPE_CHECKING:
    from bot.analyze.checks.check import Loaded

app = App(
    name="model-repo-drift",
    help="Compare two revisions of a model repository and say what newly goes wrong, per inference engine.",
    version=__version__,
)


class Format(Enum):
    """How a comparison is printed."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    SUMMARY = "summary"


@app.command(name="compare")
def compare_command(
    base: str = "",
    head: str = "",
    /,
    *,
    repo: Path = Path(),
    staged: Annotated[bool, Parameter(negative="")] = False,
    history: Path | None = None,
    format: Format = Format.TEXT,  # noqa: A002 - the option's name
    fail_on: FailOn = "error",
    output: Path | None = None,
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"], negative="")] = False,
    verbose: Annotated[bool, Parameter(name=["--verbose", "-v"], negative="")] = False,
) -> int:
    """Compare BASE with HEAD and print what HEAD newly gets wrong.

    Parameters
    ----------
    base
        A folder, or git:<revision> of the clone given by --repo. Two git revisions are compared from their merge base on.
    head
        A folder, or git:<revision>.
    repo
        The clone that git: revisions are read from. Nothing is checked out.
    staged
        Compare what is staged for the next commit with HEAD, instead of BASE and HEAD.
    history
        A JSON file with refs and their commits, for claims about commits where there is no clone.
    format
        text, json (schema/comparison-1.json), markdown (the comment) or summary.
    fail_on
        Exit with 1 from this severity of a new finding on.
    output
        Write to this file instead of standard output.
    quiet
        Print nothing; only the exit status speaks.
    verbose
        Show notes and folded parts in full (text only).

    """
    if staged == bool(base or head) or bool(base) != bool(head):
        raise UsageError("compare takes BASE and HEAD, two folders or git:<revision>, or --staged instead of them")
    comparison = compare(base=base or "git:HEAD", head=head or "git:HEAD", repo=repo, history=history, staged=staged)
    _write(_shown(comparison, format, verbose=verbose, color=output is None and _color()), output, quiet=quiet)
    return exit_status(comparison, fail_on)


@app.command
def explain(check: str = "", /) -> int:
    """Print what a check sees, why it matters, how to fix it and when it keeps silent; without a name, list them all."""
    from bot.analyze.checks.check import checks  # noqa: PLC0415 - only this command needs them here

    found = {loaded.id: loaded for loaded in checks()}
    if not check:
        _write("".join(f"{name:34} {loaded.check.title}\n" for name, loaded in found.items()), None)
        return 0
    if check not in found:
        raise UsageError(f"there is no check {check!r}; `model-repo-drift explain` lists them")
    _write(_page(found[check]), None)
    return 0


@app.command
def action() -> int:
    """Run as a GitHub Action: everything is read from the environment that the runner sets."""
    from bot.action import main as act  # noqa: PLC0415 - PyGithub takes longer to import than everything else together

    return act()


def _page(loaded: "Loaded") -> str:
    check = loaded.check
    rows = {
        "Sees": check.sees,
        "Why": check.why,
        "Fix": check.fix,
        "Silent when": check.wrong_when,
        "Severity": f"at most {check.severity}, {check.confidence}",
        "Hits": ", ".join(check.engines),
    }
    return f"{loaded.id}: {check.title}\n\n" + "".join(f"{name}: {said}\n" for name, said in rows.items() if said)


def _shown(comparison: Comparison, view: Format, *, verbose: bool, color: bool) -> str:
    if view is Format.JSON:
        return msgspec.json.format(msgspec.json.encode(comparison), indent=2).decode() + "\n"
    from bot.publish import comment, links, summary, text  # noqa: PLC0415 - start-up is most of a comparison's time

    if view is Format.MARKDOWN:
        return comment.comment(comparison, links=links.Links())
    if view is Format.SUMMARY:
        return summary.summary(comparison, links.Links())
    return text.text(comparison, color=color, verbose=verbose)


def _color() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _write(shown: str, output: Path | None, *, quiet: bool = False) -> None:
    if output is not None:
        try:
            output.write_text(shown, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"--output {output}: cannot be written ({error.strerror})") from error
    elif not quiet:
        sys.stdout.write(shown)


def main() -> None:
    """Run a command and exit with its status: 0, 1 for findings, 2 for wrong usage, 3 for not being able to look."""
    try:
        status = app(exit_on_error=False, print_error=False, result_action="return_value")
    except (CycloptsError, UsageError) as error:
        sys.stderr.write(f"model-repo-drift: {_one_line(error)}\n")
        raise SystemExit(2) from None
    except CannotLookError as error:
        sys.stderr.write(f"model-repo-drift: {_one_line(error)}\n")
        raise SystemExit(3) from None
    raise SystemExit(status if isinstance(status, int) else 0)


def _one_line(error: Exception) -> str:
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(error).strip().replace("\n", "; "))
