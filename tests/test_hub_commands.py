"""Commands on revisions of the Hugging Face Hub, as they are called: what they print, ask and keep to themselves."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.analyze import child
from tests.doubles.hub import TOKEN, HubDouble
from tests.doubles.hub_community import Community
from tests.doubles.model_repository import ModelRepository
from tests.test_command_line import Ended, started

NAME = "acme/model"
MAIN, PULL = f"hub:{NAME}@main", f"hub:{NAME}@refs/pr/1"


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
def variables(hub: HubDouble, tmp_path: Path) -> Mapping[str, str]:
    return {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN, "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}


def call(hub: HubDouble, variables: Mapping[str, str], *arguments: str) -> Ended:
    """Run a command, and see that the token is shown to nobody but the Hub."""
    hub.log.clear()
    folder = Path(variables["HOME"])
    ended = started(folder, *arguments, **variables)
    token = variables.get("HF_TOKEN", "no token")
    assert token not in ended.output + ended.errors
    assert {seen.host.split(":")[0] for seen in hub.log if seen.token} <= {"127.0.0.1"}
    assert all(token.encode() not in path.read_bytes() for path in (folder / "cache").rglob("*") if path.is_file())
    return ended


def test_a_pull_request_is_compared_with_its_merge_base(
    hub: HubDouble, origin: ModelRepository, variables: Mapping[str, str]
) -> None:
    start = origin.sha("main")
    origin.commit("Go on", {"config.json": '{"model_type": "qwen2", "eos_token_id": 3}\n'})
    ended = call(hub, variables, "compare", MAIN, PULL, "--prove", "never", "--format", "json")
    assert ended.status == 1
    report = json.loads(ended.output)
    assert {finding["check"] for finding in report["new"]} >= {"eos-split-brain", "turn-end-not-in-eos"}
    assert (report["base"]["sha"], report["head"]["sha"]) == (start, origin.sha("refs/pr/1"))
    assert report["base"]["label"] == f"acme/model@main (merge base {start[:7]})"
    assert {seen.token for seen in hub.log} == {TOKEN}
    again = call(hub, variables, "compare", MAIN, PULL, "--prove", "never", "--format", "json")
    assert again == ended
    assert not any("/resolve/" in line for line in hub.asked)


def test_a_comparison_without_a_change_asks_at_most_four_times(
    hub: HubDouble, origin: ModelRepository, variables: Mapping[str, str]
) -> None:
    origin.git("update-ref", "refs/pr/1", origin.git("commit-tree", "main^{tree}", "-p", "main", "-m", "Nothing"))
    origin.commit("Go on", {"x/notes.txt": "x"})
    ended = call(hub, variables, "compare", MAIN, PULL)
    assert ended.status == 0
    assert ended.output.startswith("No model folder differs between the two revisions\n")
    assert len(hub.log) <= 4  # not even the question that the client asks of its own accord


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("check", PULL, "--fail-on", "error"), "error generation_config.json stops on <|endoftext|> 2"),
        (("inspect", PULL), "what generate() stops on: 2"),
        (("predict", PULL, "--engine", "transformers"), "stops on"),
        (("render", PULL), "<|im_start|>assistant"),
    ],
    ids=["check", "inspect", "predict", "render"],
)
def test_every_command_takes_it(arguments: tuple[str, ...], said: str, hub: HubDouble, variables: Mapping[str, str]) -> None:
    hub.repositories[NAME].private = True
    hub.repositories[NAME].readers.add(TOKEN)
    hub.repositories[NAME].lfs.add("tokenizer.json")
    ended = call(hub, variables, *arguments)
    assert (ended.errors, ended.status) == ("", int(arguments[0] == "check"))
    assert said in ended.output
    assert sum("/resolve/" in line for line in hub.asked) == 4


def test_the_copy_in_a_folder_is_in_step_with_the_hub(
    hub: HubDouble, origin: ModelRepository, variables: Mapping[str, str]
) -> None:
    hub.repositories[NAME].lfs.add("tokenizer.json")
    copy = Path(variables["HOME"]) / "copy"
    shutil.copytree(origin.path, copy)
    ended = call(hub, variables, "compare", str(copy), MAIN)
    assert ended.status == 0
    assert "No model folder differs" in ended.output
    (copy / "generation_config.json").write_text('{"eos_token_id": 2}\n')
    ended = call(hub, variables, "compare", MAIN, str(copy), "--prove", "never")
    assert ended.status == 1
    assert "eos-split-brain" in ended.output


def test_settings_come_from_the_tip_of_the_base_branch(
    hub: HubDouble, origin: ModelRepository, variables: Mapping[str, str]
) -> None:
    origin.commit("Be lenient", {".github/model-repo-drift.yml": "fail_on: never\n"})
    ended = call(hub, variables, "compare", MAIN, PULL, "--prove", "never")
    assert ended.status == 0
    assert "eos-split-brain" in ended.output


ERRORS = {
    "no repository": (
        ("check", "hub:acme/nope"),
        3,
        "hub:acme/nope@main: the Hub has no such repository that the token in HF_TOKEN",
    ),
    "no revision": (("compare", MAIN, f"hub:{NAME}@nope"), 3, f"hub:{NAME}@nope: the repository has no such revision; a branch"),
    "no name": (("check", "hub:a/b/c"), 2, "'hub:a/b/c': hub:<organization>/<name>@<revision> is needed, such as hub:openai"),
    "a name with a line end": (("check", "hub:a\nb"), 2, "hub:<organization>/<name>@<revision> is needed"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_is_wrong_is_said_in_one_line(name: str, hub: HubDouble, variables: Mapping[str, str]) -> None:
    arguments, status, said = ERRORS[name]
    ended = call(hub, variables, *arguments)
    assert (ended.status, ended.output) == (status, "")
    assert ended.errors.startswith("model-repo-drift: ")
    assert said in ended.errors
    assert ended.errors.count("\n") == 1


def test_gated_wrong_and_unreachable_are_status_3(hub: HubDouble, variables: Mapping[str, str]) -> None:
    hub.repositories[NAME].gated = True
    gated = call(hub, variables, "check", MAIN)
    assert f"the repository is gated; accept its conditions on {hub.url}/acme/model with the account of HF_TOKEN" in gated.errors
    wrong = call(hub, {**variables, "HF_TOKEN": "hf_wrong"}, "check", MAIN)
    assert "the Hub does not accept the token in HF_TOKEN (401); make a new one" in wrong.errors
    offline = call(hub, {**variables, "HF_HUB_OFFLINE": "1"}, "check", MAIN)
    assert "HF_HUB_OFFLINE is set, so the Hub is not asked; unset it, or give a folder" in offline.errors
    nowhere = call(hub, {**variables, "HF_ENDPOINT": "nowhere"}, "check", MAIN)
    assert "HF_ENDPOINT is not the address of a Hub, such as https://huggingface.co" in nowhere.errors
    assert [ended.status for ended in (gated, wrong, offline, nowhere)] == [3, 3, 3, 2]


def test_an_address_of_the_hub_matters_only_to_who_asks_it(
    hub: HubDouble, origin: ModelRepository, variables: Mapping[str, str]
) -> None:
    ended = call(hub, {**variables, "HF_ENDPOINT": "nowhere"}, "compare", str(origin.path), str(origin.path))
    assert (ended.status, ended.errors, hub.log) == (0, "", [])


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_the_process_that_reads_a_repository_knows_neither_token_nor_cache(variables: Mapping[str, str]) -> None:
    running = child.start({**os.environ, **variables}, program="import sys; sys.stdin.read()")
    try:
        seen = Path(f"/proc/{running.pid}/environ").read_bytes()
    finally:
        child.end(running)
    assert b"PATH=" in seen
    assert [name for name, value in variables.items() if name.encode() in seen or value.encode() in seen] == []


def test_what_the_hub_wants_said_starts_no_line_of_ours(
    hub: HubDouble, origin: ModelRepository, variables: Mapping[str, str]
) -> None:
    body = {"id": NAME, "sha": origin.sha("main")}
    hub.answer("GET", "/revision/", 200, body, headers={"X-HF-Warning": "topic; ::error::pay attention"})
    ended = call(hub, variables, "check", MAIN)
    assert (ended.status, ended.errors) == (0, "")
    assert "pay attention" not in ended.output


def claims(report: Any) -> list[tuple[str, str]]:
    return [(claim["status"], claim["reason"]) for claim in report["claims"]]


def test_a_fix_that_only_a_pull_request_holds_is_told_until_it_is_merged(
    hub: HubDouble, origin: ModelRepository, variables: Mapping[str, str]
) -> None:
    """As with GLM-5.1-FP8: the card says that the fix is in, and the commit is on refs/pr/1 alone."""
    community: Community = hub.communities[NAME]
    fix = origin.sha("refs/pr/1")
    origin.git("switch", "--quiet", "--create", "card")
    text = f"# Model\n\nThe template was fixed in commit [{fix[:7]}](https://huggingface.co/{NAME}/commit/{fix}).\n"
    origin.git("update-ref", "refs/pr/2", origin.commit("Say that it is fixed", {"README.md": text}))
    origin.git("switch", "--quiet", "main")
    community.open("Say that it is fixed")
    ask = ("compare", MAIN, f"hub:{NAME}@refs/pr/2", "--format", "json", "--fail-on", "warning")
    before = call(hub, variables, *ask)
    assert before.status == 1
    report = json.loads(before.output)
    assert [finding["check"] for finding in report["new"]] == ["orphan-fix-commit"]
    assert claims(report) == [("orphaned", "only refs/pr/1 holds it")]
    made = community.merge(1)
    after = call(hub, variables, *ask)
    assert after.status == 0
    assert claims(json.loads(after.output)) == [("reachable", f"the same change is on main as {made[:8]}")]
