"""Our one comment on a pull request: found, created, edited in place, and nobody else's ever touched."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

from github.GithubException import GithubException, RateLimitExceededException
from github.IssueComment import IssueComment
from github.PullRequest import PullRequest
from github.Repository import Repository

from bot.api import FAULTS, own_login, why
from bot.publish import marker
from bot.publish.marker import Marker

Outcome: TypeAlias = Literal["created", "edited", "unchanged", "not needed", "outdated", "closed", "refused"]
Text: TypeAlias = Callable[[Marker | None], str | None]
"""Given the marker of our earlier comment (None where there is none), the comment to have, or None for no comment."""


@dataclass(frozen=True)
class Target:
    """Where to comment: the pull request, the head commit that was judged, and how our comment is known."""

    repository: Repository
    number: int
    head: str
    comment_id: str = "default"
    authors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Posted:
    """What became of the comment: its address where there is one, and a sentence where a person should know why not."""

    outcome: Outcome
    url: str = ""
    notice: str = ""


def publish(target: Target, text: Text) -> Posted:
    """Bring our comment to what `text` says. Never raises for what GitHub answers: the outcome is then "refused"."""
    try:
        return _publish(target, text)
    except FAULTS as fault:
        return refused(fault)


def refused(fault: Exception) -> Posted:
    """The outcome when GitHub, or the way to it, does not let us write."""
    notice = f"The comment could not be written: {why(fault)}. The job summary has the report."
    if isinstance(fault, GithubException) and fault.status in (403, 404) and not isinstance(fault, RateLimitExceededException):
        notice += " Give the job `permissions: pull-requests: write`; on pull requests from forks GitHub only lets it read."
    return Posted("refused", notice=notice)


def _publish(target: Target, text: Text) -> Posted:
    pull = target.repository.get_pull(target.number)
    if stop := _no_longer(target, pull):
        return stop
    ours = _ours(target, pull)
    body = text(_marker(ours) if ours else None)
    if body is None:
        return Posted("not needed")
    if ours and ours.body == body:
        return Posted("unchanged", ours.html_url)
    if stop := _no_longer(target, target.repository.get_pull(target.number)):
        return stop
    if ours:
        ours.edit(body)
        return Posted("edited", ours.html_url)
    created = pull.create_issue_comment(body)
    oldest = _ours(target, pull)
    if oldest is None:
        return Posted("created", created.html_url, _stranger(created))
    if oldest.id == created.id:
        return Posted("created", created.html_url)
    created.delete()  # another run was faster: its comment stays, and is brought up to date like any earlier one
    return _publish(target, text)


def _no_longer(target: Target, pull: PullRequest) -> Posted | None:
    """Why nothing may be written any more, None when it may."""
    if pull.state != "open":
        return Posted("closed", notice="No comment was written: the pull request is closed.")
    if pull.head.sha != target.head:
        return Posted("outdated", notice=f"No comment was written: the pull request has moved on to {pull.head.sha[:7]}.")
    return None


def _ours(target: Target, pull: PullRequest) -> IssueComment | None:
    """The oldest comment that is ours: with our marker as first line, by a bot, a named author, or whoever writes this one."""
    marked = [comment for comment in pull.get_issue_comments() if (read := _marker(comment)) and read.id == target.comment_id]
    ours = [comment for comment in marked if _may_own(comment, target.authors)]
    if len(ours) < len(marked) and (own := own_login(target.repository)):
        ours = [comment for comment in marked if _may_own(comment, (*target.authors, own))]
    return min(ours, key=lambda comment: comment.id, default=None)


def _stranger(created: IssueComment) -> str:
    """The notice where the next run would not know the comment that this one wrote."""
    login = created.user.login if created.user else "somebody"
    return f"The comment is by {login}, whom the next run will not know as its own: name the login in comment_authors."


def _may_own(comment: IssueComment, authors: Collection[str]) -> bool:
    user = comment.user
    # A deleted account leaves no user at all, whatever PyGithub's types say.
    return bool(user) and (user.type == "Bot" or user.login.casefold() in {login.casefold() for login in authors})


def _marker(comment: IssueComment) -> Marker | None:
    return marker.read((comment.body or "").split("\n", 1)[0].rstrip("\r"))
