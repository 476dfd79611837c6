"""What we say of WebLLM, against records of the real web-llm 0.2.86 and against generated files."""

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from bot.analyze.checks.check import checks
from bot.analyze.model import mlc
from bot.analyze.model.folder import Model
from bot.analyze.model.sentencepiece import NotPieces, Pieces, read
from bot.analyze.model.tokenizer_file import TokenizerFile
from bot.analyze.model.tokenizer_file import read as read_tokenizer
from bot.answer import Known
from tests.conftest import SHARED, present
from tests.models import model_of

RECORDS = sorted((SHARED / "golden/webllm-0.2.86").glob("*.json")) if present("shared") else []

# The step at which WebLLM fails first, by the checks that say so. A tokenizer file that is broken or missing is said by checks of those files.
FAILS = {
    "mlc-tokenizer-files-unusable": "tokenizer",
    "mlc-tokenizer-file-missing": "tokenizer",
    "tokenizer-json-unloadable": "tokenizer",
    "mlc-tokenizer-info-null": "pipeline",
    "mlc-window-invalid": "pipeline",
    "mlc-stop-ids-missing": "first-token",
    "mlc-stop-str-missing": "first-token",
    "mlc-conv-template-invalid": "prompt",
}
STEPS = ("tokenizer", "pipeline", "first-token", "prompt")


def errors(model: Model) -> set[str]:
    """The checks that call a folder broken."""
    found: set[str] = set()
    for check in checks():
        if check.find is not None and check.id in FAILS:
            found |= {check.id for seen in check.find(model) if (seen.severity or check.check.severity) == "error"}
    return found


@pytest.mark.needs("shared")
def test_there_are_records() -> None:
    assert len(RECORDS) >= 60


@pytest.mark.needs("shared")
def test_the_token_table_is_that_of_the_loaded_file() -> None:
    wrong: list[str] = []
    seen: Counter[str] = Counter()
    for path in RECORDS:
        record = json.loads(path.read_text("utf-8"))
        model = model_of(SHARED.joinpath(*record["snapshot"].split("__")))
        if record["tokenizer_file"] != (mlc.asked(model) or None):
            wrong.append(f"{record['snapshot']}: {record['tokenizer_file']} was asked for")
        table = mlc.table(model)
        if not isinstance(table, Known):
            continue
        texts = [table.value.text(number) or "" for number in range(table.value.size)]
        digest = hashlib.sha256(json.dumps(texts, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()
        if (len(texts), digest) != (record["table_size"], record["table_sha256"]):
            wrong.append(f"{record['snapshot']}: another table")
        seen[table.value.file] += 1
    assert wrong == []
    assert set(seen) == set(mlc.LOADABLE)


@pytest.mark.needs("shared")
def test_what_is_called_broken_did_fail_and_the_other_way_round() -> None:
    wrong: list[str] = []
    for path in RECORDS:
        record = json.loads(path.read_text("utf-8"))
        model = model_of(SHARED.joinpath(*record["snapshot"].split("__")))
        steps = {FAILS[check] for check in errors(model)}
        first = next((step for step in STEPS if step in steps), None)
        unloadable = record["first_failure"] == "tokenizer" and not steps  # said by a check of that file
        if first != record["first_failure"] and not (unloadable and not isinstance(mlc.table(model), Known)):
            wrong.append(f"{record['snapshot']}: {record['first_failure']} failed, we say {first}")
        failed = {step for step, done in record["loads"].items() if done is False}
        wrong += [f"{record['snapshot']}: {step} did not fail" for step in steps & {"tokenizer", "pipeline"} - failed]
    assert wrong == []


@pytest.mark.needs("shared")
def test_the_ends_of_json_mode_are_the_stop_ids_that_are_not_called_outside() -> None:
    check = next(check for check in checks() if check.id == "mlc-stop-id-outside-table")
    wrong: list[str] = []
    seen = 0
    for path in RECORDS:
        record = json.loads(path.read_text("utf-8"))
        model = model_of(SHARED.joinpath(*record["snapshot"].split("__")))
        width = mlc.numbers(mlc.config(model).get("vocab_size"))
        if "stops_in_grammar" not in record or not mlc.stop_ids(model) or not isinstance(mlc.table(model), Known):
            continue
        assert check.find is not None
        outside = {int(found.key.rpartition(":")[2]) for found in check.find(model)}
        left = sorted(number for number in set(mlc.stop_ids(model) or ()) - outside if number < width[0])
        seen += 1
        if left != record["stops_in_grammar"]:
            wrong.append(f"{record['snapshot']}: {record['stops_in_grammar']}, we say {left}")
    assert wrong == []
    assert seen >= 40


def varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def message(field: int, content: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(content)) + content


def piece(text: str, kind: int = 1, score: bytes = b"\0\0\0\0") -> bytes:
    return message(1, message(1, text.encode()) + varint(2 << 3 | 5) + score + varint(3 << 3) + varint(kind))


UNKNOWN = piece("<unk>", 2)
WORDS = st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=8, unique=True)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(WORDS.filter(lambda words: "<unk>" not in words), st.binary(max_size=20), st.sampled_from(("first", "last")))
def test_pieces_come_in_the_order_of_the_file(words: list[str], other: bytes, order: str) -> None:
    spec = message(2, message(4, other) + varint(35 << 3) + b"\0") + message(3, other)
    pieces = UNKNOWN + b"".join(map(piece, words))
    found = read(spec + pieces if order == "last" else pieces + spec)
    assert isinstance(found, Pieces)
    assert found.texts == ("<unk>", *words)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.binary(max_size=60))
def test_no_bytes_break_the_reader(content: bytes) -> None:
    assert isinstance(read(content), NotPieces | Pieces)
    assert isinstance(read(UNKNOWN + piece("a") + content), NotPieces | Pieces)


@pytest.mark.parametrize("cut", range(1, 30))
def test_a_cut_file_is_none_or_has_lost_whole_pieces(cut: int) -> None:
    whole = UNKNOWN + piece("a") + piece("bcd")
    found = read(whole[: max(0, len(whole) - cut)])
    assert isinstance(found, NotPieces) or found.texts == ("<unk>", "a")


BYTES = b"".join(piece(f"<0x{i:02X}>", 6) for i in range(256))
FALLBACK = message(2, varint(35 << 3) + b"\1")

# Each was given to the library in the browser, which then has a tokenizer of size 0.
REFUSED = {
    "nothing": b"",
    "text": b"hello world",
    "no piece for unknown text": piece("a"),
    "two pieces for unknown text": UNKNOWN + piece("<u>", 2) + piece("a"),
    "a piece twice": UNKNOWN + piece("a") + piece("a"),
    "an empty piece": UNKNOWN + piece("a") + piece(""),
    "no ordinary piece": UNKNOWN + piece("<s>", 3),
    "bytes without byte_fallback": UNKNOWN + piece("a") + BYTES,
    "byte_fallback without bytes": UNKNOWN + piece("a") + FALLBACK,
    "a field 0": UNKNOWN + piece("a") + b"\0\3",
    "a broken settings message": UNKNOWN + piece("a") + message(2, b"\xff\xff"),
}
ACCEPTED = {
    "plain": (UNKNOWN + piece("a"), 2),
    "control, user and unused pieces": (UNKNOWN + piece("a") + piece("<s>", 3) + piece("x", 4) + piece("y", 5), 5),
    "a name that is ordinary and control": (UNKNOWN + piece("a") + piece("a", 3), 3),
    "a type of the future": (UNKNOWN + piece("a", 9), 2),
    "bytes with byte_fallback": (UNKNOWN + piece("a") + BYTES + FALLBACK, 258),
    "no score and no type": (UNKNOWN + message(1, message(1, b"a")), 2),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_that_the_library_refuses_is_none(name: str) -> None:
    assert isinstance(read(REFUSED[name]), NotPieces)


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_model_that_the_library_loads_has_its_pieces(name: str) -> None:
    content, size = ACCEPTED[name]
    pieces = read(content)
    assert isinstance(pieces, Pieces)
    assert len(pieces.texts) == size


def tokenizer(vocab: dict[str, int], added: list[str]) -> bytes:
    flags: dict[str, Any] = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    entries = [{"id": 90 + i, "content": text, "special": True, **flags} for i, text in enumerate(added)]
    return json.dumps({"added_tokens": entries, "model": {"type": "BPE", "vocab": vocab, "merges": []}}).encode()


@settings(max_examples=200, derandomize=True, deadline=None)
@given(
    st.lists(st.sampled_from("abcdef"), unique=True), st.lists(st.sampled_from(["<x>", "<y>", "<z>", "a", "f", ""]), max_size=6)
)
def test_without_holes_the_browser_numbers_as_the_library_does(pieces: list[str], added: list[str]) -> None:
    content = tokenizer({text: i for i, text in enumerate(pieces)}, added)
    file = read_tokenizer(content)
    assert isinstance(file, TokenizerFile)
    library = Tokenizer.from_buffer(content)
    assert mlc.numbered(file) == {token.content: i for i, token in library.get_added_tokens_decoder().items()}


@pytest.mark.parametrize(
    ("vocab", "added", "expected"),
    [
        ({"a": 0, "ab": 5}, ["ab", "<x>", "<y>"], {"ab": 5, "<x>": 6, "<y>": 7}),
        ({"a": 0, "ab": 5}, ["<x>", "ab", "<y>"], {"<x>": 2, "ab": 5, "<y>": 6}),
        ({"a": 0, "ab": 2}, ["<x>", "ab", "<y>"], {"<x>": 2, "ab": 2, "<y>": 3}),
        ({}, ["<x>", "<y>"], {"<x>": 0, "<y>": 1}),
    ],
)
def test_with_holes_the_browser_counts_on_from_the_highest_added_id(
    vocab: dict[str, int], added: list[str], expected: dict[str, int]
) -> None:
    """The ids are those that web-tokenizers 0.1.6 gave."""
    file = read_tokenizer(tokenizer(vocab, added))
    assert isinstance(file, TokenizerFile)
    assert mlc.numbered(file) == expected


def test_the_table_of_no_folder_is_missing(tmp_path: Path) -> None:
    assert not isinstance(mlc.table(model_of(tmp_path)), Known)
