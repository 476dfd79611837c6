"""What vLLM does with a folder: lengths, types, quantizations, settings, and what changed between releases."""

import json
from collections import Counter
from typing import Any

import msgspec
import pytest

from bot.analyze.engines import sglang, vllm
from bot.analyze.model.folder import Model
from bot.analyze.rules.vllm.release import TRANSFORMERS
from bot.answer import Known, shown
from tests.conftest import SHARED
from tests.models import model, model_of

NEWEST = "0.33.0"
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "max_position_embeddings": 4096, "torch_dtype": "bfloat16"}
TOKENIZER = {
    "version": "1.0",
    "added_tokens": [
        {
            "id": 3,
            "content": "<end>",
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
    ],
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "c": 2, "<end>": 3}, "merges": []},
}
NAMED = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<end>"}


def folder(config: dict[str, Any] = LLAMA, **files: Any) -> Model:
    """A folder with a tokenizer; `files` by name, "__" for the dot, objects as JSON."""
    entries: dict[str, Any] = {"config.json": config, "tokenizer.json": TOKENIZER, "tokenizer_config.json": NAMED}
    entries |= {name.replace("__", "."): content for name, content in files.items()}
    return model({name: content if isinstance(content, str) else json.dumps(content) for name, content in entries.items()})


def told(given: Model, field: str, version: str = NEWEST) -> Any:
    """A field of a prediction as reports show it."""
    return shown(vllm.predict(given, version).fields[field])


LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 512,
}
LENGTHS = [
    ({}, 4096, 4096),
    ({"seq_length": 777}, 777, 777),
    ({"model_max_length": 512}, 512, 512),
    ({"rope_scaling": {"rope_type": "linear", "factor": 4.0}}, 16384, 16384),
    ({"rope_scaling": {"rope_type": "dynamic", "factor": 4.0}}, 16384, 16384),
    ({"rope_scaling": LLAMA3}, 4096, 4096),
    # Up to 0.28 the length without scaling was multiplied.
    ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048}}, 4096, 8192),
]


@pytest.mark.parametrize(("more", "newest", "older"), LENGTHS)
def test_how_many_tokens_the_server_takes(more: dict[str, Any], newest: int, older: int) -> None:
    given = folder({**LLAMA, **more})
    assert [told(given, "max_model_len", version) for version in (NEWEST, "0.28.0")] == [newest, older]


def test_settings_of_the_language_model_at_the_top_level_of_a_composite_one() -> None:
    vision = {"model_type": "qwen2_vl", "architectures": ["Qwen2VLForConditionalGeneration"], "eos_token_id": 1}
    flat = folder({**vision, "max_position_embeddings": 2048, "n_positions": 512})
    assert (told(flat, "max_model_len"), told(flat, "stops")) == (2048, [1, 3])
    nested = folder({**vision, "text_config": {"max_position_embeddings": 2048, "n_positions": 512}})
    assert (told(nested, "max_model_len"), told(nested, "stops")) == (512, [3, 151645])


def test_rope_settings_that_say_two_things_stop_the_server() -> None:
    said = {"rope_type": "dynamic", "type": "linear", "factor": 2.0}
    assert told(folder({**LLAMA, "rope_scaling": said}), "loads.config") is False
    assert told(folder({**LLAMA, "rope_scaling": {**said, "type": "dynamic"}}), "loads.config") is True


def test_a_length_that_only_the_class_adds_is_known_of_the_release_that_was_run() -> None:
    given = folder({key: value for key, value in LLAMA.items() if key != "max_position_embeddings"})
    assert told(given, "max_model_len") == 2048
    assert "unknown" in told(given, "max_model_len", "0.28.0")


def test_the_limit_of_the_tokenizer_counts_for_models_that_pool_only() -> None:
    limited = {"tokenizer_config__json": {**NAMED, "model_max_length": 1024}}
    bert = {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "max_position_embeddings": 4096,
        "position_embedding_type": "absolute",
    }
    assert told(folder(**limited), "max_model_len") == 4096
    assert told(folder(bert, **limited), "max_model_len") == 1024
    assert told(folder(bert, **limited, sentence_bert_config__json={"max_seq_length": 256}), "max_model_len") == 256


DTYPES = [
    ({"torch_dtype": "float16"}, "float16", "float16"),
    ({"dtype": "float16", "torch_dtype": "bfloat16"}, "float16", "float16"),
    ({"torch_dtype": "float32"}, "bfloat16", "float16"),
    ({"torch_dtype": None}, "bfloat16", "float16"),
    ({"model_type": "glm4", "architectures": ["Glm4ForCausalLM"], "torch_dtype": "float16"}, "bfloat16", "float16"),
    ({"model_type": "bert", "architectures": ["BertModel"], "torch_dtype": "float32"}, "float16", "float16"),
]


@pytest.mark.parametrize(("more", "newest", "oldest"), DTYPES)
def test_in_which_type_the_server_computes(more: dict[str, Any], newest: str, oldest: str) -> None:
    given = folder({**LLAMA, **more})
    assert [told(given, "dtype", version) for version in (NEWEST, "0.8.5")] == [newest, oldest]


PACKED = {"quant_method": "compressed-tensors"}
QUANTIZATIONS = [
    ({"quantization_config": {"quant_method": "fp8"}}, "fp8"),
    ({"quantization_config": {}}, None),
    ({"quantization_config": {"bits": 4}}, None),
    ({"quantization_config": {"quant_method": "gptq", "bits": 4}}, "auto_gptq"),
    ({"quantization_config": {"quant_method": "compressed_tensors"}}, "compressed-tensors"),
    ({"compression_config": PACKED}, "compressed-tensors"),
    ({"vision_config": {"quantization_config": PACKED}}, None),
    ({"quantization_config": {"quant_method": "zzz"}}, {"unknown": "the server refuses the quantization method zzz"}),
]


@pytest.mark.parametrize(("more", "method"), QUANTIZATIONS)
def test_which_quantization_the_server_finds(more: dict[str, Any], method: Any) -> None:
    assert told(folder({**LLAMA, **more}), "quantization") == method


def test_where_quantization_is_looked_for_and_in_which_order() -> None:
    kimi = {
        "model_type": "kimi_k25",
        "architectures": ["KimiK25ForConditionalGeneration"],
        "text_config": {"quantization_config": PACKED},
    }
    other = {"hf_quant_config__json": {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8"}}}
    assert told(folder(kimi), "quantization") == "compressed-tensors"
    assert told(folder({**kimi, "quantization_config": {}}), "quantization") is None
    assert told(folder(kimi, **other), "quantization") == "modelopt"
    gemma = {**kimi, "model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"]}
    assert [told(folder(gemma), "quantization", version) for version in ("0.10.2", "0.8.5")] == ["compressed-tensors", None]
    oss = {"model_type": "gpt_oss", "architectures": ["GptOssForCausalLM"], "quantization_config": {"quant_method": "mxfp4"}}
    assert [told(folder(oss), "quantization", version) for version in (NEWEST, "0.19.0")] == ["gpt_oss_mxfp4", "mxfp4"]


def test_settings_become_defaults_of_requests() -> None:
    given = {
        "temperature": 0.6,
        "top_p": 0.95,
        "top_k": 20,
        "max_new_tokens": 100,
        "skip_special_tokens": False,
        "do_sample": False,
    }
    newest = {"temperature": 0.6, "top_p": 0.95, "top_k": 20, "max_tokens": 100, "skip_special_tokens": False}
    assert told(folder(generation_config__json=given), "sampling_defaults") == newest
    assert "skip_special_tokens" not in told(folder(generation_config__json=given), "sampling_defaults", "0.31.0")
    plain = folder(generation_config__json={"temperature": 1.0, "top_k": 50, "top_p": 1.0, "presence_penalty": 0.5})
    assert told(plain, "sampling_defaults", "0.19.0") == {}  # transformers 4 takes them for unset
    assert told(plain, "sampling_defaults", "0.28.0") == {"temperature": 1.0, "top_k": 50, "top_p": 1.0}
    assert told(plain, "sampling_defaults", "0.31.0") == {"temperature": 1.0, "top_k": 50, "top_p": 1.0, "presence_penalty": 0.5}
    # It allows both, and they differ.
    assert "4.57.6" in told(plain, "sampling_defaults", "0.23.0")["unknown"]


STOPS = [
    ({"eos_token_id": 3}, {}, [3]),
    ({"eos_token_id": [2, 1]}, {}, [1, 2, 3]),
    ({"eos_token_id": 0}, {}, [0, 3]),
    ({"temperature": 0.5}, {"eos_token_id": 1}, [3]),  # config.json does not fill in
    (None, {"eos_token_id": 1}, [1, 3]),
    (None, {}, [2, 3]),  # the class of llama says 2
    ("{", {"eos_token_id": 1}, [1, 3]),
    ({"eos_token_id": None}, {"eos_token_id": 1}, [3]),
    ({"eos_token_id": [3, 9999]}, {}, [3, 9999]),
    ({"max_new_tokens": -1}, {"eos_token_id": 1}, None),  # it does not start
]


@pytest.mark.parametrize(("generation", "config", "stops"), STOPS)
def test_on_what_a_chat_stops(generation: Any, config: dict[str, Any], stops: Any) -> None:
    files = {} if generation is None else {"generation_config__json": generation}
    given = folder({**LLAMA, **config}, **files)
    for version in vllm.VERSIONS:
        assert told(given, "stops", version) == stops
        assert told(given, "stops_in_grammar", version) == stops


def test_a_template_of_the_processor_counts_only_where_a_processor_can_load() -> None:
    text = "{% for m in messages %}{% for p in m.content %}{% endfor %}{% endfor %}"
    given = {"tokenizer_config__json": {**NAMED, "chat_template": "inline", "processor_class": "LlavaProcessor"}}
    alone = folder(**given, chat_template__json={"chat_template": text})
    assert told(alone, "template.content_format") == "string"
    parts = folder(**given, chat_template__json={"chat_template": text}, preprocessor_config__json={})
    assert told(parts, "template.content_format") == {"unknown": "it depends on whether the processor loads"}
    same = folder(**given, chat_template__json={"chat_template": "inline"}, preprocessor_config__json={})
    assert told(same, "template.content_format") == "string"


def test_a_configuration_class_of_its_own_needs_no_trust_from_the_release_on_that_has_it() -> None:
    code = {
        "model_type": "kimi_k2",
        "architectures": ["DeepseekV3ForCausalLM"],
        "auto_map": {"AutoConfig": "configuration.Config"},
    }
    assert [told(folder(code), "loads.config", version) for version in ("0.17.0", "0.19.0", NEWEST)] == [False, True, True]


def test_every_release_says_something_of_broken_files() -> None:
    for name in ("config__json", "generation_config__json", "tokenizer_config__json", "hf_quant_config__json", "modules__json"):
        for content in (
            "",
            "[]",
            "{",
            "null",
            '"x"',
            '{"model_type": [], "architectures": 3, "text_config": [], "eos_token_id": {}}',
        ):
            for version in vllm.VERSIONS:
                predicted = vllm.predict(folder(LLAMA, **{name: content}), version)
                assert {"loads.config", "loads.tokenizer", "stops", "sampling_defaults"} <= set(predicted.fields)


def test_older_releases_are_likely_and_say_where_that_was_read() -> None:
    for version in vllm.VERSIONS:
        predicted = vllm.predict(folder(), version)
        assert predicted.confidence == ("certain" if version == NEWEST else "likely")
        assert bool(predicted.source) == (version != NEWEST)
    assert list(TRANSFORMERS) == list(vllm.VERSIONS)


def test_remote_code_is_told_apart_from_what_holds_without() -> None:
    code = {"tokenizer_class": "OwnTokenizer", "eos_token": "<end>", "auto_map": {"AutoTokenizer": ["own.OwnTokenizer", None]}}
    code |= {"added_tokens_decoder": {"163585": {"content": "<end>", "special": True}}}
    files = {
        "config.json": LLAMA,
        "tokenizer_config.json": code,
        "generation_config.json": {"eos_token_id": 163586},
        "own.model": {},
    }
    predicted = vllm.predict(model({name: json.dumps(content) for name, content in files.items()}), NEWEST)
    assert shown(predicted.trusted("stops")) == [163585, 163586]
    assert shown(predicted.fields["stops"]) is None


@pytest.mark.needs("shared")
def test_kimi_stops_on_both_ids_on_vllm_and_on_sglang_alike() -> None:
    kimi = msgspec.structs.replace(model_of(SHARED / "cases/kimi-k26-half-fix/head"), literal=True)
    engines = [vllm.predict(kimi, NEWEST), sglang.predict(kimi, sglang.VERSIONS[-1])]
    assert [shown(predicted.trusted("stops")) for predicted in engines] == [[163585, 163586], [163585, 163586]]


@pytest.mark.needs("shared")
def test_what_is_known_of_the_newest_release_is_what_it_did() -> None:
    fields = (
        "max_model_len",
        "dtype",
        "quantization",
        "template.content_format",
        "sampling_defaults",
        "loads.config",
        "loads.generation_config",
    )
    records = [json.loads(path.read_text("utf-8")) for path in sorted((SHARED / f"golden/vllm-{NEWEST}").glob("*.json"))]
    wrong: list[Any] = []
    known: Counter[str] = Counter()
    for record in records:
        given = msgspec.structs.replace(model_of(SHARED.joinpath(*record["snapshot"].split("__"))), literal=True)
        predicted = vllm.predict(given, NEWEST)
        for field in fields:
            first, _, second = field.partition(".")
            if (
                first not in record
                or (second and second not in record[first])
                or not isinstance(predicted.fields.get(field), Known)
            ):
                continue
            real = record[first][second] if second else record[first]
            known[field] += 1
            if shown(predicted.fields[field]) != real:
                wrong.append((record["snapshot"], field, real, shown(predicted.fields[field])))
    assert wrong == []
    assert len(records) > 400
    assert known["dtype"] >= 300
    assert known["max_model_len"] >= 300
    assert known["loads.config"] >= 0.98 * len(records)
    assert known["sampling_defaults"] >= 0.98 * len(records)
