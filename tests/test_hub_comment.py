"""One comment on a pull request of the Hub, through the unmodified client, against the stand-in for the Hub."""

import copy
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bot.hub import AbsentError, Access, HubError, connect
from bot.publish import hub as publishing
from bot.publish import marker
from bot.publish.comment import comment
from bot.publish.hub import LIMIT, Account, Posted, Target, Text, publish, read
from bot.publish.links import on_hub
from bot.publish.marker import Marker
from tests import comparisons
from tests.doubles.hub import TOKEN, HubDouble
from tests.doubles.hub_community import Community
from tests.doubles.model_repository import ModelRepository

NAME = "acme/model"
ME = "drift-bot"
IDS = count(1)


@pytest.fixture
def origin(tmp_path: Path) -> ModelRepository:
    made = ModelRepository(tmp_path / "origin")
    made.spoil()
    made.git("update-ref", "refs/pr/1", "change")
    return made


@pytest.fixture
def hub(origin: ModelRepository) -> Iterator[HubDouble]:
    with HubDouble({NAME: origin.path}) as double:
        double.communities[NAME].open("Stop on end of text", "It ends sooner.")
        yield double


@pytest.fixture
def community(hub: HubDouble) -> Community:
    return hub.communities[NAME]


def target(hub: HubDouble, origin: ModelRepository, comment_id: str = "default", authors: tuple[str, ...] = ()) -> Target:
    client = connect(Access(hub.url, TOKEN))
    return Target(client, Account(), NAME, 1, origin.sha("change"), comment_id, authors)


def run(target: Target, text: Text) -> Posted:
    """One run, from reading the discussion on."""
    return publish(target, text, read(target.hub, target.repository, target.number))


def body(text: str, comment_id: str = "default", head: str = "a" * 40) -> str:
    return f"{marker.write(Marker(id=comment_id, head=head))}\n{text}"


def always(text: str) -> Text:
    return lambda _: body(text)


def only_over_an_earlier_one(previous: Marker | None) -> str | None:
    return body("nothing new") if previous else None


def said(community: Community, text: str, author: str = ME) -> Any:
    """Somebody comments on the page."""
    events = community.discussions[1]["events"]
    event = copy.deepcopy(events[0]) | {"id": f"{events[-1]['id']}{next(IDS):06}", "author": {"name": author}}
    event["data"]["latest"]["raw"] = text
    events.append(event)
    return event


def shown(community: Community) -> list[str]:
    """The comments that are to be seen, without the description."""
    events = [event for event in community.discussions[1]["events"][1:] if event["type"] == "comment"]
    return [event["data"]["latest"]["raw"] for event in events if not event["data"]["hidden"]]


def calls(hub: HubDouble) -> list[str]:
    """The requests without what stands before the discussion."""
    short = (line.replace(f"/api/models/{NAME}", "").replace("?diff=1", "") for line in hub.asked)
    return [line for line in short if not line.startswith("HEAD")]


def writes(hub: HubDouble) -> list[str]:
    return [line.rpartition("/")[2] for line in hub.asked if line.startswith("POST")]


def pushed(origin: ModelRepository) -> None:
    origin.repair()
    origin.git("update-ref", "refs/pr/1", "change")


def test_the_first_run_creates_and_the_next_ones_edit(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    created = run(target(hub, origin), always("one finding"))
    edited = run(target(hub, origin), always("two findings"))
    same = run(target(hub, origin), always("two findings"))

    assert [created.outcome, edited.outcome, same.outcome] == ["created", "edited", "unchanged"]
    event = community.discussions[1]["events"][1]
    assert created.url == edited.url == same.url == f"{hub.url}/{NAME}/discussions/1#{event['id']}"
    assert (event["author"]["name"], event["data"]["edited"]) == (ME, True)
    assert shown(community) == [body("two findings")]
    assert writes(hub) == ["comment", "edit"]


def test_no_more_is_asked_than_is_needed(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    discussion, head, who = "GET /discussions/1", "GET /revision/refs%2Fpr%2F1?expand=sha", "GET /api/whoami-v2"

    assert run(target(hub, origin), lambda _: None).outcome == "not needed"
    assert calls(hub) == [discussion]
    hub.log.clear()
    mine = target(hub, origin)
    assert run(mine, always("one finding")).outcome == "created"
    assert calls(hub) == [discussion, discussion, head, "POST /discussions/1/comment", discussion]
    hub.log.clear()
    assert run(mine, always("one finding")).outcome == "unchanged"
    assert calls(hub) == [discussion]
    hub.log.clear()
    assert run(mine, always("two findings")).outcome == "edited"
    edit = f"POST /discussions/1/comment/{community.discussions[1]['events'][1]['id']}/edit"
    assert calls(hub) == [discussion, discussion, head, edit]
    hub.log.clear()
    another = target(hub, origin)  # of another process, which does not know yet who it is
    assert [run(another, always("two findings")).outcome for _ in range(2)] == ["unchanged", "unchanged"]
    assert calls(hub) == [discussion, who, discussion]


def test_nothing_is_created_where_nothing_is_to_be_said(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    assert run(target(hub, origin), only_over_an_earlier_one) == Posted("not needed")
    assert writes(hub) == []

    run(target(hub, origin), always("one finding"))
    assert run(target(hub, origin), only_over_an_earlier_one).outcome == "edited"
    assert shown(community) == [body("nothing new")]


def test_the_text_is_told_what_the_earlier_comment_said(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    told: list[Marker | None] = []
    earlier = Marker(id="default", head="b" * 40, fingerprints=(("0123456789abcdef", "error"),))
    said(community, f"{marker.write(earlier)}\r\nold")

    def text(previous: Marker | None) -> str:
        told.append(previous)
        return body("new")

    assert run(target(hub, origin), text).outcome == "edited"
    assert set(told) == {earlier}


def test_our_comment_is_found_among_150_others(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    for number in range(75):
        said(community, f"comment {number}", "reviewer")
    said(community, body("old"))
    for number in range(75):
        said(community, f"comment {number}", "reviewer")

    assert run(target(hub, origin), always("new")).outcome == "edited"
    assert len(shown(community)) == 151
    assert body("new") in shown(community)


@pytest.mark.parametrize("author", ["mallory", "deleted", ME + "2"])
def test_a_person_who_copies_the_marker_is_left_alone(
    hub: HubDouble, origin: ModelRepository, community: Community, author: str
) -> None:
    said(community, body("copied"), author)

    assert run(target(hub, origin), always("ours")).outcome == "created"
    assert run(target(hub, origin), always("ours again")).outcome == "edited"
    assert shown(community) == [body("copied"), body("ours again")]


def test_the_marker_counts_on_the_first_line_only(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    said(community, f"> quoting\n{body('old')}")
    said(community, body("of another model", comment_id="other"))
    said(community, "<!-- model-repo-drift {broken -->\nx")
    said(community, "")

    assert run(target(hub, origin), always("ours")).outcome == "created"
    assert len(shown(community)) == 5


def test_a_named_author_owns_the_comment(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    said(community, body("old"), "Former-Bot")

    assert run(target(hub, origin, authors=("former-bot",)), always("new")).outcome == "edited"
    assert shown(community) == [body("new")]
    assert not any("whoami" in line for line in hub.asked)


def test_two_comment_ids_keep_two_comments(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    for name in ("small", "large", "small"):
        run(target(hub, origin, comment_id=name), lambda _, name=name: body("x", comment_id=name))
    assert shown(community) == [body("x", comment_id="small"), body("x", comment_id="large")]


def test_a_comment_that_the_hub_keeps_in_its_own_way_is_not_written_again(
    hub: HubDouble, origin: ModelRepository, community: Community
) -> None:
    said(community, body("one\n\ntwo").replace("\n", "\r\n"))

    assert run(target(hub, origin), lambda _: body("one\n\ntwo\n")).outcome == "unchanged"


def test_a_head_that_moved_is_not_commented(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    judged = target(hub, origin)
    hub.when("GET", "/revision/", lambda: pushed(origin))

    posted = run(judged, always("about the old head"))

    assert posted.outcome == "outdated"
    assert posted.notice == f"No comment was written: the pull request has moved on to {origin.sha('change')[:7]}."
    assert (writes(hub), shown(community)) == ([], [])


def test_an_older_run_that_ends_last_writes_nothing(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    old = target(hub, origin)
    pushed(origin)
    run(target(hub, origin), always("about the new head"))

    assert run(old, always("about the old head")).outcome == "outdated"
    assert shown(community) == [body("about the new head")]


@pytest.mark.parametrize("status", ["closed", "merged"])
@pytest.mark.parametrize("late", [False, True])
def test_a_closed_pull_request_is_not_commented(
    hub: HubDouble, origin: ModelRepository, community: Community, status: str, *, late: bool
) -> None:
    said(community, body("old"))
    mine = target(hub, origin)
    seen = read(mine.hub, NAME, 1)
    community.discussions[1]["status"] = status  # while the comparison went on
    seen = seen if late else read(mine.hub, NAME, 1)

    assert publish(mine, always("new"), seen) == Posted("closed", notice="No comment was written: the pull request is closed.")
    assert shown(community) == [body("old")]


def test_a_draft_is_commented(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    community.discussions[1]["status"] = "draft"

    assert run(target(hub, origin), always("new")).outcome == "created"


def test_two_runs_at_once_end_with_one_comment(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    # The other run creates its comment after we have read, and before we create ours.
    hub.when("POST", "/comment$", lambda: said(community, body("the other run")))

    posted = run(target(hub, origin), always("this run"))

    assert posted.outcome == "edited"
    assert shown(community) == [body("this run")]
    assert writes(hub) == ["comment", "hide", "edit"]
    assert [event["data"]["hidden"] for event in community.discussions[1]["events"]] == [False, False, True]


@pytest.mark.parametrize("_", range(3))
def test_five_runs_that_start_together_end_with_one_comment(
    hub: HubDouble, origin: ModelRepository, community: Community, _: int
) -> None:
    start = threading.Barrier(5)

    def go(number: int) -> Posted:
        mine = target(hub, origin)
        start.wait()
        return run(mine, always(f"run {number}"))

    with ThreadPoolExecutor(5) as threads:
        posted = list(threads.map(go, range(5)))

    assert len(shown(community)) == 1
    assert {each.outcome for each in posted} <= {"created", "edited", "unchanged"}


def test_a_slower_run_of_an_older_head_takes_back_its_comment_only(
    hub: HubDouble, origin: ModelRepository, community: Community
) -> None:
    def other() -> None:
        pushed(origin)
        said(community, body("the run of the new head"))

    judged = target(hub, origin)
    hub.when("POST", "/comment$", other)

    assert run(judged, always("about the old head")).outcome == "outdated"
    assert shown(community) == [body("the run of the new head")]


def test_a_double_that_a_killed_run_left_is_hidden_later(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    for author, text in ((ME, "first"), ("mallory", "copied"), (ME, "double"), ("former-bot", "theirs")):
        said(community, body(text), author)

    assert run(target(hub, origin, authors=("former-bot",)), always("new")).outcome == "edited"
    assert shown(community) == [body("new"), body("copied"), body("theirs")]


def test_a_double_is_hidden_although_the_comment_is_right(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    for text in ("right", "double"):
        said(community, body(text))

    assert run(target(hub, origin), always("right")).outcome == "edited"
    assert shown(community) == [body("right")]


def test_a_run_that_was_killed_after_creating_is_not_doubled(
    hub: HubDouble, origin: ModelRepository, community: Community
) -> None:
    hub.when("POST", "/comment$", lambda: said(community, body("one finding")))
    hub.answer("POST", "/comment$", 502)  # the Hub keeps the comment, and its answer is lost

    with pytest.raises(HubError, match="502"):
        run(target(hub, origin), always("one finding"))
    assert run(target(hub, origin), always("one finding")).outcome == "unchanged"
    assert shown(community) == [body("one finding")]


def test_a_comment_that_was_hidden_is_not_written_again(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    event = said(community, body("one finding"))
    event["data"] |= {"hidden": True, "latest": {"raw": "This comment has been hidden"}}

    posted = run(target(hub, origin), always("two findings"))

    assert posted == Posted("hidden", notice="No comment was written: an earlier one was hidden.")
    assert writes(hub) == []
    event["author"] = {"name": "reviewer"}  # somebody else's hidden comment says nothing about ours
    assert run(target(hub, origin), always("two findings")).outcome == "created"


@pytest.mark.parametrize("status", [401, 403, 404, 413, 422])
@pytest.mark.parametrize("earlier", [False, True])
def test_what_the_hub_forbids_is_said_and_never_becomes_a_second_comment(
    hub: HubDouble, origin: ModelRepository, community: Community, status: int, *, earlier: bool
) -> None:
    if earlier:
        said(community, body("old"))
    hub.answer("POST", "/edit$" if earlier else "/comment$", status, headers={"X-Error-Message": "You may not"})

    posted = run(target(hub, origin), always("new"))

    assert posted.outcome == "refused"
    assert posted.notice.startswith("The comment could not be written: hub:acme/model@refs/pr/1: ")
    assert "let the token in HF_TOKEN write in the discussions" in posted.notice
    assert shown(community) == [body("old")] * earlier
    assert len(writes(hub)) == 1


@pytest.mark.parametrize("status", [500, 502, 503])
def test_what_passes_is_for_a_later_try(hub: HubDouble, origin: ModelRepository, community: Community, status: int) -> None:
    hub.answer("POST", "/comment$", status)

    with pytest.raises(HubError, match=str(status)):
        run(target(hub, origin), always("x"))
    assert run(target(hub, origin), always("x")).outcome == "created"
    assert shown(community) == [body("x")]


def test_a_limit_is_waited_for(
    hub: HubDouble, origin: ModelRepository, community: Community, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("bot.hub_client.time.sleep", waited.append)
    hub.answer("POST", "/comment$", 429, headers={"RateLimit": '"api";r=0;t=7'})

    assert run(target(hub, origin), always("x")).outcome == "created"
    assert (waited, shown(community)) == ([8.0], [body("x")])


def test_a_discussion_that_is_gone_is_absent(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    community.discussions.clear()
    with pytest.raises(AbsentError, match="404"):
        run(target(hub, origin), always("x"))


def test_without_a_token_nothing_is_ours(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    said(community, body("old"))
    mine = Target(connect(Access(hub.url)), Account(), NAME, 1, origin.sha("change"))

    assert run(mine, lambda previous: None if previous is None else body("new")) == Posted("not needed")
    assert not any("whoami" in line for line in hub.asked)


def test_the_description_is_what_the_author_wrote_first(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    client = target(hub, origin).hub
    assert publishing.description(read(client, NAME, 1)) == "It ends sooner."
    events = community.discussions[1]["events"]
    events[0]["data"]["hidden"] = True
    assert publishing.description(read(client, NAME, 1)) == ""
    events[0] |= {"author": {"name": "reviewer"}, "data": events[0]["data"] | {"hidden": False}}
    assert publishing.description(read(client, NAME, 1)) == ""
    events.clear()
    assert publishing.description(read(client, NAME, 1)) == ""


@pytest.mark.parametrize("repository", [NAME, "gpt2"])
def test_places_are_linked_at_their_commits(repository: str) -> None:
    base_sha, head_sha = comparisons.BASE_SHA, comparisons.HEAD_SHA
    links = on_hub("https://huggingface.co", repository, base="main", number=7, base_sha=base_sha, head_sha=head_sha)
    blob = f"https://huggingface.co/{repository}/blob"
    assert links.url(comparisons.head("a b/config.json", 3)) == f"{blob}/{head_sha}/a%20b/config.json#L3"
    assert links.url(comparisons.base("README.md", 2)) == f"{blob}/{base_sha}/README.md?code=true#L2"


def test_a_branch_cannot_bring_a_command_along() -> None:
    links = on_hub("https://huggingface.co", NAME, base="x;id`$(id)", number=7, base_sha=None, head_sha=None)
    assert links.elsewhere == "see what ``model-repo-drift compare 'hub:acme/model@x;id`$(id)' hub:acme/model@refs/pr/7`` prints"


@pytest.mark.parametrize("record", [comparisons.many_findings(), comparisons.hostile(), comparisons.added_model()])
def test_what_has_no_room_is_elsewhere_than_on_github(record: Any) -> None:
    links = on_hub("https://huggingface.co", NAME, base="main", number=7, base_sha="b" * 40, head_sha="a" * 40)
    text = comment(record, links=links, limit=LIMIT)
    assert len(text) <= LIMIT
    assert "job summary" not in text
    assert "github" not in text.lower()
    assert "see what `model-repo-drift compare hub:acme/model@main hub:acme/model@refs/pr/7` prints" in comment(
        record, links=links, limit=6_000
    )
