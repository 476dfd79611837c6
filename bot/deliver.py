"""What becomes of a comparison on GitHub: the report, the job summary, annotations, one comment, and the outputs of the step."""

from collections.abc import Sequence
from dataclasses import dataclass

from github.Repository import Repository

from bot.analyze.records import SEVERITIES, Comparison
from bot.publish import github, stored
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
    """Where a comparison goes. `remote` is the repository, or why it cannot be had; `report` the files that may hold the report, best first."""

    runner: Runner
    remote: Repository | github.Posted
    links: Links
    settings: Settings
    report: Sequence[stored.Spot]


def deliver(comparison: Comparison, to: Delivery) -> None:
    """Bring a comparison to everybody who waits for it. What GitHub refuses is told in a notice, and loses nothing."""
    runner = to.runner
    report_path = _store(comparison, to.report, runner)
    runner.summarise(summary(comparison, to.links))
    for line in annotations(comparison):
        runner.say(line)
    posted = _comment(comparison, to)
    if posted.notice:
        runner.tell("notice", posted.notice)
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

    target = github.Target(to.remote, about.number, about.head, chosen.comment_id, chosen.comment_authors)
    return github.publish(target, text)


def _store(comparison: Comparison, places: Sequence[stored.Spot], runner: Runner) -> str:
    if not places:
        return ""
    try:
        return stored.store(comparison, places)
    except OSError as error:
        runner.tell("warning", f"The report could not be stored: {error}")
        return ""
