"""The metadata of model cards, against huggingface_hub and PyYAML as installed."""

import itertools
from pathlib import Path

import pytest
import yaml
from huggingface_hub import metadata_load

from bot.analyze.model.card import Card, read

HEADS = ("---\n", "\n  ---\n", "---\r\n", "# Tiny\n---\n", "--- \n", "----\n", "")
BLOCKS = (
    "license: mit\n",
    "license: mit\ntags:\n- a\n- 'b: c'\n",
    "# nothing\n",
    "title: a: b\n",
    "- a\n",
    "license: [mit\n",
    "",
)
TAILS = ("---\n# Tiny\n", "---", "--- \n\n---\n", "----\n", "\n")


def metadata(path: Path) -> dict[str, object] | None:
    """What huggingface_hub finds; None for none. Raises what it raises."""
    return metadata_load(path)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("tail", TAILS)
def test_the_block_is_the_one_that_the_hubs_library_finds(head: str, tail: str, tmp_path: Path) -> None:
    for block in BLOCKS:
        text = head + (block.replace("\n", "\r\n") if "\r" in head else block) + tail
        path = tmp_path / "README.md"
        path.write_bytes(text.encode())
        found = read(text.encode())
        try:
            wanted = metadata(path)
        except (ValueError, yaml.YAMLError):
            assert found is not None
            assert found.fault is not None
            continue
        unclosed = found is not None and found.fault is not None and "no second line" in found.fault.message
        assert unclosed or (found.fields if isinstance(found, Card) else {}) == (wanted or {})


@pytest.mark.parametrize(
    "text", ["1", "-3", "0x1F", "1.5", ".5", "1e3", "true", "False", "null", "~", "''", "'1'", '"null"', "tiny", "1 2"]
)
def test_a_scalar_is_what_both_schemas_make_of_it(text: str) -> None:
    found = read(f"---\nx: {text}\n---\n".encode())
    assert found is not None
    if text == "1e3":  # a number in YAML 1.2, a text for PyYAML
        assert found.fields == {"x": 1000.0}
    else:
        assert found.fields == yaml.safe_load(f"x: {text}")


@pytest.mark.parametrize("text", ["no", "on", "yes", "OFF", "1_000", "12:30:45"])
def test_a_text_of_yaml_1_2_stays_one(text: str) -> None:
    found = read(f"---\nx: {text}\n---\n".encode())
    assert found is not None
    assert found.fields == {"x": text}
    assert yaml.safe_load(f"x: {text}") != {"x": text}


def test_lines_are_those_of_the_file() -> None:
    for blank, field in itertools.product(range(3), ("tags", "x")):
        text = "\n" * blank + f"---\na: 1\n{field}:\n- 1\n- 2\n---\n"
        found = read(text.encode())
        assert found is not None
        assert text.split("\n")[found.lines[f"/{field}/1"] - 1] == "- 2"
        assert text.split("\n")[found.lines[f"/{field}"] - 1] == f"{field}:"


@pytest.mark.parametrize(
    "text",
    [
        "x: &a [*a]",
        "a: &a [1,1]\n" + "".join(f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in itertools.pairwise("abcdefghij")),
        "x: " + "[" * 5000,
        "x: " + "[" * 900 + "]" * 900,
        "? [a]\n: b",
        "x: !!int no",
        "\x00",
        "a: 1\n" * 30_000,
    ],
    ids=["cycle", "bomb", "open", "deep", "key", "tag", "nul", "many"],
)
def test_a_hostile_block_costs_little_and_breaks_nothing(text: str) -> None:
    read(f"---\n{text}\n---\n".encode())
