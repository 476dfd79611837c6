"""A second workflow publishes the report of a run that may only read: held to the event, to the pull request, and to base's settings."""

from pathlib import Path

import msgspec
from github.Repository import Repository

from bot import settings
from bot.analyze.records import PullRequest
from bot.api import FAULTS, why
from bot.deliver import Delivery, deliver
from bot.errors import CannotLookError, UsageError
from bot.publish import github
from bot.publish.links import Links
from bot.publish.received import receive
from bot.publish.runner import Runner
from bot.run import exit_status
from bot.settings import Layer, Settings
from bot.settings_file import from_file
from bot.sides import settings_at
from bot.triggering import Triggering


def publish(
    asked: str,
    of: Triggering,
    remote: Repository | github.Posted,
    *,
    workspace: Path,
    server_url: str,
    inputs: Layer,
    runner: Runner,
) -> int:
    """Publish the report in the file `asked` of the run `of`, and return the exit status, 0: it is the run itself that fails.

    Fixes are told and never suggested. Raises UsageError for a file that is no report, or one of another pull request than the run's.
    """
    comparison, about = receive(workspace, asked, _clauses())
    _require_same(about, of)
    chosen = settings.settle(inputs)
    if isinstance(remote, Repository):
        try:
            chosen = _chosen(remote, about, of, inputs)
        except (*FAULTS, CannotLookError) as fault:
            told = str(fault) if isinstance(fault, CannotLookError) else why(fault)
            remote = github.Posted("refused", notice=f"The comment could not be written: {told}. The job summary has the report.")
    # Whoever wrote the report wrote its fixes too: as suggestions they would be a stranger's lines for any file of the diff, offered by a bot.
    chosen = msgspec.structs.replace(chosen, suggest=False)
    links = Links(server_url, of.repository, comparison.base.sha, comparison.head.sha, of.run)
    deliver(comparison, Delivery(runner, remote, links, chosen, failed=exit_status(comparison, chosen.fail_on) != 0))
    return 0


def _chosen(remote: Repository, about: PullRequest, of: Triggering, inputs: Layer) -> Settings:
    """The settings of the pull request's base, once the pull request is known to be the run's."""
    pull = remote.get_pull(about.number)
    # A deleted fork leaves no repository at all, whatever PyGithub's types say.
    lives = pull.head.repo.full_name if pull.head.repo else None
    if (lives, pull.head.ref) != (of.head_repository, of.branch):
        raise UsageError(f"the report is about pull request {about.number}, which is not the one that run {of.run} judged")
    file = settings_at(remote, pull.base.sha)
    return settings.settle(inputs, *([from_file(file)] if file is not None else []))


def _require_same(about: PullRequest, of: Triggering) -> None:
    same = about.repository == of.repository and about.head == of.head and (not of.pulls or about.number in of.pulls)
    if not same:
        raise UsageError(
            f"the report is about {about.repository}#{about.number} at {about.head[:7]}, which run {of.run} did not judge"
        )


def _clauses() -> dict[str, str]:
    from bot.analyze.checks.check import checks  # noqa: PLC0415 - the checks take longer to import than the rest of an action

    return {loaded.id: loaded.check.says for loaded in checks()}
