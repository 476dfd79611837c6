"""What became of commits that texts name, asked of the Hugging Face Hub: on a branch, on none, or it cannot be told."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.fetch.gather import gather
from bot.fetch.hub import open_hub, open_hub_pair
from bot.fetch.hub_history import HubHistory, history_of
from bot.hub import Access
from bot.snapshot import Commit
from tests.doubles.hub import TOKEN, HubDouble
from tests.doubles.hub_community import Community
from tests.doubles.model_repository import ModelRepository

NAME = "acme/model"
MAIN, PULL = f"hub:{NAME}@main", f"hub:{NAME}@refs/pr/1"
NOBODY = "0123456789abcdef" * 2 + "01234567"


@pytest.fixture
def origin(tmp_path: Path) -> ModelRepository:
    made = ModelRepository(tmp_path / "origin")
    made.spoil()
    made.propose()
    return made


@pytest.fixture
def hub(origin: ModelRepository) -> Iterator[HubDouble]:
    with HubDouble({NAME: origin.path}) as double:
        double.communities[NAME].open("Stop on end of text")
        yield double


@pytest.fixture
def community(hub: HubDouble) -> Community:
    return hub.communities[NAME]


def main(hub: HubDouble) -> HubHistory:
    source = open_hub(MAIN, Access(hub.url))
    hub.log.clear()
    return history_of(source, source)


def resolved(hub: HubDouble, word: str) -> tuple[str, str]:
    """Status and reason of one word, seen from main."""
    (commit,) = main(hub).resolve([word])
    return commit.status, commit.reason


def pull(origin: ModelRepository, number: int, message: str = "Change", *, start: str = "main") -> str:
    """Push one commit as the ref of a pull request."""
    origin.git("switch", "--quiet", "--detach", start)
    sha = origin.commit(message, {f"x/{number}.txt": message})
    origin.git("update-ref", f"refs/pr/{number}", sha)
    origin.git("switch", "--quiet", "main")
    return sha


def grow(origin: ModelRepository, count: int, branch: str = "main") -> str:
    """Put many commits on a branch; the first of them."""
    before = origin.sha(branch)
    rows = [f"commit refs/heads/{branch}\ncommitter A <a@b> {1_800_000_000 + n} +0000\ndata 1\nx\n" for n in range(count)]
    rows[0] += f"from {before}\n"
    origin.git("fast-import", "--quiet", "--force", stdin="".join(rows).encode())
    return origin.git("rev-list", "--reverse", f"{before}..{branch}").split("\n")[0]


def test_no_word_asks_nothing(hub: HubDouble) -> None:
    history = main(hub)
    assert history.resolve([]) == ()
    assert history.resolve(["not a word"])[0].reason == "is no id of a commit"
    assert (history.complete, hub.asked) == (True, [])


def test_a_commit_on_main_is_reachable(hub: HubDouble, origin: ModelRepository) -> None:
    sha = origin.sha("main")
    for word in (sha, sha[:7], sha[:12]):
        assert main(hub).resolve([word]) == (Commit(word, sha, "reachable", "on main"),)
        assert len(hub.asked) == 1


def test_a_commit_on_head_a_branch_or_a_tag_is_reachable(hub: HubDouble, origin: ModelRepository) -> None:
    head = origin.sha("refs/pr/1")
    tagged, branched = pull(origin, 8), pull(origin, 9)
    origin.git("tag", "--annotate", "v1", tagged, "--message", "one")
    origin.git("branch", "dev", branched)
    sides = open_hub_pair(MAIN, PULL, Access(hub.url))
    found = history_of(*sides).resolve([head, tagged[:8], branched])
    assert [(commit.status, commit.reason) for commit in found] == [
        ("reachable", "in head"),
        ("reachable", "on tag v1"),
        ("reachable", "on branch dev"),
    ]


@pytest.mark.parametrize("status", ["open", "draft", "closed"])
def test_what_only_a_pull_request_holds_is_orphaned(
    hub: HubDouble, origin: ModelRepository, community: Community, status: str
) -> None:
    community.discussions[1]["status"] = status
    sha = origin.sha("refs/pr/1")
    for word in (sha, sha[:7]):
        assert main(hub).resolve([word]) == (Commit(word, sha, "orphaned", "only refs/pr/1 holds it"),)
        assert len(hub.asked) == 6


def test_a_pull_request_that_no_discussion_knows_was_not_merged(
    hub: HubDouble, origin: ModelRepository, community: Community
) -> None:
    community.discussions.clear()
    assert resolved(hub, origin.sha("refs/pr/1")) == ("orphaned", "only refs/pr/1 holds it")


def test_a_commit_behind_the_tip_of_a_pull_request_is_found(
    hub: HubDouble, origin: ModelRepository, community: Community
) -> None:
    first = pull(origin, 2, "First")
    pull(origin, 2, "Second", start=first)
    community.open("Two steps")
    for word in (first, first[:7]):
        assert resolved(hub, word) == ("orphaned", "only refs/pr/2 holds it")


def test_what_is_nowhere_is_told(hub: HubDouble) -> None:
    for word in (NOBODY, NOBODY[:7], "20240101", "d41d8cd98f00b204e9800998ecf8427e"):
        assert resolved(hub, word) == ("orphaned", "no commit of this repository has this id")


def test_a_commit_that_no_ref_holds_is_orphaned(hub: HubDouble, origin: ModelRepository) -> None:
    sha = origin.sha("refs/pr/1")
    origin.git("update-ref", "-d", "refs/pr/1")
    assert resolved(hub, sha) == ("orphaned", "no ref holds it")


def test_a_merged_pull_request_is_no_orphan(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    sha = origin.sha("refs/pr/1")
    made = community.merge(1)
    assert resolved(hub, sha) == ("reachable", f"the same change is on main as {made[:8]}")
    assert len(hub.asked) == 2  # the message of the merge names what it squashes


def test_a_merge_is_also_known_by_its_discussion(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    sha = origin.sha("refs/pr/1")
    made = origin.commit("The same, by hand")
    community.discussions[1] |= {"status": "merged"}
    community.discussions[1]["changes"]["mergeCommitId"] = made
    assert resolved(hub, sha) == ("reachable", f"the same change is on main as {made[:8]}")


@pytest.mark.parametrize("status", ["open", "closed", "merged"])
def test_a_change_that_was_uploaded_by_hand_is_no_orphan(
    hub: HubDouble, origin: ModelRepository, community: Community, status: str
) -> None:
    sha = origin.sha("refs/pr/1")
    community.discussions[1]["status"] = status
    uploaded = {"generation_config.json": origin.git("show", "refs/pr/1:generation_config.json") + "\n", "README.md": "x"}
    origin.commit("Upload", uploaded)
    assert resolved(hub, sha) == ("reachable", "what it changes is on main as well")
    origin.commit("Upload", {"generation_config.json": "{}"})
    assert resolved(hub, sha)[0] == ("unknown" if status == "merged" else "orphaned")


@pytest.mark.parametrize("merge", [None, NOBODY])
def test_a_merge_that_is_on_no_branch_cannot_be_told(
    hub: HubDouble, origin: ModelRepository, community: Community, merge: str | None
) -> None:
    community.discussions[1]["status"] = "merged"
    community.discussions[1]["changes"]["mergeCommitId"] = merge
    said = "refs/pr/1 holds it and was merged, but the commit that this made is on no branch that was looked at"
    assert resolved(hub, origin.sha("refs/pr/1")) == ("unknown", said)


def test_a_message_that_names_a_commit_is_no_merge(hub: HubDouble, origin: ModelRepository) -> None:
    sha = origin.sha("refs/pr/1")
    origin.commit(f"See the other way ({sha})\n\n- other ({sha})")
    assert resolved(hub, sha) == ("orphaned", "only refs/pr/1 holds it")


def test_three_thousand_commits_over_pages(hub: HubDouble, origin: ModelRepository) -> None:
    old, orphan = grow(origin, 3000), origin.sha("refs/pr/1")
    hub.repositories[NAME].most_commits = 50
    history = main(hub)
    found = history.resolve([old, orphan])
    assert [(commit.status, commit.reason) for commit in found] == [
        ("reachable", "on main"),
        ("orphaned", "only refs/pr/1 holds it"),
    ]
    assert history.complete
    assert len(hub.asked) == 61 + 6
    hub.repositories[NAME].most_commits = 1000
    assert [commit.status for commit in main(hub).resolve([old, orphan])] == ["reachable", "orphaned"]
    assert len(hub.asked) == 4 + 6


def test_more_pages_than_a_run_may_ask_for_cannot_be_told(hub: HubDouble, origin: ModelRepository) -> None:
    grow(origin, 300)
    hub.repositories[NAME].most_commits = 2
    history = main(hub)
    (commit,) = history.resolve([origin.sha("refs/pr/1")])
    assert (commit.status, commit.reason) == (
        "unknown",
        "more than 100 requests to the Hub would be needed to look for all commits",
    )
    assert not history.complete
    assert history.reason == commit.reason
    assert len(hub.asked) == 100


def test_two_hundred_open_pull_requests(hub: HubDouble, origin: ModelRepository, community: Community) -> None:
    first = pull(origin, 2, "First")
    tree = origin.sha("main^{tree}")
    updates = [
        f"create refs/pr/{number} {origin.git('commit-tree', tree, '-p', 'main', '-m', str(number))}" for number in range(3, 203)
    ]
    origin.git("update-ref", "--stdin", stdin="\n".join(updates).encode() + b"\n")
    for _ in range(201):
        community.open()
    tip = origin.sha("refs/pr/150")
    assert resolved(hub, tip) == ("orphaned", "only refs/pr/150 holds it")
    assert len(hub.asked) == 6
    pull(origin, 2, "Second", start=first)
    assert resolved(hub, first)[0] == "unknown"  # it stands in the oldest of too many lists
    assert len(hub.asked) == 100
    pull(origin, 203, "New", start=first)
    community.open()
    assert resolved(hub, first) == ("orphaned", "only refs/pr/203 holds it")


@pytest.mark.parametrize(("path", "status"), [("/commits/", 403), ("/refs$", 500), ("/discussions/1$", 403), ("/commits/", 200)])
def test_what_the_hub_does_not_say_cannot_be_told(
    hub: HubDouble, origin: ModelRepository, monkeypatch: pytest.MonkeyPatch, path: str, status: int
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("bot.hub_client.time.sleep", waited.append)
    hub.answer("GET", path, status, [{"id": "x"}] if status == 200 else {}, times=9)
    history = main(hub)
    (commit,) = history.resolve([origin.sha("refs/pr/1")])
    assert commit.status == "unknown"
    assert commit.reason.startswith("hub:acme/model")
    assert not history.complete


def test_what_was_found_before_a_fault_stays(hub: HubDouble, origin: ModelRepository) -> None:
    hub.answer("GET", "/refs$", 403)
    found = main(hub).resolve([NOBODY, origin.sha("main")])
    assert [commit.status for commit in found] == ["unknown", "reachable"]


def test_a_branch_that_is_named_like_a_commit_is_none(hub: HubDouble, origin: ModelRepository) -> None:
    name = "abcdefabcdefabcdefabcdefabcdefabcdefabcd"
    hub.answer("GET", f"/revision/{name}", 200, {"id": NAME, "sha": origin.sha("main")})
    assert resolved(hub, name) == ("unknown", "names a branch or tag, not a commit")


def test_a_commit_of_another_repository_is_looked_up_there_without_our_token(origin: ModelRepository, tmp_path: Path) -> None:
    """What the token may read and others may not shows in no report, whatever a text asks about."""
    fix = origin.sha("refs/pr/1")
    secret = ModelRepository(tmp_path / "secret").sha("main")
    own = ModelRepository(tmp_path / "own")
    names = f'from_pretrained("acme/model", revision="{fix}")\nfrom_pretrained("acme/model", revision="{NOBODY}")\n'
    names += f'from_pretrained("acme/secret", revision="{secret}")\nfrom_pretrained("acme/nope", revision="{NOBODY[:7]}")\n'
    own.commit("Say", {"README.md": f"```python\n{names}```\n"})
    with HubDouble({NAME: origin.path, "acme/secret": tmp_path / "secret", "acme/own": own.path}) as hub:
        hub.repositories["acme/secret"].private = True
        hub.repositories["acme/secret"].readers.add(TOKEN)
        reader = Access(hub.url, TOKEN)
        got = gather(tmp_path / "out", base="hub:acme/own@main", head="hub:acme/own@change", repo=tmp_path, hub=reader)
        tokens = {seen.token for seen in hub.log if "/acme/own" not in seen.line}
    assert [(commit.word, commit.repository, commit.reason) for commit in got.change.commits if commit.repository] == [
        (fix, NAME, "acme/model: only refs/pr/1 holds it"),
        (NOBODY, NAME, "acme/model: no commit of this repository has this id"),
    ]
    assert tokens == {""}
