"""The story in one screen: fetch two revisions, analyze them in the jail, return the comparison."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bot.analyze import jail
from bot.analyze.records import Comparison
from bot.fetch.gather import gather
from bot.fetch.history import History
from bot.fetch.source import Source
from bot.settings import FailOn
from bot.snapshot import Text


def compare(
    *,
    base: str | Source,
    head: str | Source,
    repo: Path,
    history: Path | History | None = None,
    staged: bool = False,
    texts: tuple[Text, ...] = (),
    repository: str = "",
) -> Comparison:
    """Compare two revisions; the parameters are those of `gather`. Raises UsageError or CannotLookError."""
    with tempfile.TemporaryDirectory(prefix="model-repo-drift-") as folder, jail.Cell(_needed(os.environ)) as cell:
        gather(
            Path(folder),
            base=base,
            head=head,
            repo=repo,
            staged=staged,
            history=history,
            texts=texts,
            repository=repository,
        )
        return cell.run(Path(folder))


def _needed(environment: Mapping[str, str]) -> dict[str, str]:
    """What a Python interpreter may need to start."""
    return {name: environment[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in environment}


def exit_status(comparison: Comparison, fail_on: FailOn) -> int:
    """1 when something new is at or above `fail_on` ("unchecked" also counts what could not be checked), else 0."""
    new = comparison.verdict.new
    counts = {"error": new.error, "warning": new.error + new.warning, "note": new.error + new.warning + new.note}
    if fail_on == "unchecked":
        return int(new.error > 0 or comparison.verdict.unchecked > 0)
    return int(fail_on != "never" and counts[fail_on] > 0)
