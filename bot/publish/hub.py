"""Our one comment on a pull request of the Hugging Face Hub: found, created, edited in place, and nobody else's ever touched.

Comments cannot be deleted there, and hiding one is for ever, so that only doubles of our own are hidden.
"""

import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from bot.hub import HubError
from bot.publish import marker
from bot.publish.marker import Marker

if TYPE_CHECKING:
    from huggingface_hub import DiscussionComment, DiscussionWithDetails

    from bot.hub_client import Hub

Outcome: TypeAlias = Literal["created", "edited", "unchanged", "not needed", "outdated", "closed", "hidden", "refused"]
Text: TypeAlias = Callable[[Marker | None], str | None]
"""Given the marker of our earlier comment (None where there is none), the comment to have, or None for no comment."""

LIMIT = 60_000
"""Letters of a comment. What the Hub takes is not written down anywhere; this is a little less than what GitHub takes (UNVERIFIED)."""
OPEN = ("open", "draft")
CURE = "let the token in HF_TOKEN write in the discussions of this repository"
TRY_AGAIN = (408, 429)


@dataclass(frozen=True)
class Posted:
    """What became of the comment: its address where there is one, and a sentence where a person should know why not."""

    outcome: Outcome
    url: str = ""
    notice: str = ""


class Account:
    """Whose token it is. Shared by all runs of a process: the Hub sets a narrow limit for this question (huggingface_hub 2.4.0, hf_api.py, whoami)."""

    def __init__(self) -> None:
        self._name = ""

    def learn(self, name: str) -> None:
        """Take the login from a comment that was just written."""
        self._name = name

    def name(self, hub: "Hub") -> str:
        """The login, "" without a token. Raises HubError."""
        if not self._name and hub.access.token:
            self._name = hub.ask("hub:whoami", lambda api: str(api.whoami()["name"]))
        return self._name


@dataclass(frozen=True)
class Target:
    """Where to comment: the pull request, the head commit that was judged, and how our comment is known."""

    hub: "Hub"
    account: Account
    repository: str
    number: int
    head: str
    comment_id: str = "default"
    authors: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The pull request as errors name it."""
        return f"hub:{self.repository}@{self.ref}"

    @property
    def ref(self) -> str:
        """The branch that a pull request is on the Hub."""
        return f"refs/pr/{self.number}"


class _Wanted(NamedTuple):
    """What is to be written: the comment, over an earlier one where there is one, and its doubles that are to be hidden."""

    body: str
    earlier: "DiscussionComment | None"
    doubles: list["DiscussionComment"]


def publish(target: Target, text: Text, seen: "DiscussionWithDetails") -> Posted:
    """Bring our comment to what `text` says; `seen` is the discussion as it was before comparing: where that needs no change, nothing is asked again.

    Raises HubError where it is worth while to try again later; what the Hub forbids is "refused".
    """
    wanted = _wanted(target, seen, text)
    if isinstance(wanted, Posted):
        return wanted
    now = read(target.hub, target.repository, target.number)  # comparing takes minutes
    wanted = _wanted(target, now, text)
    if isinstance(wanted, Posted):
        return wanted
    head = _head(target)
    if head != target.head:
        return Posted("outdated", notice=f"No comment was written: the pull request has moved on to {head[:7]}.")
    try:
        return _write(target, wanted, text)
    except HubError as fault:
        if not _is_final(fault):
            raise
        return Posted("refused", notice=f"The comment could not be written: {fault}; {CURE}.")


def read(hub: "Hub", repository: str, number: int) -> "DiscussionWithDetails":
    """The discussion with all its comments, in one request. Raises HubError, AbsentError where there is none."""
    return hub.ask(f"hub:{repository}@refs/pr/{number}", lambda api: api.get_discussion_details(repository, number))


def comments(seen: "DiscussionWithDetails") -> list["DiscussionComment"]:
    """All comments, the description included, in the order in which they were written."""
    from huggingface_hub import DiscussionComment  # noqa: PLC0415 - not before `connect` said how it shall behave

    found = [event for event in seen.events if isinstance(event, DiscussionComment)]
    return sorted(found, key=lambda comment: (comment.created_at, comment.id))


def description(seen: "DiscussionWithDetails") -> str:
    """What whoever opened the discussion wrote with it, "" for nothing: it is kept as the first comment."""
    first = next(iter(comments(seen)), None)
    return first.content if first and not first.hidden and first.author == seen.author else ""


def carries_ours(hub: "Hub", account: Account, seen: "DiscussionWithDetails") -> bool:
    """Whether a comment of ours is there, whatever its id. Raises HubError."""
    marked = [comment for comment in comments(seen) if _marker(comment)]
    return bool(marked) and any(_is_by(comment, [account.name(hub)]) for comment in marked)


def _wanted(target: Target, seen: "DiscussionWithDetails", text: Text) -> Posted | _Wanted:
    """What has to be written, or what became of the comment where nothing has to be."""
    if seen.status not in OPEN:
        return Posted("closed", notice="No comment was written: the pull request is closed.")
    ours = _ours(target, seen)
    body = text(_marker(ours[0]) if ours else None)
    if body is None:
        return Posted("not needed")
    if not ours:
        hidden = Posted("hidden", notice="No comment was written: an earlier one was hidden.")
        return hidden if _was_hidden(target, seen) else _Wanted(body, None, [])
    earlier, *others = ours
    doubles = [other for other in others if _is_by(other, [target.account.name(target.hub)])]
    if _same(earlier.content, body) and not doubles:
        return Posted("unchanged", _url(target, earlier))
    return _Wanted(body, earlier, doubles)


def _write(target: Target, wanted: _Wanted, text: Text) -> Posted:
    hub, repository, number = target.hub, target.repository, target.number
    if earlier := wanted.earlier:
        for double in wanted.doubles:  # of a run that was killed between creating and hiding
            _hide(target, double)
        hub.ask(target.place, lambda api: api.edit_discussion_comment(repository, number, earlier.id, wanted.body))
        return Posted("edited", _url(target, earlier))
    created = hub.ask(target.place, lambda api: api.comment_discussion(repository, number, wanted.body))
    target.account.learn(created.author)
    now = read(hub, repository, number)
    ours = _ours(target, now)
    if not ours or ours[0].id == created.id:
        return Posted("created", _url(target, created))
    _hide(target, created)  # another run was faster: its comment stays, and is brought up to date like any earlier one
    return publish(target, text, now)


def _ours(target: Target, seen: "DiscussionWithDetails") -> list["DiscussionComment"]:
    """The comments that are ours, the oldest first: with our marker as first line, by a named author or whoever the token is of."""
    marked = [comment for comment in comments(seen) if (said := _marker(comment)) and said.id == target.comment_id]
    if all(_is_by(comment, target.authors) for comment in marked):
        return marked
    authors = (*target.authors, target.account.name(target.hub))
    return [comment for comment in marked if _is_by(comment, authors)]


def _was_hidden(target: Target, seen: "DiscussionWithDetails") -> bool:
    """Whether somebody hid what we wrote, which is to be respected. What a hidden comment said is not to be had any more."""
    hidden = [comment for comment in comments(seen) if comment.hidden]
    return bool(hidden) and any(_is_by(comment, [target.account.name(target.hub)]) for comment in hidden)


def _head(target: Target) -> str:
    about = target.hub.ask(target.place, lambda api: api.model_info(target.repository, revision=target.ref, expand=["sha"]))
    return about.sha or ""


def _hide(target: Target, comment: "DiscussionComment") -> None:
    warnings.filterwarnings("ignore", message="Hidden comments' content", category=UserWarning)  # the client warns each time
    number = target.number
    target.hub.ask(target.place, lambda api: api.hide_discussion_comment(target.repository, number, comment.id))


def _is_by(comment: "DiscussionComment", authors: Collection[str]) -> bool:
    return comment.author.casefold() in {author.casefold() for author in authors}


def _marker(comment: "DiscussionComment") -> Marker | None:
    return None if comment.hidden else marker.read(comment.content.split("\n", 1)[0])


def _same(held: str, body: str) -> bool:
    """Whether the Hub holds `body` already, however it keeps line ends (UNVERIFIED)."""
    return held.replace("\r\n", "\n").strip() == body.strip()


def _url(target: Target, comment: "DiscussionComment") -> str:
    return f"{target.hub.access.endpoint}/{target.repository}/discussions/{target.number}#{comment.id}"


def _is_final(fault: HubError) -> bool:
    """Whether trying again is of no use."""
    from huggingface_hub.errors import HfHubHTTPError  # noqa: PLC0415 - as above

    cause = fault.__cause__
    return (
        isinstance(cause, HfHubHTTPError)
        and 400 <= cause.response.status_code < 500
        and cause.response.status_code not in TRY_AGAIN
    )
