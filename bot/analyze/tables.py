"""What was taken from packages as data: defaults and class names of transformers, written by tools/tables.py."""

import json
from functools import cache
from typing import Any, TypeVar

import msgspec

from bot.analyze import data

T = TypeVar("T")

TABLE = data.FOLDER / "transformers-5.24.0.json"


@cache
def tables() -> dict[str, Any]:
    """The tables by name: tokenizer_mapping, tokenizer_classes, incorrect_hub_class (see tools/tables.py)."""
    return json.loads(data.content(TABLE.name))


NEWEST = "5.24.0"  # the newest release of transformers whose tables are here
FIELDS = TABLE.with_name("transformers-5-fields.json")
TYPES = TABLE.with_name("transformers-model-types.json")


@cache
def parts(version: str) -> tuple[int, ...]:
    """A version in an order: (5, 24, 0)."""
    return tuple(int(part) for part in version.split("."))


class FieldTables(msgspec.Struct, frozen=True):
    """The types that configuration classes of one release accept (see tools/tables_config.py); a row is taken apart only where it is asked for.

    `kinds` and `names` are what rows number; `classes` gives the class of a model type, `layer_types` the types of layers that exist.
    """

    version: str
    kinds: list[Any]
    names: list[str]
    layer_types: list[str]
    classes: dict[str, str]
    rows: dict[str, msgspec.Raw]


class _FieldFile(msgspec.Struct, frozen=True):
    """The tables of all releases: what belongs to a key, with the first release in which it does; null for what is gone (see tools/fields_file.py)."""

    releases: list[str]
    kinds: list[Any]
    names: list[str]
    layer_types: list[tuple[str, list[str]]]
    classes: dict[str, list[tuple[str, str | None]]]
    rows: dict[str, list[tuple[str, msgspec.Raw]]]


@cache
def _field_file() -> _FieldFile:
    return msgspec.json.decode(data.content(FIELDS.name), type=_FieldFile)


@cache
def field_tables(version: str = NEWEST) -> FieldTables:
    """The table of a release since 5.4.0; of the release before it in the file where that one is not there."""
    file, at = _field_file(), parts(version)
    classes = {key: name for key, steps in file.classes.items() if (name := _latest(steps, at)) is not None}
    rows = {key: row for key, steps in file.rows.items() if (row := _latest(steps, at)) is not None and bytes(row) != b"null"}
    return FieldTables(version, file.kinds, file.names, _latest(file.layer_types, at) or [], classes, rows)


def _latest(steps: list[tuple[str, T]], version: tuple[int, ...]) -> T | None:
    return next((value for since, value in reversed(steps) if parts(since) <= version), None)


class _Types(msgspec.Struct, frozen=True):
    releases: list[str]
    types: dict[str, list[tuple[str, dict[str, Any] | None]]]


@cache
def _types() -> _Types:
    return msgspec.json.decode(data.content(TYPES.name), type=_Types)


@cache
def config_eos(version: str = NEWEST) -> dict[str, dict[str, Any]]:
    """Default EOS ids of the config classes of a release by model type: `top` of the class, `text` of its language model's (see tools/model_types.py).

    Every model type that the release has a class for is a key. A release that is not in the table is taken for the newest older one in it.
    """
    at = parts(version)
    return {name: row for name, steps in _types().types.items() if (row := _latest(steps, at)) is not None}


def knows_type(model_type: str, version: str) -> bool:
    """Whether a release of transformers has a configuration class for a model type."""
    return model_type in config_eos(version)
