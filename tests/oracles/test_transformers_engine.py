"""What transformers starts generate() from and which template its tokenizer has, against the installed version and the records of six versions."""

import hashlib
import json
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, GenerationConfig

from bot.analyze.engines import transformers as engine
from bot.analyze.rules import generation
from bot.analyze.rules.generation import SAMPLING, sampling_defaults, stops
from bot.analyze.rules.template_fields import template_fields
from bot.answer import Known, Unknown, shown
from tests.models import model, model_of
from tests.oracles.test_generation_config import FILES

NEWEST = transformers.__version__
RUN = ("4.46.3", "4.57.6", "5.0.0", "5.5.0", "5.15.1", "5.24.0")
FIELDS = (
    "loads.config",
    "loads.generation_config",
    "stops",
    "template.sha256",
    "template.sha256_with_tools",
    "template.named",
    "sampling_defaults",
    "quantization",
    "dtype",
    "vocab_size_config",
)
LOWEST = {"quantization": 0.9, "dtype": 0.9, "vocab_size_config": 0.5}


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    transformers.logging.set_verbosity_error()


def got(record: dict[str, Any], field: str) -> Any:
    value: Any = record
    for part in field.split("."):
        value = value.get(part, ...) if isinstance(value, dict) else ...
    return value


@settings(derandomize=True, max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=FILES, more=st.dictionaries(st.sampled_from(sorted(SAMPLING)), st.sampled_from([None, True, 0, 1, 0.5, 50, "x"])))
def test_sampling_defaults_are_those_of_the_class(values: dict[str, Any], more: dict[str, Any], tmp_path: Path) -> None:
    text = json.dumps(values | more)
    folder = model({"generation_config.json": text})
    answer = sampling_defaults(folder, generation.settings(folder, NEWEST), NEWEST)
    (tmp_path / "generation_config.json").write_text(text, "utf-8")
    try:
        loaded = GenerationConfig.from_pretrained(tmp_path, local_files_only=True)
    except (ValueError, TypeError, AttributeError):
        assert answer == Known(None, answer.places)
        return
    if isinstance(answer, Known):
        real = loaded.to_diff_dict()
        assert answer.value == {key: real[key] for key in SAMPLING if key in real}


@pytest.mark.parametrize(
    ("values", "version", "defaults"),
    [
        ({"do_sample": False, "temperature": 1.0, "top_k": 50}, "4.57.6", {}),
        ({"do_sample": False, "temperature": 1.0, "top_k": 50}, "5.0.0", {"do_sample": False, "temperature": 1.0, "top_k": 50}),
        ({"top_k": None, "top_p": 0.9}, "4.57.6", {"top_k": None, "top_p": 0.9}),
        ({"top_k": None, "top_p": 0.9}, "5.0.0", {"top_p": 0.9}),
    ],
)
def test_what_4_drops_of_the_defaults_5_keeps(values: dict[str, Any], version: str, defaults: dict[str, Any]) -> None:
    """Run with both versions."""
    folder = model({"generation_config.json": json.dumps(values)})
    assert shown(sampling_defaults(folder, generation.settings(folder, version), version)) == defaults


def test_a_setting_whose_place_in_the_records_is_not_known_is_not_told() -> None:
    folder = model({"generation_config.json": '{"min_p": 0.1}'})
    assert isinstance(sampling_defaults(folder, generation.settings(folder, NEWEST), NEWEST), Unknown)


def test_class_defaults_end_a_reply_on_4_only() -> None:
    """A Llama config.json that states no EOS: 4.x stops on 2, 5.x on nothing (run with a one-layer model)."""
    folder = model({"config.json": '{"model_type": "llama"}'})
    told = {
        version: shown(stops(folder, generation.settings(folder, version))) for version in ("4.46.3", "4.57.6", "5.0.0", NEWEST)
    }
    assert told == {"4.46.3": [2], "4.57.6": [2], "5.0.0": None, NEWEST: None}


def test_config_json_does_not_fill_in_for_generation_config_json(tmp_path: Path) -> None:
    files = {"config.json": '{"model_type": "qwen3", "eos_token_id": 7}', "generation_config.json": '{"do_sample": true}'}
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    assert GenerationConfig.from_pretrained(tmp_path, local_files_only=True).eos_token_id is None
    assert {
        version: shown(engine.predict(model(files), version).fields["stops"]) for version in engine.VERSIONS
    } == dict.fromkeys(engine.VERSIONS)


@pytest.mark.parametrize("role", ["bos_token_id", "pad_token_id"])
def test_a_role_that_is_a_text_leaves_nothing_to_stop_on(role: str) -> None:
    folder = model({"generation_config.json": json.dumps({"eos_token_id": 7, role: "7"})})
    assert shown(stops(folder, generation.settings(folder, NEWEST))) is None


TOKENIZER = json.dumps(
    {
        "version": "1.0",
        "added_tokens": [],
        "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "a"},
    }
)
INLINE = json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": "inline\n"})
NAMED = json.dumps(
    {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "chat_template": [{"name": "default", "template": "one"}, {"name": "tool_use", "template": "two"}],
    }
)
TOOLS: list[Any] = [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}]


@pytest.mark.parametrize(
    "files",
    [
        {"tokenizer_config.json": INLINE},
        {"tokenizer_config.json": NAMED},
        {"tokenizer_config.json": '{"tokenizer_class": "PreTrainedTokenizerFast"}'},
        {"tokenizer_config.json": INLINE, "chat_template.jinja": "file\r\nof two\rlines\n"},
        {"tokenizer_config.json": INLINE, "chat_template.jinja": ""},
        {"tokenizer_config.json": NAMED, "chat_template.jinja": "file"},
        {"tokenizer_config.json": INLINE, "additional_chat_templates/rag.jinja": "rag"},
        {"tokenizer_config.json": INLINE, "chat_template.jinja": "file", "additional_chat_templates/tool_use.jinja": "tools"},
        {"tokenizer_config.json": INLINE, "chat_template.json": '{"chat_template": "of processors"}'},
    ],
)
def test_the_template_is_that_of_the_tokenizer(files: dict[str, str], tmp_path: Path) -> None:
    held = {"tokenizer.json": TOKENIZER, **files}
    for name, text in held.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    tokenizer: Any = AutoTokenizer.from_pretrained(tmp_path, local_files_only=True)

    def real(tools: list[Any] | None) -> str | None:
        try:
            return hashlib.sha256(tokenizer.get_chat_template(tools=tools).encode()).hexdigest()
        except ValueError:
            return None

    fields = template_fields(model(held), NEWEST)
    assert shown(fields["template.sha256"]) == real(None)
    with_tools = fields.get("template.sha256_with_tools", fields["template.sha256"])
    assert shown(with_tools) == real(TOOLS)
    assert ("template.named" in fields) == isinstance(tokenizer.chat_template, dict)


def test_4_46_reads_only_what_stands_inline() -> None:
    held = model({"tokenizer_config.json": INLINE, "chat_template.jinja": "file"})
    of = {version: shown(template_fields(held, version)["template.sha256"]) for version in ("4.46.3", "4.57.6")}
    assert of == {"4.46.3": hashlib.sha256(b"inline\n").hexdigest(), "4.57.6": hashlib.sha256(b"file").hexdigest()}


@pytest.mark.needs("shared")
def test_a_list_of_extra_special_tokens_loads_below_4_47(shared: Path) -> None:
    """The seed says that it crashes below 5.0: 4.46.3 does not look at it."""
    folder = model_of(shared / "cases" / "extra-special-tokens-as-list" / "head")
    told = {version: engine.predict(folder, version).fields for version in ("4.46.3", "4.57.6", NEWEST)}
    assert {version: shown(fields["loads.tokenizer"]) for version, fields in told.items()} == {
        "4.46.3": True,
        "4.57.6": False,
        NEWEST: True,
    }
    assert shown(told["4.57.6"]["errors.tokenizer.type"]) == "AttributeError"
    for version in ("4.46.3", "4.57.6"):
        record = shared / "golden" / f"transformers-{version}" / "cases__extra-special-tokens-as-list__head.json"
        assert json.loads(record.read_text("utf-8"))["loads"]["tokenizer"] is (version == "4.46.3")
    AutoTokenizer.from_pretrained(shared / "cases" / "extra-special-tokens-as-list" / "head", local_files_only=True)


def test_the_error_for_tokenizers_backend_is_a_value_error() -> None:
    """The seed calls it a KeyError on import: it is a ValueError at from_pretrained, on every 4.x (run with 4.46.3 and 4.57.6)."""
    folder = model(
        {
            "config.json": '{"model_type": "qwen2"}',
            "tokenizer.json": TOKENIZER,
            "tokenizer_config.json": '{"tokenizer_class": "TokenizersBackend"}',
        }
    )
    for version in ("4.46.3", "4.57.6"):
        fields = engine.predict(folder, version).fields
        assert (shown(fields["loads.tokenizer"]), shown(fields["errors.tokenizer.type"])) == (False, "ValueError")
    assert shown(engine.predict(folder, NEWEST).fields["loads.tokenizer"]) is True
