"""Ollama: what its converter writes, and what a chat then stops on.

tests/engine_runs/ollama-fb30760.json holds what tokenizer.go, tokenizer_spm.go and the checks of config.json of ollama/ollama at fb30760 did with each
shared folder, built with Go 1.27: the errors, or the special tokens, the list of EOS ids, the beginning of the template's digest, the kind of vocabulary.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bot.analyze.engines import ollama
from bot.analyze.rules.ollama import files as ollama_files
from bot.answer import Unknown, shown
from tests.conftest import SHARED
from tests.models import model, model_of

RUNS = Path(__file__).parent / "engine_runs" / "ollama-fb30760.json"
LONG = "".join(f"{{{{ messages[{i}].content }}}}" for i in range(300))  # far from every template that Ollama has itself


def folder(eos: Any = "<eos>", generation: Any = None, settings: dict[str, Any] | None = None, **config: Any) -> dict[str, str]:
    """A folder with the tokens `<eos>` (1), `<end_of_turn>` (106) and `<|user|>` (107), of which the last is no added token."""
    vocab = {f"t{i}": i for i in range(106) if i != 1} | {"<eos>": 1, "<end_of_turn>": 106, "<|user|>": 107}
    entry = {"special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    added = [{"id": vocab[text], "content": text, **entry} for text in ("<eos>", "<end_of_turn>")]
    files: dict[str, Any] = {
        "config.json": {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", **config},
        "tokenizer.json": {"version": "1.0", "added_tokens": added, "model": {"type": "BPE", "vocab": vocab, "merges": []}},
        "tokenizer_config.json": {"eos_token": eos, "chat_template": LONG, **(settings or {})},
    }
    if generation is not None:
        files["generation_config.json"] = generation
    return {name: json.dumps(value) for name, value in files.items()}


def field(files: dict[str, str], key: str) -> Any:
    """What is said of a field, "" where nothing is."""
    fields = ollama.predict(model(files), "2026-08").fields
    return shown(fields[key]) if key in fields else ""


@pytest.mark.parametrize(
    ("files", "eos", "stops"),
    [
        (folder(), 1, [1, 106]),
        (folder({"content": "<end_of_turn>"}), 106, [1, 106]),
        (folder("<|user|>"), None, [1, 11, 106]),  # no added token: the runtime takes 11 for EOS then
        (folder(None, eos_token_id=106), None, [1, 11, 106]),
        (folder(generation={"eos_token_id": [1, 107]}), 1, [1, 106]),
        (folder(generation={"eos_token_id": [1, 107]}, architectures=["Glm4MoeLiteForCausalLM"]), 1, [1, 106, 107]),
        (folder(generation={"eos_token_id": 107}, architectures=["Glm4MoeLiteForCausalLM"]), 1, [1, 106]),
        (folder(architectures=["GemmaForCausalLM"]), 1, [1, 106, 107]),
        (folder(architectures=["GptOssForCausalLM"]), 199999, [1, 106, 199999]),
    ],
)
def test_eos_is_the_added_token_that_tokenizer_config_names(files: dict[str, str], eos: int | None, stops: list[int]) -> None:
    assert field(files, "eos_token_id") == eos
    assert field(files, "stops") == stops


def test_ids_behind_a_hole_are_not_told() -> None:
    files = folder()
    content = json.loads(files["tokenizer.json"])
    content["added_tokens"][1]["id"] = 109
    assert "holes" in field(files | {"tokenizer.json": json.dumps(content)}, "stops")["unknown"]


@pytest.mark.parametrize(
    ("changed", "key", "message"),
    [
        ({"config.json": None}, "config", "open config.json: no such file or directory"),
        ({"config.json": "{}"}, "config", "unknown architecture"),
        ({"config.json": '{"architectures": ["Qwen3ForCausalLM"]}'}, "config", 'unsupported architecture "Qwen3ForCausalLM"'),
        ({"config.json": '{"architectures": ["BertModel"]}'}, "config", "open modules.json: no such file or directory"),
        ({"tokenizer.json": None}, "tokenizer", "unknown tokenizer format"),
        ({"tokenizer.json": "{"}, "tokenizer", ""),
        ({"tokenizer_config.json": '{"chat_template": {"default": "x"}}'}, "tokenizer", ""),
        ({"tokenizer_config.json": '{"add_bos_token": "yes"}'}, "tokenizer", ""),
        ({"generation_config.json": "[]"}, "tokenizer", ""),
    ],
)
def test_the_conversion_ends(changed: dict[str, str | None], key: str, message: str) -> None:
    files = {name: text for name, text in (folder() | changed).items() if text is not None}
    assert field(files, f"loads.{key}") is False
    assert field(files, f"errors.{key}.message") == message
    assert field(files, "stops") is None


def pieces(*texts: str) -> bytes:
    """A SentencePiece model with these pieces, the first of them unknown."""
    rows = b""
    for place, text in enumerate(texts):
        piece = b"\x0a" + bytes([len(text)]) + text.encode() + (b"\x18\x02" if place == 0 else b"")
        rows += b"\x0a" + bytes([len(piece)]) + piece
    return rows


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ({"<a>": 3, "<b>": 4}, None),
        ({"</s>": 2}, None),
        ({"<a>": 4}, "invalid token id: [4] as pos [3]"),
        ({"<a>": 2}, "token mismatch: <a> != </s> at pos [2]"),
    ],
)
def test_tokenizer_model_comes_first_and_added_tokens_follow_without_a_gap(added: dict[str, int], message: str | None) -> None:
    files = {**folder("</s>"), "tokenizer.model": pieces("<unk>", "<s>", "</s>").decode("latin-1")}
    entries: dict[str, bytes | str] = {
        **files,
        "tokenizer.model": pieces("<unk>", "<s>", "</s>"),
        "added_tokens.json": json.dumps(added),
    }
    fields = ollama.predict(model(entries), "2026-08").fields
    if message is not None:
        assert shown(fields["errors.tokenizer.message"]) == message
    else:
        assert shown(fields["eos_token_id"]) is None  # it is looked up in tokenizer.json, which does not have it
        assert shown(fields["stops"]) == [2]


def test_special_tokens_written_as_strings_beside_a_tokenizer_model_end_the_server() -> None:
    entries: dict[str, bytes | str] = {
        **folder(),
        "tokenizer.model": pieces("<unk>", "<s>", "</s>"),
        "special_tokens_map.json": '{"additional_special_tokens": ["<a>"]}',
    }
    told = shown(ollama.predict(model(entries), "2026-08").fields["errors.tokenizer.message"])
    assert told == "interface conversion: interface {} is string, not map[string]interface {}"


def test_only_the_template_of_tokenizer_config_is_read() -> None:
    files = folder()
    beside = field(files | {"chat_template.jinja": "other"}, "template.sha256")
    assert isinstance(beside, str)
    assert field(files, "template.sha256") == beside
    without = folder(settings={"chat_template": None}) | {"chat_template.jinja": "other"}
    assert field(without, "template.sha256") is None
    assert field(without, "template.file") is None


def test_a_template_near_one_of_its_own_is_not_told() -> None:
    near = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
    assert "Ollama's own template" in field(folder(settings={"chat_template": near}), "template.sha256")["unknown"]
    gemma = folder(settings={"chat_template": near}, architectures=["Gemma4ForCausalLM"])
    assert (field(gemma, "template.sha256"), field(gemma, "template.builtin")) == (None, "gemma4")


def test_any_folder_is_answered() -> None:
    assert not ollama.applies(model({}))
    for content in ("", "[]", "{", "null", '"x"'):
        for name in folder():
            assert ollama.predict(model(folder() | {name: content}), "2026-08").fields


@pytest.mark.needs("shared")
def test_what_the_converter_did_is_what_is_predicted() -> None:
    wrong: list[Any] = []
    unread = 0
    for snapshot, did in json.loads(RUNS.read_text("utf-8")).items():
        path = SHARED.joinpath(*snapshot.split("__"))
        if not path.is_dir():
            continue
        folder_ = msgspec.structs.replace(model_of(path), literal=True)
        config, tokenizer = ollama_files.architecture(folder_), ollama_files.tokenizer(folder_)
        if "config" in did:
            if not isinstance(config, ollama_files.Refusal) or config.message not in ("", did["config"]):
                wrong.append((snapshot, did["config"], config))
        elif isinstance(config, ollama_files.Refusal) and not config.message.startswith(("unsupported", "open ")):
            wrong.append((snapshot, None, config))
        if isinstance(tokenizer, Unknown):
            unread += 1
        elif isinstance(tokenizer, ollama_files.Refusal):
            if tokenizer.message not in did.get("tokenizer", "?"):
                wrong.append((snapshot, did, tokenizer))
        elif "tokenizer" in did or (tokenizer.kind, dict(tokenizer.roles), list(tokenizer.eos_ids)) != (
            did["model"],
            did.get("special", {}),
            did.get("eos_ids", []),
        ):
            wrong.append((snapshot, did, tokenizer))
    assert wrong == []
    assert unread < 10
