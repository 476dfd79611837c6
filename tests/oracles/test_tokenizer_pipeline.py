"""What is said about tokenizer.json, against the installed `tokenizers` and transformers."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import msgspec
import pytest
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from bot.analyze.checks.tokenizer_json_unloadable import find
from bot.analyze.model import tokenizer_file
from bot.analyze.model.components import fault, panic
from bot.analyze.model.pipeline import prefix
from bot.analyze.model.tokenizer_parts import Pipeline
from tests.models import model_of

BPE = {
    "type": "BPE",
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": None,
    "end_of_word_suffix": None,
    "fuse_unk": False,
    "byte_fallback": False,
    "ignore_merges": False,
    "vocab": {"a": 0, "b": 1, "ab": 2},
    "merges": ["a b"],
}
FILE: dict[str, Any] = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": None,
    "post_processor": None,
    "decoder": None,
    "model": BPE,
}
SEQUENCE_A = {"Sequence": {"id": "A", "type_id": 0}}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
# Every part with each component that has options, whole.
WHOLE: dict[str, list[dict[str, Any]]] = {
    "normalizer": [
        {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
        {"type": "Prepend", "prepend": "▁"},
        {"type": "Strip", "strip_left": True, "strip_right": False},
        {"type": "Sequence", "normalizers": [{"type": "NFC"}]},
        REPLACE,
    ],
    "pre_tokenizer": [
        BYTE_LEVEL,
        METASPACE,
        {"type": "CharDelimiterSplit", "delimiter": "-"},
        {"type": "Digits", "individual_digits": True},
        {"type": "Punctuation", "behavior": "Isolated"},
        {"type": "Split", "pattern": {"Regex": "a+|(?i:b)"}, "behavior": "Isolated", "invert": False},
        {"type": "Sequence", "pretokenizers": [BYTE_LEVEL]},
    ],
    "post_processor": [
        BYTE_LEVEL,
        {"type": "BertProcessing", "sep": ["a", 0], "cls": ["b", 1]},
        {"type": "RobertaProcessing", "sep": ["a", 0], "cls": ["b", 1], "trim_offsets": True, "add_prefix_space": True},
        {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "a", "type_id": 0}}, SEQUENCE_A],
            "pair": [SEQUENCE_A],
            "special_tokens": {"a": {"id": "a", "ids": [0], "tokens": ["a"]}},
        },
        {"type": "Sequence", "processors": [BYTE_LEVEL]},
    ],
    "decoder": [
        BYTE_LEVEL,
        METASPACE,
        REPLACE,
        {"type": "BPEDecoder", "suffix": "x"},
        {"type": "CTC", "pad_token": "a", "word_delimiter_token": "b", "cleanup": True},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        {"type": "WordPiece", "prefix": "##", "cleanup": True},
        {"type": "Sequence", "decoders": [{"type": "Fuse"}]},
    ],
    "truncation": [{"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}],
    "padding": [
        {
            "strategy": {"Fixed": 8},
            "direction": "Left",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "a",
        },
    ],
    "model": [
        BPE,
        {
            "type": "WordPiece",
            "unk_token": "a",
            "continuing_subword_prefix": "#",
            "max_input_chars_per_word": 9,
            "vocab": {"a": 0},
        },
        {"type": "WordLevel", "unk_token": "a", "vocab": {"a": 0}},
        {"type": "Unigram", "unk_id": 0, "vocab": [["a", 0.0]], "byte_fallback": False},
    ],
}
ABSENT = object()
OTHERS: tuple[Any, ...] = (ABSENT, "x", -1, [], {}, None, True, 7)


def refused(file: Any) -> str:
    """Why the library refuses a file or cannot encode with it, "" when it does."""
    try:
        Tokenizer.from_str(json.dumps(file)).encode("a")
    except BaseException as error:  # noqa: BLE001 - the library raises bare Exception, and panics with a BaseException
        return str(error)
    return ""


def faulty(file: dict[str, Any]) -> tuple[str, str] | None:
    """What we find wrong with the parts of a file."""
    content = json.dumps(file).encode()
    read = tokenizer_file.read(content)
    if not isinstance(read, tokenizer_file.TokenizerFile):
        return "", read.message
    return fault(read.parts, content) or panic(read.parts)


def changed(part: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """A part with one option left out or holding another value."""
    yield "whole", part
    for key in part:
        # The type of a component, the vocabulary and the merges are read elsewhere.
        for other in OTHERS if key not in ("type", "vocab", "merges", "continuing_subword_prefix") else ():
            rest = {name: value for name, value in part.items() if name != key}
            yield f"{key}={other!r}", rest if other is ABSENT else {**part, key: other}


@pytest.mark.parametrize("name", WHOLE)
def test_a_part_is_refused_where_the_library_refuses_it(name: str) -> None:
    wrong: list[Any] = []
    refusals = 0
    for whole in WHOLE[name]:
        assert refused({**FILE, name: whole}) == ""
        for what, part in changed(whole):
            file = {**FILE, name: part}
            ours, theirs = faulty(file), refused(file)
            refusals += bool(theirs)
            if bool(ours) != bool(theirs):
                wrong.append((whole.get("type", name), what, ours, theirs))
    assert wrong == []
    assert refusals


@pytest.mark.parametrize("part", ["normalizer", "pre_tokenizer", "post_processor", "decoder"])
@pytest.mark.parametrize("other", ["ByteLevel", [], 3, True])
def test_a_part_that_is_no_object_is_refused(part: str, other: Any) -> None:
    file = {**FILE, part: other}
    assert faulty(file) is not None
    assert refused(file)


@pytest.mark.parametrize(
    "regex", ["(a", "a)", "[a", "(?:a|(b)", r"\p{L}+(?=[", "a+", r"[^\r\n\p{L}]?\p{L}+", r"\(a", "[(]", "(?<x>a)", "[[(]x]"]
)
def test_a_pattern_with_an_open_bracket_is_refused(regex: str) -> None:
    split = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    file = {**FILE, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split]}}
    assert bool(faulty(file)) == bool(refused(file))


PROCESSORS: tuple[Any, ...] = (
    None,
    *WHOLE["post_processor"],
    {**WHOLE["post_processor"][3], "special_tokens": {"a": {"id": "a", "ids": [1, 0], "tokens": ["b", "a"]}}},
    {"type": "Sequence", "processors": [BYTE_LEVEL, WHOLE["post_processor"][3]]},
    {"type": "Sequence", "processors": [WHOLE["post_processor"][1], WHOLE["post_processor"][3]]},
    {**WHOLE["post_processor"][3], "single": [SEQUENCE_A, {"SpecialToken": {"id": "a", "type_id": 0}}]},
    {**WHOLE["post_processor"][3], "single": [{"SpecialToken": {"id": "a", "type_id": 0}}] * 2 + [SEQUENCE_A]},
)


@pytest.mark.parametrize("processor", PROCESSORS, ids=str)
def test_what_a_post_processor_puts_in_front(processor: Any) -> None:
    file = json.dumps({**FILE, "post_processor": processor})
    tokenizer = Tokenizer.from_str(file)
    whole, bare = tokenizer.encode("ab").tokens, tokenizer.encode("ab", add_special_tokens=False).tokens
    starts = [i for i in range(len(whole)) if whole[i : i + len(bare)] == bare]
    assert prefix(msgspec.json.decode(file, type=Pipeline)) in [tuple(whole[:i]) for i in starts]


@pytest.mark.parametrize("config", [{}, {"added_tokens_decoder": {}}], ids=["nowhere", "in tokenizer_config.json"])
@pytest.mark.parametrize("listed", [None, []], ids=["no list", "an empty list"])
@pytest.mark.parametrize("name", ["PreTrainedTokenizerFast", "Qwen2Tokenizer"])
def test_transformers_wants_a_list_of_added_tokens(
    name: str, listed: Any, config: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    file = (
        {key: row for key, row in FILE.items() if key != "added_tokens"} if listed is None else {**FILE, "added_tokens": listed}
    )
    (tmp_path / "tokenizer.json").write_text(json.dumps(file), "utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name, **config}), "utf-8")
    if list(find(model_of(tmp_path))):
        with pytest.raises(KeyError, match="added_tokens"):
            AutoTokenizer.from_pretrained(tmp_path, local_files_only=True)
    else:
        AutoTokenizer.from_pretrained(tmp_path, local_files_only=True)
