"""The tokenizer's EOS id and which file names it, against AutoTokenizer of the installed transformers."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest
import transformers
from transformers import AutoTokenizer

from bot.analyze.model.tokens import role
from bot.analyze.rules.from_transformers import tokenizer_id
from bot.analyze.rules.tokenizer_fields import tokenizer_fields
from bot.answer import Known, Missing, Unknown, shown
from tests.changes import SNAPSHOTS, write
from tests.models import model_of

DECODER = json.loads((SNAPSHOTS / "chatml/tokenizer_config.json").read_text("utf-8"))["added_tokens_decoder"]
DECODERS: dict[str, Any] = {
    "declared": DECODER,
    "absent": None,
    "backwards": {str(600 - int(i)): token for i, token in DECODER.items()},
    "lacking": {i: token for i, token in DECODER.items() if i != "262"},
}


def typed(content: str) -> dict[str, Any]:
    return {**untyped(content), "__type": "AddedToken"}


def untyped(content: str) -> dict[str, Any]:
    return {"content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False}


CLASSES = (
    ("Qwen2Tokenizer", "qwen3"),
    ("Qwen2TokenizerFast", "<absent>"),
    ("PreTrainedTokenizerFast", "llama"),
    ("PreTrainedTokenizerFast", "qwen3"),
    ("TokenizersBackend", "qwen3"),
    ("LlamaTokenizer", "llama"),
    ("LlamaTokenizerFast", "<absent>"),
)
STRINGS: tuple[Any, ...] = ("<|im_end|>", "<|endoftext|>", "<|nope|>", "a", typed("<|endoftext|>"))
MAPS: tuple[Any, ...] = (
    None,
    {"eos_token": "<|endoftext|>"},
    {"eos_token": untyped("<|endoftext|>")},
    {"eos_token": typed("<|im_start|>")},
    {"eos_token": "<|nope|>"},
    {"pad_token": "<|pad|>"},
)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


def folder(
    path: Path, *, tokenizer_class: str, model_type: str, eos: Any, special: Any = None, decoder: str = "declared"
) -> Path:
    """The snapshot with these values; "<absent>" takes a key out."""
    changes: dict[str, Any] = {
        "tokenizer_config.json": {
            "tokenizer_class": tokenizer_class,
            "eos_token": eos,
            "added_tokens_decoder": "<absent>",
        },
        "config.json": {"model_type": model_type},
    }
    if special is not None:
        changes["special_tokens_map.json"] = special
    write(path, "chatml", changes)
    if DECODERS[decoder] is not None:
        config = json.loads((path / "tokenizer_config.json").read_text("utf-8"))
        (path / "tokenizer_config.json").write_text(json.dumps({**config, "added_tokens_decoder": DECODERS[decoder]}), "utf-8")
    return path


def loaded(path: Path) -> Any:
    return AutoTokenizer.from_pretrained(path, local_files_only=True)


def combinations() -> Iterator[Any]:
    for (name, model_type), eos, special, decoder in itertools.product(CLASSES, STRINGS, MAPS, DECODERS):
        yield {"tokenizer_class": name, "model_type": model_type, "eos": eos, "special": special, "decoder": decoder}


@pytest.mark.parametrize("tokenizer_class", sorted({name for name, _ in CLASSES}))
def test_the_id_is_that_of_the_loaded_tokenizer(tokenizer_class: str, tmp_path: Path) -> None:
    wrong: list[Any] = []
    told = 0
    rows = [row for row in combinations() if row["tokenizer_class"] == tokenizer_class]
    for i, row in enumerate(rows):
        path = folder(tmp_path / str(i), **row)
        model, tokenizer = model_of(path), loaded(path)
        answer, string = tokenizer_id(model), role(model, "eos_token")
        if not isinstance(string, Known) or string.value != tokenizer.eos_token:
            wrong.append((row, "string", tokenizer.eos_token, string))
        if isinstance(answer, Unknown):
            continue
        told += 1
        if (answer.value if isinstance(answer, Known) else None) != tokenizer.eos_token_id:
            wrong.append((row, "id", tokenizer.eos_token_id, answer))
    assert wrong == []
    assert told >= len(rows) / 2


@pytest.mark.parametrize("decoder", ["declared", "absent"])
@pytest.mark.parametrize("eos", [untyped("<|im_end|>"), ["<|im_end|>"], 7], ids=["untyped object", "list", "number"])
@pytest.mark.parametrize("tokenizer_class", ["Qwen2Tokenizer", "PreTrainedTokenizerFast", "TokenizersBackend", "LlamaTokenizer"])
def test_a_role_that_is_no_text_keeps_the_tokenizer_from_loading(
    tokenizer_class: str, eos: Any, decoder: str, tmp_path: Path
) -> None:
    path = folder(tmp_path, tokenizer_class=tokenizer_class, model_type="qwen3", eos=eos, decoder=decoder)
    with pytest.raises(TypeError, match="has to be either str or AddedToken"):
        loaded(path)
    assert shown(tokenizer_fields(model_of(path), transformers.__version__)["loads.tokenizer"]) is False


# An EOS that is null or empty, and classes that transformers picks by other ways than their name; "told" where we may not say Unknown.
ODD: dict[str, tuple[str, dict[str, Any]]] = {
    "null": ("told", {"tokenizer_class": "Qwen2Tokenizer", "model_type": "qwen3", "eos": "<null>"}),
    "null in the map": (
        "told",
        {
            "tokenizer_class": "Qwen2Tokenizer",
            "model_type": "qwen3",
            "eos": "<|im_end|>",
            "special": {"eos_token": "<null>"},
            "decoder": "absent",
        },
    ),
    "null in the map, plain class": (
        "told",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_type": "qwen3",
            "eos": "<|im_end|>",
            "special": {"eos_token": "<null>"},
            "decoder": "absent",
        },
    ),
    "empty": ("told", {"tokenizer_class": "Qwen2Tokenizer", "model_type": "qwen3", "eos": ""}),
    "empty, plain class": ("told", {"tokenizer_class": "PreTrainedTokenizerFast", "model_type": "qwen3", "eos": ""}),
    "no class": ("told", {"tokenizer_class": "<absent>", "model_type": "qwen3", "eos": "<absent>"}),
    "class of another model type": (
        "told",
        {"tokenizer_class": "Qwen2Tokenizer", "model_type": "glm4", "eos": "<|im_end|>", "decoder": "backwards"},
    ),
    "default of a class that is not taken": (
        "told",
        {"tokenizer_class": "Qwen2Tokenizer", "model_type": "glm4", "eos": "<absent>"},
    ),
    "default of a class replaced by the backend": (
        "",
        {"tokenizer_class": "LlamaTokenizer", "model_type": "llama", "eos": "<absent>", "decoder": "lacking"},
    ),
    "default that is in no file": (
        "",
        {"tokenizer_class": "CohereTokenizerFast", "model_type": "<absent>", "eos": "<absent>"},
    ),
    "unknown token of a class with a vocabulary of its own": (
        "",
        {"tokenizer_class": "GemmaTokenizer", "model_type": "<absent>", "eos": "<|nope|>"},
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_eos(name: str, tmp_path: Path) -> None:
    told, row = ODD[name]
    path = folder(tmp_path, **row)
    answer = tokenizer_id(model_of(path))
    if isinstance(answer, Unknown):
        assert not told, answer.reason
        return
    assert (answer.value if isinstance(answer, Known) else None) == loaded(path).eos_token_id


@pytest.mark.parametrize("eos", [untyped("<|im_end|>"), ["x"], 7], ids=["untyped object", "list", "number"])
def test_a_role_that_the_map_overrides_may_be_no_text(eos: Any, tmp_path: Path) -> None:
    special = {"eos_token": "<|im_end|>"}
    path = folder(tmp_path, tokenizer_class="Qwen2Tokenizer", model_type="qwen3", eos=eos, special=special, decoder="absent")
    assert loaded(path).eos_token == "<|im_end|>"
    assert shown(tokenizer_fields(model_of(path), transformers.__version__)["loads.tokenizer"]) is True


@pytest.mark.parametrize("tokenizer_class", ["PreTrainedTokenizerFast", "TokenizersBackend"])
def test_a_plain_class_without_a_stated_eos_has_none(tokenizer_class: str, tmp_path: Path) -> None:
    path = folder(tmp_path, tokenizer_class=tokenizer_class, model_type="qwen3", eos="<absent>")
    assert loaded(path).eos_token_id is None
    assert isinstance(tokenizer_id(model_of(path)), Missing)


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_class_brings_its_own_eos(decoder: str, tmp_path: Path) -> None:
    path = folder(tmp_path, tokenizer_class="Qwen2Tokenizer", model_type="qwen3", eos="<absent>", decoder=decoder)
    answer = tokenizer_id(model_of(path))
    assert isinstance(answer, Known)
    assert answer.value == loaded(path).eos_token_id
    assert answer.places[0].pointer == "/tokenizer_class"
