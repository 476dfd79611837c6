"""What the bot does about a pull request on the Hub: compares it with the branch that it is for, and sees to our one comment."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from bot.analyze.records import Comparison, PullRequest
from bot.cli_settings import of_base
from bot.errors import UsageError
from bot.fetch.hub import HubSource, open_hub_pair, parse
from bot.fetch.settings import settings_in
from bot.hub import AbsentError, Access, connect
from bot.publish import hub as publish
from bot.publish.comment import comment, should_create
from bot.publish.links import on_hub
from bot.publish.marker import Marker
from bot.run import compare, engines_of
from bot.server.jobs import Base, Discussion
from bot.settings import FILE, Layer, Settings, settle
from bot.snapshot import Text

if TYPE_CHECKING:
    from huggingface_hub import DiscussionWithDetails

    from bot.hub_client import Hub

MOST_PULLS = 1_000
"""Open pull requests of one repository that are looked at when its branch moved, the newest first."""
MORE_TRIES = 2
"""How often a job starts again because a push came in between."""

Outcome: TypeAlias = publish.Outcome | Literal["no pull request", "gone", "unusable"]


class Judged(NamedTuple):
    """What became of a job: the address of the comment where there is one, and a sentence where an operator should know why not."""

    outcome: Outcome
    url: str = ""
    notice: str = ""


NOTHING_CHOSEN = Layer("command line", {})


@dataclass(frozen=True)
class Bot:
    """How this process asks the Hub, and what its operator chose for all repositories; it wins over their settings files."""

    access: Access
    chosen: Layer = NOTHING_CHOSEN
    account: publish.Account = field(default_factory=publish.Account)


def judge(job: Discussion, bot: Bot) -> Judged:
    """Compare a pull request as it is now, and bring our comment to what that says. Two runs at once do no harm.

    Raises CannotLookError, HubError included, where it is worth while to try again later.
    """
    try:
        parse(f"hub:{job.repo}")
        return _until_settled(job, bot)
    except AbsentError as error:  # deleted meanwhile, or not for this token to see
        return Judged("gone", notice=str(error))
    except UsageError as error:  # such as the repository's settings file, which only its owners can mend
        return Judged("unusable", notice=f"hub:{job.repo}: {error}")


def judge_base(job: Base, bot: Bot, put: Callable[[Discussion], object]) -> int:
    """Ask for every open pull request of a branch that moved and that carries our comment to be judged again; returns how many.

    Raises HubError.
    """
    hub = connect(bot.access)
    pulls = open_pulls(hub, job.repo)
    found = 0
    for number in pulls:
        try:
            seen = publish.read(hub, job.repo, number)
        except AbsentError:
            continue
        if seen.target_branch == job.ref and publish.carries_ours(hub, bot.account, seen):
            put(Discussion(repo=job.repo, num=number))
            found += 1
    return found


def open_pulls(hub: "Hub", repo: str) -> list[int]:
    """The numbers of the open pull requests of a repository, the newest first. Raises HubError."""
    found = hub.ask(
        f"hub:{repo}",
        lambda api: list(
            islice(api.get_repo_discussions(repo, discussion_type="pull_request", discussion_status="open"), MOST_PULLS)
        ),
    )
    return [each.num for each in found]


def _until_settled(job: Discussion, bot: Bot) -> Judged:
    judged = _judge(job, bot)
    for _ in range(MORE_TRIES):
        if judged.outcome == "outdated":
            judged = _judge(job, bot)
    return judged


def _judge(job: Discussion, bot: Bot) -> Judged:
    hub = connect(bot.access)
    seen = publish.read(hub, job.repo, job.num)
    if not seen.is_pull_request:
        return Judged("no pull request")
    if seen.status not in publish.OPEN:
        return Judged("closed")
    branch = (seen.target_branch or "main").removeprefix("refs/heads/")
    with ExitStack() as stack:
        base, head = open_hub_pair(f"hub:{job.repo}@{branch}", f"hub:{job.repo}@refs/pr/{job.num}", bot.access)
        stack.callback(base.close)
        stack.callback(head.close)
        chosen = _settings(base, head, bot.chosen)
        if not chosen.comment:
            return Judged("not needed")
        comparison = _compared(job, seen, base, head, chosen)
    target = publish.Target(hub, bot.account, job.repo, job.num, head.tip, chosen.comment_id, chosen.comment_authors)
    links = on_hub(bot.access.endpoint, job.repo, base=branch, number=job.num, base_sha=base.sha, head_sha=head.sha)

    def text(previous: Marker | None) -> str | None:
        if previous is None and not should_create(comparison):
            return None
        return comment(comparison, links=links, comment_id=chosen.comment_id, limit=publish.LIMIT, previous=previous)

    posted = publish.publish(target, text, seen)
    return Judged(posted.outcome, posted.url, posted.notice)


def _settings(base: HubSource, head: HubSource, chosen: Layer) -> Settings:
    """The operator's choices, then the settings file of the branch as it is now. Raises UsageError for a file that is none."""
    source = of_base(base, head)
    content = settings_in(source)
    if content is None:
        return settle(chosen)
    from bot.settings_file import from_file  # noqa: PLC0415 - most repositories have no such file, and need no YAML

    return settle(chosen, from_file(content, f"{source.label}:{FILE}"))


def _compared(job: Discussion, seen: "DiscussionWithDetails", base: HubSource, head: HubSource, chosen: Settings) -> Comparison:
    comparison = compare(
        base=base,
        head=head,
        repo=Path(),
        texts=(Text("pull-request:title", seen.title), Text("pull-request:body", publish.description(seen))),
        repository=job.repo,
        engines=engines_of(chosen.engines),
        prove=chosen.prove,
        policy=chosen.policy(),
    )
    return msgspec.structs.replace(comparison, pull_request=PullRequest(repository=job.repo, number=job.num, head=head.tip))
