"""Which events are judged, and between which revisions; the payloads have the shapes that GitHub sends."""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.errors import UsageError
from bot.event import NO_COMMIT, Asked, Job, job

EVENTS = Path(__file__).parent / "events"
MERGE = "5" * 40
"""The merge commit that the runner names in GITHUB_SHA for a pull request."""


def payload(name: str) -> Any:
    return json.loads((EVENTS / f"{name}.json").read_text(encoding="utf-8"))


def read(name: str, content: Any, asked: Asked | None = None, **given: str) -> Job:
    return job(name, json.dumps(content).encode(), asked or Asked(ref="refs/pull/2/merge", sha=MERGE), **given)


@pytest.mark.parametrize("name", ["pull_request", "pull_request_target"])
@pytest.mark.parametrize("action", ["opened", "synchronize", "reopened", "ready_for_review"])
def test_a_pull_request_is_judged_at_its_own_head(name: str, action: str) -> None:
    content = payload(f"pull_request_{action}")
    pull = content["pull_request"]

    todo = read(name, content)

    assert todo == Job(
        kind="pull-request",
        repository=content["repository"]["full_name"],
        base=pull["base"]["sha"],
        head=pull["head"]["sha"],
        base_name=pull["base"]["ref"],
        head_name=pull["head"]["ref"],
        number=pull["number"],
        title=pull["title"],
        body=pull["body"] or "",
        head_repository=pull["head"]["repo"]["full_name"],
        draft=pull["draft"],
    )


@pytest.mark.parametrize("action", ["closed", "labeled"])
def test_other_actions_change_nothing(action: str) -> None:
    todo = read("pull_request", payload(f"pull_request_{action}"))

    assert (todo.kind, todo.reason) == ("nothing", f"a pull request that was {action} has no other content than before")


def test_an_edit_is_judged_only_with_another_base() -> None:
    content = payload("pull_request_opened") | {"action": "edited", "changes": {"title": {"from": "Old title"}}}
    assert read("pull_request", content).kind == "nothing"

    content["changes"] = {"base": {"ref": {"from": "main"}, "sha": {"from": "1" * 40}}}
    assert read("pull_request", content).kind == "pull-request"


def test_a_fork_and_a_deleted_fork() -> None:
    content = payload("pull_request_opened")
    content["pull_request"]["head"]["repo"] |= {"full_name": "contributor/model", "fork": True}
    todo = read("pull_request", content)
    assert (todo.fork, todo.head_repository) == (True, "contributor/model")

    content["pull_request"]["head"]["repo"] = None
    todo = read("pull_request", content)
    assert (todo.kind, todo.fork, todo.head_repository) == ("pull-request", True, None)


def test_a_draft_is_judged_and_a_missing_body_is_empty() -> None:
    content = payload("pull_request_opened")
    content["pull_request"] |= {"draft": True, "body": None}
    todo = read("pull_request", content)
    assert (todo.kind, todo.draft, todo.body) == ("pull-request", True, "")


def test_a_push_is_compared_with_what_was_there() -> None:
    content = payload("push_branch_created") | {"before": "1" * 40, "created": False}

    todo = read("push", content)

    assert todo == Job(kind="summary-only", repository="acme/model", base="1" * 40, head=content["after"], from_merge_base=False)


def test_a_new_branch_is_compared_with_the_default_branch() -> None:
    content = payload("push_branch_created")
    assert content["before"] == NO_COMMIT
    assert read("push", content).reason == "master is new: there is nothing before it"

    content["ref"] = "refs/heads/topic"
    todo = read("push", content)
    assert (todo.kind, todo.base, todo.head, todo.from_merge_base) == ("summary-only", "master", content["after"], True)


def test_deleted_branches_and_tags_have_nothing_to_compare() -> None:
    content = payload("push_tag_deleted")
    assert content["after"] == NO_COMMIT
    assert read("push", content).reason == "refs/tags/simple-tag was deleted"
    assert "is a tag" in read("push", content | {"after": "1" * 40}).reason


def test_a_merge_group_is_compared_with_its_base() -> None:
    content = payload("merge_group")
    group = content["merge_group"]
    todo = read("merge_group", content)
    assert (todo.kind, todo.base, todo.head) == ("summary-only", group["base_sha"], group["head_sha"])
    assert todo.base_name == "main"


def test_a_manual_run_compares_its_branch_or_what_was_asked() -> None:
    content = payload("workflow_dispatch")
    default = content["repository"]["default_branch"]
    commit = "a" * 40

    of_default = read("workflow_dispatch", content, Asked(ref=f"refs/heads/{default}", sha=commit))
    assert of_default.kind == "nothing"
    assert "input base" in of_default.reason

    of_topic = read("workflow_dispatch", content, Asked(ref="refs/heads/topic", sha=commit))
    assert (of_topic.kind, of_topic.base, of_topic.head) == ("summary-only", default, commit)

    asked = read("workflow_dispatch", content, Asked(base="v1", head="v2", ref=f"refs/heads/{default}", sha=commit))
    assert (asked.kind, asked.base, asked.head) == ("summary-only", "v1", "v2")


def test_a_scheduled_run_needs_a_base() -> None:
    assert read("schedule", payload("schedule"), Asked(ref="refs/heads/main", sha="a" * 40)).kind == "nothing"
    todo = read("schedule", payload("schedule"), Asked(base="v1", sha="a" * 40), repository="acme/model")
    assert (todo.kind, todo.base, todo.head, todo.repository) == ("summary-only", "v1", "a" * 40, "acme/model")


def test_any_other_event_needs_both_revisions() -> None:
    assert read("release", {}, Asked(base="v1")).kind == "nothing"
    todo = read("release", {}, Asked(base="v1", head="v2"), repository="acme/model")
    assert (todo.kind, todo.base, todo.head, todo.repository) == ("summary-only", "v1", "v2", "acme/model")


def test_revisions_asked_for_a_pull_request_are_refused() -> None:
    with pytest.raises(UsageError, match="a pull request brings its own"):
        read("pull_request", payload("pull_request_opened"), Asked(base="main"))


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("pull_request", "head", "sha"), None, r"\$\.pull_request\.head\.sha"),
        (("pull_request", "head", "sha"), "main", r"\$\.pull_request\.head\.sha"),
        (("pull_request", "head", "sha"), "--upload-pack=x", r"\$\.pull_request\.head\.sha"),
        (("pull_request", "number"), "2", r"\$\.pull_request\.number"),
        (("repository", "full_name"), "../../etc", r"\$\.repository\.full_name"),
        (("pull_request", "base"), [], r"\$\.pull_request\.base"),
    ],
)
def test_a_payload_of_another_shape_names_the_field(path: tuple[str, ...], value: object, said: str) -> None:
    content = payload("pull_request_opened")
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value

    with pytest.raises(UsageError, match=said) as refused:
        read("pull_request", content)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"action":"opened"}', b'{"action":"\xff"}'])
def test_a_payload_that_is_no_event_is_refused(content: bytes) -> None:
    with pytest.raises(UsageError, match="the payload of the pull_request event"):
        job("pull_request", content, Asked())
