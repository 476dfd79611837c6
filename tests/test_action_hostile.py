"""A pull request made to attack, from real files over the real comparison to what GitHub would show of it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot import run
from tests.comparisons import HOSTILE
from tests.doubles.github import GitHubDouble
from tests.doubles.job import TOKEN, Job, Step
from tests.doubles.model_repository import ModelRepository
from tests.test_publish_hostile import ACTIVE, MARKDOWN_TAGS, OUR_HTML, PARSERS

COMMANDS = ("::error::gone", "::add-mask::x", "::stop-commands::y", "##[error]z")
FOLDERS = (
    "a [link](http:--evil.example) @octocat",
    "b `tick` | pipe <img src=x onerror=alert(1)>",
    "c\n::error file=x::gone\n# heading",
    "d <!-- model-repo-drift {} --> deadbeefdeadbeefdeadbeefdeadbeefdeadbeef #1",
    "e \u202egnp.exe\u202c %0A::warning::w",
    "--upload-pack=touch f",
)
TEXTS = tuple(text.replace("\x00", "") for text in HOSTILE)


@pytest.fixture
def origin(tmp_path: Path) -> ModelRepository:
    """A repository in which every name and value that a report can show is hostile."""
    made = ModelRepository(tmp_path / "origin")
    made.git("switch", "--quiet", "main")
    made.commit("Add models", {f"{folder}/{name}": text for folder in FOLDERS for name, text in model(1).items()})
    made.git("switch", "--quiet", "change")
    made.git("merge", "--quiet", "--ff-only", "main")
    files = {f"{folder}/{name}": text for folder in FOLDERS for name, text in model(2).items()}
    readme = "# @everyone\n\n" + "\n\n".join((*TEXTS, *COMMANDS)) + f"\n\nfixed in commit {'c0ffee12' * 5} by @octocat\n"
    made.commit("\n".join((*TEXTS[:4], *COMMANDS, f"see commit {'deadbea7' * 5}")), {**files, "README.md": readme})
    made.spoil()
    return made


def model(version: int) -> dict[str, str]:
    """The files of a model folder; in version 2 tokens have moved, and the template says something else and does not parse for some engines."""
    tokens = {
        str(place): {"content": text or "x", "special": True} for place, text in enumerate((*TEXTS, *COMMANDS), 3 + version)
    }
    config = {"model_type": TEXTS[0], "architectures": [TEXTS[3]], "eos_token_id": 3 + version, "vocab_size": 4}
    tokenizer = {
        "tokenizer_class": TEXTS[2],
        "eos_token": TEXTS[5],
        "bos_token": TEXTS[3],
        "added_tokens_decoder": tokens,
        "chat_template": f"{{% for m in messages %}}{TEXTS[3]}{version}{{{{ m.content }}}}{TEXTS[0]}{{% endfor %}}",
        "auto_map": {"AutoTokenizer": [f"{TEXTS[1]}--x.{TEXTS[3]}", None]},
    }
    generation = {"eos_token_id": [3 + version, 900 + version], "temperature": TEXTS[4], "stop_strings": [*TEXTS]}
    files = {"config.json": config, "tokenizer_config.json": tokenizer, "generation_config.json": generation}
    return {name: json.dumps(content, indent=1) for name, content in files.items()} | {
        "tokenizer.json": '{"version": "1.0", ' + json.dumps(TEXTS[version])  # cut off
    }


@pytest.fixture
def github(origin: ModelRepository) -> Iterator[GitHubDouble]:
    with GitHubDouble(origin.path) as double:
        double.title = f"{TEXTS[0]} {TEXTS[3]}"
        double.body = "\r\n".join((*TEXTS, *COMMANDS, f"Fixes commit {'deadbeef' * 5}"))
        yield double
        assert double.violations == []


def judged(tmp_path: Path, github: GitHubDouble, workspace: Path) -> Step:
    return Job(tmp_path / "runner", workspace, github, run.compare, run.exit_status).pull_request("opened", prove="never")


@pytest.mark.parametrize("checkout", [True, False])
def test_nothing_of_it_acts(tmp_path: Path, origin: ModelRepository, github: GitHubDouble, *, checkout: bool) -> None:
    workspace = tmp_path / "workspace"
    if checkout:
        origin.clone(workspace)
    else:
        workspace.mkdir()

    step = judged(tmp_path, github, workspace)

    assert step.status == 1
    (body,) = github.bodies()
    assert len(step.outputs) == 4
    for text in (body, step.summary):
        for parse in PARSERS:
            page = parse(text)
            assert set(page.tags) <= OUR_HTML | MARKDOWN_TAGS
            assert all(link.startswith("https://example.com/acme/model/") for link in page.links)
            assert not [loose for loose in page.loose if any(pattern.search(loose) for pattern in ACTIVE)]
            assert len(page.comments) <= 1
    said = [line for printed in step.lines for line in printed.splitlines()]
    assert said == step.lines  # one line each, so that no text starts one
    assert [line for line in said if not re.match(r"::(error|warning|notice)( |::\d+ more)|New: ", line)] == []
    assert TOKEN not in body + step.summary + "".join(said)


def test_every_hostile_folder_is_told(tmp_path: Path, origin: ModelRepository, github: GitHubDouble) -> None:
    step = judged(tmp_path, github, origin.clone(tmp_path / "workspace").path)

    report = json.loads(Path(step.outputs["report_path"]).read_bytes())
    assert {*FOLDERS} <= {finding["folder"] for finding in report["new"]}
