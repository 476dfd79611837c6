"""Predictions against what the engines really did: the golden records, every field."""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bot.analyze.engines.choice import Chosen, aliases, choose
from bot.analyze.engines.prediction import engines
from bot.analyze.model.folder import Model
from bot.analyze.predict import whole
from tests.conftest import SHARED, present
from tests.models import model_of

# The share of its records that a field is known for at least: an engine that only says "unknown" is of no use.
LEAST = {
    "errors.config.type": 0.0,  # servers do not name it
    "encode": 0.60,
    "renders": 0.0,
    "errors.tokenizer.type": 0.80,
    "quantization": 0.90,
    "max_model_len": 0.90,
    "dtype": 0.90,
    "all_special_ids": 0.90,
    "added_tokens": 0.90,
    "len_tokenizer": 0.90,
    "template.content_format": 0.95,
}
FIELDS = (
    *("loads.config", "loads.tokenizer", "loads.generation_config", "errors.config.type", "errors.tokenizer.type"),
    *("tokenizer_class", "eos_token", "bos_token", "pad_token"),
    *("eos_token_id", "bos_token_id", "pad_token_id", "stops", "stops_in_grammar", "template.sha256", "template.named"),
    *("template.content_format", "sampling_defaults", "quantization", "max_model_len", "dtype", "all_special_ids"),
    *("added_tokens", "len_tokenizer", "encode", "renders", "tokenizer_file", "token_postproc", "stop_str", "stop_token_ids"),
    *("table_size", "table_empty"),
)
ABSENT = object()
RENDERERS = ("jinja2-reference", "minijinja")  # no engines of ours

MODELS: dict[str, Model] = {}


def model(snapshot: str) -> Model:
    """The folder of a record, as it stands; its parsed files are kept for the other engines."""
    if snapshot not in MODELS:
        MODELS[snapshot] = msgspec.structs.replace(model_of(SHARED.joinpath(*snapshot.split("__"))), literal=True)
    return MODELS[snapshot]


@cache
def golden() -> dict[str, Path]:
    """The folders of records of engines by name."""
    if not present("shared"):
        return {}
    found = {path.name: path for path in sorted((SHARED / "golden").iterdir()) if path.is_dir()}
    return {name: path for name, path in found.items() if not name.startswith(RENDERERS)}


def records(folder: Path) -> Iterator[dict[str, Any]]:
    """The records of one engine and version whose folder is here."""
    for path in sorted(folder.glob("*.json")):
        record = json.loads(path.read_text("utf-8"))
        if SHARED.joinpath(*record["snapshot"].split("__")).is_dir():
            yield record


def at(record: dict[str, Any], field: str) -> Any:
    value: Any = record
    for part in field.split("."):
        if not isinstance(value, dict) or part not in value:
            return ABSENT
        value = value[part]
    return value


def asked(record: dict[str, Any]) -> Chosen:
    """The version of a record; a record that was made without a release stands for the newest."""
    name, version = record["engine"], record["version"]
    engine = next(engine for engine in engines() if name == engine.ID)
    known = version in engine.VERSIONS or version in aliases(engine)
    return choose([f"{name}@{version}" if known else name])[0]


def compared(record: dict[str, Any], prediction: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Field by field what the engine did and what was predicted, ABSENT for what is not known."""
    for field in FIELDS:
        did, said = at(record, field), at(prediction, field)
        if field == "errors.tokenizer.type" and did is ABSENT and at(record, "loads.tokenizer") is True:
            did, said = None, None if said is ABSENT else said
        if field == "renders" and isinstance(did, dict):
            yield from _prompts(did, said if isinstance(said, dict) else {})
        elif did is not ABSENT:
            yield field, did, ABSENT if isinstance(said, dict) and "unknown" in said else said


def _prompts(did: dict[str, Any], said: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Each prompt's hash, or the type of the exception; where the clock decides there is neither."""
    for probe, real in did.items():
        ours = said.get(probe, {"unknown": "not predicted"})
        if "time_dependent" not in real:
            yield "renders", _told(real), ABSENT if "unknown" in ours else _told(ours)


def _told(prompt: dict[str, Any]) -> Any:
    error = prompt.get("error")
    return error["type"] if isinstance(error, dict) else error or prompt.get("sha256")


@pytest.mark.needs("shared")
@pytest.mark.parametrize("name", [*golden(), *([] if golden() else ["(absent)"])])
def test_known_answers_are_those_of_the_engine(name: str, record_property: Any) -> None:
    known, seen = Counter[str](), Counter[str]()
    wrong: list[Any] = []
    for record in records(golden()[name]):
        for field, did, said in compared(record, whole(model(record["snapshot"]), asked(record))):
            seen[field] += 1
            known[field] += said is not ABSENT
            if said is not ABSENT and said != did:
                wrong.append((record["snapshot"], field, did, said))
    table = [f"{name} {field}: {known[field]} known of {seen[field]}" for field in seen]
    print("\n".join(table))
    record_property("predictions", table)
    assert wrong == []
    assert seen
    assert {field: known[field] for field in seen if known[field] < LEAST.get(field, 0.98) * seen[field]} == {}


def test_a_broken_folder_is_predicted_without_a_crash(tmp_path: Path) -> None:
    every = choose(["all"])
    for content in (b"", b"[]", b"{", b"\xff", b"null", b'"x"', b'{"model_type": 5, "eos_token_id": {}, "tokenizer_class": []}'):
        for name in ("config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json", "mlc-chat-config.json"):
            folder = tmp_path / f"{name}-{len(content)}-{content.hex()[:40]}"
            folder.mkdir()
            (folder / "config.json").write_text('{"model_type": "qwen3", "eos_token_id": 1}', "utf-8")
            (folder / name).write_bytes(content)
            for chosen in every:
                record = chosen.engine.predict(model_of(folder), chosen.version).record()
                assert record["engine"] == chosen.engine.ID
