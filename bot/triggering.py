"""The run whose report a second workflow publishes: a pure reading of a workflow_run event."""

from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta, Struct

from bot.errors import UsageError

Sha: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{40}$")]
Name: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$")]


class Triggering(Struct, frozen=True, kw_only=True):
    """The run that made the report: its number, the head that it judged, and where that head lives.

    `repository` is the one that the run belongs to, `head_repository` that of the branch (None when it was deleted). `pulls` are
    the pull requests that GitHub names for the run: none for those from forks.
    """

    repository: str
    run: int
    head: str
    branch: str | None
    head_repository: str | None
    pulls: tuple[int, ...]


class _Repository(Struct, frozen=True):
    full_name: Name


class _Pull(Struct, frozen=True):
    number: int


class _Run(Struct, frozen=True):
    id: int
    event: str
    head_sha: Sha
    head_branch: str | None
    head_repository: _Repository | None
    pull_requests: tuple[_Pull, ...] = ()


class _Event(Struct, frozen=True):
    action: str
    workflow_run: _Run
    repository: _Repository


def triggering(name: str, payload: bytes) -> Triggering:
    """The run that event `name` with its JSON `payload` is about. Raises UsageError for what is no run on a pull request."""
    if name != "workflow_run":
        raise UsageError(f"publish needs a workflow_run event, which says whose report it is; this is a {name} event")
    try:
        event = msgspec.json.decode(payload, type=_Event)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"the payload of the {name} event is not what GitHub sends: {' '.join(str(error).split())}") from None
    run = event.workflow_run
    if run.event != "pull_request":
        raise UsageError(f"the run {run.id} was not about a pull request but a {run.event} event; its report is its job summary")
    return Triggering(
        repository=event.repository.full_name,
        run=run.id,
        head=run.head_sha,
        branch=run.head_branch,
        head_repository=run.head_repository.full_name if run.head_repository else None,
        pulls=tuple(pull.number for pull in run.pull_requests),
    )
