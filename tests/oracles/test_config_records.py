"""What our reading of config.json and generation_config.json says of real and made-up folders, against the records of the engines."""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.analyze.model.document import Document
from bot.analyze.model.folder import Model
from bot.analyze.model.rope import lacking, ropes
from bot.analyze.rules.config_fields import refused
from bot.analyze.rules.context import contexts
from bot.analyze.rules.generation_config import refusals
from bot.answer import Known
from tests.models import model_of


def records(shared: Path, folder: str) -> list[tuple[dict[str, Any], Model]]:
    """Every record with its folder."""
    found: list[tuple[dict[str, Any], Model]] = []
    for path in sorted((shared / "golden" / folder).glob("*.json")):
        record = json.loads(path.read_text("utf-8"))
        place = shared.joinpath(*record["snapshot"].split("__"))
        if place.is_dir():
            found.append((record, model_of(place)))
    assert found
    return found


@pytest.mark.needs("shared")
def test_what_loading_refused_is_what_the_rules_refuse(shared: Path) -> None:
    for record, model in records(shared, "transformers-5.24.0"):
        errors = record.get("errors", {})
        config, generation = errors.get("config") or {}, errors.get("generation_config") or {}
        name = record["snapshot"]
        assert any(True for _ in refused(model.mapping("config.json"))) == config.get("type", "").startswith("Strict"), name
        assert any(lacking(rope) for rope in ropes(model)) == (config.get("type") == "KeyError"), name
        document = model.document("generation_config.json")
        read = document.value if isinstance(document, Known) else None
        told = isinstance(read, Document) and any(True for _ in refusals(read.value))
        assert told == (generation.get("type") not in (None, "OSError")), name


@pytest.mark.needs("shared")
@pytest.mark.parametrize(("engine", "folder"), [("vllm", "vllm-0.33.0"), ("sglang", "sglang-0.5.23")])
def test_the_context_is_that_of_the_engines(engine: str, folder: str, shared: Path) -> None:
    told = 0
    for record, model in records(shared, folder):
        context = contexts(model).get(engine)
        if context is not None and record.get("max_model_len") is not None:
            assert context.value == record["max_model_len"], record["snapshot"]
            told += 1
    assert told
