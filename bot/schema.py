"""Write the JSON Schemas of the records that leave this program: `python -m bot.schema`."""

from pathlib import Path
from typing import Any

import msgspec

from bot.analyze.records import Comparison
from bot.settings import json_schema

FOLDER = Path(__file__).parent.parent / "schema"


def documents() -> dict[str, bytes]:
    """The schema files by name, as they are committed."""
    return {"comparison-1.json": _text(comparison()), "settings-1.json": _text(json_schema())}


def comparison() -> dict[str, Any]:
    """The schema of `compare --format json`."""
    (_,), parts = msgspec.json.schema_components([Comparison], ref_template="#/$defs/{name}")
    top = parts.pop("Comparison")
    title = "A comparison of two revisions of a model repository, as Model Repo Drift reports it"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **top, "title": title, "$defs": parts}


def _text(schema: dict[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(schema), indent=2) + b"\n"


if __name__ == "__main__":
    for name, content in documents().items():
        (FOLDER / name).write_bytes(content)
