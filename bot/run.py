"""The story in one screen: fetch two revisions, analyze them in the jail, return the comparison."""

import datetime as dt
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from bot.analyze import jail
from bot.analyze.inspection import Inspection
from bot.analyze.predictions import Predictions
from bot.analyze.records import Comparison, FailOn, Prove
from bot.analyze.renderings import Renderings
from bot.errors import CannotLookError
from bot.fetch.gather import gather
from bot.fetch.history import History
from bot.fetch.source import Nothing, Source
from bot.hub import Access
from bot.policy import Policy
from bot.probe import Probe
from bot.snapshot import Exchange, Snapshot, Task, Text
from bot.suppress import suppress

T = TypeVar("T")
EVERYTHING = Policy()
MOST_AT_ONCE = 50
MOST_BYTES_AT_ONCE = 32 << 20


def compare(
    *,
    base: str | Source,
    head: str | Source,
    repo: Path,
    history: Path | History | None = None,
    staged: bool = False,
    texts: tuple[Text, ...] = (),
    repository: str = "",
    engines: tuple[str, ...] = (),
    engines_after: tuple[str, ...] = (),
    probes: tuple[Probe, ...] = (),
    prove: Prove = "auto",
    policy: Policy = EVERYTHING,
    today: dt.date | None = None,
    hub: Access | None = None,
) -> Comparison:
    """Compare two revisions; the parameters are those of `gather`, and `prove` says when predictions are tried by loading.

    `policy` says what is judged and how; its suppressions hold on `today`, by default the day of the run. Raises UsageError or CannotLookError.
    """
    with tempfile.TemporaryDirectory(prefix="model-repo-drift-") as folder, jail.Cell(os.environ) as cell:
        exchange = gather(
            Path(folder),
            base=base,
            head=head,
            repo=repo,
            staged=staged,
            history=history,
            texts=texts,
            repository=repository,
            engines=engines,
            engines_after=engines_after,
            probes=probes,
            whole=prove == "always",
            folders=policy.folders,
            severity=policy.severity,
            hub=hub,
        )
        _require_contents(exchange)
        comparison = cell.run(Path(folder), Comparison)
        if prove != "never":
            comparison = _proved(comparison, Path(folder), exchange, prove)
        return suppress(comparison, policy.suppress, today or _today())


def _proved(comparison: Comparison, folder: Path, exchange: Exchange, prove: Prove) -> Comparison:
    """The comparison with what the installed transformers says to our predictions."""
    from bot.analyze import proving  # noqa: PLC0415 - it is asked after the work is done

    proof, unchecked = proving.prove(folder, exchange, prove, os.environ)
    left = (*comparison.unchecked, *unchecked)
    verdict = msgspec.structs.replace(comparison.verdict, unchecked=len(left))
    return msgspec.structs.replace(comparison, proof=proof, unchecked=left, verdict=verdict)


def check(
    revision: str | Source,
    *,
    repo: Path,
    history: Path | None = None,
    policy: Policy = EVERYTHING,
    today: dt.date | None = None,
    hub: Access | None = None,
) -> Comparison:
    """Judge one revision by itself: every finding that it has, and that `policy` does not silence on `today`, is in `new`. Raises UsageError or CannotLookError."""
    asked = {"history": history, "folders": policy.folders, "severity": policy.severity, "hub": hub}
    return suppress(_alone(revision, repo, "check", Comparison, **asked), policy.suppress, today or _today())


def inspect(revision: str, *, repo: Path, hub: Access | None = None) -> Inspection:
    """Describe one revision. Raises UsageError or CannotLookError."""
    return _alone(revision, repo, "inspect", Inspection, hub=hub)


def engines_of(written: Sequence[str]) -> tuple[str, ...]:
    """The names of the versions that an operator writes, none where none are written. Raises UsageError."""
    if not written:
        return ()
    from bot.analyze.engines.choice import choose  # noqa: PLC0415 - the rules of engines take longer to import than the rest of this process

    return tuple(chosen.name for chosen in choose(written))


def predict(
    revisions: Sequence[str], *, repo: Path, engines: tuple[str, ...], hub: Access | None = None
) -> Iterator[Predictions]:
    """Predict revisions, each by itself, in as many processes as keep one from reading too much. Raises UsageError or CannotLookError."""
    waiting = list(revisions)
    while waiting:
        with tempfile.TemporaryDirectory(prefix="model-repo-drift-") as folder, jail.Cell(os.environ) as cell:
            exchange, taken = None, list[Snapshot]()
            while waiting and len(taken) < MOST_AT_ONCE and sum(map(_bytes, taken)) < MOST_BYTES_AT_ONCE:
                exchange = gather(
                    Path(folder), base=Nothing(), head=waiting.pop(0), repo=repo, task="predict", engines=engines, hub=hub
                )
                taken.append(exchange.head)
                if len(revisions) == 1:  # of several, one that cannot be read is told beside the others
                    _require_contents(exchange)
            if exchange is not None:
                msgspec.structs.replace(exchange, head=taken[0], more=tuple(taken[1:])).save(Path(folder))
                yield cell.run(Path(folder), Predictions)


def render(
    revision: str,
    *,
    repo: Path,
    probes: tuple[Probe, ...],
    engines: tuple[str, ...],
    tokens: bool = False,
    hub: Access | None = None,
) -> Renderings:
    """Render conversations as engines do with one revision; with `tokens` prompts are told token by token. Raises UsageError or CannotLookError."""
    return _alone(revision, repo, "render", Renderings, probes=probes, engines=engines, tokens=tokens, hub=hub)


def _bytes(snapshot: Snapshot) -> int:
    return sum(file.size or 0 for file in snapshot.files if file.content is not None)


def _today() -> dt.date:
    return dt.datetime.now(dt.UTC).date()


def _alone(revision: str | Source, repo: Path, task: Task, answer: type[T], **asked: Any) -> T:
    """What the jail answers about one revision; `asked` are further parameters of `gather`."""
    with tempfile.TemporaryDirectory(prefix="model-repo-drift-") as folder, jail.Cell(os.environ) as cell:
        exchange = gather(Path(folder), base=Nothing(), head=revision, repo=repo, task=task, **asked)
        _require_contents(exchange)
        return cell.run(Path(folder), answer)


def _require_contents(exchange: Exchange) -> None:
    """Raise CannotLookError when the changed folders hold files to be read and none of them could be."""
    files = [(side.label, file) for side in (exchange.base, exchange.head) for file in side.files]
    unread = next(((label, file) for label, file in files if file.unread), None)
    if unread is not None and all(file.content is None for _, file in files):
        label, file = unread
        outside = file.kind == "symlink" and not file.dangling
        cure = "; `cp -RL` makes a folder that holds the files themselves" if outside else ""
        raise CannotLookError(f"{label}: no file of its model folders could be read: {file.path}: {file.unread}{cure}")


def exit_status(comparison: Comparison, fail_on: FailOn) -> int:
    """1 when something new is at or above `fail_on` ("unchecked" also counts what could not be checked), else 0."""
    new = comparison.verdict.new
    counts = {"error": new.error, "warning": new.error + new.warning, "note": new.error + new.warning + new.note}
    if fail_on == "unchecked":
        return int(new.error > 0 or comparison.verdict.unchecked > 0)
    return int(fail_on != "never" and counts[fail_on] > 0)
