"""What generate() of the installed transformers stops on, against our prediction."""

import itertools
import json
from pathlib import Path
from typing import Any, cast

import huggingface_hub.constants
import pytest
import transformers
from transformers import AutoConfig, GenerationConfig

from bot.analyze.engines import transformers as engine
from bot.analyze.rules.from_transformers import generation_config_refused
from bot.answer import Known
from tests.models import model_of

ABSENT = "<absent>"
# Texts of generation_config.json.
GENERATION: dict[str, str] = {
    "absent": ABSENT,
    "nothing": "{}",
    "null": '{"eos_token_id": null}',
    "another key": '{"do_sample": true, "temperature": 0.5}',
    "int": '{"eos_token_id": 7}',
    "zero": '{"eos_token_id": 0}',
    "list": '{"eos_token_id": [9, 7, 7]}',
    "float": '{"eos_token_id": 7.0}',
    "floats": '{"eos_token_id": [7.0, 8]}',
    "text": '{"eos_token_id": "7"}',
    "texts": '{"eos_token_id": ["7"]}',
    "an object": '{"eos_token_id": {"a": 7}}',
    "negative": '{"eos_token_id": -1}',
    "huge": '{"eos_token_id": 99999999}',
    "twice": '{"eos_token_id": 5, "eos_token_id": 7}',
    "not a number elsewhere": '{"eos_token_id": 7, "temperature": NaN}',
    "cut": '{"eos_token_id": 7',
    "empty": "",
    "blank": " \n",
    "byte order mark": '\ufeff{"eos_token_id": 7}',
    "comment": '{"eos_token_id": 7} // x',
    "no new tokens": '{"eos_token_id": 7, "max_new_tokens": 0}',
    "negative new tokens": '{"eos_token_id": 7, "max_new_tokens": -3}',
    "several greedy": '{"eos_token_id": 7, "num_return_sequences": 3}',
    "several sampled": '{"eos_token_id": 7, "num_return_sequences": 3, "do_sample": true}',
    "several by beams": '{"eos_token_id": 7, "num_return_sequences": 3, "num_beams": 4}',
    "early stopping": '{"eos_token_id": 7, "early_stopping": "x"}',
    "early stopping never": '{"eos_token_id": 7, "early_stopping": "never"}',
    "an argument of generate": '{"eos_token_id": 7, "streamer": 1}',
    "greedy with temperature": '{"eos_token_id": 7, "temperature": 0.7, "do_sample": false}',
    "unknown key": '{"eos_token_id": 7, "foo": [1]}',
    "a list instead": "[]",
    "a string instead": '"x"',
    "null instead": "null",
    "empty list": '{"eos_token_id": []}',
    "unknown cache": '{"eos_token_id": 7, "cache_implementation": "nope"}',
    "pad a list": '{"eos_token_id": 7, "pad_token_id": [1]}',
    "new tokens in words": '{"eos_token_id": 7, "max_new_tokens": "x"}',
    "no new tokens as float": '{"eos_token_id": 7, "max_new_tokens": 0.0}',
    "early stopping zero": '{"eos_token_id": 7, "early_stopping": 0}',
    "several sampled by one": '{"eos_token_id": 7, "num_return_sequences": 2, "do_sample": 1}',
}
QWEN = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"}
LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}  # its class has an EOS of its own
CONFIG: dict[str, str] = {
    "absent": ABSENT,
    "no EOS": json.dumps(QWEN),
    "null": json.dumps({**QWEN, "eos_token_id": None}),
    "int": json.dumps({**QWEN, "eos_token_id": 3}),
    "list": json.dumps({**QWEN, "eos_token_id": [4, 3]}),
    "class default": json.dumps(LLAMA),
    "null over a class default": json.dumps({**LLAMA, "eos_token_id": None}),
    "over a class default": json.dumps({**LLAMA, "eos_token_id": 3}),
    "cut": json.dumps({**QWEN, "eos_token_id": 3})[:-1],
    "a list": "[]",
    "no model type": '{"eos_token_id": 3}',
    "unknown model type": '{"model_type": "no_such_type", "eos_token_id": 3}',
    "no new tokens": json.dumps({**QWEN, "eos_token_id": 3, "max_new_tokens": 0}),
    "several greedy": json.dumps({**QWEN, "eos_token_id": 3, "num_return_sequences": 3}),
    "nested": json.dumps({"model_type": "gemma3", "text_config": {"eos_token_id": 5}}),
    "nested under null": json.dumps({"model_type": "gemma3", "eos_token_id": None, "text_config": {"eos_token_id": 5}}),
    "nested of another type": json.dumps({"model_type": "llava", "text_config": {"model_type": "llama", "eos_token_id": 5}}),
    "nested beside": json.dumps({"model_type": "gemma3", "eos_token_id": [1, 106], "text_config": {"eos_token_id": 5}}),
}


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


def write(folder: Path, generation: str, config: str) -> Path:
    folder.mkdir()
    for name, text in (("generation_config.json", generation), ("config.json", config)):
        if text != ABSENT:
            (folder / name).write_text(text, "utf-8")
    return folder


def stops(folder: Path) -> list[int] | None:
    """The ids, got as the model loader gets them (generation/utils.py:552-580 of 5.24.0); None when there are none or it raises.

    The last step is what _prepare_special_tokens does without torch: it makes integers of numbers and raises for anything else.
    """
    try:
        loaded: Any = GenerationConfig.from_pretrained(folder, local_files_only=True)
    except OSError:
        try:
            AutoConfig.from_pretrained(folder, local_files_only=True)
            loaded = cast("Any", GenerationConfig.from_pretrained)(
                folder, config_file_name="config.json", _from_model_config=True, local_files_only=True
            )
        except (OSError, ValueError, TypeError, KeyError):
            return None
    except (ValueError, TypeError):
        return None
    value = loaded.eos_token_id
    ids = value if isinstance(value, list) else [value]
    return sorted({int(i) for i in ids}) if all(isinstance(i, int | float) for i in ids) else None


PAIRS = [
    *itertools.product(GENERATION, ("absent", "int", "class default", "cut")),
    *itertools.product(("absent", "cut", "nothing"), CONFIG),
]


@pytest.mark.parametrize(("generation", "config"), sorted(set(PAIRS) - {("absent", "absent")}))
def test_stops(generation: str, config: str, tmp_path: Path) -> None:
    folder = write(tmp_path / "model", GENERATION[generation], CONFIG[config])
    real = stops(folder)
    answer = engine.predict(model_of(folder), "5.24.0").fields["stops"]
    if generation in ("text", "texts") or generation == "an object":  # no number: loading is fine, generate() raises
        assert real is None
        assert not isinstance(answer, Known) or answer.value is None
        return
    assert isinstance(answer, Known), answer
    assert answer.value == (real or None)


def test_the_version_predicted_is_the_one_installed() -> None:
    assert transformers.__version__ in engine.VERSIONS


WHOLE = (0, -1, 1, 3, None)
REFUSED: dict[str, tuple[Any, ...]] = {
    "max_new_tokens": WHOLE,
    "num_return_sequences": (1, 3, None),
    "num_beams": (1, 3, None),
    "early_stopping": (True, False, "never", "x", None),
    "do_sample": (True, False, None),
    "streamer": (1, None),
    "assistant_model": ("x", None),
}


@pytest.mark.parametrize("key", REFUSED)
def test_what_generation_config_refuses(key: str) -> None:
    others: tuple[dict[str, Any], ...] = ({}, {"do_sample": True}, {"num_beams": 4}, {"num_return_sequences": 2})
    for value, other in itertools.product(REFUSED[key], others):
        values: dict[str, Any] = {**other, key: value}
        try:
            GenerationConfig.from_dict(dict(values))
            refused = False
        except ValueError:
            refused = True
        assert (generation_config_refused(values) is not None) == refused, values
