"""What the bot does about pull requests on the Hub, from the job to the comment, against the stand-in for the Hub."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.errors import CannotLookError
from bot.hub import Access
from bot.server.discussion import Bot, Judged, judge, judge_base
from bot.server.jobs import Base, Discussion
from bot.settings import Layer
from tests.doubles.hub import TOKEN, HubDouble
from tests.doubles.hub_community import Community
from tests.doubles.model_repository import ModelRepository

NAME = "acme/model"
MAIN = Base(repo=NAME, ref="refs/heads/main")


@pytest.fixture
def origin(tmp_path: Path) -> ModelRepository:
    """A pull request, number 1, that spoils the model."""
    made = ModelRepository(tmp_path / "origin")
    made.spoil()
    made.propose()
    return made


@pytest.fixture
def hub(origin: ModelRepository) -> Iterator[HubDouble]:
    with HubDouble({NAME: origin.path}) as double:
        double.communities[NAME].open("Stop on end of text", "It ends sooner.")
        yield double
        assert {seen.host.split(":")[0] for seen in double.log if seen.token} <= {"127.0.0.1"}


@pytest.fixture
def community(hub: HubDouble) -> Community:
    return hub.communities[NAME]


@pytest.fixture
def bot(hub: HubDouble, tmp_path: Path) -> Bot:
    return Bot(Access(hub.url, TOKEN, tmp_path / "cache"), Layer("command line", {"prove": "never"}))


def job(number: int) -> Discussion:
    return Discussion(repo=NAME, num=number)


def pull(origin: ModelRepository, number: int, message: str, files: dict[str, str], start: str = "main") -> str:
    """Push one commit as the ref of a pull request."""
    origin.git("switch", "--quiet", "--detach", start)
    sha = origin.commit(message, files)
    origin.git("update-ref", f"refs/pr/{number}", sha)
    origin.git("switch", "--quiet", "main")
    return sha


def shown(community: Community, number: int) -> list[str]:
    """The comments that are to be seen, without the description."""
    events = [event for event in community.discussions[number]["events"][1:] if event["type"] == "comment"]
    return [event["data"]["latest"]["raw"] for event in events if not event["data"]["hidden"]]


def about_discussions(hub: HubDouble) -> list[str]:
    """The requests that a comparison alone would not make."""
    return [line for line in hub.asked if any(part in line for part in ("/discussions", "/revision/", "whoami"))]


def test_a_fix_that_only_a_pull_request_holds_is_told_until_it_is_merged(
    hub: HubDouble, origin: ModelRepository, community: Community, bot: Bot
) -> None:
    """As with GLM-5.1-FP8: the card says that the fix is in, and the commit is on refs/pr/1 alone."""
    fix = pull(origin, 1, "Fix the chat template", {"chat_template.jinja": "{{ messages[0].content }}<|im_end|>\n"})
    card = f"# GLM-5.1-FP8\n\nNote: the chat template problem is fixed in commit {fix[:7]}.\n"
    pull(origin, 2, "Tell of the fix", {"README.md": card})
    community.open("Tell of the fix")

    first = judge(job(2), bot)

    assert (first.outcome, first.notice) == ("created", "")
    (text,) = shown(community, 2)
    head = origin.sha("refs/pr/2")
    assert text.startswith('<!-- model-repo-drift {"v":1,"id":"default","head":"' + head)
    assert f"`README.md` refers to commit `{fix[:12]}`, which is on no branch: only refs/pr/1 holds it" in text
    assert f"]({hub.url}/{NAME}/blob/{head}/README.md?code=true#L3)" in text
    assert judge(job(2), bot) == Judged("unchanged", first.url)

    community.merge(1)
    asked: list[Discussion] = []
    assert judge_base(MAIN, bot, asked.append) == 1
    assert asked == [job(2)]
    assert judge(asked[0], bot) == Judged("edited", first.url)

    (text,) = shown(community, 2)
    assert f"The 1 warning reported for `{head[:8]}` is no longer reported." in text
    assert "holds it" not in text
    assert judge(job(2), bot).outcome == "unchanged"
    assert community.discussions[1]["events"][-1]["type"] == "status-change"  # nothing was written about the merged one


def test_a_pull_request_is_judged_and_its_comment_kept_up_to_date(
    origin: ModelRepository, community: Community, bot: Bot
) -> None:
    assert judge(job(1), bot).outcome == "created"
    (text,) = shown(community, 1)
    assert "generation_config.json" in text
    assert "/blob/" in text
    assert "This pull request" in text
    origin.git("update-ref", "refs/pr/1", origin.git("commit-tree", "main^{tree}", "-p", "refs/pr/1", "-m", "Take it back"))

    assert judge(job(1), bot).outcome == "edited"
    (text,) = shown(community, 1)
    assert "no longer reported" in text


def test_a_pull_request_that_brings_nothing_new_gets_no_comment(
    hub: HubDouble, origin: ModelRepository, community: Community, bot: Bot
) -> None:
    pull(origin, 1, "Words", {"notes/words.txt": "x"})
    assert judge(job(1), bot) == Judged("not needed")
    assert len(hub.asked) <= 5  # the discussion, and no more than four for the comparison
    assert about_discussions(hub) == [f"GET /api/models/{NAME}/discussions/1?diff=1"]
    assert shown(community, 1) == []


def test_the_requests_about_the_comment(hub: HubDouble, bot: Bot) -> None:
    discussion = f"GET /api/models/{NAME}/discussions/1?diff=1"
    head, post = f"GET /api/models/{NAME}/revision/refs%2Fpr%2F1?expand=sha", f"POST /api/models/{NAME}/discussions/1/comment"
    judge(job(1), bot)
    assert about_discussions(hub) == [discussion, discussion, head, post, discussion]
    hub.log.clear()
    judge(job(1), bot)
    assert about_discussions(hub) == [discussion]
    assert len(hub.asked) <= 5


def test_what_is_no_open_pull_request_is_left_alone(hub: HubDouble, community: Community, bot: Bot) -> None:
    community.open("A question", pull=False)
    assert judge(job(2), bot).outcome == "no pull request"
    for status in ("closed", "merged"):
        community.discussions[1]["status"] = status
        assert judge(job(1), bot).outcome == "closed"
    assert len(hub.asked) == 3
    assert judge(job(3), bot).outcome == "gone"
    assert judge(Discussion(repo="acme/nope", num=1), bot).outcome == "gone"
    assert not any(line.startswith("POST") for line in hub.asked)


def test_a_pull_request_without_a_ref_is_gone(origin: ModelRepository, bot: Bot) -> None:
    origin.git("update-ref", "-d", "refs/pr/1")
    judged = judge(job(1), bot)
    assert judged.outcome == "gone"
    assert judged.notice.startswith("hub:acme/model@refs/pr/1: the repository has no such revision")


def test_a_name_that_is_none_asks_nothing(hub: HubDouble, bot: Bot) -> None:
    assert judge(Discussion(repo="../x", num=1), bot).outcome == "unusable"
    assert hub.asked == []


def test_a_private_repository_is_judged_where_the_token_may_read(hub: HubDouble, community: Community, bot: Bot) -> None:
    hub.repositories[NAME].private = True
    assert judge(job(1), bot).outcome == "gone"
    hub.repositories[NAME].readers.add(TOKEN)
    assert judge(job(1), bot).outcome == "created"
    assert TOKEN not in shown(community, 1)[0]


def test_title_and_description_are_read(origin: ModelRepository, community: Community, bot: Bot) -> None:
    fix = origin.sha("refs/pr/1")
    pull(origin, 2, "Words", {"README.md": "# Model\n"})
    community.open("Tell of the fix", f"This documents the fix in commit {fix}.")
    assert judge(job(2), bot).outcome == "created"
    assert "the pull request's description, line 1" in shown(community, 2)[0]


def test_settings_come_from_the_branch_and_the_operator_wins(origin: ModelRepository, community: Community, bot: Bot) -> None:
    file = ".github/model-repo-drift.yml"
    origin.commit("Be quiet", {file: "comment: false\nprove: always\n"})
    assert judge(job(1), bot).outcome == "not needed"
    origin.commit("Be named", {file: "comment_id: bot\n"})
    assert judge(job(1), bot).outcome == "created"
    assert '"id":"bot"' in shown(community, 1)[0]
    loud = Bot(bot.access, Layer("command line", {"prove": "never", "comment_id": "loud"}))
    assert judge(job(1), loud).outcome == "created"
    assert '"id":"loud"' in shown(community, 1)[1]


def test_a_pull_request_cannot_change_how_it_is_judged(origin: ModelRepository, community: Community, bot: Bot) -> None:
    pull(origin, 1, "Hush", {".github/model-repo-drift.yml": "comment: false\n"}, start="refs/pr/1")
    assert judge(job(1), bot).outcome == "created"
    assert "This pull request adds `.github/model-repo-drift.yml`" in shown(community, 1)[0]


def test_settings_that_cannot_be_read_are_told_to_the_operator(origin: ModelRepository, community: Community, bot: Bot) -> None:
    origin.commit("Oops", {".github/model-repo-drift.yml": "coment: false\n"})
    judged = judge(job(1), bot)
    assert judged.outcome == "unusable"
    assert "hub:acme/model: acme/model@main:.github/model-repo-drift.yml:1: unknown setting 'coment'" in judged.notice
    assert shown(community, 1) == []


def test_what_was_pushed_meanwhile_is_judged_at_once(
    hub: HubDouble, origin: ModelRepository, community: Community, bot: Bot
) -> None:
    def push() -> None:
        pull(origin, 1, "More", {"generation_config.json": '{"eos_token_id": 1}\n'}, start="refs/pr/1")

    hub.when("GET", "/revision/refs", push)
    assert judge(job(1), bot).outcome == "created"
    (text,) = shown(community, 1)
    assert f'"head":"{origin.sha("refs/pr/1")}"' in text


def test_pushes_without_end_are_left_to_their_own_jobs(
    hub: HubDouble, origin: ModelRepository, community: Community, bot: Bot
) -> None:
    def push() -> None:
        pull(origin, 1, "More", {"notes.txt": str(len(hub.asked))}, start="refs/pr/1")
        hub.when("GET", "/revision/refs", push)

    hub.when("GET", "/revision/refs", push)
    assert judge(job(1), bot).outcome == "outdated"
    assert sum("/revision/" in line for line in hub.asked) == 3
    assert shown(community, 1) == []


def test_a_fault_that_passes_is_for_a_later_try(hub: HubDouble, bot: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("bot.hub_client.time.sleep", waited.append)
    for path in ("/discussions/1$", "/commits/", "/tree/"):
        hub.answer("GET", path, 503, times=4)
        with pytest.raises(CannotLookError, match="503"):
            judge(job(1), bot)
    assert judge(job(1), bot).outcome == "created"


def comment_on(community: Community, number: int, text: str, author: str) -> None:
    events: list[Any] = community.discussions[number]["events"]
    first = events[0]
    latest = first["data"]["latest"] | {"raw": text}
    events.append(first | {"id": f"{number:024x}f", "author": {"name": author}, "data": first["data"] | {"latest": latest}})


def test_a_branch_that_moved_brings_back_those_with_our_comment(hub: HubDouble, community: Community, bot: Bot) -> None:
    for _ in range(199):
        community.open()
    mark = '<!-- model-repo-drift {"v":1,"id":"x","head":"","fingerprints":[]} -->\nwords'
    for number in (2, 31, 120, 199):
        comment_on(community, number, mark, "drift-bot")
    comment_on(community, 50, mark, "mallory")
    comment_on(community, 60, "words", "drift-bot")
    comment_on(community, 70, f"> {mark}", "drift-bot")
    community.discussions[120]["status"] = "merged"
    community.discussions[199]["changes"]["base"] = "refs/heads/other"
    asked: list[Discussion] = []

    assert judge_base(MAIN, bot, asked.append) == 2

    assert asked == [job(31), job(2)]
    listed = [line for line in hub.asked if "/discussions?" in line]
    assert len(listed) == 7
    assert len(hub.asked) == 7 + 199 + 1
    assert judge_base(Base(repo=NAME, ref="refs/heads/other"), bot, asked.append) == 1


def test_a_branch_that_moved_where_nothing_is_open_asks_once(hub: HubDouble, community: Community, bot: Bot) -> None:
    community.discussions[1]["status"] = "closed"
    assert judge_base(MAIN, bot, lambda _: None) == 0
    assert len(hub.asked) == 1


def test_a_pull_request_that_is_deleted_meanwhile_is_passed_over(hub: HubDouble, community: Community, bot: Bot) -> None:
    community.open("Second")
    hub.answer("GET", "/discussions/2$", 404)
    assert judge_base(MAIN, bot, lambda _: None) == 0
    assert [line.rpartition("/")[2] for line in hub.asked[1:]] == ["2?diff=1", "1?diff=1"]


def test_letters_that_are_none_are_no_fault(hub: HubDouble, origin: ModelRepository, community: Community, bot: Bot) -> None:
    half = "\ud83d"  # what is left of a letter that was cut in the middle, which JSON can spell
    fix = origin.sha("refs/pr/1")
    pull(origin, 2, "Words", {"README.md": "# Model\n"})
    row = {"id": origin.sha("refs/pr/2"), "title": half, "message": half}
    hub.answer("GET", "/commits/refs/pr/2$", 200, [row, {"id": origin.sha("main")}])
    community.open(f"Tell of the fix {half}", f"{half} This documents the fix in commit {fix}.")
    comment_on(community, 2, half, "somebody")
    assert judge(job(2), bot).outcome == "created"


def test_workers_judge_at_once(origin: ModelRepository, community: Community, bot: Bot) -> None:
    for number in range(2, 5):
        origin.git("update-ref", f"refs/pr/{number}", "refs/pr/1")
        community.open(f"Number {number}")
    jobs = [job(number) for number in (1, 2, 3, 4, 1, 2)]
    with ThreadPoolExecutor(len(jobs)) as threads:
        outcomes = [judged.outcome for judged in threads.map(partial(judge, bot=bot), jobs)]
    assert set(outcomes) <= {"created", "edited", "unchanged"}
    assert [len(shown(community, number)) for number in (1, 2, 3, 4)] == [1, 1, 1, 1]
