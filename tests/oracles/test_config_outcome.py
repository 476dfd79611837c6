"""What AutoConfig of the installed transformers does with config.json, against our prediction, and what it did in the records."""

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

from bot.analyze.model.folder import Model
from bot.analyze.rules.config_outcome import config_error, config_loads
from bot.analyze.tables import config_eos
from bot.answer import Known, Unknown
from tests.models import model
from tests.oracles.test_config_fields import configs

pytestmark = pytest.mark.filterwarnings("ignore")  # classes warn of what they make of odd files
NEWEST = transformers.__version__
# Texts that are no configuration at all, or lack what says whose it is.
TEXTS = (
    *("", " ", "{", "[]", "[{}]", '"x"', '""', "null", "1", "true", "{}", '\ufeff{"model_type": "qwen2"}'),
    *('{"model_type": null}', '{"model_type": []}', '{"model_type": {}}', '{"model_type": 1}', '{"model_type": ""}'),
    *('{"model_type": "no_such_type"}', '{"model_type": "qwen2", "number": NaN}', '{"model_type": "qwen2", "auto_map": null}'),
    *('{"model_type": "qwen2", "auto_map": []}', '{"model_type": "qwen2", "auto_map": "AutoConfig"}', '{"auto_map": 3}'),
    *('{"model_type": "qwen2", "auto_map": {"AutoConfig": null}}', '{"model_type": "qwen2", "auto_map": {"AutoConfig": "a.B"}}'),
    *('{"model_type": "zzz", "auto_map": {"AutoConfig": "a.B"}}', '{"auto_map": {"AutoConfig": "a.B"}}'),
    *('{"model_type": "mistral", "layer_types": ["full_attention"], "num_hidden_layers": 1}',),
    *('{"model_type": "qwen2", "quantization_config": null}', '{"model_type": "qwen2", "quantization_config": "x"}'),
    *('{"model_type": "qwen2", "id2label": {"a": "b"}}', '{"model_type": "llava", "text_config": {"model_type": "zzz"}}'),
    *(
        '{"model_type": "qwen2", "rope_scaling": {"rope_type": "yarn"}}',
        '{"model_type": "bert", "rope_scaling": {"type": "yarn"}}',
    ),
)
SMALL = {"hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 1, "vocab_size": 272}
ROPES = st.sampled_from(
    [
        {"rope_type": "default"},
        {"rope_type": "linear", "factor": 2.0},
        {"rope_type": "linear"},
        {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096},
        {"rope_type": "llama3", "factor": 8.0},
        {"type": "mrope", "mrope_section": [16, 24, 24]},
        {"rope_type": "longrope", "short_factor": [1.0], "long_factor": [1.0]},
    ]
)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    transformers.logging.set_verbosity(logging.CRITICAL)


def real(folder: Path, text: str) -> str | None:
    """The name of the exception that the installed version raises, None where it loads."""
    (folder / "config.json").write_text(text, "utf-8")
    try:
        AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # noqa: BLE001 - its name is what is compared
        return type(error).__name__
    return None


def folder(text: str) -> Model:
    return model({"config.json": text})


@pytest.mark.parametrize("text", TEXTS)
def test_odd_files(text: str, tmp_path: Path) -> None:
    answer = config_error(folder(text), NEWEST)
    if isinstance(answer, Unknown):
        assert "bert" in text  # a class without rope settings: what it makes of some is not told
        return
    assert answer == Known(real(tmp_path, text), answer.places)


def agrees(values: dict[str, Any], tmp_path: Path) -> bool:
    """Whether the outcome is known; it has to be the real one then."""
    text = json.dumps(values)
    answer = config_error(folder(text), NEWEST)
    if not isinstance(answer, Known):
        return False
    happened = real(tmp_path, text)
    assert (answer.value is None) == (happened is None), (values, happened)
    assert not answer.value or answer.value == happened, values
    return True


CHANCE = settings(
    derandomize=True,
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@CHANCE
@given(values=configs())
def test_a_file_that_we_say_is_refused_is_refused_with_that_exception(values: dict[str, Any], tmp_path: Path) -> None:
    text = json.dumps({key: value for key, value in values.items() if key not in ("dtype", "torch_dtype")})
    answer = config_error(folder(text), NEWEST)
    if isinstance(answer, Known) and answer.value is not None:
        happened = real(tmp_path, text)
        assert happened is not None
        assert answer.value in ("", happened)


@CHANCE
@given(
    model_type=st.sampled_from(sorted(config_eos())),
    keys=st.sets(st.sampled_from(sorted(SMALL))),
    rope=st.one_of(st.none(), ROPES),
    nested=st.booleans(),
)
def test_small_models_of_every_type(
    model_type: str, keys: set[str], rope: dict[str, Any] | None, *, nested: bool, tmp_path: Path
) -> None:
    held: dict[str, Any] = {key: SMALL[key] for key in sorted(keys)} | ({"rope_scaling": rope} if rope else {})
    agrees({"model_type": model_type, **({"text_config": held} if nested else held)}, tmp_path)


@pytest.mark.parametrize(
    "model_type", ["qwen2", "qwen3", "llama", "mistral", "gemma2", "gemma3", "gpt_oss", "glm4_moe", "kimi_k25", "deepseek_v3"]
)
def test_what_popular_models_do_is_known(model_type: str, tmp_path: Path) -> None:
    assert agrees({"model_type": model_type, **SMALL}, tmp_path)
    assert agrees({"model_type": model_type, "text_config": SMALL}, tmp_path)
    assert agrees({"model_type": model_type, **SMALL, "vocab_size": "272"}, tmp_path)


def test_a_folder_without_config_json() -> None:
    assert config_loads(model({}), NEWEST) == Known(None, (model({}).place("config.json"),))
    assert isinstance(config_error(model({}), NEWEST), Known)


def test_trust_leaves_a_config_of_the_repository_to_its_code() -> None:
    text = '{"model_type": "zzz", "auto_map": {"AutoConfig": "configuration.C"}}'
    known = folder(text)
    assert config_loads(known, NEWEST) == Known(value=False, places=(known.place("config.json", "/auto_map"),))
    with_code = model({"config.json": text, "configuration.py": "class C: ..."})
    assert config_loads(with_code, NEWEST, trusted=True) == Known(value=True, places=(known.place("config.json", "/auto_map"),))
    assert config_error(known, NEWEST, trusted=True) == Known("OSError", (known.place("config.json", "/auto_map"),))


@pytest.mark.parametrize(
    ("text", "version", "error"),
    [
        ("[]", "5.15.1", "TypeError"),
        ("[]", "5.19.0", "ValueError"),
        ('{"model_type": "qwen3"}', "4.46.3", "ValueError"),
        ('{"model_type": "qwen2", "quantization_config": null}', "4.57.6", "AttributeError"),
        ('{"model_type": "qwen2", "quantization_config": null}', "5.0.0", None),
        ('{"model_type": "llama", "vocab_size": "100"}', "5.3.0", None),
        ('{"model_type": "llama", "vocab_size": "100"}', "5.4.0", "StrictDataclassFieldValidationError"),
        ('{"model_type": "llama", "num_attention_heads": 5, "hidden_size": 32}', "5.12.1", "StrictDataclassClassValidationError"),
        ('{"model_type": "llama", "architectures": "X"}', "5.15.1", "StrictDataclassFieldValidationError"),
        ('{"model_type": "llama", "architectures": "X"}', "5.19.0", None),
        ('{"model_type": "qwen2", "auto_map": {"AutoConfig": null}}', "4.46.3", None),
        ('{"model_type": "qwen2", "auto_map": {"AutoConfig": null}}', "4.57.6", "TypeError"),
        ('{"model_type": "llava", "text_config": {"model_type": "zzz"}}', "5.19.0", "KeyError"),
        ('{"model_type": "llava", "text_config": {"model_type": "zzz"}}', "5.21.1", "ValueError"),
        ('{"model_type": "qwen2", "rope_parameters": {"rope_type": "yarn"}}', "4.57.6", None),
        ('{"model_type": "qwen2", "rope_parameters": {"rope_type": "yarn"}}', "5.0.0", "KeyError"),
        ('{"model_type": "gemma4", "text_config": {"num_hidden_layers": 1}}', "5.5.0", "KeyError"),
        ('{"model_type": "gemma4", "text_config": {"num_hidden_layers": 1}}', "5.6.2", None),
    ],
)
def test_what_changed_between_versions(text: str, version: str, error: str | None) -> None:
    """Each row was run with its version."""
    answer = config_error(folder(text), version)
    assert isinstance(answer, Known)
    assert answer.value == error
