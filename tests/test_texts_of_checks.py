"""The texts of the checks are their documentation: they are there, they are printed, and no check is worse than its kind."""

import importlib
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from bot.analyze.checks.check import TEXTS, Check, Loaded, Seen, checks
from bot.analyze.records import SEVERITIES
from bot.cli import parser
from tests.changes import CASES, Case, cases, outcome
from tests.conftest import ROOT

PRINTED = tuple(text for text in TEXTS if text != "says")  # by `explain`; `says` opens a comment
CEILING = {"high": "error", "medium": "warning", "low": "note"}
Beside = Callable[[ModuleType], tuple[Loaded, ...]]
WHOLE = Check(title="said", says="said", sees="said", why="said", fix="said", wrong_when="said", weighed="said", severity="note")
FIRING = [case for file in sorted(CASES.glob("*.toml")) for case in cases(file) if case.expect == "fires"]


def above(severity: str, ceiling: str) -> bool:
    order: tuple[str, ...] = SEVERITIES
    return order.index(severity) < order.index(ceiling)


def spoken(text: str) -> list[str]:
    """The parts of a sentence between its back-ticks, which must be pairs around something."""
    parts = text.split("`")
    assert len(parts) % 2 == 1, f"a back-tick without its partner: {text}"
    assert all(parts[1::2]), f"back-ticks around nothing: {text}"
    return parts[1::2]


def module(**members: object) -> ModuleType:
    made = ModuleType("bot.analyze.checks.made_up")
    for name, member in members.items():
        setattr(made, name, member)
    return made


@pytest.fixture
def found_beside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Beside:
    """Look for checks in a package that holds one made-up module alone."""

    def find(made: ModuleType) -> tuple[Loaded, ...]:
        (tmp_path / "made_up.py").touch()
        monkeypatch.setattr(importlib.import_module("bot.analyze.checks"), "__path__", [str(tmp_path)])
        monkeypatch.setitem(sys.modules, made.__name__, made)
        return checks.__wrapped__()

    return find


def silent(*_: object) -> tuple[Seen, ...]:
    return ()


def explained(*check: str) -> int:
    given = parser().parse_args(["explain", *check])
    return given.act(given)


def test_explain_prints_a_check_on_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bot", "explain", "eos-split-brain"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    found = next(loaded.check for loaded in checks() if loaded.id == "eos-split-brain")
    assert done.stdout.startswith(f"eos-split-brain: {found.title}\n")
    assert [text for text in PRINTED if getattr(found, text) not in done.stdout] == []
    assert done.stderr == ""


@pytest.mark.parametrize("loaded", checks(), ids=lambda loaded: loaded.id)
def test_explain_prints_all_texts_of_every_check(loaded: Loaded, capsys: pytest.CaptureFixture[str]) -> None:
    assert explained(loaded.id) == 0
    page = capsys.readouterr().out
    assert page.startswith(f"{loaded.id}: {loaded.check.title}\n")
    for text in TEXTS:
        said: str = getattr(loaded.check, text)
        assert said in page or text not in PRINTED
        assert said == said.strip()
        assert "\n" not in said
        spoken(said)
    assert f"Severity: {loaded.check.severity} or less" in page


def test_explain_without_a_name_lists_every_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert explained() == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [loaded.id for loaded in checks()]


@pytest.mark.needs("shared")
def test_no_check_is_worse_than_its_kind(shared: Path) -> None:
    rows = re.findall(r"^\| ([\w-]+) \| (high|medium|low) \|", (shared / "cases/README.md").read_text("utf-8"), re.MULTILINE)
    ceiling = {kind: CEILING[word] for kind, word in rows}
    assert len(ceiling) >= len(checks())
    assert [loaded.id for loaded in checks() if above(loaded.check.severity, ceiling.get(loaded.id, "note"))] == []


@pytest.mark.needs("shared")
def test_every_kind_has_its_check(shared: Path) -> None:
    kinds = re.findall(r"^\| ([\w-]+) \| (?:high|medium|low) \|", (shared / "cases/README.md").read_text("utf-8"), re.MULTILINE)
    assert kinds
    assert set(kinds) - {loaded.id for loaded in checks()} == set()


@pytest.mark.parametrize("case", FIRING, ids=str)
def test_a_finding_speaks_in_one_line_and_keeps_its_severity(case: Case, tmp_path: Path) -> None:
    highest = next(loaded.check.severity for loaded in checks() if loaded.id == case.check)
    for finding in outcome(case, tmp_path):
        for sentence in (finding.title, finding.detail, finding.fix.description if finding.fix else ""):
            assert sentence.isprintable()
            spoken(sentence)
        assert not above(finding.severity, highest)


def test_a_whole_module_is_a_check(found_beside: Beside) -> None:
    assert found_beside(module(CHECK=WHOLE, find_in_change=silent)) == (Loaded("made-up", WHOLE, None, silent, None),)


@pytest.mark.parametrize(
    "made",
    [
        module(),
        module(find=silent),
        module(CHECK="texts", find=silent),
        module(CHECK=WHOLE),
    ],
    ids=["nothing", "no CHECK", "CHECK is no Check", "no function"],
)
def test_a_module_that_is_no_whole_check_is_refused(made: ModuleType, found_beside: Beside) -> None:
    with pytest.raises(TypeError, match=r"checks/made_up\.py must declare CHECK and one of find, "):
        found_beside(made)


@pytest.mark.parametrize("text", TEXTS)
def test_a_check_without_one_of_its_texts_is_refused(text: str, found_beside: Beside) -> None:
    with pytest.raises(TypeError, match=rf"checks/made_up\.py leaves {text} empty"):
        found_beside(module(CHECK=msgspec.structs.replace(WHOLE, **{text: " "}), find=silent))
