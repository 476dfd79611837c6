"""Predicted stop ids against what the engines really did: the golden records."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bot.analyze.engines.prediction import engines, shown
from bot.analyze.model.folder import Model
from bot.answer import Known
from tests.conftest import SHARED, present
from tests.models import model_of

FIELDS = ("stops", "stops_in_grammar")
VERSIONS = [(engine, version) for engine in engines() for version in engine.VERSIONS]

# How many of the records of a field are predicted at least: an engine that only says "unknown" is of no use.
KNOWN = {
    ("transformers@4.57.6", "stops"): 389,
    ("transformers@5.24.0", "stops"): 389,
    ("vllm@0.33.0", "stops"): 250,
    ("vllm@0.33.0", "stops_in_grammar"): 250,
    ("sglang@0.5.23", "stops"): 256,
    ("sglang@0.5.23", "stops_in_grammar"): 295,
    ("webllm@0.2.86", "stops"): 50,
}

# Records that differ on purpose, each with the reason.
SANCTIONED: set[tuple[str, str]] = set()

MODELS: dict[str, Model] = {}


def model(snapshot: str) -> Model:
    """The folder of a record; its parsed files are kept for the other engines."""
    if snapshot not in MODELS:
        MODELS[snapshot] = model_of(SHARED.joinpath(*snapshot.split("__")))
    return MODELS[snapshot]


def golden(folder: str) -> list[dict[str, Any]]:
    """The records of one engine and version whose folder is here."""
    if not present("shared"):
        return []
    records = [json.loads(path.read_text("utf-8")) for path in sorted((SHARED / "golden" / folder).glob("*.json"))]
    return [record for record in records if SHARED.joinpath(*record["snapshot"].split("__")).is_dir()]


@pytest.mark.needs("shared")
def test_known_answers_are_those_of_the_engines(record_property: Any) -> None:
    wrong: list[Any] = []
    sanctioned: set[tuple[str, str]] = set()
    known: Counter[tuple[str, str]] = Counter()
    seen: Counter[tuple[str, str]] = Counter()
    for engine, version in VERSIONS:
        name = f"{engine.ID}@{version}"
        for record in golden(f"{engine.ID}-{version}"):
            folder = model(record["snapshot"])
            if not engine.applies(folder):
                continue
            prediction = engine.predict(folder, version)
            for field in FIELDS:
                answer = prediction.fields.get(field)
                if field not in record or answer is None:
                    continue
                seen[name, field] += 1
                if not isinstance(answer, Known):
                    continue
                known[name, field] += 1
                if shown(answer) == record[field]:
                    continue
                if (name, record["snapshot"]) in SANCTIONED:
                    sanctioned.add((name, record["snapshot"]))
                else:
                    wrong.append((name, field, record["snapshot"], record[field], shown(answer)))
    table = [f"{name} {field}: {known[name, field]} known of {seen[name, field]}" for name, field in sorted(seen)]
    print("\n".join(table))
    record_property("predictions", table)
    assert wrong == []
    assert sanctioned == SANCTIONED, "an exception that is none any more"
    assert {row: count for row, count in KNOWN.items() if known[row] < count} == {}
    assert set(KNOWN) == set(known)


def test_a_broken_folder_is_predicted_without_a_crash(tmp_path: Path) -> None:
    for content in (b"", b"[]", b"{", b"\xff", b"null", b'"x"'):
        for name in ("config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json", "mlc-chat-config.json"):
            folder = tmp_path / f"{name}-{len(content)}-{content.hex()}"
            folder.mkdir()
            (folder / "config.json").write_text('{"model_type": "qwen3", "eos_token_id": 1}', "utf-8")
            (folder / name).write_bytes(content)
            broken = model_of(folder)
            for engine, version in VERSIONS:
                if engine.applies(broken):
                    assert set(engine.predict(broken, version).fields) <= set(FIELDS)
