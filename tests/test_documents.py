"""The line of a value in a JSON file, worked out another way as well."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.analyze.model.document import Document, NotJson, parse


def document(text: str) -> Document:
    found = parse(text.encode("utf-8", "surrogatepass"))
    assert isinstance(found, Document)
    return found


def escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def printed(value: Any, line: int = 1, pointer: str = "") -> Iterator[tuple[str, int, int]]:
    """Every pointer of a value with the lines on which json.dumps(indent=…) starts and ends it."""
    last = line
    rows: list[tuple[str, int, int]] = []
    if isinstance(value, dict | list) and value:
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in members:
            below = list(printed(inner, last + 1, f"{pointer}/{escaped(str(key))}"))
            last = below[0][2]
            rows += below
        last += 1
    yield pointer, line, last
    yield from rows


KEYS = st.text(st.sampled_from('ab/~01"\\\n é\u2028😀{}[],:'), max_size=4) | st.sampled_from(
    ["0", "1", "-1", "", "a/b", "~1", "~01", "m~n"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=6) | KEYS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=25,
)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(VALUES, st.sampled_from([1, 2, "\t"]), st.booleans())
def test_every_pointer_has_the_line_on_which_its_value_is_printed(value: Any, indent: int | str, ascii_only: Any) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    found = document(text)
    for pointer, first, _ in printed(value):
        assert found.line(pointer) == first, pointer


@settings(max_examples=100, derandomize=True, deadline=None)
@given(VALUES)
def test_carriage_returns_change_no_line(value: Any) -> None:
    text = json.dumps(value, indent=1)
    found = document(text.replace("\n", "\r\n"))
    for pointer, first, _ in printed(value):
        assert found.line(pointer) == first


@settings(max_examples=100, derandomize=True, deadline=None)
@given(VALUES)
def test_everything_of_a_minified_file_is_on_its_first_line(value: Any) -> None:
    found = document(json.dumps(value, separators=(",", ":")))
    assert {found.line(pointer) for pointer, _, _ in printed(value)} == {1}


@settings(max_examples=200, derandomize=True, deadline=None)
@given(VALUES, st.text(st.sampled_from("/ab01~-+ 9"), max_size=8))
def test_any_pointer_gives_a_line_of_the_file(value: Any, pointer: str) -> None:
    text = json.dumps(value, indent=1)
    assert 1 <= document(text).line(pointer) <= text.count("\n") + 1


@pytest.mark.parametrize(
    ("text", "pointer", "line"),
    [
        ('{"a": 1,\n"a": 2}', "/a", 2),
        ('{"a": {"b": 1},\n"a": {\n"b": 2}}', "/a/b", 3),
        ('{"a": {"b": 1},\n"a": {\n"c": 2}}', "/a/b", 2),
        ('{"\\u0061": 1,\n"b": 2}', "/b", 2),
        ('{"b": 1,\n"\\u0061": 2}', "/a", 2),
        ('{"a\\/b": 0,\n"c": 1}', "/a~1b", 1),
        ('{"x": 1,\n"a/b": 2,\n"a~1b": 3,\n"a~b": 4}', "/a~1b", 2),
        ('{"x": 1,\n"a/b": 2,\n"a~1b": 3,\n"a~b": 4}', "/a~01b", 3),
        ('{"x": 1,\n"a/b": 2,\n"a~1b": 3,\n"a~b": 4}', "/a~0b", 4),
        ('{"a":\n\n1}', "/a", 3),
        ('{\n"a"\n:\n1}', "/a", 4),
        ('\n\n {"a": 1}', "/a", 3),
        ('{"a": "}],\\"{",\n"b": 1}', "/b", 2),
        ('{"a": [\n[], {},\n[1,\n2]]}', "/a/2/1", 4),
        ('{"a": [\n1]}', "/a/5", 1),
        ('{"a": [\n1]}', "/a/-", 1),
        ('{"a": [\n1]}', "/a/x/y", 1),
        ('[\n{"1": 0},\n{"1": 1}]', "/1/1", 3),
        ('{"": {\n"": 1}}', "//", 2),
        ('{"a": 1,\n"b": NaN,\n"c": -Infinity,\n"d": 1}', "/d", 4),
        ('{\r"a": 1}', "/a", 1),
        ('{"a": "\u2028\x85",\n"b": 1}', "/b", 2),
        ("5", "/a", 1),
        ('"\n"'.replace("\n", "x"), "", 1),
    ],
)
def test_lines(text: str, pointer: str, line: int) -> None:
    assert document(text).line(pointer) == line


def test_the_last_of_two_keys_is_the_value_and_the_place() -> None:
    found = document('{"eos": 1,\n"x": 0,\n"eos": 2}')
    assert found.mapping["eos"] == 2
    assert found.line("/eos") == 3


def test_a_long_file_is_quick() -> None:
    text = json.dumps({"a": {f"k{i}": [i, {"x": i}] for i in range(100_000)}, "b": list(range(100_000))}, indent=1)
    found = document(text)
    assert found.line("/b/99999") == text.count("\n") - 1
    assert found.line("/a/k0/1/x") == 6


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [
        (b"", 1, 1),
        (b" \n\t", 1, 1),
        (b'{"a": 1,}', 1, 9),
        (b'{\n"a": 1\n"b": 2}', 3, 1),
        (b'{"a": 1}\n{', 2, 1),
        (b'\xef\xbb\xbf{"a": 1}', 1, 1),
        (b'{\n"a": "\xff"}', 2, 7),
        ('{"a": 1}'.encode("utf-16"), 1, 1),
        (b"version https://git-lfs.github.com/spec/v1\n", 1, 1),
        (b"{'a': 1}", 1, 2),
        (b'{"a": 1 // no\n}', 1, 9),
        (b'{"a": "\n"}', 1, 8),
        (b"[" * 200_000, 1, 1),
        (b'{"a": ' + b"9" * 10_000 + b"}", 1, 1),
    ],
)
def test_what_is_no_json_says_where(content: bytes, line: int, column: int) -> None:
    found = parse(content)
    assert isinstance(found, NotJson)
    assert (found.line, found.column) == (line, column)
    assert found.message
    assert "\n" not in found.message


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.binary(max_size=40) | st.text(st.sampled_from('{}[]",:0eE-+.ntf \n\\u'), max_size=25).map(str.encode))
def test_parse_takes_what_python_takes(content: bytes) -> None:
    found = parse(content)
    try:
        value = json.loads(content.decode("utf-8"))
    except ValueError:
        assert isinstance(found, NotJson)
        assert 1 <= found.line <= content.count(b"\n") + 1
    else:
        assert isinstance(found, Document)
        assert repr(found.value) == repr(value)
