"""What we say a loaded tokenizer is, against transformers itself: on made-up folders, and on the records of real loads."""

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from bot.analyze.describe_tokens import loads
from bot.analyze.rules.loaded import V4, V5, Loaded, Refused, loaded
from bot.answer import Known
from tests.conftest import SHARED
from tests.models import model, model_of
from tests.oracles.records import folder_of

TEXTS = ("<|a|>", "<|b|>", "<|c|>", "<s>", "</s>", "ab", "<unk>")
LETTERS = {letter: i for i, letter in enumerate("abcdefgh")}
FLAGS = ("special", "single_word", "lstrip", "rstrip", "normalized")

texts = st.sampled_from(TEXTS)
flags = st.fixed_dictionaries({name: st.booleans() for name in FLAGS})


def entry(content: str, values: dict[str, bool]) -> dict[str, Any]:
    return {"content": content, **values}


def typed(content: str, values: dict[str, bool]) -> dict[str, Any]:
    return {"__type": "AddedToken", **entry(content, values)}


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, str]:
    """A config.json, or none."""
    if draw(st.booleans()):
        return {}
    kinds = st.sampled_from(["qwen2", "qwen3", "llama", "gpt2", "phi3", "no_such_type"])
    rope = {"rope_scaling": {"type": "yarn"}, "rope_theta": 1.0} if draw(st.integers(0, 9)) == 0 else {}
    return {"config.json": json.dumps({"model_type": draw(kinds), **rope})}


@st.composite
def spoilt(draw: st.DrawFn) -> dict[str, str]:
    """The same, now and then with a file that is broken or gone."""
    files = draw(folders())
    if draw(st.integers(0, 9)) == 0:
        files[draw(st.sampled_from(sorted(files)))] = draw(st.sampled_from(["{", "[]", "null"]))
    if draw(st.integers(0, 9)) == 0:
        del files["tokenizer.json"]
    return files


@st.composite
def folders(draw: st.DrawFn) -> dict[str, str]:
    """The files of a small tokenizer, with every table that may state tokens."""
    listed = draw(st.lists(st.tuples(texts, flags, st.integers(0, 14)), max_size=5))
    vocab = {**LETTERS, **({"ab": len(LETTERS)} if draw(st.booleans()) else {})}
    added = [{"id": number, **entry(content, values)} for content, values, number in listed]
    tokenizer: dict[str, Any] = {"version": "1.0", "added_tokens": added, "model": {"type": "BPE", "vocab": vocab, "merges": []}}
    if draw(st.booleans()):
        padding = {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0}
        tokenizer["padding"] = {**padding, "pad_token": draw(texts)}
    config: dict[str, Any] = {}
    name = draw(
        st.sampled_from(
            ["", "Qwen2Tokenizer", "LlamaTokenizerFast", "PreTrainedTokenizerFast", "TokenizersBackend", "GPT2Tokenizer"]
        )
    )
    if name:
        config["tokenizer_class"] = name
    if draw(st.integers(0, 5)) == 0:
        config["auto_map"] = {"AutoTokenizer": ["own.OwnTokenizer", None]}
    as_object = st.builds(typed, texts, flags)
    for role in ("bos_token", "eos_token", "pad_token", "unk_token", "image_token"):
        # None for a role that a class hands on to its vocabulary is another matter.
        if draw(st.booleans()):
            config[role] = draw(
                st.one_of(texts, as_object, st.just([])) if draw(st.integers(0, 9)) == 0 else st.one_of(texts, as_object)
            )
    if draw(st.booleans()):
        decoder = draw(st.dictionaries(st.integers(0, 14), st.builds(entry, texts, flags), max_size=4))
        config["added_tokens_decoder"] = {str(number): value for number, value in decoder.items()}
    lists = st.lists(st.one_of(texts, as_object), max_size=3)
    if draw(st.booleans()):
        config["extra_special_tokens"] = draw(
            st.one_of(lists, st.dictionaries(st.sampled_from(["x_token", "y"]), texts, max_size=2))
        )
    if draw(st.booleans()):
        config["additional_special_tokens"] = draw(lists)
    files = {"tokenizer.json": json.dumps(tokenizer), "tokenizer_config.json": json.dumps(config)}
    if draw(st.booleans()):
        table: dict[str, Any] = {"eos_token": draw(st.one_of(texts, st.builds(entry, texts, flags)))}
        if draw(st.booleans()):
            table["additional_special_tokens"] = draw(st.lists(texts, max_size=2))
        files["special_tokens_map.json"] = json.dumps(table)
    if draw(st.booleans()):
        files["added_tokens.json"] = json.dumps(draw(st.dictionaries(texts, st.integers(0, 14), max_size=3)))
    return {**files, **draw(configurations())}


def load_really(folder: str) -> tuple[Any, str]:
    """The real tokenizer, or None and the type of what it raised."""
    try:
        return AutoTokenizer.from_pretrained(folder, trust_remote_code=False), ""
    except Exception as error:  # noqa: BLE001 - whatever it raises, it refuses
        return None, type(error).__name__


@settings(derandomize=True, max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(spoilt())
def test_added_and_special_tokens_are_those_of_transformers(files: dict[str, str]) -> None:
    ours = loaded(model(files), V5)
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_text(content, "utf-8")
        real, raised = load_really(folder)
    if not isinstance(ours, Known):
        return
    if real is None:
        assert isinstance(ours.value, Refused), raised
        assert ours.value.error in (raised, ""), ours.value.reason
        return
    assert isinstance(ours.value, Loaded), ours.value
    assert ours.value.cls == type(real).__name__
    assert {token.id: (token.text, token.special) for token in ours.value.added} == {
        number: (token.content, token.special) for number, token in real.added_tokens_decoder.items()
    }
    assert sorted(ours.value.special) == sorted(real.all_special_ids)
    assert ours.value.size == len(real)


@pytest.mark.needs("shared")
@pytest.mark.parametrize("version", [V4, V5])
def test_what_is_said_to_load_does_and_what_is_not_does_not(version: str) -> None:
    wrong: list[str] = []
    counts: Counter[bool | None] = Counter()
    for path in sorted((SHARED / "golden" / f"transformers-{version}").glob("*.json")):
        theirs: bool | None = json.loads(path.read_text("utf-8"))["loads"].get("tokenizer")
        ours = next(load.loads for load in loads(model_of(folder_of(path.stem))) if load.version == version)
        counts[ours] += theirs is True
        if ours is not None and theirs is not None and ours != theirs:
            wrong.append(path.stem)
    assert wrong == []
    assert counts[True] >= 0.95 * counts.total(), counts
