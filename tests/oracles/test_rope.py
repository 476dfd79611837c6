"""Which rope settings the installed transformers refuses for lack of a field, against our rule."""

import json
import logging
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoConfig

from bot.analyze.model.rope import lacking, ropes
from tests.models import model

FIELDS: dict[str, Any] = {
    "factor": 8.0,
    "original_max_position_embeddings": 1024,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "short_factor": [1.0] * 32,
    "long_factor": [2.0] * 32,
    "rope_theta": 10000.0,
    "attention_factor": 1.0,
}
KINDS = st.sampled_from(["default", "linear", "dynamic", "yarn", "longrope", "llama3", "mrope", "nope"])
TYPES = ("llama", "qwen2", "qwen3", "mistral", "gemma2", "olmo2", "cohere", "granite", "stablelm", "glm4", "mixtral", "qwen3_moe")


def rope_of(kind: str, key: str, fields: set[str]) -> dict[str, Any]:
    return {key: kind, **{name: FIELDS[name] for name in sorted(fields)}}


SETTINGS = st.builds(
    rope_of,
    KINDS,
    st.sampled_from(["rope_type", "type"]),
    st.sets(st.sampled_from(sorted(FIELDS))),
)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    transformers.logging.set_verbosity(logging.CRITICAL)


def refused(folder: Path, config: dict[str, Any]) -> bool:
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    try:
        AutoConfig.from_pretrained(folder, local_files_only=True)
    except KeyError as error:
        return "Missing required keys" in str(error)
    return False


def told(config: dict[str, Any]) -> bool:
    return any(lacking(rope) for rope in ropes(model({"config.json": json.dumps(config)})))


@settings(derandomize=True, max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(model_type=st.sampled_from(TYPES), key=st.sampled_from(["rope_scaling", "rope_parameters"]), rope=SETTINGS)
def test_missing_fields_are_those_that_the_class_misses(model_type: str, key: str, rope: dict[str, Any], tmp_path: Path) -> None:
    config = {"model_type": model_type, "hidden_size": 64, "num_attention_heads": 1, "head_dim": 64, key: rope}
    assert told(config) == refused(tmp_path, config)


@settings(derandomize=True, max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scaling=SETTINGS, parameters=SETTINGS)
def test_rope_scaling_wins_over_rope_parameters(scaling: dict[str, Any], parameters: dict[str, Any], tmp_path: Path) -> None:
    config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 1}
    config |= {"rope_scaling": scaling, "rope_parameters": parameters}
    assert told(config) == refused(tmp_path, config)


@settings(derandomize=True, max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(full=SETTINGS, sliding=SETTINGS, outer=st.sampled_from(["", "gemma3"]))
def test_settings_for_each_type_of_layer(full: dict[str, Any], sliding: dict[str, Any], outer: str, tmp_path: Path) -> None:
    for rope in (full, sliding):
        rope["rope_type"] = rope.pop("type", rope.get("rope_type"))
    text: dict[str, Any] = {"model_type": "gemma3_text", "head_dim": 64, "num_hidden_layers": 6}
    text["rope_parameters"] = {"full_attention": full, "sliding_attention": sliding}
    config = {"model_type": outer, "text_config": text} if outer else text
    assert told(config) == refused(tmp_path, config)
