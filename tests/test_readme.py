"""The README shows what the program does today; UPDATE_GOLDEN=1 writes its generated parts."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bot.analyze.checks.check import checks
from bot.analyze.engines.choice import aliases
from bot.analyze.engines.prediction import engines
from bot.publish.escape import cell
from bot.settings import options, settle
from bot.settings_file import from_file
from tests.conftest import ROOT
from tools import demo

README = ROOT / "README.md"


def example() -> str:
    done = subprocess.run([sys.executable, ROOT / "tools/demo.py"], check=True, capture_output=True, text=True)
    # The page says how old its facts are once they are old: this file is not to change by itself.
    marker, _, comment = re.sub(r"(facts of [0-9-]+), \d+ months old: [^·\n]*", r"\1", done.stdout).partition("\n")
    assert marker.startswith("<!-- model-repo-drift ")
    return "".join(f"> {line}".rstrip() + "\n" for line in comment.strip().splitlines())


def workflow(name: str = "model-repo-drift") -> str:
    return f"```yaml\n{(ROOT / 'examples' / f'{name}.yml').read_text('utf-8')}```\n"


def settings() -> str:
    rows = [f"| `{o.name}` | {o.help} | {o.legal} | `{json.dumps(o.default)}` |" for o in options()]
    return "\n".join(["| setting | what it does | legal | default |", "| --- | --- | --- | --- |", *rows]) + "\n"


def table() -> str:
    rows = [f"| `{c.id}` | {c.check.title} | at most {c.check.severity} |" for c in checks()]
    return "\n".join(["| check | what it says | severity |", "| --- | --- | --- |", *rows]) + "\n"


def weights() -> str:
    """The page of docs/ that says why each check weighs what it does."""
    rows = [f"| `{c.id}` | {c.check.severity} | {c.check.confidence} | {cell(c.check.weighed)} |" for c in checks()]
    head = [
        "# Why each check weighs what it does",
        "",
        WEIGHTS,
        "",
        "| check | at most | sure | why |",
        "| --- | --- | --- | --- |",
    ]
    return "\n".join([*head, *rows]) + "\n"


WEIGHTS = (
    "Severity is what a finding costs: an error breaks a run, a warning surprises, a note is worth knowing. Every check was run over real\n"
    "repositories before it was allowed to be an error; [corpus.md](corpus.md) has the counts and the proof of each error.\n"
    "`model-repo-drift explain CHECK` prints what a check sees, why it matters, and where it keeps silent."
)
ENGINES = (
    "`model-repo-drift predict` answers for every version below, and `compare` for the newest of each and those that are named as compared.\n"
    'What is said of them was read in their source or seen in a run, as each paragraph says; "run" means that the engine\'s own code was run.'
)


def engine_page() -> str:
    """The page of docs/ that says which engines and versions are modelled, in the words of their modules."""
    rows = [ENGINES]
    for engine in engines():
        about = [f"`{engine.ID}`", f"versions {', '.join(engine.VERSIONS)}"]
        about += [f"compared {', '.join(engine.COMPARED)}"] if hasattr(engine, "COMPARED") else []  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
        about += (
            [f"also called {', '.join(f'`{name}` ({version})' for name, version in aliases(engine).items())}"]
            if aliases(engine)
            else []
        )
        said = (engine.__doc__ or "").strip().replace("*", "\\*").replace("_", "\\_")
        rows.append(f"## {engine.ID}\n\n{'; '.join(about)}.\n\n{said}")
    return "# What is modelled of each engine\n\n" + "\n\n".join(rows) + "\n"


PAGES = {"checks.md": weights, "engines.md": engine_page}
PARTS = {
    "example": example,
    "workflow": workflow,
    "forks-report": lambda: workflow("forks-report"),
    "forks-publish": lambda: workflow("forks-publish"),
    "settings": settings,
    "checks": table,
}


@pytest.mark.parametrize("name", PARTS)
def test_a_generated_part_is_up_to_date(name: str) -> None:
    text, fresh = README.read_text("utf-8"), PARTS[name]()
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, _, rest = text.partition(begin)
    if os.environ.get("UPDATE_GOLDEN"):
        README.write_text(before + begin + fresh + end + rest.partition(end)[2], "utf-8")
    else:
        assert rest.partition(end)[0] == fresh


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_up_to_date(name: str) -> None:
    page = ROOT / "docs" / name
    if os.environ.get("UPDATE_GOLDEN"):
        page.write_text(PAGES[name](), "utf-8")
    else:
        assert page.read_text("utf-8") == PAGES[name]()


def test_the_commands_run(tmp_path: Path) -> None:
    """Every line of the console block, in a clone where its revisions and folders exist."""
    demo.build(tmp_path)
    for folder, revision in (("old-folder", "main"), ("new-folder", "fix")):
        (tmp_path / folder).mkdir()
        archive = subprocess.run(["git", "archive", revision], cwd=tmp_path, check=True, capture_output=True)
        subprocess.run(["tar", "-x", "-C", folder], cwd=tmp_path, check=True, input=archive.stdout)
    block = README.read_text("utf-8").partition("```console\n")[2].partition("```")[0]
    commands = [shlex.split(line.removeprefix("$ ")) for line in block.splitlines()]
    assert len(commands) == 13
    statuses: list[int] = []
    for command in commands:
        assert command[0] == "model-repo-drift"
        done = subprocess.run(
            [Path(sys.executable).with_name(command[0]), *command[1:]], cwd=tmp_path, check=False, capture_output=True
        )
        statuses.append(done.returncode)
    assert statuses == [1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert json.loads((tmp_path / "report.json").read_text())["verdict"]["new"]["error"] == 1
    assert json.loads((tmp_path / "drift.sarif").read_text())["version"] == "2.1.0"


def test_the_settings_shown_are_taken() -> None:
    block = README.read_text("utf-8").partition("`suppress` stands in the file alone:\n\n```yaml\n")[2].partition("```")[0]
    policy = settle(from_file(block.encode())).policy()
    assert policy.folders == ("models/*", "!models/old")
    assert [each.check for each in policy.suppress] == ["requires-remote-code"]


def test_the_make_targets_exist() -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for target in re.findall(r"^make ([a-z]+)", README.read_text("utf-8"), re.MULTILINE):
        assert target in targets
