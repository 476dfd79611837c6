"""Which config.json the installed transformers refuses, against the table of fields and our reading of it."""

import json
import logging
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest
import transformers
from huggingface_hub.errors import StrictDataclassFieldValidationError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import CONFIG_MAPPING, AutoConfig

from bot.analyze.rules.config_fields import accepts, looked_up, refused, unread
from bot.analyze.tables import FIELDS, field_tables
from tools import tables_config

TABLES = field_tables()
VALUES: tuple[Any, ...] = (None, True, False, 0, 1, 4, 30, -1, 10**30, 0.0, 1.5, 2.0, float("nan"), "", "x", "gelu", "absolute")
LISTS: tuple[Any, ...] = ([], [1], [1, 2], [1.5], ["x"], [None], [True], [[1]], ["full_attention"], ["sliding_attention", "nope"])
OBJECTS: tuple[Any, ...] = ({}, {"x": 1}, {"x": "y"}, {"0": "y"}, {"x": None})
ANY = st.sampled_from([*VALUES, *LISTS, *OBJECTS])
POPULAR = (
    "llama",
    "qwen3",
    "mistral",
    "gemma3",
    "gemma3_text",
    "qwen2_vl",
    "qwen3_vl",
    "llava",
    "bert",
    "gpt2",
    "phi3",
    "deepseek_v3",
)
TYPES = st.one_of(st.sampled_from(POPULAR), st.sampled_from(sorted(TABLES.classes)))


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    transformers.logging.set_verbosity(logging.CRITICAL)


def error(folder: Path, config: dict[str, Any]) -> Exception | None:
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    try:
        AutoConfig.from_pretrained(folder, local_files_only=True)
    except Exception as raised:  # noqa: BLE001 - whatever is raised, the file is refused
        return raised
    return None


def fields(name: str) -> dict[str, Any]:
    row = json.loads(bytes(TABLES.rows[name]))
    return {TABLES.names[i]: TABLES.kinds[int(kind)] for kind, group in row["fields"].items() for i in group}


@st.composite
def configs(draw: st.DrawFn) -> dict[str, Any]:
    """A config.json with a few odd fields, at the top level or in a nested configuration."""
    model_type = draw(TYPES)
    config: dict[str, Any] = {"model_type": model_type}
    name = TABLES.classes[model_type]
    nested = json.loads(bytes(TABLES.rows[name])).get("nested", {})
    inner = {key: TABLES.classes.get(owner[5:], "") if owner.startswith("auto:") else owner for key, owner in nested.items()}
    where = draw(st.sampled_from([("", name), *((key, owner) for key, owner in inner.items() if owner in TABLES.rows)]))
    below = config
    if where[0]:
        below = config[where[0]] = {}
        if nested[where[0]].startswith("auto:") and draw(st.booleans()):
            below["model_type"] = nested[where[0]][5:]
    names = sorted(
        {
            *fields(where[1]),
            "layer_types",
            "num_hidden_layers",
            "hidden_size",
            "num_attention_heads",
            "dtype",
            "unknown",
            "quantization_config",
            "id2label",
            "head_dim",
        }
    )
    for key in draw(st.lists(st.sampled_from(names), min_size=1, max_size=3)):
        below[key] = draw(ANY)
    return config


def test_the_committed_table_is_what_the_installed_version_says() -> None:
    assert tables_config.path() == FIELDS
    assert tables_config.path().read_text("utf-8") == tables_config.text()


@settings(
    derandomize=True,
    max_examples=600,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(config=configs())
def test_what_we_call_refused_is_refused(config: dict[str, Any], tmp_path: Path) -> None:
    said = list(refused(config))
    raised = error(tmp_path, config)
    assert raised is not None or said == []
    known = {*fields(TABLES.classes[config["model_type"]]), "model_type"}
    wrong_type = isinstance(raised, StrictDataclassFieldValidationError) and isinstance(raised.__cause__, TypeError)
    if wrong_type and set(config) <= known:  # some classes hand further keys on to the configurations that they build
        assert said != [], raised


@settings(
    derandomize=True,
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(model_type=TYPES, data=st.data())
def test_the_default_of_a_class_is_not_refused(model_type: str, data: st.DataObject) -> None:
    """A saved default config is what people start from; none of its fields may be blamed where the class takes it back."""
    cls = CONFIG_MAPPING[model_type]
    try:
        config = json.loads(json.dumps(cls().to_dict()))
        cls.from_dict(dict(config))
    except Exception:  # noqa: BLE001 - some classes do not take back what they saved
        return
    config.pop(data.draw(st.sampled_from(sorted(config))))
    config["model_type"] = model_type
    assert list(refused(config)) == []


@pytest.mark.parametrize("kind", TABLES.kinds, ids=json.dumps)
def test_no_kind_of_the_table_is_one_that_we_take_for_anything(kind: Any) -> None:
    assert not all(accepts(kind, value) for value in (*VALUES, *LISTS, *OBJECTS))


@pytest.mark.parametrize("key", ["quantization_config", "id2label", "head_dim"])
@pytest.mark.parametrize("value", ["8", [], ["x"]])
def test_what_no_class_takes_is_refused_by_all_of_which_we_say_so(key: str, value: Any, tmp_path: Path) -> None:
    said = [t for t in sorted(TABLES.classes) if any(fault.path == (key,) for fault in refused({"model_type": t, key: value}))]
    assert said
    assert [t for t in said if error(tmp_path, {"model_type": t, key: value}) is None] == []


def test_a_nested_model_type_that_nobody_has_is_refused_where_we_say_that_it_is_looked_up(tmp_path: Path) -> None:
    nested = {t: json.loads(bytes(TABLES.rows[TABLES.classes[t]])).get("nested", {}) for t in sorted(TABLES.classes)}
    configs = [{"model_type": t, key: {"model_type": "nobodys"}} for t, keys in nested.items() for key in keys]
    said = [config for config in configs if list(looked_up(config))]
    assert said
    assert [config for config in said if "nobodys" not in str(error(tmp_path, config))] == []


@pytest.mark.parametrize(
    "key", ["text_config", "llm_config", "language_config", "thinker_config", "vision_config", "audio_config"]
)
def test_a_nested_configuration_that_we_call_unread_does_no_harm(key: str, tmp_path: Path) -> None:
    said = [t for t in sorted(TABLES.classes) if unread({"model_type": t}, (key,))]
    assert said
    good = {"model_type": "qwen2"}
    wrong = good | {"rope_scaling": {"rope_type": "linear"}}
    harmed = [
        t for t in said if error(tmp_path, {"model_type": t, key: wrong}) and not error(tmp_path, {"model_type": t, key: good})
    ]
    assert harmed == []
