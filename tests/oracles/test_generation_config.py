"""Which generation_config.json the installed transformers refuses to load, against our rules."""

import json
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import GenerationConfig

from bot.analyze.rules.generation_config import refusals, unsavable

TOKENS = st.one_of(st.integers(-2, 4), st.lists(st.integers(0, 3), max_size=3), st.just(None), st.just("2"), st.just([[1]]))
NUMBERS = st.one_of(st.integers(-2, 4), st.sampled_from([0.0, 0.5, 1.0, 2.5, float("nan"), True, False, None, "1", [1], {}]))
WORDS = st.sampled_from(["never", "static", "dynamic", "paged", "dynamic_full", "nope", "", None, True, 0, 2, [], {"a": 1}])
WATERMARKS = st.one_of(
    WORDS,
    st.fixed_dictionaries(
        {},
        optional={
            "greenlist_ratio": NUMBERS,
            "seeding_scheme": st.sampled_from(["selfhash", "lefthash", "other", None, []]),
            "context_width": NUMBERS,
            "ngram_len": st.just(5),
        },
    ),
)
FILES = st.fixed_dictionaries(
    {},
    optional={
        "early_stopping": WORDS,
        "max_new_tokens": NUMBERS,
        "pad_token_id": NUMBERS,
        "assistant_ensemble_weight": NUMBERS,
        "cache_implementation": WORDS,
        "compile_config": st.sampled_from([None, {}, {"mode": "default"}, 1]),
        "watermarking_config": WATERMARKS,
        "do_sample": st.sampled_from([True, False, None, 0, 1, "yes"]),
        "num_beams": NUMBERS,
        "num_return_sequences": NUMBERS,
        "suppress_tokens": TOKENS,
        "forced_bos_token_id": TOKENS,
        "forced_eos_token_id": TOKENS,
        "_from_model_config": st.booleans(),
        "streamer": st.sampled_from([None, 1]),
        "synced_gpus": st.booleans(),
        "temperature": NUMBERS,
        "top_k": NUMBERS,
        "min_p": NUMBERS,
        "use_cache": st.booleans(),
        "eos_token_id": TOKENS,
        "anything_else": NUMBERS,
    },
)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    transformers.logging.set_verbosity_error()


def loads(folder: Path, content: Any) -> bool:
    (folder / "generation_config.json").write_text(json.dumps(content), "utf-8")
    try:
        GenerationConfig.from_pretrained(folder, local_files_only=True)
    except (ValueError, TypeError, AttributeError):
        return False
    return True


@settings(derandomize=True, max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=FILES)
def test_a_file_is_refused_exactly_where_the_class_refuses_it(values: dict[str, Any], tmp_path: Path) -> None:
    assert (list(refusals(values)) == []) == loads(tmp_path, values)


@settings(derandomize=True, max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=FILES, key=st.sampled_from(["early_stopping", "max_new_tokens", "watermarking_config", "num_return_sequences"]))
def test_one_key_alone(values: dict[str, Any], key: str, tmp_path: Path) -> None:
    few = {name: values[name] for name in (key, "do_sample", "num_beams") if name in values}
    assert (list(refusals(few)) == []) == loads(tmp_path, few)


@pytest.mark.parametrize("content", [[], [1], "x", 1, None, True])
def test_what_is_no_object_is_refused(content: Any, tmp_path: Path) -> None:
    assert [refusal.key for refusal in refusals(content)] == [""]
    assert not loads(tmp_path, content)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(values=FILES)
def test_what_cannot_be_saved_is_what_the_class_calls_a_minor_issue(values: dict[str, Any]) -> None:
    """5.24.0 calls the same settings invalid when it is asked to be strict, apart from how it takes a missing or odd `do_sample` and `num_beams`."""
    values = {**values, "do_sample": values.get("do_sample") is True, "num_beams": 1}
    if list(refusals(values)):
        return
    try:
        GenerationConfig(**values).validate(strict=True)
        accepted = True
    except ValueError:
        accepted = False
    assert (unsavable(values) == ()) == accepted
