"""llama.cpp: the converter's special tokens and templates, and the end-of-generation set of the runtime.

tests/engine_runs/gguf-py-0c1e57098.json holds what class SpecialVocab of gguf-py, as it stands in the tree of llama.cpp at 0c1e57098, did with each shared
folder: ids by role, what is added, the first 16 digits of the hash of the template, or the type of the exception. The golden records are those of gguf-py 0.19.0.
"""

import base64
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bot.analyze.engines import llama_cpp
from bot.analyze.model.folder import Model
from bot.analyze.rules.llama_cpp.gguf_vocab import Refusal, SpecialVocab, special_vocab
from bot.answer import Known, Unknown, shown
from tests.conftest import SHARED
from tests.models import model, model_of

RUN = Path(__file__).parent / "engine_runs/gguf-py-0c1e57098.json"
RECORDS = "golden/llama.cpp-0c1e57098"
VERSION = llama_cpp.VERSIONS[-1]
ADDED = {"<eos>": 1, "<end_of_turn>": 106, "<bos>": 2}
FLAGS = {"special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}


def tokenizer(*, added: dict[str, int] | None = None, **parts: Any) -> str:
    """A tokenizer.json of 110 tokens named after their ids, those apart that are added under another name."""
    added = ADDED if added is None else added
    entries = [{"id": number, "content": text, **FLAGS} for text, number in added.items()]
    vocab = {f"t{i}": i for i in range(110) if i not in added.values()} | added
    return json.dumps(
        {"version": "1.0", "added_tokens": entries, "model": {"type": "BPE", "vocab": vocab, "merges": []}, **parts}
    )


def folder(settings: Any = None, config: Any = None, **files: str) -> Model:
    """A folder with the usual tokenizer.json, if no other is given as `tokenizer`."""
    named = {"tokenizer.json": files.pop("tokenizer", tokenizer())}
    named["config.json"] = json.dumps({"architectures": ["Qwen3ForCausalLM"], **(config or {})})
    if settings is not None:
        named["tokenizer_config.json"] = json.dumps(settings)
    return model({**{name: text for name, text in named.items() if text}, **{k.replace("__", "."): v for k, v in files.items()}})


def field(given: Model, key: str) -> Any:
    """What is predicted of a field."""
    return shown(llama_cpp.predict(given, VERSION).fields[key])


ENDING = {
    "type": "TemplateProcessing",
    "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<eos>", "type_id": 0}}],
}


@pytest.mark.parametrize(
    ("given", "eos"),
    [
        (folder({"eos_token": "<eos>"}, {"eos_token_id": 106}), 1),
        (folder({}, {"eos_token_id": 106}), 106),
        (folder({}, {"eos_token_id": [1, 106]}), None),
        (folder({}, {"text_config": {"eos_token_id": 106}}), 106),
        (folder({}, generation_config__json='{"eos_token_id": 106}'), None),
        (folder({"eos_token": "<eos>"}, {"eos_token_id": 106}, tokenizer=""), 106),
        (folder({"eos_token": "<eos>"}, {"eos_token_id": 106}, tokenizer=tokenizer(added={})), 106),
        (folder({"eos_token": {"content": "<eos>"}}), 1),
        (folder({"eos_token": "<end_of_turn>"}, tokenizer=tokenizer(post_processor={**ENDING, "special_tokens": {}})), 1),
    ],
)
def test_eos_is_the_token_that_is_named_then_a_single_number_of_the_config(given: Model, eos: int | None) -> None:
    assert field(given, "eos_token_id") == eos


def test_what_the_post_processor_ends_with_takes_the_place_of_eos_which_then_ends_a_turn() -> None:
    given = folder({"eos_token": "<end_of_turn>"}, tokenizer=tokenizer(post_processor={**ENDING, "special_tokens": {}}))
    assert field(given, "eot_token_id") == 106
    assert field(given, "gguf_add_special") == {"eos": True}


@pytest.mark.parametrize(
    ("given", "file"),
    [
        (folder({"chat_template": "old"}, chat_template__jinja="new"), "tokenizer_config.json"),
        (folder({"x": 1, "chat_template": None}, chat_template__jinja="new"), None),
        (folder(None, chat_template__jinja="new"), None),
        (folder({}, chat_template__jinja="new"), None),  # an empty file counts for none
        (folder({"x": 1}, chat_template__jinja="new", chat_template__json='{"chat_template": "json"}'), "chat_template.jinja"),
        (folder({"x": 1}, chat_template__json='{"chat_template": "json"}'), "chat_template.json"),
    ],
)
def test_the_template_of_tokenizer_config_wins_and_without_that_file_there_is_none(given: Model, file: str | None) -> None:
    assert field(given, "template.file") == file
    assert (field(given, "template.sha256") is None) == (file is None)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (folder({}, {"pad_token_id": -1}), "ValueError"),
        (folder({"x": 1}, tokenizer="version https://git-lfs"), "JSONDecodeError"),
        (folder({"x": 1}, {"text_config": None}), "AttributeError"),
    ],
)
def test_what_the_converter_raises_over_ends_it_and_nothing_stops(given: Model, error: str) -> None:
    given = msgspec.structs.replace(given, literal=True)
    assert field(given, "loads.special_vocab") is False
    assert field(given, "errors.special_vocab.type") == error
    assert field(given, "stops") is None


def ends(*texts: str, architecture: str = "Qwen3ForCausalLM", **settings: Any) -> Any:
    """The stop ids where the vocabulary has these tokens, from 200 on, and EOS is <eos> with the id 1."""
    added = {**ADDED, **{text: 200 + i for i, text in enumerate(texts)}}
    files = tokenizer(added=added)
    return field(folder({"eos_token": "<eos>", **settings}, {"architectures": [architecture]}, tokenizer=files), "stops")


def test_a_reply_ends_with_tokens_that_are_known_by_their_text_whatever_the_metadata_say() -> None:
    assert ends() == [1, 106]
    assert ends("<|im_end|>", "<|fim_pad|>", "<|file_sep|>", "<other>") == [1, 106, 200, 201, 202]
    assert ends("<|end|>") == [1, 106, 200]
    assert ends("<|end|>", "<|return|>", "<|call|>") == [1, 106, 201, 202]
    assert ends("</s>", "<|tool_response>") == [1, 106, 201]
    assert "hash table" in ends("<PAD>", "[PAD]")["unknown"]


def test_glm_ends_turns_by_texts_of_the_converter_and_is_not_converted_without_them() -> None:
    assert ends("<|user|>", "<|observation|>", architecture="Glm4MoeForCausalLM") == [1, 106, 200, 201]
    assert ends("<|user|>", architecture="Glm4MoeForCausalLM") is None
    assert "of its own" in ends(architecture="RWKV7ForCausalLM")["unknown"]


def test_an_architecture_without_a_converter_stops_on_nothing() -> None:
    given = folder({"eos_token": "<eos>"}, {"architectures": ["WhisperForConditionalGeneration"]})
    assert field(given, "loads.config") is False
    assert field(given, "stops") is None
    inner = folder(
        {"eos_token": "<eos>"},
        {"architectures": ["XForConditionalGeneration"], "text_config": {"architectures": ["Qwen3ForCausalLM"]}},
    )
    assert field(inner, "stops") == [1, 106]


def kimi(ranks: bytes) -> Model:
    """A folder with a tokenizer in Python and a tiktoken vocabulary, as Kimi-K2 has it."""
    decoder = {"585": {"content": "[EOS]", "special": True}, "586": {"content": "<|im_end|>", "special": True}}
    settings = {"auto_map": {"AutoTokenizer": ["t.T", None]}, "eos_token": "[EOS]", "added_tokens_decoder": decoder}
    config = {"architectures": ["DeepseekV3ForCausalLM"], "eos_token_id": 586}
    files: dict[str, bytes | str] = {"config.json": json.dumps(config), "tokenizer_config.json": json.dumps(settings)}
    return model({**files, "tiktoken.model": ranks})


def test_kimi_stops_on_both_ids_whichever_the_files_name() -> None:
    piece = base64.b64encode(b"</s>").decode()
    assert field(kimi(b"IQ== 0\nIg== 1\n"), "stops") == [585, 586]
    assert field(kimi(f"IQ== 0\n{piece} 7\n".encode()), "stops") == [7, 585, 586]
    assert (
        "could not be read" in field(msgspec.structs.replace(kimi(b"version https://git-lfs"), literal=True), "stops")["unknown"]
    )


def test_the_two_versions_of_gguf_py_differ_in_what_follows_from_a_post_processor() -> None:
    single = [{"SpecialToken": {"id": "<bos>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    processor = {"type": "TemplateProcessing", "single": single, "pair": single, "special_tokens": {}}
    given = folder({"eos_token": "<eos>"}, {"bos_token_id": 5}, tokenizer=tokenizer(post_processor=processor))
    package, tree = (special_vocab(given, tree=each) for each in (False, True))
    assert isinstance(package, SpecialVocab)
    assert isinstance(tree, SpecialVocab)
    assert (package.ids["bos"], tree.ids["bos"]) == (5, 2)
    assert "gguf-py" in field(given, "bos_token_id")["unknown"]


def test_a_link_that_was_checked_out_as_text_says_nothing() -> None:
    given = msgspec.structs.replace(folder({}, tokenizer="../other/tokenizer.json"), literal=True)
    assert isinstance(special_vocab(given, tree=True), Unknown)


def test_a_folder_without_anything_is_answered() -> None:
    assert not llama_cpp.applies(model({}))
    assert field(model({}), "eos_token_id") is None


@pytest.mark.needs("shared")
def test_what_gguf_py_did_is_what_is_predicted() -> None:
    wrong: list[Any] = []
    runs = json.loads(RUN.read_text("utf-8"))
    read = 0
    for snapshot, tree in runs.items():
        record = json.loads((SHARED / RECORDS / f"{snapshot}.json").read_text("utf-8"))
        given = msgspec.structs.replace(model_of(SHARED.joinpath(*snapshot.split("__"))), literal=True)
        old = record["gguf_special_token_ids"] if record["loads"]["special_vocab"] else record["errors"]["special_vocab"]["type"]
        new = tree["ids"] if isinstance(tree, dict) else tree
        for side, did in ((False, old), (True, new)):
            ours = special_vocab(given, tree=side)
            if not isinstance(ours, Unknown):
                read += 1
                said = ours.error if isinstance(ours, Refusal) else dict(ours.ids)
                if said != did:
                    wrong.append((snapshot, side, said, did))
        if isinstance(tree, dict):
            found = llama_cpp.predict(given, VERSION).fields
            template, adds = shown(found["template.sha256"]), found["gguf_add_special"]
            if (template and template[:16]) != tree["template"]:
                wrong.append((snapshot, template, tree["template"]))
            if isinstance(adds, Known) and not adds.value == tree["adds"] == record["gguf_add_special"]:
                wrong.append((snapshot, adds, tree["adds"]))
    assert wrong == []
    assert read >= 2 * len(runs) - 2
