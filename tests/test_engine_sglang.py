"""sglang: predictions against what its own code did.

tests/engine_runs/sglang-configurations.json holds what the configuration code of sglang 0.5.9, 0.5.10, 0.5.15 and 0.5.23 (get_config and ModelConfig, with the
transformers that each pins; compiled packages replaced by stand-ins, as in tools/tables_sglang.py) did with folders put together by chance, sglang-older.json
what that code and get_tokenizer of the three older ones did with each shared folder. The tables in the tests below are those of runs of 0.5.23.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bot.analyze.engines import sglang, vllm
from bot.analyze.model.folder import Model
from bot.analyze.rules.sglang.releases import RELEASES
from bot.analyze.rules.sglang.template import content_format
from bot.analyze.rules.sglang.types import has_class, row_of
from bot.answer import Answer, Known, Unknown
from tests.conftest import SHARED
from tests.models import model, model_of

RUNS = Path(__file__).parent / "engine_runs/sglang-configurations.json"
OLDER = RUNS.with_name("sglang-older.json")
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}
FIELDS = {
    "eos": "stops_in_grammar",
    "dtype": "dtype",
    "max_model_len": "max_model_len",
    "quantization": "quantization",
    "sampling": "sampling_defaults",
}

OLDER_FIELDS = {
    "class": "tokenizer_class",
    "eos": "eos_token_id",
    "bos": "bos_token_id",
    "pad": "pad_token_id",
    "len": "len_tokenizer",
    "ids": "stops_in_grammar",
    "dtype": "dtype",
    "length": "max_model_len",
    "quantization": "quantization",
    "sampling": "sampling_defaults",
}


def folder(config: Any, **files: Any) -> Model:
    """A folder with config.json and other JSON files by their names without the ending."""
    every = {"config": config, **files}
    return model({f"{name}.json": json.dumps(content) for name, content in every.items()})


def fields(found: Model, version: str = "0.5.23") -> dict[str, Answer[Any]]:
    return dict(sglang.predict(found, version).fields)


def value(answer: Answer[Any]) -> Any:
    assert isinstance(answer, Known), answer
    return answer.value


def with_tokenizer(eos: str | None, *others: str, **files: Any) -> Model:
    """A folder with a byte-level tokenizer of 256 pieces, and </s> 256, <|im_end|> 257 and others behind it."""
    names = ["</s>", "<|im_end|>", *others]
    added = [
        {
            "id": 256 + i,
            "content": name,
            "special": True,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
        }
        for i, name in enumerate(names)
    ]
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "vocab": {f"t{i}": i for i in range(256)}, "merges": []},
    }
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", **({"eos_token": eos} if eos else {})}
    return folder(files.pop("config"), tokenizer=tokenizer, tokenizer_config=settings, **files)


def test_what_is_known_is_what_the_configuration_code_did() -> None:
    wrong: list[Any] = []
    known: Counter[str] = Counter()
    for row in json.loads(RUNS.read_text("utf-8")):
        said = fields(model({name: json.dumps(content) for name, content in row["files"].items()}), row["release"])
        real = row["outcome"]
        pairs = [("loads.config", real["config"] is None)]
        pairs += [("errors.config.type", real["config"])] if real["config"] else []
        pairs += [("loads.model_config", False)] if "starts" in real else []
        pairs += [(field, real[key]) for key, field in FIELDS.items() if key in real]
        for field, outcome in pairs:
            answer = said.get(field)
            known[field] += isinstance(answer, Known)
            if isinstance(answer, Known) and answer.value != outcome:
                wrong.append((row["release"], field, outcome, answer.value, row["files"]))
    assert wrong == []
    assert known["loads.config"] >= 390
    assert {field: number for field, number in known.items() if number < 50} == {}


@pytest.mark.needs("shared")
@pytest.mark.parametrize("release", ["0.5.9", "0.5.10", "0.5.15"])
def test_what_is_known_of_older_releases_is_what_they_did(release: str) -> None:
    wrong: list[Any] = []
    known: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for snapshot, row in json.loads(OLDER.read_text("utf-8"))[release].items():
        place = SHARED.joinpath(*snapshot.split("__"))
        if not place.is_dir():
            continue
        said = fields(msgspec.structs.replace(model_of(place), literal=True), release)
        pairs = [("loads.config", row["config"] is None)] if "config" in row else []
        pairs += [("errors.tokenizer.type", row["tokenizer"])] if row["tokenizer"] else [("loads.tokenizer", True)]
        pairs += [(field, row[key]) for key, field in OLDER_FIELDS.items() if key in row]
        for field, outcome in pairs:
            seen[field] += 1
            answer = said.get(field)
            known[field] += isinstance(answer, Known)
            if isinstance(answer, Known) and answer.value != outcome:
                wrong.append((snapshot, field, outcome, answer.value))
    assert wrong == []
    assert {field: known[field] / number for field, number in seen.items() if known[field] < 0.8 * number} == {}


def test_the_tables_are_of_the_transformers_that_the_releases_pin() -> None:
    folder = Path(sglang.__file__).parent / "data"
    tables = {
        name: json.loads((folder / f"sglang-{name}.json").read_text("utf-8")) for name in ("0.5.9", "0.5.10", "0.5.15", "0.5.23")
    }
    assert {name: table["transformers"] for name, table in tables.items()} == {name: RELEASES[name].pin for name in tables}
    assert {name for release in RELEASES.values() for name in release.tables} == set(tables)


def test_a_release_between_two_that_were_run_has_what_both_have() -> None:
    assert row_of("llama", "0.5.12") is not None
    assert has_class("kimi_k2", "0.5.10") is False
    assert has_class("kimi_k2", "0.5.15") is True
    assert has_class("kimi_k2", "0.5.12") is None


# The ids that stop a request, and those that end structured output.
STOPS: dict[str, tuple[Any, Any, Any, list[int], list[int]]] = {
    "the tokenizer's alone differs": ("</s>", 257, 257, [256, 257], [257]),
    "three files": ("</s>", [257, 300, 256], 301, [256, 257, 300, 301], [256, 257, 300, 301]),
    "no generation_config.json": ("</s>", ..., 257, [256, 257], [257]),
    "the class has an id": ("</s>", ..., ..., [2, 256], [2]),
    "the class has an id although generation_config.json states one": ("</s>", 256, ..., [2, 256], [2, 256]),
    "null": ("</s>", None, 257, [256, 257], [257]),
    "zero is taken for nothing": ("</s>", 0, 257, [256, 257], [257]),
    "a list with zero is not": ("</s>", [0], 257, [0, 256, 257], [0, 257]),
    "no tokenizer EOS": (None, [257], 257, [257], [257]),
}


@pytest.mark.parametrize(("eos", "generation", "config", "stops", "grammar"), STOPS.values(), ids=STOPS)
def test_stop_ids(eos: str | None, generation: Any, config: Any, stops: list[int], grammar: list[int]) -> None:
    files = {} if generation is ... else {"generation_config": {"eos_token_id": generation}}
    said = fields(with_tokenizer(eos, config={**LLAMA, **({} if config is ... else {"eos_token_id": config})}, **files))
    assert value(said["stops"]) == stops
    assert value(said["stops_in_grammar"]) == grammar


def test_an_added_token_that_always_stops() -> None:
    config = {**LLAMA, "eos_token_id": 257}
    assert value(fields(with_tokenizer("</s>", "<|eom_id|>", "<|ifm|im_end|>", config=config))["stops"]) == [256, 257, 258, 259]
    assert value(fields(with_tokenizer("</s>", "<|eom_id|>", "<|ifm|im_end|>", config=config), "0.5.15")["stops"]) == [
        256,
        257,
        258,
    ]


def test_a_generation_config_that_is_refused_stops_the_server() -> None:
    said = fields(with_tokenizer("</s>", config=LLAMA, generation_config={"max_new_tokens": -1}))
    assert [
        value(said[key])
        for key in ("loads.generation_config", "loads.model_config", "stops", "stops_in_grammar", "sampling_defaults")
    ] == [
        False,
        False,
        None,
        None,
        None,
    ]


def test_without_architectures_the_server_does_not_start() -> None:
    said = fields(with_tokenizer("</s>", config={"model_type": "llama"}))
    assert value(said["loads.config"]) is True
    assert value(said["loads.model_config"]) is False
    assert "dtype" not in said


def test_kimi_stops_on_both_ids_in_both_servers_and_ends_json_on_that_of_the_files_only() -> None:
    decoder = {str(i): {"content": text, "special": True} for i, text in ((163585, "[EOS]"), (163586, "<|im_end|>"))}
    tokenizer = {
        "tokenizer_class": "TikTokenTokenizer",
        "auto_map": {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]},
        "eos_token": "[EOS]",
        "added_tokens_decoder": decoder,
    }
    text = {"model_type": "kimi_k2", "eos_token_id": 163586, "vocab_size": 163840}
    config = {
        "model_type": "kimi_k25",
        "architectures": ["KimiK25ForConditionalGeneration"],
        "eos_token_id": 163586,
        "text_config": text,
    }
    files = {"config": config, "tokenizer_config": tokenizer, "generation_config": {"eos_token_id": 163586}}
    kimi = model({f"{name}.json": json.dumps(content) for name, content in files.items()} | {"tiktoken.model": "IQ== 0\n"})
    for engine in (sglang, vllm):
        trusted = engine.predict(kimi, engine.VERSIONS[-1]).with_remote_code
        assert value(trusted["stops"]) == [163585, 163586]
    assert value(sglang.predict(kimi, "0.5.23").with_remote_code["stops_in_grammar"]) == [163586]
    # Without trust transformers makes a tokenizer of tiktoken.model for this model type (run).
    assert value(sglang.predict(kimi, "0.5.23").fields["tokenizer_class"]) == "TokenizersBackend"


def test_sampling_defaults_come_from_transformers_4_as_well() -> None:
    found = folder(LLAMA, generation_config={"temperature": 0.6, "min_p": 0.05, "max_new_tokens": 100, "do_sample": True})
    assert value(fields(found)["sampling_defaults"]) == {"temperature": 0.6, "min_p": 0.05}
    of_4 = {"temperature": 0.6, "min_p": 0.05, "top_k": 50, "top_p": 1.0, "repetition_penalty": 1.0}
    assert value(fields(found, "0.5.9")["sampling_defaults"]) == of_4
    assert value(fields(found, "0.5.10")["sampling_defaults"]) == {"temperature": 0.6, "min_p": 0.05}
    assert value(fields(found, "0.5.3")["sampling_defaults"]) == {}


KIMI = {"model_type": "kimi_k25", "architectures": ["KimiK25ForConditionalGeneration"]}
PACKED, FP8 = {"quant_method": "compressed-tensors"}, {"quant_method": "fp8"}
QUANTIZED: dict[str, tuple[dict[str, Any], dict[str, Any], str | None]] = {
    "nested": ({**KIMI, "text_config": {"quantization_config": PACKED}}, {}, "compressed-tensors"),
    "null hides what is nested": (
        {**KIMI, "quantization_config": None, "text_config": {"quantization_config": PACKED}},
        {},
        None,
    ),
    "the top level wins": ({**KIMI, "quantization_config": FP8, "text_config": {"quantization_config": PACKED}}, {}, "fp8"),
    "in a vision configuration": ({**KIMI, "vision_config": {"quantization_config": PACKED}}, {}, None),
    "beside": (LLAMA, {"hf_quant_config": {"quantization": {"quant_algo": "FP8"}}}, "modelopt_fp8"),
    "beside, of half a byte": (LLAMA, {"hf_quant_config": {"quantization": {"quant_algo": "NVFP4"}}}, "modelopt_fp4"),
    "an algorithm that it does not know": (LLAMA, {"hf_quant_config": {"quantization": {"quant_algo": "ODD"}}}, None),
    "config.json before the file beside": (
        {**LLAMA, "quantization_config": PACKED},
        {"hf_quant_config": {"quantization": {"quant_algo": "FP8"}}},
        "compressed-tensors",
    ),
    "a file that nobody reads": (LLAMA, {"quantize_config": {"bits": 4}}, None),
}


@pytest.mark.parametrize(("config", "beside", "method"), QUANTIZED.values(), ids=QUANTIZED)
def test_quantization(config: dict[str, Any], beside: dict[str, Any], method: str | None) -> None:
    assert value(fields(folder(config, **beside))["quantization"]) == method


@pytest.mark.parametrize("settings", [{}, {"bits": 4}, {"quant_method": "zzz"}], ids=json.dumps)
def test_a_quantization_without_a_known_method_stops_the_server(settings: dict[str, Any]) -> None:
    said = fields(with_tokenizer("</s>", config={**LLAMA, "quantization_config": settings, "eos_token_id": 256}))
    assert value(said["loads.model_config"]) is False
    assert value(said["stops"]) is None
    assert value(said["stops_in_grammar"]) == [256]


def test_what_becomes_of_gptq_depends_on_the_accelerator() -> None:
    assert isinstance(
        fields(folder({**LLAMA, "quantization_config": {"quant_method": "gptq", "bits": 4}}))["quantization"], Unknown
    )


LENGTHS: dict[str, tuple[dict[str, Any], int]] = {
    "linear": ({"max_position_embeddings": 4096, "rope_scaling": {"rope_type": "linear", "factor": 4.0}}, 16384),
    "dynamic": ({"max_position_embeddings": 4096, "rope_scaling": {"rope_type": "dynamic", "factor": 4.0}}, 16384),
    "yarn": (
        {
            "max_position_embeddings": 4096,
            "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024},
        },
        4096,
    ),
    "another key": ({"seq_length": 777}, 777),
    "another key comes first": ({"seq_length": 8192, "max_position_embeddings": 4096}, 8192),
    "the class": ({}, 2048),
}


@pytest.mark.parametrize(("stated", "length"), LENGTHS.values(), ids=LENGTHS)
def test_lengths(stated: dict[str, Any], length: int) -> None:
    assert value(fields(folder({**LLAMA, **stated}))["max_model_len"]) == length


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        (LLAMA, "float16"),
        ({**LLAMA, "torch_dtype": "float32"}, "float16"),
        ({**LLAMA, "torch_dtype": "float16", "dtype": "bfloat16"}, "bfloat16"),
        ({"model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"]}, "bfloat16"),
        ({**KIMI, "text_config": {"dtype": "bfloat16"}, "dtype": "float16"}, "bfloat16"),
        ({**KIMI, "torch_dtype": "bfloat16", "text_config": {}}, "bfloat16"),
        ({"model_type": "llava", "architectures": ["LlavaLlamaForCausalLM"], "dtype": "bfloat16"}, "float16"),
    ],
    ids=json.dumps,
)
def test_types(config: dict[str, Any], kind: str) -> None:
    assert value(fields(folder(config))["dtype"]) == kind


@pytest.mark.parametrize(
    ("template", "way"),
    [
        ("{% for message in messages %}{{ message.content }}{% endfor %}", "string"),
        ("{% for message in messages %}{% for part in message['content'] %}{{ part }}{% endfor %}{% endfor %}", "openai"),
        ("{% for m in messages %}{% for part in m.content | list %}{{ part }}{% endfor %}{% endfor %}", "openai"),
        ("{% for msg in messages %}{% for part in msg.content[1:] %}{{ part }}{% endfor %}{% endfor %}", "openai"),
        ("{% for turn in messages %}{% for part in turn.content %}{{ part }}{% endfor %}{% endfor %}", "string"),
        ("{% set content = message.content %}{% for part in content %}{{ part }}{% endfor %}", "string"),
        ("{# no image is taken #}{{ messages }}", "openai"),
        ("{% for part in message.content %}", "string"),
    ],
)
def test_how_content_is_handed_over(template: str, way: str) -> None:
    assert value(content_format(template)) == way


def test_a_conversation_of_its_own_comes_before_the_template() -> None:
    config = {"model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"]}
    found = with_tokenizer("</s>", config=config)
    assert value(fields(found)["template.builtin"]) == "whisper"
    assert value(fields(found)["template.sha256"]) is None
    assert "template.builtin" not in fields(found, "0.5.9")


def test_of_several_templates_the_first_is_taken() -> None:
    found = with_tokenizer("</s>", config=LLAMA)
    settings = json.dumps(
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "chat_template": [{"name": "tool_use", "template": "T"}, {"name": "default", "template": "D"}],
        }
    )
    files = {name: value(found.content(name)) for name in found.files} | {"tokenizer_config.json": settings}
    said = fields(model(files))
    named = value(said["template.named"])
    assert value(said["template.sha256"]) == named["tool_use"] != named["default"]
    assert isinstance(fields(model(files), "0.5.6")["template.sha256"], Unknown)


def test_a_tokenizer_without_its_settings_fails_only_here() -> None:
    files = {name: value(with_tokenizer("</s>", config=LLAMA).content(name)) for name in ("tokenizer.json", "config.json")}
    generic = model(
        files | {"config.json": json.dumps({"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"]})}
    )
    said = fields(generic)
    assert value(said["loads.tokenizer"]) is False
    assert value(said["errors.tokenizer.type"]) == "HFValidationError"


@pytest.mark.needs("shared")
def test_the_declared_class_is_tried_again() -> None:
    found = model_of(SHARED / "cases/deepseek-v3-llama-class-over-bytelevel/head")
    assert value(fields(found)["tokenizer_class"]) == "LlamaTokenizer"
    assert value(vllm.predict(found, "0.33.0").fields["tokenizer_class"]) == "TokenizersBackend"


def test_an_older_release_is_likely_and_names_its_source() -> None:
    found = with_tokenizer("</s>", config=LLAMA)
    said = {version: sglang.predict(found, version) for version in sglang.VERSIONS}
    assert {version for version, each in said.items() if each.confidence == "certain"} == {"0.5.23"}
    assert all(version in each.source for version, each in said.items() if version != "0.5.23")


def test_before_generation_config_was_read() -> None:
    said = fields(with_tokenizer("</s>", config={**LLAMA, "eos_token_id": 257}, generation_config={"eos_token_id": 300}), "0.4.6")
    assert value(said["stops"]) == [256, 257]
    assert isinstance(said["stops_in_grammar"], Unknown)
