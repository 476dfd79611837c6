"""What to do about a webhook of the Hub: a pure reading of its payload, version 3.

Shapes and what unknown scopes mean: huggingface/hub-docs, docs/hub/webhooks.md, of 2026. The job says only where to look, so a private repository's payload,
a duplicate, or one that comes late means nothing else than any other.
"""

import re
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from bot.errors import UsageError
from bot.publish import marker
from bot.server.jobs import Base, Discussion, Job

LARGEST = 1 << 20
"""Bytes of a payload."""
VERSION = 3
MAIN = "refs/heads/main"
OPEN = ("open", "draft")
MOST_REFS = 1_000

Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,96}(/[A-Za-z0-9._-]{1,96})?$")]
Ref = Annotated[str, Meta(pattern=r"^refs/[^\x00-\x20\x7f]{1,250}$")]
Sha = Annotated[str, Meta(pattern=r"^[0-9a-f]{40,64}$")]
_PULL = re.compile(r"refs/pr/([1-9][0-9]{0,8})")


class Decision(NamedTuple):
    """The jobs of a delivery, none with the reason, and what the log may say of it: scope and action as the Hub wrote them, and the repository."""

    jobs: tuple[Job, ...]
    reason: str
    event: str
    repo: str


class _Event(Struct, frozen=True):
    action: Annotated[str, Meta(max_length=40)]
    scope: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$", max_length=80)]


class _Repo(Struct, frozen=True):
    type: str
    name: Name


class _Changes(Struct, frozen=True):
    base: Ref


class _Discussion(Struct, frozen=True, rename="camel"):
    num: Annotated[int, Meta(ge=1, lt=1_000_000_000)]
    status: str
    is_pull_request: bool
    changes: _Changes | None = None


class _Author(Struct, frozen=True):
    id: str


class _Comment(Struct, frozen=True):
    author: _Author | None = None
    content: str | None = None


class _Updated(Struct, frozen=True, rename="camel"):
    ref: Ref
    new_sha: Sha | None = None


class _Webhook(Struct, frozen=True):
    version: Literal[3]


class _Payload(Struct, frozen=True, rename="camel"):
    event: _Event
    repo: _Repo
    webhook: _Webhook
    discussion: _Discussion | None = None
    comment: _Comment | None = None
    updated_refs: Annotated[tuple[_Updated, ...], Meta(max_length=MOST_REFS)] | None = None


def decide(payload: bytes, own: frozenset[str] = frozenset()) -> Decision:
    """What to do about a payload; `own` are the ids of accounts that comment for us.

    Raises UsageError for what is no payload of version 3, in one line that quotes nothing of it.
    """
    try:
        read = msgspec.json.decode(payload, type=_Payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"this is no webhook payload of version {VERSION}: {_plain(error)}") from None
    jobs, reason = _jobs(read, own)
    return Decision(jobs, "" if jobs else reason, f"{read.event.scope} {read.event.action}", read.repo.name)


def _jobs(read: _Payload, own: frozenset[str]) -> tuple[tuple[Job, ...], str]:
    if read.repo.type != "model":
        return (), "no model repository"
    scope, action = read.event.scope, read.event.action
    match scope.split("."):
        case ["repo", "content", *_]:
            return _content(read)
        case ["repo", "config", *_]:
            return (), "settings say nothing about files"
        case ["repo", *narrower]:
            if narrower or action == "update":
                return _content(read)
            return (), "there is nothing to judge"
        case ["discussion", "comment"]:
            return _comment(read, own)
        case ["discussion", *narrower]:
            if action == "delete" and not narrower:
                return (), "the discussion is gone"
            return _discussion(read)
        case _:
            return (), "an event of another kind"


def _content(read: _Payload) -> tuple[tuple[Job, ...], str]:
    if read.updated_refs is None:
        return (Base(repo=read.repo.name, ref=MAIN),), ""
    jobs: dict[str, Job] = {}
    for updated in read.updated_refs:
        if updated.new_sha is None:
            continue
        pull = _PULL.fullmatch(updated.ref)
        if pull is not None:
            job = Discussion(repo=read.repo.name, num=int(pull[1]))
        elif updated.ref.startswith("refs/heads/"):
            job = Base(repo=read.repo.name, ref=updated.ref)
        else:
            continue
        jobs[job.key] = job
    return tuple(jobs.values()), "neither a branch nor a pull request has another commit"


def _comment(read: _Payload, own: frozenset[str]) -> tuple[tuple[Job, ...], str]:
    comment = read.comment
    if comment is not None:
        if comment.author is not None and comment.author.id in own:
            return (), "our own comment"
        # Whoever writes our marker is ignored as well: a comment changes nothing that is judged, only the first one, the description, does.
        if comment.content is not None and marker.read(comment.content.partition("\n")[0]) is not None:
            return (), "our own comment"
    return _discussion(read)


def _discussion(read: _Payload) -> tuple[tuple[Job, ...], str]:
    discussion = read.discussion
    if discussion is None:
        return (), "it names no discussion"
    if not discussion.is_pull_request:
        return (), "no pull request"
    if discussion.status == "merged":
        return (Base(repo=read.repo.name, ref=discussion.changes.base if discussion.changes else MAIN),), ""
    if discussion.status not in OPEN:
        return (), "the pull request is closed"
    return (Discussion(repo=read.repo.name, num=discussion.num),), ""


def _plain(error: Exception) -> str:
    """What is wrong, by the name of the field: msgspec would quote its value as well."""
    if not isinstance(error, msgspec.ValidationError):
        return "no JSON"
    missing = re.match(r"Object missing required field `\w+`", str(error))
    place = re.search(r" - at `(\$[\w.\[\]]*)`$", str(error))
    return " ".join(filter(None, [missing[0] if missing else "another value is expected", f"at {place[1]}" if place else ""]))
