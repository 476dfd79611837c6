"""What to do about a GitHub event: a pure reading of its name and payload."""

from typing import Annotated, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct

from bot.errors import UsageError

Kind: TypeAlias = Literal["pull-request", "summary-only", "nothing"]
Sha: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{40}$")]
Name: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$")]

NO_COMMIT = "0" * 40
"""What a push says where there was, or is, no commit."""
JUDGED = ("opened", "synchronize", "reopened", "ready_for_review", "edited")
"""The actions on a pull request after which the comparison may differ; `edited` only with another base branch."""

T = TypeVar("T")


class Job(Struct, frozen=True, kw_only=True):
    """What a run has to do.

    `base` and `head` are revisions: commit ids wherever the event has them, otherwise names of branches or what
    the operator asked for; `base_name` and `head_name` are the branches as people call them, where known. With `from_merge_base` the comparison starts where head left base, so that only what
    head brings is new; otherwise at `base` itself. `number`, `title` and `body` are those of the pull request,
    `head_repository` the repository that head lives in (None when it was deleted). `reason` says why there is nothing to do.
    """

    kind: Kind
    repository: str = ""
    base: str = ""
    head: str = ""
    base_name: str = ""
    head_name: str = ""
    from_merge_base: bool = True
    number: int = 0
    title: str = ""
    body: str = ""
    head_repository: str | None = None
    fork: bool = False
    draft: bool = False
    reason: str = ""


class Asked(Struct, frozen=True, kw_only=True):
    """What comes with the event: the revisions the operator names ("" for none) and the commit that the run is about.

    `sha` and `ref` are the runner's; for a pull request they name a merge that nobody wrote, and are not used.
    """

    base: str = ""
    head: str = ""
    ref: str = ""
    sha: str = ""


class _Repository(Struct, frozen=True):
    full_name: Name
    default_branch: str = ""


class _HeadRepository(Struct, frozen=True):
    full_name: Name


class _Base(Struct, frozen=True):
    sha: Sha
    ref: str


class _Head(Struct, frozen=True):
    sha: Sha
    ref: str
    repo: _HeadRepository | None


class _PullRequest(Struct, frozen=True):
    number: int
    title: str
    base: _Base
    head: _Head
    body: str | None = None
    draft: bool = False


class _Changes(Struct, frozen=True):
    base: dict[str, object] | None = None


class _PullRequestEvent(Struct, frozen=True):
    action: str
    pull_request: _PullRequest
    repository: _Repository
    changes: _Changes | None = None


class _PushEvent(Struct, frozen=True):
    ref: str
    before: Sha
    after: Sha
    repository: _Repository


class _MergeGroup(Struct, frozen=True):
    base_sha: Sha
    base_ref: str
    head_sha: Sha


class _MergeGroupEvent(Struct, frozen=True):
    merge_group: _MergeGroup
    repository: _Repository


class _AnyEvent(Struct, frozen=True):
    repository: _Repository | None = None


def job(name: str, payload: bytes, asked: Asked, *, repository: str = "") -> Job:
    """What to do about event `name` with its JSON `payload`; `repository` ("owner/name") serves events that do not tell it.

    Raises UsageError for a payload that is not what GitHub sends, naming the field, and for revisions asked
    for where a pull request brings its own.
    """
    if name in ("pull_request", "pull_request_target"):
        if asked.base or asked.head:
            raise UsageError(
                f"the inputs base and head are not for {name} events: a pull request brings its own; leave them empty"
            )
        return _pull_request(_read(name, payload, _PullRequestEvent))
    if asked.base and asked.head:
        event = _read(name, payload, _AnyEvent)
        return Job(kind="summary-only", repository=_named(event, repository), base=asked.base, head=asked.head)
    if name == "push":
        return _push(_read(name, payload, _PushEvent), asked)
    if name == "merge_group":
        return _merge_group(_read(name, payload, _MergeGroupEvent), asked)
    if name in ("workflow_dispatch", "schedule"):
        return _manual(name, _read(name, payload, _AnyEvent), asked, repository)
    return _nothing(f"a {name} event does not say what to compare; name it with the inputs base and head", repository)


def _pull_request(event: _PullRequestEvent) -> Job:
    pull = event.pull_request
    repository = event.repository.full_name
    if event.action not in JUDGED:
        return _nothing(f"a pull request that was {event.action} has no other content than before", repository)
    if event.action == "edited" and (event.changes is None or event.changes.base is None):
        return _nothing("the pull request was edited, but its base branch is the same", repository)
    head_repository = pull.head.repo.full_name if pull.head.repo else None
    return Job(
        kind="pull-request",
        repository=repository,
        base=pull.base.sha,
        head=pull.head.sha,
        base_name=pull.base.ref,
        head_name=pull.head.ref,
        number=pull.number,
        title=pull.title,
        body=pull.body or "",
        head_repository=head_repository,
        fork=head_repository != repository,
        draft=pull.draft,
    )


def _push(event: _PushEvent, asked: Asked) -> Job:
    repository, branch = event.repository, event.ref.removeprefix("refs/heads/")
    if event.after == NO_COMMIT:
        return _nothing(f"{event.ref} was deleted", repository.full_name)
    if event.ref.startswith("refs/tags/") and not asked.base:
        return _nothing(f"{event.ref} is a tag: the branch that has its commit was compared", repository.full_name)
    head = asked.head or event.after
    if asked.base or event.before != NO_COMMIT:
        base = asked.base or event.before
        return Job(kind="summary-only", repository=repository.full_name, base=base, head=head, from_merge_base=bool(asked.base))
    if branch == repository.default_branch or not repository.default_branch:
        return _nothing(f"{branch} is new: there is nothing before it", repository.full_name)
    return Job(kind="summary-only", repository=repository.full_name, base=repository.default_branch, head=head)


def _merge_group(event: _MergeGroupEvent, asked: Asked) -> Job:
    group = event.merge_group
    return Job(
        kind="summary-only",
        repository=event.repository.full_name,
        base=asked.base or group.base_sha,
        head=asked.head or group.head_sha,
        base_name=asked.base or group.base_ref.removeprefix("refs/heads/"),
    )


def _manual(name: str, event: _AnyEvent, asked: Asked, repository: str) -> Job:
    default = event.repository.default_branch if event.repository else ""
    base, head = asked.base or default, asked.head or asked.sha
    full_name = _named(event, repository)
    if not base:
        return _nothing(f"the {name} event does not name the default branch; name a revision with the input base", full_name)
    if not asked.base and not asked.head and asked.ref == f"refs/heads/{default}":
        return _nothing(f"this run is of {default}, the branch that it would be compared with; use the input base", full_name)
    return Job(kind="summary-only", repository=full_name, base=base, head=head)


def _named(event: _AnyEvent, repository: str) -> str:
    return event.repository.full_name if event.repository else repository


def _nothing(reason: str, repository: str) -> Job:
    return Job(kind="nothing", repository=repository, reason=reason)


def _read(name: str, payload: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(payload, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"the payload of the {name} event is not what GitHub sends: {' '.join(str(error).split())}") from None
