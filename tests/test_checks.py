"""Every check fires where it should, keeps silent where the same shape is meant, and does not blame head for what base had."""

from pathlib import Path

import pytest

from bot.analyze.checks.check import checks
from tests.changes import CASES, Case, cases, outcome

FILES = sorted(CASES.glob("*.toml"))
ALL = [case for file in FILES for case in cases(file)]


def test_every_check_has_its_cases_and_every_case_file_its_check() -> None:
    assert [file.stem.replace("_", "-") for file in FILES] == sorted(check.id for check in checks())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_case_file_shows_all_three_sides(file: Path) -> None:
    assert {case.expect for case in cases(file)} == {"fires", "near miss", "already on base"}


@pytest.mark.parametrize("case", ALL, ids=str)
def test_case(case: Case, tmp_path: Path) -> None:
    found = outcome(case, tmp_path)
    if case.expect != "fires":
        assert [finding.title for finding in found] == []
        return
    assert found, "nothing was reported"
    finding = found[0]
    assert not case.severity or finding.severity == case.severity
    assert not case.path or case.path in {place.path for place in finding.places}
    assert not case.pointer or case.pointer in {place.pointer for place in finding.places}
    assert case.title in finding.title
