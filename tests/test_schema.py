"""The published schema is the one of the records, and real reports keep to it."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from bot import schema
from bot.analyze.records import Comparison
from tests import comparisons
from tests.changes import compared, write

SCHEMA: dict[str, Any] = json.loads((schema.FOLDER / "comparison-1.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

EXAMPLES = {
    "half fix": comparisons.kimi_half_fix(),
    "nothing new": comparisons.nothing_new(),
    "template change": comparisons.template_change(),
    "added model": comparisons.added_model(),
    "many findings": comparisons.many_findings(),
    "hostile": comparisons.hostile(),
}


def report(comparison: Comparison) -> Any:
    return json.loads(msgspec.json.encode(comparison))


def test_the_committed_files_are_what_the_program_writes() -> None:
    written = schema.documents()
    assert "comparison-1.json" in written
    for name, content in written.items():
        assert (schema.FOLDER / name).read_bytes() == content, name


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_keeps_to_the_schema(name: str) -> None:
    VALIDATOR.validate(report(EXAMPLES[name]))


def test_a_comparison_of_folders_keeps_to_the_schema(tmp_path: Path) -> None:
    base = write(tmp_path / "base", "chatml", {})
    head = write(tmp_path / "head", "chatml", {"generation_config.json": {"eos_token_id": 260}, "config.json": "{"})
    comparison = compared(base, head, tmp_path / "exchange")
    assert comparison.new
    VALIDATOR.validate(report(comparison))
    assert msgspec.json.decode(msgspec.json.encode(comparison), type=Comparison) == comparison


@pytest.mark.needs("shared")
@pytest.mark.parametrize(
    "pair", ["pair-kimi-be512b9", "pair-minimind-move-folder", "pair-ort-phi3small-del", "pair-holmes-e3bca08"]
)
def test_a_real_comparison_keeps_to_the_schema(pair: str, shared: Path, tmp_path: Path) -> None:
    VALIDATOR.validate(report(compared(shared / "corpus" / pair / "base", shared / "corpus" / pair / "head", tmp_path)))


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 2},
        {"new": [{"check": "x"}]},
        {"verdict": None},
        {"claims": [{"sha": "abc1234", "places": [], "status": "lost", "reason": ""}]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_schema_refuses_another_shape(change: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid({**report(EXAMPLES["half fix"]), **change})
