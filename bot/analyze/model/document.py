"""Read a JSON file as transformers reads it, and find the line of any value in it."""

import json
from collections.abc import Iterator
from typing import Any, cast

import msgspec

_DECODER = json.JSONDecoder()
_BLANK = " \t\n\r"
_BEGINNING = 1 << 18


class NotJson(msgspec.Struct, frozen=True):
    """Why a text is not JSON, in one clause, and the 1-based line and column where reading stopped."""

    message: str
    line: int = 1
    column: int = 1


class Document(msgspec.Struct, frozen=True, eq=False):
    """A parsed JSON text. `value` is what `json.loads` gives: NaN is accepted, the last of two equal keys wins."""

    text: str
    value: Any

    @property
    def mapping(self) -> dict[str, Any]:
        """The top level when it is an object, else an empty one."""
        return cast("dict[str, Any]", self.value) if isinstance(self.value, dict) else {}

    def line(self, pointer: str) -> int:
        """The 1-based line of the value at an RFC 6901 pointer; of the nearest value above it when it is not there."""
        return self.text.count("\n", 0, _offset(self.text, pointer)) + 1

    def lines(self, pointer: str) -> dict[str, int]:
        """The lines of everything directly inside the object or array at a pointer, by key or place, in one pass over it."""
        at = _offset(self.text, pointer)
        line, seen = self.text.count("\n", 0, at) + 1, at
        found: dict[str, int] = {}
        for key, start in _inside(self.text, at):
            line += self.text.count("\n", seen, start)
            seen = start
            found[key] = line
        return found


class Lines(msgspec.Struct, frozen=True, eq=False):
    """A JSON text of which only lines are asked: one of many megabytes that another reader has found to be valid."""

    content: bytes

    def line(self, pointer: str) -> int:
        """The 1-based line of the value at a pointer, as `Document.line` gives it; 1 where the text cannot be followed."""
        for length in (_BEGINNING, len(self.content)):  # mostly it stands near the beginning, before the vocabulary
            text = self.content[:length].decode("utf-8", "replace")
            try:
                return text.count("\n", 0, _offset(text, pointer, first=True)) + 1
            except (ValueError, IndexError, RecursionError):
                continue
        return 1


def parse(content: bytes) -> Document | NotJson:
    """Parse a file's bytes.

    transformers opens these files as UTF-8 and hands the text to json.loads, which takes NaN and Infinity
    and refuses a byte order mark (run with transformers 5.24.0: OSError "is not a valid JSON file").
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        return NotJson(
            f"is not UTF-8 text ({error.reason})",
            content.count(b"\n", 0, error.start) + 1,
            error.start - content.rfind(b"\n", 0, error.start),
        )
    if not text.strip(_BLANK):
        return NotJson("is empty")
    try:
        return Document(text, json.loads(text))
    except json.JSONDecodeError as error:
        return NotJson(f"is not valid JSON: {error.msg}", error.lineno, error.colno)
    except RecursionError:
        return NotJson("is nested too deeply to be read")
    except ValueError as error:  # an integer of thousands of digits: Python refuses to convert it
        return NotJson(f"is not readable JSON: {error}")


def _offset(text: str, pointer: str, *, first: bool = False) -> int:
    """Where the value at `pointer` starts, found by skipping over its elder siblings at C speed; with `first` over no younger ones."""
    at = _skip(text, 0)
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        inner = _member(text, at, key, first=first) if text[at] == "{" else _item(text, at, key) if text[at] == "[" else None
        if inner is None:
            break
        at = inner
    return at


def _inside(text: str, at: int) -> Iterator[tuple[str, int]]:
    """The key or place of every value inside the one at `at`, and where it starts."""
    kind = text[at]
    if kind not in "{[":
        return
    place = 0
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        name = str(place)
        if kind == "{":
            name, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        yield name, at
        at = _end(text, at)
        at = _skip(text, at + 1) if text[at] == "," else at
        place += 1


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _end(text: str, at: int) -> int:
    return _skip(text, _DECODER.raw_decode(text, at)[1])


def _member(text: str, at: int, key: str, *, first: bool) -> int | None:
    """The start of the last member called `key` of the object at `at`: the one that json.loads keeps; with `first` of the first one."""
    found = None
    at = _skip(text, at + 1)
    while text[at] == '"':
        name, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)
        if name == key:
            found = at
            if first:
                break
        at = _end(text, at)
        at = _skip(text, at + 1) if text[at] == "," else at
    return found


def _item(text: str, at: int, key: str) -> int | None:
    if not key.isdecimal():
        return None
    at = _skip(text, at + 1)
    for _ in range(int(key)):
        if text[at] == "]":
            return None
        at = _end(text, at)
        at = _skip(text, at + 1) if text[at] == "," else at
    return at
