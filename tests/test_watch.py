"""A scheduled look at repositories of the Hub: every open pull request that moved is judged once, and comments are written there."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.errors import UsageError
from bot.hub import Access
from bot.server.discussion import Bot
from bot.server.watching import Memory, Told, watch
from tests.doubles.hub import TOKEN, HubDouble
from tests.doubles.model_repository import ModelRepository

NAME, OTHER = "acme/model", "acme/other"


@pytest.fixture
def origin(tmp_path: Path) -> ModelRepository:
    """Pull request 1 spoils the model, pull request 2 does not."""
    made = ModelRepository(tmp_path / "origin")
    made.spoil()
    made.git("update-ref", "refs/pr/1", "change")
    made.git("switch", "--quiet", "--create", "calm", "main")
    made.commit("Say more", {"README.md": "# Model\n"})
    made.git("update-ref", "refs/pr/2", "calm")
    made.git("switch", "--quiet", "change")
    return made


@pytest.fixture
def hub(origin: ModelRepository) -> Iterator[HubDouble]:
    with HubDouble({NAME: origin.path, OTHER: origin.path}) as double:
        double.communities[NAME].open("Stop on end of text", "It ends sooner.")
        double.communities[NAME].open("Say more", "")
        yield double


def look(hub: HubDouble, state: Path | None, *repositories: str) -> list[Told]:
    return list(watch(repositories or (NAME,), Bot(Access(hub.url, TOKEN)), Memory(state)))


def outcomes(told: list[Told]) -> dict[int, str]:
    return {each.number: each.judged.outcome for each in told}


def comments(hub: HubDouble, number: int) -> list[str]:
    events = hub.communities[NAME].discussions[number]["events"]
    return [event["data"]["latest"]["raw"] for event in events if event["type"] == "comment"][1:]


def test_only_what_moved_is_judged_again(hub: HubDouble, origin: ModelRepository, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    assert outcomes(look(hub, state)) == {1: "created", 2: "not needed"}

    hub.log.clear()
    assert look(hub, state) == []
    assert len(hub.asked) == 2

    origin.git("switch", "--quiet", "--detach", "change")
    origin.git("update-ref", "refs/pr/1", origin.repair())
    assert outcomes(look(hub, state)) == {1: "edited"}
    (comment,) = comments(hub, 1)
    assert "no longer reported" in comment


def test_a_branch_that_moved_concerns_every_pull_request(hub: HubDouble, origin: ModelRepository, tmp_path: Path) -> None:
    look(hub, tmp_path / "state.json")
    origin.git("switch", "--quiet", "main")
    origin.commit("Go on", {"notes.txt": "x\n"})

    assert set(outcomes(look(hub, tmp_path / "state.json"))) == {1, 2}


def test_without_a_state_everything_is_judged_and_nothing_doubled(hub: HubDouble) -> None:
    assert outcomes(look(hub, None)) == {1: "created", 2: "not needed"}
    assert outcomes(look(hub, None)) == {1: "unchanged", 2: "not needed"}
    assert len(comments(hub, 1)) == 1


def test_a_closed_pull_request_is_forgotten(hub: HubDouble, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    look(hub, state)
    hub.communities[NAME].discussions[2]["status"] = "closed"

    look(hub, state)

    assert set(json.loads(state.read_bytes())["pulls"]) == {f"{NAME}#1"}


def test_a_repository_that_is_not_there_hinders_no_other(hub: HubDouble) -> None:
    told = look(hub, None, "acme/absent", NAME)

    assert [(each.repo, each.number, bool(each.fault)) for each in told] == [
        ("acme/absent", 0, True),
        (NAME, 1, False),
        (NAME, 2, False),
    ]


def test_what_the_hub_forbids_is_tried_again_next_time(hub: HubDouble, tmp_path: Path) -> None:
    hub.answer("POST", "/comment$", 403, {"error": "No"})
    assert outcomes(look(hub, tmp_path / "state.json"))[1] == "refused"

    assert outcomes(look(hub, tmp_path / "state.json")) == {1: "created"}


@pytest.mark.parametrize("content", ["{", '{"pulls": 1}', "\ud800".encode("utf-16", "surrogatepass")])
def test_a_state_that_is_none_is_named(tmp_path: Path, content: str | bytes) -> None:
    state = tmp_path / "state.json"
    state.write_bytes(content.encode() if isinstance(content, str) else content)

    with pytest.raises(UsageError, match=r"state\.json: is no state of watch"):
        Memory(state)


def run(hub: HubDouble, *arguments: str, token: str = TOKEN) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "HF_ENDPOINT": hub.url, "HF_TOKEN": token}
    command = [Path(sys.executable).with_name("model-repo-drift"), "watch", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environ)


def test_the_command(hub: HubDouble, tmp_path: Path) -> None:
    done = run(hub, NAME, f"hub:{OTHER}", "--state", str(tmp_path / "state.json"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith(f"hub:{NAME}#1: created {hub.url}/{NAME}/discussions/1")
    assert TOKEN not in done.stdout + done.stderr

    done = run(hub, "acme/absent", "--quiet")
    assert (done.returncode, done.stdout) == (3, "")
    assert "acme/absent" in done.stderr

    assert run(hub, f"{NAME}@main").returncode == 2
    done = run(hub, NAME, token="")
    assert done.returncode == 2
    assert "HF_TOKEN" in done.stderr


def test_a_state_that_cannot_be_written_is_said_before_anything_is_commented_on(hub: HubDouble, tmp_path: Path) -> None:
    done = run(hub, NAME, "--state", str(tmp_path / "nowhere" / "state.json"))

    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert hub.log == []
