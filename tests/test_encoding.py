"""Tokenizers that are written to fill memory or to take all time, and what sglang puts right."""

import json
from typing import Any

import pytest

from bot.analyze.engines import sglang
from bot.analyze.model.picks import OF_SERVERS
from bot.analyze.rules.backend import Backend, Failed, encode
from bot.analyze.rules.encoding import encoded
from bot.analyze.rules.growth import outgrows, pads
from bot.analyze.watch import WATCH
from bot.answer import Known, Unknown
from tests.models import model

LETTERS = {letter: i for i, letter in enumerate(["<s>", "</s>", *"abcdefgh", "▁", "Ġ"])}
MODEL: dict[str, Any] = {"type": "BPE", "vocab": LETTERS, "merges": []}
TEXTS = ("ab c", "")
DOUBLING = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
TEXT: dict[str, Any] = {"Sequence": {"id": "A", "type_id": 0}}
BOS: dict[str, Any] = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, TEXT],
    "pair": [TEXT, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}},
}


def raw(value: Any) -> bytes:
    return json.dumps(value).encode()


def nested(normalizers: list[Any], depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"type": "Sequence", "normalizers": normalizers}
    for _ in range(depth):
        inner = {"type": "Sequence", "normalizers": [inner]}
    return inner


def files(config: dict[str, Any], model_type: str = "llama", **parts: Any) -> dict[str, str]:
    empty = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding"))
    return {
        "tokenizer.json": json.dumps({"version": "1.0", "added_tokens": [], **empty, **parts, "model": MODEL}),
        "tokenizer_config.json": json.dumps(config),
        "config.json": json.dumps({"model_type": model_type}),
    }


@pytest.mark.parametrize(
    "part",
    [
        pytest.param({"type": "Sequence", "normalizers": [DOUBLING] * 20}, id="a text that doubles twenty times"),
        pytest.param({"normalizers": [{"pattern": {"String": "a"}, "content": "aa"}] * 20}, id="the same without types"),
        pytest.param(nested([DOUBLING] * 20, 30), id="the same inside thirty sequences"),
        pytest.param({"type": "Sequence", "normalizers": [{"type": "NFC"}] * 50}, id="fifty steps"),
        pytest.param({"type": "Prepend", "prepend": "a" * 20_000}, id="twenty thousand letters in front"),
        pytest.param({**BOS, "single": [*([TEXT] * 20_000)]}, id="a text twenty thousand times"),
        pytest.param(
            {**BOS, "single": BOS["single"] * 200, "special_tokens": {"<s>": {"id": "<s>", "ids": [0] * 200, "tokens": []}}},
            id="two hundred times two hundred ids",
        ),
    ],
)
def test_a_step_that_may_fill_memory_is_not_run(part: dict[str, Any]) -> None:
    assert outgrows(raw(part))
    assert isinstance(encode(Backend(raw(MODEL), normalizer=raw(part)), TEXTS), Failed)


def test_ordinary_steps_are_run() -> None:
    marks = [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]
    normalizer = raw({"type": "Sequence", "normalizers": marks})
    assert not outgrows(normalizer, raw(BOS), b"null")
    made = Backend(raw(MODEL), normalizer=normalizer, post_processor=raw(BOS))
    assert encode(made, TEXTS) == {"ab c": (0, 10, 2, 3, 10, 4), "": (0,)}


def test_a_padding_that_may_fill_memory_is_seen() -> None:
    assert pads(raw({"strategy": {"Fixed": 2**31}}))
    assert pads(raw({"strategy": "BatchLongest", "pad_to_multiple_of": 2**31}))
    assert not pads(raw({"strategy": {"Fixed": 512}, "pad_to_multiple_of": 8}))
    assert not pads(b"null")


def test_a_pattern_that_backtracks_too_much_gives_no_ids() -> None:
    pattern = {"type": "Split", "pattern": {"Regex": r"(\w|.|\S|.|.)*(?!.|\n|$)"}, "behavior": "Isolated", "invert": False}
    found = encode(Backend(raw(MODEL), pre_tokenizer=raw(pattern)), ("def f(x):\n    return x",))
    assert isinstance(found, Failed)
    assert "retry-limit" in found.reason


def test_a_tokenizer_that_made_the_process_end_is_named_before_and_refused_after(monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []
    monkeypatch.setattr(WATCH, "note", notes.append)
    made = Backend(raw(MODEL), normalizer=b'{"type": "NFKD"}')
    assert encode(made, TEXTS) == {"ab c": (2, 3, 4), "": ()}
    assert len(notes[0]) == 64
    assert notes[1:] == [""]
    encode.cache_clear()
    monkeypatch.setattr(WATCH, "refused", frozenset(notes[:1]))
    assert isinstance(encode(made, TEXTS), Failed)


def test_dropout_is_left_to_chance() -> None:
    assert isinstance(encode(Backend(raw({**MODEL, "dropout": 0.5})), TEXTS), Failed)


# The rows of a run with sglang 0.5.23 and vLLM 0.33.0: class, post-processor, add_bos_token.
@pytest.mark.parametrize(
    ("name", "post_processor", "flag", "vllm", "of_sglang"),
    [
        ("LlamaTokenizerFast", None, True, False, True),
        ("LlamaTokenizerFast", None, None, False, True),
        ("LlamaTokenizerFast", BOS, False, True, True),
        ("LlamaTokenizerFast", None, False, False, False),
        ("PreTrainedTokenizerFast", None, True, False, False),
        ("Qwen2Tokenizer", None, True, False, False),
    ],
)
def test_sglang_gives_llama_its_bos_back(name: str, post_processor: Any, flag: Any, *, vllm: bool, of_sglang: bool) -> None:
    flags = {} if flag is None else {"add_bos_token": flag}
    given = model(
        files({"tokenizer_class": name, "bos_token": "<s>", "eos_token": "</s>", **flags}, post_processor=post_processor)
    )
    for answer, added in (
        (encoded(given, OF_SERVERS, TEXTS), vllm),
        (sglang.encode(given, sglang.VERSIONS[-1], TEXTS), of_sglang),
    ):
        assert isinstance(answer, Known)
        assert answer.value[""] == ([0] if added else [])


def test_sglang_puts_the_pre_tokenizer_of_the_file_back() -> None:
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    given = model(files({"tokenizer_class": "LlamaTokenizerFast", "add_bos_token": False}, pre_tokenizer=byte_level))
    ours, theirs = encoded(given, OF_SERVERS, TEXTS), sglang.encode(given, sglang.VERSIONS[-1], TEXTS)
    assert isinstance(ours, Known)
    assert isinstance(theirs, Known)
    assert ours.value["ab c"] == [10, 2, 3, 10, 4]
    assert theirs.value["ab c"] == [2, 3, 11, 4]


def test_a_file_with_tekken_beside_it_is_not_told_for_sglang() -> None:
    given = model({**files({"tokenizer_class": "LlamaTokenizerFast"}, model_type="mistral"), "tekken.json": "{}"})
    assert isinstance(sglang.encode(given, sglang.VERSIONS[-1], TEXTS), Unknown)


def test_special_tokens_that_may_be_split_are_not_told() -> None:
    given = model(files({"tokenizer_class": "PreTrainedTokenizerFast", "split_special_tokens": True}))
    assert isinstance(encoded(given, OF_SERVERS, TEXTS), Unknown)
