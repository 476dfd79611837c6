"""Settings of a tokenizer that transformers refuses beside its tokens, against the installed transformers; and files that MLX-LM cannot read."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import transformers

from bot.analyze.engines import mlx_lm
from bot.analyze.rules.borrowed import agreed
from bot.analyze.rules.loaded import Loaded, Refused, loaded
from bot.answer import Known, Unknown
from tests.models import model

TOKENIZER: dict[str, Any] = {
    "version": "1.0",
    "added_tokens": [],
    "post_processor": None,
    "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
}
STRAY: dict[str, Any] = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<bos>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {},
}


def cut(longest: int, stride: int) -> dict[str, Any]:
    return {"truncation": {"max_length": longest, "strategy": "LongestFirst", "stride": stride, "direction": "Right"}}


def split(regex: str) -> dict[str, Any]:
    return {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}}


@pytest.mark.parametrize(
    ("file", "settings"),
    [
        (cut(5, 10), {}),
        (cut(5, 5), {}),
        (cut(5, 4), {}),
        (cut(0, 1), {}),
        ({"post_processor": STRAY}, {}),
        ({"added_tokens": None}, {}),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "////"}}, {}),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAAAA=="}}, {}),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAAAP8="}}, {}),
        (split("*a"), {}),
        (split("(?<=a*)b"), {}),
        ({}, {"encode": "x"}),
        ({}, {"encode": None}),
        ({}, {"save_pretrained": 1}),
        ({}, {"device": "x"}),
        ({}, {"vocab_size": 5}),
    ],
)
def test_a_setting_is_refused_where_transformers_refuses_it(tmp_path: Path, file: Any, settings: Any) -> None:
    texts = {
        "tokenizer.json": json.dumps({**TOKENIZER, **file}),
        "tokenizer_config.json": json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **settings}),
        "config.json": json.dumps({"model_type": "llama"}),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    error = ""
    try:
        transformers.AutoTokenizer.from_pretrained(tmp_path)
    except BaseException as refused:  # noqa: BLE001 - a panic is no Exception
        error = type(refused).__name__
    found = loaded(model({name: text.encode() for name, text in texts.items()}), "5.24.0")
    assert isinstance(found, Known)
    assert isinstance(found.value, Refused | Loaded)
    assert (found.value.error if isinstance(found.value, Refused) else "") == error


def test_what_needs_the_space_of_the_tokens_around_a_text_is_unknown() -> None:
    texts = {
        "tokenizer.json": json.dumps({**TOKENIZER, **cut(5, 4), "post_processor": STRAY}),
        "tokenizer_config.json": json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}),
        "config.json": json.dumps({"model_type": "llama"}),
    }
    found = loaded(model({name: text.encode() for name, text in texts.items()}), "5.24.0")
    assert isinstance(found, Unknown)
    assert "leave room" in found.reason


def test_reasons_cite_values_as_json_and_cut_them() -> None:
    found = agreed({"4.57.6": Known({"top_k": 64, "do_sample": True}), "5.24.0": Known({"words": "a" * 99})})
    assert isinstance(found, Unknown)
    assert '4.57.6 gives {"top_k":64,"do_sample":true}, 5.24.0 gives {"words":"aaa' in found.reason
    assert found.reason.endswith("a…")


def test_mlx_lm_says_nothing_of_a_configuration_that_was_not_read() -> None:
    read = model({"config.json": b"{}", "tokenizer.json": json.dumps(TOKENIZER).encode()})
    files = {
        **read.files,
        "config.json": msgspec.structs.replace(read.files["config.json"], content=None, unread="could not be read"),
    }
    found = mlx_lm.predict(msgspec.structs.replace(read, files=files, _facts={}), "0.32.2").fields
    assert {"loads.config", "loads.tokenizer", "eos_token_id", "stops"} <= found.keys()
    assert [key for key, answer in found.items() if not isinstance(answer, Unknown)] == []
    assert str(found["loads.config"]).find("could not be read") >= 0
