"""Write the JSON Schemas of the records that leave this program: `python -m bot.schema`."""

from pathlib import Path
from typing import Any

import msgspec

from bot.analyze.inspection import Inspection
from bot.analyze.predictions import Predictions
from bot.analyze.records import Comparison
from bot.analyze.renderings import Renderings
from bot.audit.records import Line
from bot.settings import json_schema

FOLDER = Path(__file__).parent.parent / "schema"


def documents() -> dict[str, bytes]:
    """The schema files by name, as they are committed."""
    return {
        "audit-1.json": _text(_schema(Line, "A line of an audit of Model Repo Drift: one revision, or one pair of a history")),
        "comparison-1.json": _text(comparison()),
        "inspection-1.json": _text(inspection()),
        "predictions-1.json": _text(
            _schema(Predictions, "What engines will do with model folders, as Model Repo Drift predicts it")
        ),
        "renderings-1.json": _text(
            _schema(Renderings, "The prompts that engines make of conversations, as Model Repo Drift renders them")
        ),
        "settings-1.json": _text(json_schema()),
    }


def comparison() -> dict[str, Any]:
    """The schema of `compare --format json`."""
    return _schema(Comparison, "A comparison of two revisions of a model repository, as Model Repo Drift reports it")


def inspection() -> dict[str, Any]:
    """The schema of `inspect --format json`."""
    return _schema(Inspection, "A description of one revision of a model repository, as Model Repo Drift gives it")


def _schema(record: type[Any], title: str) -> dict[str, Any]:
    (_,), parts = msgspec.json.schema_components([record], ref_template="#/$defs/{name}")
    top = parts.pop(record.__name__)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **top, "title": title, "$defs": parts}


def _text(schema: dict[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(schema), indent=2) + b"\n"


if __name__ == "__main__":
    for name, content in documents().items():
        (FOLDER / name).write_bytes(content)
