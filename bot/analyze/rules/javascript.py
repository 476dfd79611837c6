"""Read files as JavaScript does: JSON.parse takes no NaN, TextDecoder drops a byte order mark and replaces what is not UTF-8."""

import json
from typing import Any, cast

import msgspec

from bot.analyze.model.folder import Model
from bot.answer import Known, Missing, Unknown


class Parsed(msgspec.Struct, frozen=True, eq=False):
    """The value that JSON.parse gives."""

    value: Any


class Failed(msgspec.Struct, frozen=True):
    """JSON.parse raises a SyntaxError, for this reason."""

    reason: str


def json_file(model: Model, name: str) -> Parsed | Failed | Missing | Unknown:
    """A JSON file of a folder; Missing where there is none, or a link that leads nowhere."""
    if not model.has(name):
        return Missing((model.place(name),))
    parsed = model.parsed(name, read)
    if isinstance(parsed, Known):
        return parsed.value
    return Unknown(f"{name} {parsed.reason}", parsed.places) if isinstance(parsed, Unknown) else parsed


def read(content: bytes) -> Parsed | Failed:
    """Parse the bytes of a file."""
    text = content.decode("utf-8", "replace").removeprefix("\ufeff")
    try:
        return Parsed(json.loads(text, parse_constant=_refuse))
    except RecursionError:
        return Failed("it is nested too deeply to be read")
    except ValueError as error:
        return Failed(str(error))


def ids(value: Any) -> list[int] | None:
    """The token ids that equal a value, or an entry of a list, by `==`; None for values of which that cannot be said.

    A text of digits equals its number, a whole float is one; null equals nothing.
    """
    found: list[int] = []
    for item in cast("list[Any]", value) if isinstance(value, list) else [value]:
        if _is_number(item):
            found.append(int(item))
        elif item is not None:
            return None
    return sorted(set(found))


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return value.isascii() and value.isdecimal()
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")
