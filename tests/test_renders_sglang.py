"""The prompts of sglang, against what its own code did.

tests/engine_runs/sglang-requests.json holds what the code of nine releases handed to a chat template, request by request, as tools/requests_sglang.py
ran it; the golden records of tests/test_predictions.py hold the prompts of 0.5.23.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import transformers

from bot.analyze.engines import sglang
from bot.analyze.render import Prompt
from bot.analyze.rules.sglang.conversation import written
from bot.analyze.rules.sglang.messages import Given, given, second
from bot.analyze.rules.sglang.releases import RELEASES
from bot.analyze.rules.sglang.requests import REQUESTS
from bot.answer import Known, Unknown
from bot.place import Place
from bot.probe import Probe
from tests.models import model

RUNS = Path(__file__).parent / "engine_runs/sglang-requests.json"
ROWS: list[dict[str, Any]] = json.loads(RUNS.read_text("utf-8"))


def same(ours: Any, theirs: Any) -> bool:
    """Whether a template sees no difference: equal values of equal types, keys in the same order."""
    return json.dumps(ours) == json.dumps(theirs)


@pytest.mark.parametrize("release", [*REQUESTS])
def test_a_template_is_given_what_the_release_gave_it(release: str) -> None:
    requests, seen = REQUESTS[release], Counter[str]()
    wrong: list[Any] = []
    for row in ROWS:
        request, did = row["request"], row["outcomes"][release]
        if "conversation" in request or (request.get("closed") and not requests.closes):
            continue
        ours = given(
            request["messages"],
            request.get("tools"),
            requests,
            parts=request.get("parts", False),
            closed=request.get("closed", False),
        )
        match ours:
            case Unknown(reason):
                seen["unknown"] += 1
                assert "was not looked up" in reason
            case Prompt():
                seen["refused"] += 1
                if did["calls"] or did.get("error") != ours.type:
                    wrong.append((request, ours, did))
            case Given():
                seen["given"] += 1
                tools = (ours.tools, ours.tools and second(ours.tools, requests))
                calls = did["calls"]
                if not calls or len(calls) != min(len(request.get("raises", ())) + 1, 2):
                    wrong.append((request, ours, did))
                wrong.extend(
                    (request, ours, call)
                    for call, offered in zip(calls, tools, strict=False)
                    if not (
                        same(ours.messages, call["messages"])
                        and same(offered, call["tools"])
                        and call["add_generation_prompt"] is not request.get("closed", False)
                    )
                )
    assert wrong == [], "\n".join(map(str, wrong))
    assert seen["given"] > 50
    assert seen["refused"] > 20
    assert seen["unknown"] < 5


@pytest.mark.parametrize("release", [*REQUESTS])
def test_exceptions_leave_the_server_as_they_did(release: str) -> None:
    plain, seen = REQUESTS[release].plain, 0
    for row in ROWS:
        raises = row["request"].get("raises", ())
        if len(raises) == 2:
            seen += 1
            error = row["outcomes"][release]["error"]
            assert error == ("ValueError" if raises[1] in plain else raises[1])
    assert seen > 5


@pytest.mark.parametrize("release", [*REQUESTS])
def test_reasoning_effort_and_variables_are_those_of_the_release(release: str) -> None:
    seen = 0
    for row in ROWS:
        for call in row["outcomes"][release].get("calls", ()):
            seen += 1
            assert call.get("reasoning_effort") == REQUESTS[release].effort
            for name, value in row["request"].get("variables", {}).items():
                assert call[name] == value
    assert seen > 50


@pytest.mark.parametrize("release", [*REQUESTS])
def test_conversations_of_sglangs_own_are_written_as_the_release_wrote_them(release: str) -> None:
    names, seen = (RELEASES[release].builtin or {}).values(), Counter[str]()
    for row in ROWS:
        request, did = row["request"], row["outcomes"][release]
        if request.get("conversation") not in names:
            continue
        ours = written(request["conversation"], request["messages"], REQUESTS[release])
        assert isinstance(ours, Prompt), request
        assert (ours.text, ours.type) == (did.get("prompt"), did.get("error", "")), request
        seen[request["conversation"]] += 1
    assert {*seen} == {*names}


USER: dict[str, Any] = {"role": "user", "content": "Hi"}
ASKED: dict[str, Any] = {"add_generation_prompt": True}
LOOK = {"type": "function", "function": {"name": "look", "description": "Look."}}
CONFIG = {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}


def folder(
    template: Any, *, config: dict[str, Any] = CONFIG, unit: dict[str, Any] | None = None, **settings: Any
) -> dict[str, str]:
    """The files of a folder with a small tokenizer, which encodes everything unless its model is another."""
    piece = unit or {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}
    ends = {
        "content": "</s>",
        "id": 9,
        "special": True,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
    }
    steps = dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"))
    tokenizer = {"version": "1.0", "added_tokens": [ends], "model": piece, **steps}
    named = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "</s>", "chat_template": template, **settings}
    written = {"config": config, "tokenizer": tokenizer, "tokenizer_config": {k: v for k, v in named.items() if v is not None}}
    return {f"{name}.json": json.dumps(content) for name, content in written.items()}


def prompt(files: dict[str, str], *messages: dict[str, Any], version: str = "0.5.23", name: str = "", **variables: Any) -> Any:
    """The outcome of one conversation."""
    probe = Probe("it", messages or (USER,), {**ASKED, **variables}, name)
    found = sglang.renders(model(files), version, (probe,))
    return found.value.get("it") if isinstance(found, Known) else found


def text(*given: Any, **words: Any) -> str | None:
    found = prompt(*given, **words)
    assert isinstance(found, Prompt), found
    assert (found.text is None) == bool(found.type)
    return found.type if found.text is None else found.text


def test_a_template_that_wants_bare_tools_gets_them_the_second_time() -> None:
    template = "{% for t in tools %}{{ raise_exception('no') if t.function is defined else t.name }}{% endfor %}"
    assert text(folder(template), tools=[LOOK]) == "look"
    # Before 0.5.9 it is the other way round (read).
    wrapped = "{% for t in tools %}{{ raise_exception('no') if t.name is defined else t.function.name }}{% endfor %}"
    assert text(folder(wrapped), tools=[LOOK], version="0.5.6") == "look"


def test_what_a_template_raises_is_told_as_a_value_error_from_the_release_on_that_does_so() -> None:
    declined, wrong, missing = "{{ raise_exception('no') }}", "{{ 'a' + 1 }}", "{{ 1 // 0 }}"
    assert [text(folder(each)) for each in (declined, wrong, missing)] == ["ValueError", "ValueError", "ZeroDivisionError"]
    assert [text(folder(each), version="0.5.12") for each in (declined, wrong)] == ["ValueError", "TypeError"]
    assert [text(folder(each), version="0.5.6") for each in (declined, wrong)] == ["TemplateError", "TypeError"]
    assert text(folder("{% if %}")) == "ValueError"


def test_without_a_template_a_request_fails() -> None:
    assert text(folder(None)) == "ValueError"
    assert text(folder("")) == ""


def test_the_first_named_template_takes_every_request() -> None:
    named = [{"name": "rag", "template": "1"}, {"name": "default", "template": "2"}, {"name": "tool_use", "template": "3"}]
    assert text(folder(named)) == text(folder(named), tools=[LOOK]) == "1"
    assert text(folder(named), name="tool_use") == "3"
    assert prompt(folder(named), name="other") == Unknown("there is no chat template called other")


def test_messages_come_as_the_template_takes_them() -> None:
    parts = "{% for message in messages %}{% for part in message.content %}[{{ part.text }}]{% endfor %}{% endfor %}"
    both = {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    assert text(folder(parts), both) == "[a][b]"
    assert text(folder("{{ messages[0].content }}"), both) == "a b"
    shown = "{{ messages[1].content is none }} {{ messages[1].content == '' }}"
    assert text(folder(shown), USER, {"role": "assistant", "content": None}, USER) == "False True"


def test_a_reply_at_the_end_becomes_a_users_message_unless_no_other_is_asked_for() -> None:
    shown, reply = "{{ messages[-1].role }}{{ add_generation_prompt }}", {"role": "assistant", "content": "Yes"}
    assert text(folder(shown), USER, reply) == "userTrue"
    assert text(folder(shown), USER, reply, version="0.5.6") == "assistantTrue"
    assert text(folder(shown), USER, reply, add_generation_prompt=False) == "assistantFalse"
    assert prompt(folder(shown), USER, add_generation_prompt=False, version="0.5.21") == Unknown(
        "this release always begins a reply"
    )


def test_older_releases_hand_over_an_effort() -> None:
    assert text(folder("{{ reasoning_effort }}"), version="0.5.9") == "medium"
    assert text(folder("{{ reasoning_effort }}"), version="0.5.10") == ""
    assert text(folder("{{ reasoning_effort }}"), reasoning_effort="low", version="0.5.9") == "low"


def test_token_strings_are_those_of_the_tokenizer() -> None:
    assert text(folder("{{ eos_token }}|{{ bos_token }}")) == "</s>|"


@pytest.mark.parametrize("name", ["DeepseekV4ForCausalLM", "KimiK3ForConditionalGeneration", "InklingForConditionalGeneration"])
def test_what_encoders_in_python_write_is_not_told(name: str) -> None:
    assert isinstance(prompt(folder("x", config={**CONFIG, "architectures": [name]})), Unknown)


def test_deepseek_without_a_template_is_written_by_an_encoder() -> None:
    config = {**CONFIG, "architectures": ["DeepseekV3ForCausalLM"]}
    assert isinstance(prompt(folder(None, config=config)), Unknown)
    assert text(folder("x", config=config)) == "x"


def test_a_conversation_of_sglangs_own_comes_before_the_template() -> None:
    config = {"model_type": "phi4mm", "architectures": ["Phi4MMForCausalLM"]}
    assert text(folder("x", config=config)) == "<|user|>Hi<|end|><|assistant|>"
    assert text(folder("x", config=config), add_generation_prompt=False) == "ValueError"


def test_a_tokenizer_that_does_not_load_makes_no_prompts() -> None:
    files = {**folder("x"), "tokenizer.json": "{}"}
    assert sglang.renders(model(files), "0.5.23", (Probe("it", (USER,), ASKED),)) == Known(
        {}, (Place("head", "tokenizer_config.json"),)
    )


def test_a_release_that_was_not_read_is_not_told() -> None:
    assert isinstance(prompt(folder("x"), version="0.4.6"), Unknown)


UNITS: dict[str, dict[str, Any]] = {
    "WordLevel": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "[UNK]"},
    "WordPiece": {
        "type": "WordPiece",
        "vocab": {"a": 0},
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 9,
    },
    "BPE": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": [], "unk_token": "<unk>"},
    "Unigram": {"type": "Unigram", "vocab": [["a", 0.0], ["b", -1.0]], "unk_id": None},
    "BPE with it": {"type": "BPE", "vocab": {"a": 0, "<unk>": 1}, "merges": [], "unk_token": "<unk>"},
    "Unigram with it": {"type": "Unigram", "vocab": [["a", 0.0], ["b", -1.0]], "unk_id": 0},
    "BPE without": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []},
}


@pytest.mark.parametrize("unit", [*UNITS])
@pytest.mark.parametrize("said", ["a", "z", "\ud800"])
def test_a_prompt_that_the_tokenizer_cannot_encode_fails_as_in_transformers(unit: str, said: str, tmp_path: Path) -> None:
    files = folder(said, unit=UNITS[unit])
    for name, content in files.items():
        (tmp_path / name).write_text(content, "utf-8")
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(tmp_path)
    try:
        tokenizer.encode(tokenizer.apply_chat_template([USER], tokenize=False), add_special_tokens=False)
        error = ""
    except Exception as raised:  # noqa: BLE001 - whatever it raises is the outcome
        error = type(raised).__name__
    assert error in ("", "Exception", "TypeError")
    assert text(files) == {"TypeError": "ValueError", "": said}.get(error, error)


def test_a_large_tokenizer_that_may_not_encode_is_not_told() -> None:
    vocab = {f"{i:08}": i for i in range(20_000)}
    unit = {"type": "BPE", "vocab": vocab, "merges": [], "unk_token": "<unk>"}
    found = prompt(folder("a", unit=unit))
    assert isinstance(found, Unknown)
    assert "encode" in found.reason
    assert text(folder("a", unit={**unit, "unk_token": None})) == "a"


def test_a_conversation_of_no_messages_is_refused() -> None:
    found = sglang.renders(model(folder("x")), "0.5.23", (Probe("it", (), ASKED),))
    assert isinstance(found, Known)
    assert [each.type for each in found.value.values() if isinstance(each, Prompt)] == ["ValueError"]


def test_media_and_odd_schemas_are_not_told() -> None:
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}
    assert isinstance(prompt(folder("x"), image), Unknown)
    odd = {
        "type": "function",
        "function": {"name": "look", "parameters": {"type": "object", "properties": {"a": {"type": "varchar"}}}},
    }
    assert isinstance(prompt(folder("x"), tools=[odd]), Unknown)
    nested = {**odd, "function": {"name": "look", "parameters": {"type": "object", "properties": {"type": {"type": "string"}}}}}
    assert text(folder("x"), tools=[nested]) == "x"
