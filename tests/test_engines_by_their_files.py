"""transformers.js, TGI, WebLLM and MLC-LLM: each goes by files of its own choice.

tests/engine_runs/huggingface-tokenizers-js-0.2.0.json holds what npm @huggingface/tokenizers 0.2.0, with the token and template rules of
@huggingface/transformers 4.3.2, did with every shared folder that has both of its files: true, or the name of what it threw.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bot.analyze.engines import mlc_llm, tgi, transformers_js, webllm
from bot.analyze.engines.prediction import Prediction, engines
from bot.answer import Known, shown
from tests.conftest import SHARED
from tests.models import model, model_of

RUN = Path(__file__).parent / "engine_runs/huggingface-tokenizers-js-0.2.0.json"
FLAGS = {"special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
PARTS = {"normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": BYTES}
PIECES = {chr(97 + i): i for i in range(8)}
# A SentencePiece model of <unk>, <s>, </s> and one letter (field 1 of each piece its text, 3 its type).
SENTENCEPIECE = b"".join(
    b"\x0a" + bytes([len(body)]) + body
    for body in (b"\x0a\x05<unk>\x18\x02", b"\x0a\x03<s>\x18\x03", b"\x0a\x04</s>\x18\x03", b"\x0a\x01a")
)
CHAT: dict[str, Any] = {
    "model_type": "qwen2", "quantization": "q4f16_1", "model_config": {}, "vocab_size": 16, "context_window_size": 4096, "sliding_window_size": -1,
    "prefill_chunk_size": 1024, "attention_sink_size": -1, "tensor_parallel_shards": 1, "tokenizer_files": ["tokenizer.json"],
    "tokenizer_info": {"token_postproc_method": "byte_level", "prepend_space_in_encode": False},
    "conv_template": {"stop_token_ids": [8, 3], "stop_str": ["<end"], "roles": {"user": "u", "assistant": "a"}, "seps": ["\n"], "system_template": "{system_message}"},
}  # fmt: skip


def tokenizer(**changes: Any) -> dict[str, Any]:
    """A tokenizer.json of eight letters and <end>, which has the id 8."""
    added = [{"id": 8, "content": "<end>", **FLAGS}]
    return {"version": "1.0", "added_tokens": added, **PARTS, "model": {"type": "BPE", "vocab": PIECES, "merges": []}, **changes}


def asked(engine: Any, **files: Any) -> Prediction:
    """What an engine will do with a folder of these files, whose names have __ for the dot."""
    return engine.predict(model(texts(files)), engine.VERSIONS[-1])


def texts(files: dict[str, Any]) -> dict[str, bytes | str]:
    """Files by their names."""
    written = {name: value if isinstance(value, str | bytes) else json.dumps(value) for name, value in files.items()}
    return {name.replace("__", "."): value for name, value in written.items()}


def field(prediction: Prediction, key: str) -> Any:
    """What a prediction says of a field."""
    return shown(prediction.fields[key])


def sha256(text: str) -> str:
    """The hash of a template."""
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("config", "generation", "ids"),
    [
        ({"eos_token_id": 5}, None, [5]),
        ({"eos_token_id": 5}, {"eos_token_id": [1, 7]}, [1, 7]),
        ({"eos_token_id": 5}, {}, [5]),
        ({"eos_token_id": 5}, {"eos_token_id": None}, []),
        ({"eos_token_id": 5, "text_config": {"eos_token_id": 6}}, None, [6]),
        ({"eos_token_id": 5, "text_config": {}}, None, [5]),
        ({"eos_token_id": "5"}, None, [5]),
        ({"eos_token_id": 5}, '{"eos_token_id": NaN}', None),
        ('\ufeff{"eos_token_id": 5}', None, [5]),
        ("{", None, None),
    ],
)
def test_transformers_js_lays_the_generation_config_over_the_config_and_asks_no_tokenizer(
    config: Any, generation: Any, ids: Any
) -> None:
    files = {} if generation is None else {"generation_config__json": generation}
    assert (
        field(asked(transformers_js, config__json=config, tokenizer_config__json={"eos_token": "<end>"}, **files), "stops") == ids
    )


def test_transformers_js_does_not_tell_an_id_of_another_kind() -> None:
    assert "neither" in field(asked(transformers_js, config__json={"eos_token_id": {"x": 1}}), "stops")["unknown"]


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({"tokenizer_config__json": {}, "tokenizer__json": tokenizer()}, None),
        ({"tokenizer_config__json": {}}, "Error"),
        ({"tokenizer__json": tokenizer()}, "TypeError"),
        ({"tokenizer_config__json": "{", "tokenizer__json": tokenizer()}, "SyntaxError"),
        ({"tokenizer_config__json": {}, "tokenizer__json": "{"}, "SyntaxError"),
        ({"tokenizer_config__json": {"eos_token": {"content": "<end>"}}, "tokenizer__json": tokenizer()}, "Error"),
        (
            {
                "tokenizer_config__json": {"eos_token": {"content": "<end>", "__type": "AddedToken"}},
                "tokenizer__json": tokenizer(),
            },
            None,
        ),
        ({"tokenizer_config__json": {"chat_template": [{"name": 1}]}, "tokenizer__json": tokenizer()}, "Error"),
        ({"tokenizer_config__json": {}, "tokenizer__json": tokenizer(normalizer={"type": "Nmt"})}, "Error"),
        ({"tokenizer_config__json": {}, "tokenizer__json": {k: v for k, v in tokenizer().items() if k != "normalizer"}}, "Error"),
    ],
)
def test_transformers_js_needs_both_files_and_parts_that_it_knows(files: dict[str, Any], error: str | None) -> None:
    found = asked(transformers_js, **files)
    assert field(found, "loads.tokenizer") is (error is None)
    assert shown(found.fields.get("errors.tokenizer.type", Known(None))) == error


@pytest.mark.needs("shared")
def test_what_the_tokenizers_of_javascript_did_is_what_is_predicted() -> None:
    wrong: list[Any] = []
    runs = json.loads(RUN.read_text("utf-8"))
    told = 0
    for snapshot, did in runs.items():
        given = msgspec.structs.replace(model_of(SHARED.joinpath(*snapshot.split("__"))), literal=True)
        fields = transformers_js.predict(given, "4.3.2").fields
        if isinstance(fields["loads.tokenizer"], Known):
            told += 1
            said = fields["loads.tokenizer"].value or shown(fields["errors.tokenizer.type"])
            if said != did:
                wrong.append((snapshot, said, did))
    assert wrong == []
    assert told >= len(runs) - 8


@pytest.mark.parametrize(
    ("files", "file", "text"),
    [
        ({"tokenizer_config__json": {"chat_template": "old"}, "chat_template__jinja": "new"}, "tokenizer_config.json", "old"),
        ({"tokenizer_config__json": {}, "chat_template__jinja": "new"}, None, None),
        (
            {"tokenizer_config__json": {"chat_template": "old"}, "chat_template__json": {"chat_template": "json"}},
            "chat_template.json",
            "json",
        ),
        (
            {"tokenizer_config__json": {"chat_template": "old"}, "chat_template__json": {"chat_template": 1}},
            "tokenizer_config.json",
            "old",
        ),
        ({"tokenizer_config__json": {"chat_template": "old", "bos_token": 1}}, None, None),
        ({"tokenizer_config__json": {"chat_template": "old", "bos_token": {"content": "x"}}}, "tokenizer_config.json", "old"),
        ({"tokenizer_config__json": {"chat_template": [{"name": "rag", "template": "r"}]}}, "tokenizer_config.json", None),
        ({"processor_config__json": {"chat_template": "p", "image_seq_len": 4}}, "processor_config.json", "p"),
        ({"processor_config__json": {"chat_template": "p"}}, None, None),
        ({"tokenizer_config__json": '{"chat_template": "old", "x": NaN}'}, None, None),
    ],
)
def test_tgi_takes_the_first_file_that_states_a_template_and_never_a_jinja_file(
    files: Any, file: str | None, text: str | None
) -> None:
    found = asked(tgi, **files)
    assert field(found, "template.file") == file
    assert field(found, "template.sha256") == (text and sha256(text))


@pytest.mark.parametrize(("generation", "ids"), [([2, 7], [2, 7]), (7, [8]), ([7], [7]), ([], []), (None, [8])])
def test_tgi_takes_a_list_for_the_stop_ids_and_else_the_token_of_the_tokenizer(generation: Any, ids: list[int]) -> None:
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<end>"}
    files = {"tokenizer__json": tokenizer(), "tokenizer_config__json": settings}
    assert field(asked(tgi, **files, generation_config__json={"eos_token_id": generation}), "stops") == ids


def test_tgi_stops_on_nothing_where_its_transformers_does_not_know_the_tokenizer() -> None:
    settings = {"tokenizer_class": "TokenizersBackend", "eos_token": "<end>"}
    found = asked(
        tgi, tokenizer__json=tokenizer(), tokenizer_config__json=settings, generation_config__json={"eos_token_id": [8]}
    )
    assert (field(found, "loads.tokenizer"), field(found, "stops")) == (False, None)
    assert field(found, "errors.tokenizer.type") == "ValueError"


def chat(**changes: Any) -> dict[str, Any]:
    """A configuration of WebLLM with some keys changed; None takes one away."""
    return {key: value for key, value in {**CHAT, **changes}.items() if value is not None}


BOTH = {"tokenizer__json": tokenizer(), "tokenizer__model": SENTENCEPIECE}


@pytest.mark.parametrize(
    ("files", "asks", "loads", "size"),
    [
        ({"mlc-chat-config__json": chat(), **BOTH}, "tokenizer.json", True, 9),
        ({"mlc-chat-config__json": chat(), "tokenizer__model": SENTENCEPIECE}, "tokenizer.json", False, None),
        ({"mlc-chat-config__json": chat(tokenizer_files=["tokenizer.model"]), **BOTH}, "tokenizer.model", True, 4),
        ({"mlc-chat-config__json": chat(tokenizer_files=["vocab.json"]), **BOTH}, None, False, None),
        ({"mlc-chat-config__json": chat(tokenizer_files=None), **BOTH}, None, False, None),
        (
            {"mlc-chat-config__json": chat(tokenizer_files=["tokenizer.model"]), "tokenizer__model": b"version https"},
            "tokenizer.model",
            True,
            0,
        ),
    ],
)
def test_webllm_goes_by_its_list_and_not_by_the_files(files: Any, asks: str | None, size: int | None, *, loads: bool) -> None:
    found = webllm.predict(msgspec.structs.replace(model(texts(files)), literal=True), "0.2.86")
    assert field(found, "tokenizer_file") == asks
    assert field(found, "loads.tokenizer") is loads
    assert shown(found.fields.get("table_size", Known(None))) == size
    assert field(found, "first_failure") == (None if loads else "tokenizer")


@pytest.mark.parametrize(
    ("files", "asks", "ids"),
    [
        ({"mlc-chat-config__json": chat(tokenizer_files=["tokenizer.model"]), **BOTH}, "tokenizer.json", [3, 8]),
        ({"mlc-chat-config__json": chat(tokenizer_files=None), "tokenizer__model": SENTENCEPIECE}, "tokenizer.model", [3, 8]),
        ({"mlc-chat-config__json": chat()}, None, None),
        ({"mlc-chat-config__json": chat(conv_template="chatml"), **BOTH}, "tokenizer.json", None),
    ],
)
def test_mlc_goes_by_the_files_and_not_by_the_list(files: Any, asks: str | None, ids: list[int] | None) -> None:
    found = asked(mlc_llm, **files)
    assert field(found, "tokenizer_file") == asks
    assert field(found, "stops") == ids


def test_mlc_packages_neither_the_template_nor_the_map_of_special_tokens() -> None:
    files = {
        "tokenizer__json": tokenizer(),
        "tokenizer_config__json": {},
        "chat_template__jinja": "x",
        "special_tokens_map__json": {},
    }
    assert field(asked(mlc_llm, **files), "gen_config.tokenizer_files") == ["tokenizer.json", "tokenizer_config.json"]
    assert "unknown" in field(asked(mlc_llm, tokenizer__model=SENTENCEPIECE), "gen_config.tokenizer_files")


def conversation(**changes: Any) -> dict[str, Any]:
    """A configuration with some keys of the conversation changed; None takes one away."""
    merged = {**CHAT["conv_template"], **changes}
    return chat(conv_template={key: value for key, value in merged.items() if value is not None})


@pytest.mark.parametrize(
    ("config", "plain", "grammar", "failure"),
    [
        (chat(), [3, 8], [3, 8], None),
        (chat(conv_config={"stop_token_ids": [5]}), [5, 8], [5], None),
        (conversation(stop_token_ids=[3, 40]), [3, 8, 40], [3], None),
        (chat(vocab_size=8), [3, 8], [3], None),
        (conversation(stop_token_ids=[]), [8], [], None),
        (conversation(stop_token_ids=None), None, [], "first-token"),
        (chat(context_window_size=-1), [3, 8], [3, 8], "pipeline"),
        (chat(sliding_window_size=None), [3, 8], [3, 8], "pipeline"),
        (conversation(seps=[]), [3, 8], [3, 8], "prompt"),
    ],
)
def test_json_mode_ends_only_with_stop_ids_inside_of_the_table(config: Any, plain: Any, grammar: Any, failure: Any) -> None:
    found = asked(webllm, **{"mlc-chat-config__json": config, "tokenizer__json": tokenizer()})
    assert field(found, "stops") == plain
    assert field(found, "stops_in_grammar") == grammar
    assert field(found, "first_failure") == failure


@pytest.mark.parametrize(
    ("method", "ids"), [("byte_level", [9, 10, 11]), ("raw", [9, 10, 11]), ("byte_fallback", [9, 10]), ("bogus", None)]
)
def test_json_mode_without_stop_ids_knows_some_texts(method: str, ids: list[int] | None) -> None:
    names = ("<|im_end|>", "<|endoftext|>", "</s>", "<｜end▁of▁sentence｜>")
    added = [{"id": 8 + i, "content": text, **FLAGS} for i, text in enumerate(names)]
    config = conversation(stop_token_ids=None) | {"tokenizer_info": {"token_postproc_method": method}}
    found = field(
        asked(webllm, **{"mlc-chat-config__json": config, "tokenizer__json": tokenizer(added_tokens=added)}), "stops_in_grammar"
    )
    assert found == ids if ids else "does not know" in found["unknown"]


def test_a_hole_in_the_ids_is_an_empty_token_and_cuts_the_table_off() -> None:
    vocab = {**PIECES, "<end>": 12}
    content = tokenizer(
        model={"type": "BPE", "vocab": vocab, "merges": []}, added_tokens=[{"id": 12, "content": "<end>", **FLAGS}]
    )
    found = asked(webllm, **{"mlc-chat-config__json": conversation(stop_token_ids=[12]), "tokenizer__json": content})
    assert (field(found, "table_size"), field(found, "table_empty"), field(found, "stops_in_grammar")) == (9, 1, [])


def test_settings_of_the_tokenizer_that_are_empty_are_raw_and_null_ends_loading() -> None:
    for info, said, loads in (({}, "tokenizer_info", True), ("absent", "default", True), ("null", "error", False)):
        config: dict[str, Any] = {**CHAT, "tokenizer_info": None if info == "null" else info}
        if info == "absent":
            del config["tokenizer_info"]
        found = asked(webllm, **{"mlc-chat-config__json": config, "tokenizer__json": tokenizer()})
        assert field(found, "token_postproc")["from"] == said
        assert field(found, "loads.pipeline") is loads


def test_a_tokenizer_that_the_library_refuses_ends_loading_and_stops_nothing() -> None:
    found = asked(
        webllm, **{"mlc-chat-config__json": conversation(stop_str=[]), "tokenizer__json": tokenizer(decoder={"type": "New"})}
    )
    assert field(found, "errors.tokenizer.type") == "RuntimeError"
    assert (field(found, "stops"), field(found, "stops_in_grammar")) == (None, None)


def test_an_embedding_model_is_said_nothing_of_that_is_about_chats() -> None:
    found = asked(webllm, **{"mlc-chat-config__json": chat(model_type="bert"), "tokenizer__json": tokenizer()})
    assert "stops" not in found.fields
    assert field(found, "loads.tokenizer") is True


def test_files_that_are_not_json_end_webllm_at_its_configuration() -> None:
    for content in ("{", "", '{"vocab_size": NaN}'):
        found = asked(webllm, **{"mlc-chat-config__json": content})
        assert (field(found, "loads.config"), field(found, "first_failure")) == (False, "config")


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b"\xff", b"null", b'"x"', b"3", b'{"model_type": 1}', b"[[]]", b'{"model": {}}']
)
def test_no_file_of_another_shape_breaks_a_prediction(content: bytes) -> None:
    names = (
        "config.json",
        "generation_config.json",
        "tokenizer_config.json",
        "tokenizer.json",
        "tokenizer.model",
        "mlc-chat-config.json",
    )
    more = ("chat_template.jinja", "chat_template.json", "processor_config.json", "added_tokens.json", "tiktoken.model")
    modules = [engine for engine in engines() if engine.ID in ("llama.cpp", "transformers.js", "tgi", "webllm", "mlc-llm")]
    whole = texts({"config__json": {"architectures": ["LlamaForCausalLM"]}, "mlc-chat-config__json": CHAT, **BOTH})
    assert len(modules) == 5
    for name in (*names, *more):
        given = msgspec.structs.replace(model({**whole, name: content}), literal=True)
        for engine in modules:
            assert engine.predict(given, engine.VERSIONS[-1]).record()["engine"] == engine.ID
