"""Folders that a class refuses, or numbers in a way of its own: what we say, and what the installed transformers does."""

import json
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
import transformers

from bot.analyze.engines import transformers as engine
from bot.analyze.model.tokenizer_file import AddedToken, TokenizerFile, number
from bot.analyze.outcome import outcome
from bot.answer import Known
from tests.models import model

PIECES = ["<s>", "</s>", "<unk>", "<pad>", "<mask>", "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]", "a", "b", "ab", "c"]
TABLE = {piece: i for i, piece in enumerate(PIECES)}
LIST = [[piece, -1.0 * i] for i, piece in enumerate(PIECES)]
PLAIN = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False, "special": True}


def bpe(vocab: dict[str, int] | None = None, added: tuple[tuple[str, int], ...] = (), **parts: Any) -> dict[str, Any]:
    """A tokenizer.json with a table of ids."""
    found = {"type": "BPE", "vocab": vocab or TABLE, "merges": [] if vocab else ["a b"]}
    return {"version": "1.0", "added_tokens": [{"content": c, "id": i, **PLAIN} for c, i in added], "model": found, **parts}


UNIGRAM = {"version": "1.0", "added_tokens": [], "model": {"type": "Unigram", "unk_id": 2, "vocab": LIST}}
HOLES = {"a": 0, "b": 1, "<x>": 5}


def folder(
    name: str = "Qwen2Tokenizer", tokenizer: Any = None, config: dict[str, Any] | None = None, **more: Any
) -> dict[str, str]:
    """Files, of which None is left out."""
    stated = {"tokenizer_config.json": {"tokenizer_class": name, **more}, "tokenizer.json": tokenizer, "config.json": config}
    return {path: json.dumps(value) for path, value in stated.items() if value is not None}


def pair(merges: str) -> dict[str, str]:
    return {**folder("GPT2Tokenizer"), "vocab.json": json.dumps(TABLE), "merges.txt": merges}


CASES: dict[str, dict[str, str]] = {
    "a table for a class of scores": folder("XLMRobertaTokenizer", bpe()),
    "scores for a class of scores": folder("XLMRobertaTokenizer", UNIGRAM),
    "scores for a class of tables": folder("Qwen2Tokenizer", UNIGRAM),
    "model is a list": folder("Qwen2Tokenizer", {**bpe(), "model": []}),
    "model is null": folder("Qwen2Tokenizer", {**bpe(), "model": None}),
    "model is missing": folder("Qwen2Tokenizer", {"version": "1.0"}),
    "a merge outside the vocabulary": pair("#version: 0.2\na b\na c\n"),
    "merges of the vocabulary": pair("#version: 0.2\na b\n"),
    "a template without a name": folder(tokenizer=bpe(), chat_template=[{"template": "q"}]),
    "a template that is no object": folder(tokenizer=bpe(), chat_template=["q"]),
    "a template without a name, and a role that is a number": folder(tokenizer=bpe(), chat_template=[{}], eos_token=5),
    "a template without a name beside a file": {
        **folder(tokenizer=bpe(), chat_template=[{"template": "q"}]),
        "chat_template.jinja": "x",
    },
    "no space in front, as null": folder("GPT2Tokenizer", bpe(), add_prefix_space=None),
    "a name of an older class": folder("ElectraTokenizer", bpe()),
    "a class with the defaults of another": folder("DistilBertTokenizer", bpe()),
    "an empty string with a name of its own": folder("GemmaTokenizer", bpe(), image_token="", unk_token="<unk>"),
    "two roles with one string in a list of scores": folder(
        "XLMRobertaTokenizer", bos_token="<x>", eos_token="<x>", added_tokens_decoder={"9": {"content": "<y>", **PLAIN}}
    ),
    "tokens behind holes": folder("PreTrainedTokenizerFast", bpe(HOLES, (("<x>", 5),)), eos_token="<n>", pad_token="<m>"),
    "tokens that run into holes": folder("PreTrainedTokenizerFast", bpe(HOLES, (("<n>", 3),)), eos_token="<m>", pad_token="<x>"),
    "a model type that is a list": folder(tokenizer=bpe(), config={"model_type": []}),
    "a model type that is a number": folder(tokenizer=bpe(), config={"model_type": 1.5}),
    "a type that is a list": folder(tokenizer=bpe(), config={"model_type": "qwen2", "dtype": []}),
    "a size that is text": folder(tokenizer=bpe(), config={"model_type": "nosuch", "vocab_size": "9", "eos_token_id": 1}),
}


def real(path: Path, files: dict[str, str]) -> dict[str, Any]:
    for name, text in files.items():
        (path / name).write_text(text, "utf-8")
    with chdir(path):
        answers, failed = outcome()
    return answers | {f"errors.{step}.type": kind for step, kind in failed.items() if step != "generation_config"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_refusals_are_those_of_the_library(name: str, tmp_path: Path) -> None:
    transformers.logging.set_verbosity(50)
    files = CASES[name]
    predicted = engine.predict(model(files), transformers.__version__)
    actual = real(tmp_path, files)
    said = {field: answer.value for field, answer in predicted.fields.items() if isinstance(answer, Known)}
    assert {field: said[field] or False for field in actual if field in said} == {
        field: actual[field] or False for field in actual if field in said
    }
    assert said["loads.tokenizer"] == actual["loads.tokenizer"]


def test_a_class_that_needs_another_package_is_left_open() -> None:
    predicted = engine.predict(model(folder("MistralCommonBackend", bpe())), "5.24.0").record()
    assert "another package" in predicted["loads"]["tokenizer"]["unknown"]


@pytest.mark.parametrize(
    ("version", "files", "error"),
    [
        ("5.0.0", folder("XLMRobertaTokenizer", bpe()), "KeyError"),
        ("5.5.0", folder("XLMRobertaTokenizer", bpe()), "TypeError"),
        ("5.0.0", folder("Qwen2Tokenizer", {**bpe(), "model": []}), "Exception"),
        ("5.5.0", folder("Qwen2Tokenizer", {**bpe(), "model": []}), "AttributeError"),
        ("4.57.6", folder(tokenizer=bpe(), chat_template=[{}], eos_token=5), "KeyError"),
        ("5.24.0", folder(tokenizer=bpe(), chat_template=[{}], eos_token=5), "TypeError"),
        ("4.57.6", folder("BertTokenizer", bpe(), chat_template=[{}]), "KeyError"),
        ("5.0.0", folder(add_bos_token=True, bos_token=None), "ValueError"),
        ("5.0.0", folder(tokenizer=bpe(), config={"model_type": []}), "TypeError"),
        ("5.19.0", folder(tokenizer=bpe(), config={"model_type": "nosuch", "dtype": "bf16"}), "AttributeError"),
        (
            "4.46.3",
            folder(
                "GPT2Tokenizer",
                bpe(pre_tokenizer={"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}),
                add_prefix_space=None,
            ),
            "TypeError",
        ),
    ],
)
def test_errors_of_versions_that_were_run(version: str, files: dict[str, str], error: str) -> None:
    assert engine.predict(model(files), version).record()["errors"]["tokenizer"]["type"] == error


def test_5_0_takes_the_file_as_it_stands_for_a_model_type_that_is_no_text() -> None:
    files = folder(tokenizer=bpe(), config={"model_type": 1.5})
    assert engine.predict(model(files), "5.0.0").record()["tokenizer_class"] == "TokenizersBackend"


@pytest.mark.parametrize(
    ("one_by_one", "expected"), [(True, {"<x>": 5, "n1": 6, "n2": 7}), (False, {"<x>": 5, "n1": 3, "n2": 6})]
)
def test_tokens_behind_holes_follow_the_highest_of_those_before(one_by_one: bool, expected: dict[str, int]) -> None:  # noqa: FBT001 - a parameter
    """Run: tokenizers 0.20.3 goes one by one, 0.22.2 and 0.23.3 do not."""
    file = TokenizerFile(HOLES, len(HOLES), ())
    first = number(file, (AddedToken("<x>", 0, special=True), AddedToken("n1", 0, special=True)), one_by_one=one_by_one)
    assert number(file, (AddedToken("n2", 0, special=True),), first, one_by_one=one_by_one) == expected
