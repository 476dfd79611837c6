"""What becomes of a comparison on GitHub: files, the job summary, annotations, one comment, a check run, suggestions, and the outputs of the step."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from github.Repository import Repository

from bot.analyze.records import SEVERITIES, Comparison, PullRequest
from bot.publish import check_run, github, sarif, stored, suggestions
from bot.publish.annotations import annotations
from bot.publish.comment import comment, should_create
from bot.publish.links import Links
from bot.publish.marker import Marker
from bot.publish.runner import Runner
from bot.publish.summary import summary
from bot.publish.words import plural
from bot.settings import Settings

NOT_JUDGED = {"verdict": "not-judged", "new_errors": "0", "report_path": "", "comment_url": ""}


@dataclass(frozen=True)
class Delivery:
    """Where a comparison goes.

    `remote` is the repository, or why it cannot be had; `failed` whether the findings fail the run. `report` are the files that may hold
    the report, best first; `sarif` is the file for code scanning, None where none is wanted.
    """

    runner: Runner
    remote: Repository | github.Posted
    links: Links
    settings: Settings
    failed: bool
    report: Sequence[stored.Spot] = ()
    sarif: Path | None = None


def deliver(comparison: Comparison, to: Delivery) -> None:
    """Bring a comparison to everybody who waits for it. What GitHub refuses is told in a notice, and loses nothing."""
    runner = to.runner
    report_path = _store(comparison, to, runner)
    runner.summarise(summary(comparison, to.links))
    posted, checked = _comment(comparison, to), _check_run(comparison, to)
    notices = [each.notice for each in (posted, checked, _suggestions(comparison, to)) if each.notice]
    # First, for the runner shows ten of a kind, and beside the lines only where no check run has them already.
    for notice in dict.fromkeys(notices):
        runner.tell("notice", notice)
    if checked.outcome not in ("created", "edited", "unchanged"):
        for line in annotations(comparison, 10 - len(set(notices))):
            runner.say(line)
    worst = next((severity for severity in SEVERITIES if getattr(comparison.verdict.new, severity)), "none")
    runner.set_outputs(
        {
            "verdict": worst,
            "new_errors": str(comparison.verdict.new.error),
            "report_path": report_path,
            "comment_url": posted.url,
        }
    )
    counts = ", ".join(plural(getattr(comparison.verdict.new, severity), severity) for severity in SEVERITIES)
    runner.say(f"New: {counts}. Not checked: {comparison.verdict.unchecked}.")


def _comment(comparison: Comparison, to: Delivery) -> github.Posted:
    about, chosen = comparison.pull_request, to.settings
    if about is None or not chosen.comment:
        return github.Posted("not needed")
    if isinstance(to.remote, github.Posted):
        return to.remote

    def text(previous: Marker | None) -> str | None:
        if previous is None and not should_create(comparison):
            return None
        return comment(comparison, links=to.links, comment_id=chosen.comment_id, previous=previous)

    return github.publish(_target(to.remote, about, chosen), text)


def _target(remote: Repository, about: PullRequest, chosen: Settings) -> github.Target:
    return github.Target(remote, about.number, about.head, chosen.comment_id, chosen.comment_authors)


def _check_run(comparison: Comparison, to: Delivery) -> github.Posted:
    head = comparison.head.sha
    if not to.settings.check_run or head is None:
        return github.Posted("not needed")
    if isinstance(to.remote, github.Posted):
        return to.remote
    target = check_run.Target(to.remote, head, comment_id=to.settings.comment_id)
    return check_run.publish(target, comparison, to.links, failed=to.failed)


def _suggestions(comparison: Comparison, to: Delivery) -> github.Posted:
    about = comparison.pull_request
    if not to.settings.suggest or about is None:
        return github.Posted("not needed")
    return (
        to.remote
        if isinstance(to.remote, github.Posted)
        else suggestions.publish(_target(to.remote, about, to.settings), comparison)
    )


def _store(comparison: Comparison, to: Delivery, runner: Runner) -> str:
    """Write the files that were asked for, and return the name of the report for later steps; one that cannot be written is told."""
    try:
        if to.sarif is not None:
            stored.write(to.sarif, sarif.encode(comparison, for_upload=True))
    except OSError as error:
        runner.tell("warning", f"The SARIF file could not be written: {error}")
    try:
        return stored.store(comparison, to.report) if to.report else ""
    except OSError as error:
        runner.tell("warning", f"The report could not be stored: {error}")
        return ""
