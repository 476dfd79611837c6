"""The cases and the real repositories: what is wrong is found, what only looks so is not."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.analyze.records import Comparison, Finding
from tests.changes import compared
from tests.conftest import SHARED, present

pytestmark = pytest.mark.needs("shared")

CASES = sorted(path for path in (SHARED / "cases").iterdir() if (path / "expect.json").exists()) if present("shared") else []
SPINE = (SHARED / "cases" / "spine.txt").read_text("utf-8").split() if present("shared") else []
CORPUS = SHARED / "corpus"
MOST_NOTES = 1.0  # other new notes per clean or fix case, on average


@dataclass(frozen=True)
class Score:
    """What a report got wrong, judged as the README of the cases says."""

    missed: tuple[str, ...]
    false: tuple[str, ...]
    notes: tuple[str, ...]
    kind: str


def report(case: Path, work: Path) -> Comparison:
    history = case / "refs.json"
    return compared(case / "base", case / "head", work, history=history if history.exists() else None)


def score(case: Path, comparison: Comparison) -> Score:
    """Recall by check id and file; false alarms are errors and warnings that nobody expects, and denied kinds of any severity."""
    expect: Any = json.loads((case / "expect.json").read_text("utf-8"))
    introduced, new = expect["introduced"], comparison.new
    missed = [
        f"{fault['kind']} in {fault['file']}"
        for fault in introduced
        if not any(f.check == fault["kind"] and fault["file"] in {place.path for place in f.places} for f in new)
    ]
    tolerated = {each if isinstance(each, str) else each["kind"] for each in expect.get("tolerated", [])}
    wanted = {fault["kind"] for fault in introduced} | tolerated
    denied = {fault["kind"] for fault in expect.get("not_introduced", [])} - wanted
    false = [said(f) for f in new if f.check in denied or (f.severity != "note" and f.check not in wanted)]
    notes = [f.check for f in new if f.severity == "note" and f.check not in wanted | denied]
    return Score(tuple(missed), tuple(false), tuple(notes), expect["type"])


def said(finding: Finding) -> str:
    return f"{finding.severity} {finding.check}: {finding.title}"


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Score]:
    """Every case, scored."""
    work = tmp_path_factory.mktemp("cases")
    return {case.name: score(case, report(case, work / case.name)) for case in CASES}


def test_the_cases_are_all_here(scores: dict[str, Score]) -> None:
    assert len(scores) == 159
    assert len(SPINE) >= 80
    assert set(SPINE) <= scores.keys()


def test_every_fault_of_the_spine_is_found(scores: dict[str, Score]) -> None:
    assert {name: scores[name].missed for name in SPINE if scores[name].missed} == {}


def test_every_fault_is_found(scores: dict[str, Score]) -> None:
    assert {(name, fault) for name, each in scores.items() for fault in each.missed} == set()


def test_no_case_gives_a_false_alarm(scores: dict[str, Score]) -> None:
    assert {name: each.false for name, each in scores.items() if each.false} == {}


def test_clean_and_repaired_cases_are_quiet(scores: dict[str, Score]) -> None:
    quiet = [each for each in scores.values() if each.kind in ("clean", "fix")]
    assert len(quiet) >= 46
    assert sum(len(each.notes) for each in quiet) <= MOST_NOTES * len(quiet)


def test_a_case_compared_with_itself_says_nothing(tmp_path: Path) -> None:
    for case in CASES[::4]:
        for side in ("base", "head"):
            comparison = compared(case / side, case / side, tmp_path / case.name / side)
            assert (comparison.new, comparison.resolved, comparison.predictions, comparison.models) == ((), (), (), ()), case.name


def pair(name: str, work: Path, *, swapped: bool = False) -> Comparison:
    sides = ("head", "base") if swapped else ("base", "head")
    return compared(CORPUS / name / sides[0], CORPUS / name / sides[1], work)


def of(findings: tuple[Finding, ...], check: str) -> Finding:
    """The one finding of a check."""
    (found,) = [finding for finding in findings if finding.check == check]
    return found


def paths(finding: Finding) -> set[str]:
    return {place.path for place in finding.places}


def test_kimi_flipped_half(tmp_path: Path) -> None:
    comparison = pair("pair-kimi-be512b9", tmp_path)
    finding = of(comparison.new, "eos-split-brain")
    assert finding.severity == "error"
    assert {"generation_config.json", "tokenizer_config.json"} <= {path.rpartition("/")[2] for path in paths(finding)}
    assert "`<|im_end|>` 163586" in finding.title
    assert "`[EOS]` 163585" in finding.title


def test_minimind_repaired_a_template(tmp_path: Path) -> None:
    there = pair("pair-minimind-pr791-edit", tmp_path / "there")
    repaired = of(there.resolved, "chat-template-syntax-error")
    assert "chat-template-syntax-error" not in {finding.check for finding in there.new}
    back = pair("pair-minimind-pr791-edit", tmp_path / "back", swapped=True)
    broken = of(back.new, "chat-template-syntax-error")
    assert broken.severity == "error"
    assert (broken.fingerprint, broken.title) == (repaired.fingerprint, repaired.title)
    assert all(place.revision == "head" for place in broken.places)
    assert any(path.endswith(("chat_template.jinja", "tokenizer_config.json")) for path in paths(broken))


def test_phi3_small_lost_its_tokenizer_file(tmp_path: Path) -> None:
    comparison = pair("pair-ort-phi3small-del", tmp_path)
    found = [f for f in comparison.new if any(p.path.endswith("tokenizer.json") and p.revision == "base" for p in f.places)]
    assert {finding.check for finding in found} & {"tokenizer-json-missing", "tokenizer-hollow"}
    assert all(place.line == 1 and place.pointer == "" for finding in found for place in finding.places)


def test_reflection_gave_an_id_another_meaning(tmp_path: Path) -> None:
    comparison = compared(CORPUS / "pair-reflection-5921959/head", CORPUS / "pair-reflection-2d5b978/base", tmp_path)
    finding = of(comparison.new, "eos-meaning-changed")
    assert finding.severity == "error"
    assert "128008" in finding.title
    assert {path.rpartition("/")[2] for path in paths(finding)} == {"tokenizer_config.json"}  # there is no tokenizer.json here
    assert {place.pointer for place in finding.places} == {"/added_tokens_decoder/128008"}


def test_the_fix_of_glm_is_on_no_branch(tmp_path: Path) -> None:
    folder = CORPUS / "seed-glm51-fp8-orphan"
    comparison = compared(folder / "base", folder / "head", tmp_path, history=folder / "refs.json")
    finding = of(comparison.new, "orphan-fix-commit")
    assert finding.severity == "warning"
    assert [claim.status for claim in comparison.claims if claim.sha == finding.key] == ["orphaned"]


QUIET = [
    "pair-minimind-move-folder",
    "pair-atom-840fdbf",
    "pair-reflection-pr36-name",
    *(sorted(path.name for kind in ("llama2", "gptoss") for path in CORPUS.glob(f"pair-{kind}-*")) if present("shared") else []),
]


@pytest.mark.parametrize("name", QUIET)
def test_a_harmless_change_raises_no_alarm(name: str, tmp_path: Path) -> None:
    comparison = pair(name, tmp_path)
    assert [said(finding) for finding in comparison.new if finding.severity != "note"] == []


def test_there_are_harmless_changes() -> None:
    assert len(QUIET) >= 12


def test_a_moved_folder_is_the_same_model(tmp_path: Path) -> None:
    comparison = pair("pair-minimind-move-folder", tmp_path)
    assert [change.change for change in comparison.models] == ["moved"]
    assert comparison.resolved == ()


UGLY = sorted(path.name for path in CORPUS.glob("ugly-*")) if present("shared") else []


def _empty(work: Path) -> Path:
    folder = work / "empty"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def copied(name: str, work: Path) -> Path:
    """The snapshot with one more file, so that it differs from itself and is looked at."""
    shutil.copytree(CORPUS / name, work, symlinks=True)
    (work / "added_tokens.json").write_text("{}", "utf-8")
    return work


@pytest.mark.parametrize("name", [name for name in UGLY if name != "ugly-hostile-template"])
def test_ugly_folders_do_no_harm(name: str, tmp_path: Path) -> None:
    ugly = CORPUS / name
    comparisons = [
        compared(_empty(tmp_path), ugly, tmp_path / "there"),
        compared(ugly, _empty(tmp_path), tmp_path / "back"),
        compared(ugly, ugly, tmp_path / "same"),
        compared(ugly, copied(name, tmp_path / "copy"), tmp_path / "changed"),
        compared(copied(name, tmp_path / "second"), ugly, tmp_path / "changed back"),
    ]
    for comparison in comparisons:
        assert [each.reason for each in comparison.unchecked if "broke" in each.reason] == []
        for finding in (*comparison.new, *comparison.resolved, *comparison.unchanged):
            assert all(place.line >= 1 for place in finding.places)
    same = comparisons[2]
    assert (same.new, same.resolved, same.predictions) == ((), (), ())


def test_there_are_ugly_folders() -> None:
    assert len(UGLY) == 10


@pytest.mark.parametrize("name", sorted(path.name for path in CORPUS.glob("pair-*")) if present("shared") else [])
def test_every_real_pair_both_ways(name: str, tmp_path: Path) -> None:
    there, back = pair(name, tmp_path / "there"), pair(name, tmp_path / "back", swapped=True)
    for comparison in (there, back):
        assert [each.reason for each in comparison.unchecked if "broke" in each.reason] == []
    errors, others = ({(f.check, f.folder, f.key) for f in side.new if f.severity == "error"} for side in (there, back))
    assert errors & others == set()
