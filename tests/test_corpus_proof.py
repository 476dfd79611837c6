"""The proofs in docs/corpus-proof.toml say what the golden records say."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

RECORD = re.compile(r"`golden/([^`]+)`: `([^`]+)` = `([^`]+)`")


def value(record: Any, dotted: str) -> Any:
    for part in dotted.split("."):
        record = record[part]
    return record


@pytest.mark.needs("shared")
def test_every_record_shows_what_the_proof_says(shared: Path) -> None:
    tables = tomllib.loads((ROOT / "docs/corpus-proof.toml").read_text("utf-8"))
    proofs = [proof for table in tables.values() for proof in table.values()]
    found = [match for proof in proofs for match in RECORD.finditer(proof)]
    assert len(found) >= len(proofs) - 1  # one is a command
    for match in found:
        record = json.loads((shared / "golden" / match[1]).read_text("utf-8"))
        assert json.dumps(value(record, match[2])) == match[3]


def test_no_error_of_the_corpus_is_without_a_proof() -> None:
    assert "**none**" not in (ROOT / "docs/corpus.md").read_text("utf-8")
