"""The prompts of WebLLM.

tests/engine_runs/web-llm-0.2.86-prompts.json holds what the code of npm @mlc-ai/web-llm 0.2.86 made of conversations in Node 20: classes and functions of
lib/index.js as they stand, called as a chat calls them. `base` is a conversation template; a run changes some of its keys and leaves others out,
or gives conv_template as it is.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.analyze.engines import webllm
from bot.analyze.model import mlc
from bot.analyze.model.folder import Model
from bot.analyze.probes import ASKED
from bot.analyze.render import Prompt
from bot.analyze.rules.encoding import encoded_by_webllm
from bot.analyze.rules.webllm_prompt import Parts, prompt_of
from bot.answer import Known, Unknown
from bot.probe import Probe
from tests.conftest import SHARED, present
from tests.models import model, model_of

RUN = json.loads((Path(__file__).parent / "engine_runs/web-llm-0.2.86-prompts.json").read_bytes())
RECORDS = sorted((SHARED / "golden/webllm-0.2.86").glob("*.json")) if present("shared") else []
BASE: dict[str, Any] = RUN["base"]
HELLO = Probe("hello", ({"role": "user", "content": "Hi"},))
# One letter, one token.
LETTERS = {letter: number for number, letter in enumerate(sorted({chr(code) for code in range(33, 127)} | {"Ġ", "Ċ"}))}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
TOKENIZER: dict[str, Any] = {
    "version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": BYTES, "post_processor": None, "decoder": BYTES,
    "model": {"type": "BPE", "vocab": LETTERS, "merges": []},
}  # fmt: skip
CONFIG: dict[str, Any] = {
    "model_type": "qwen2", "vocab_size": 96, "context_window_size": 4096, "sliding_window_size": -1, "tokenizer_files": ["tokenizer.json"],
    "tokenizer_info": {"token_postproc_method": "byte_level", "prepend_space_in_encode": False}, "conv_template": BASE,
}  # fmt: skip


def folder(tokenizer: dict[str, Any] = TOKENIZER, **settings: Any) -> Model:
    return model({"mlc-chat-config.json": json.dumps({**CONFIG, **settings}), "tokenizer.json": json.dumps(tokenizer)})


def rendered(found: Model, probe: Probe = HELLO) -> Prompt | Unknown:
    """The prompt of one conversation."""
    answer = webllm.renders(found, "0.2.86", (probe,))
    assert isinstance(answer, Known)
    return answer.value[probe.name]


def config_of(run: dict[str, Any]) -> dict[str, Any]:
    """The two keys that a run had in mlc-chat-config.json."""
    without = run.get("without", [])
    whole = {key: value for key, value in {**BASE, **run.get("changes", {})}.items() if key not in without}
    stated = {} if "conv_template" in without else {"conv_template": run.get("conv_template", whole)}
    return {"vocab_size": 1, **stated, **({"conv_config": run["conv_config"]} if "conv_config" in run else {})}


def test_every_prompt_and_every_error_is_that_of_the_real_code() -> None:
    wrong: list[Any] = []
    unknown = 0
    for run in RUN["runs"]:
        conversation = mlc.conversation(model({"mlc-chat-config.json": json.dumps(config_of(run))}))
        variables = {"enable_thinking": run["thinking"]} if "thinking" in run else {}
        made = prompt_of(conversation, Probe("", tuple(RUN["conversations"][run["on"]]), variables))
        unknown += isinstance(made, Unknown)
        ours = list(made.pieces) if isinstance(made, Parts) else getattr(made, "type", None)
        if not isinstance(made, Unknown) and ours != run.get("gives", run.get("throws")):
            wrong.append((run, ours))
    assert wrong == []
    assert len(RUN["runs"]) > 700
    assert unknown < 0.03 * len(RUN["runs"])


@pytest.mark.needs("shared")
def test_the_pieces_become_the_ids_that_are_prefilled() -> None:
    wrong: list[Any] = []
    seen = 0
    for path in RECORDS:
        record = json.loads(path.read_text("utf-8"))
        found = model_of(SHARED.joinpath(*record["snapshot"].split("__")))
        for probe in ASKED:
            ids = (record.get("prompt_ids") or {}).get(probe.name)
            made = prompt_of(mlc.conversation(found), probe)
            if not isinstance(ids, list) or not isinstance(made, Parts):
                continue
            encoded = encoded_by_webllm(found, made.pieces)
            if isinstance(encoded, Known):
                seen += 1
                first = mlc.conversation(found).get("system_prefix_token_ids") or []
                ours = [*first, *(number for piece in made.pieces for number in encoded.value[piece])]
                wrong += [] if ours == ids else [(record["snapshot"], probe.name, ours, ids)]
    assert wrong == []
    assert seen > 100


def test_tools_change_nothing_and_a_reply_is_always_asked_for() -> None:
    plain = rendered(folder())
    assert isinstance(plain, Prompt)
    assert plain.text == ("<|im_start|>system\nYou are small.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    for variables in ({"tools": [{"type": "function"}]}, {"add_generation_prompt": False}):
        assert rendered(folder(), Probe("other", HELLO.messages, variables)) == plain


def test_the_chat_template_of_other_files_is_not_read() -> None:
    files = {"mlc-chat-config.json": json.dumps(CONFIG), "tokenizer.json": json.dumps(TOKENIZER), "chat_template.jinja": "no"}
    assert rendered(model(files)) == rendered(folder())


@pytest.mark.parametrize(("window", "fits"), [(95, False), (96, True), (None, False), (2.5, False)])
def test_a_prompt_that_is_larger_than_the_window_is_refused(window: Any, fits: bool) -> None:  # noqa: FBT001 - a parameter of the table
    made = rendered(folder(context_window_size=window))
    assert isinstance(made, Prompt)
    assert made.type == ("" if fits else "ContextWindowSizeExceededError")


def test_a_sliding_window_has_no_end_and_a_window_that_is_refused_is_left_to_the_application() -> None:
    sliding = folder(context_window_size=-1, sliding_window_size=4, attention_sink_size=0)
    assert rendered(sliding) == rendered(folder(context_window_size=-1)) == rendered(folder())


def test_a_padding_block_counts_against_the_window() -> None:
    block: dict[str, Any] = {"strategy": {"Fixed": 50}, "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "!"}
    padded = {**TOKENIZER, "padding": {**block, "pad_to_multiple_of": None}}
    short, enough = (rendered(folder(padded, context_window_size=size)) for size in (149, 150))
    assert isinstance(short, Prompt)
    assert short.type == "ContextWindowSizeExceededError"
    assert enough == rendered(folder())


def test_nothing_is_made_where_nothing_loads() -> None:
    refused: list[dict[str, Any]] = [
        {"tokenizer_info": None},
        {"tokenizer_files": []},
        {"tokenizer_files": ["tokenizer.model"]},
        {"model_type": "bert"},
    ]
    for settings in refused:
        assert webllm.renders(folder(**settings), "0.2.86", ASKED) == Known({})
    broken = model({"mlc-chat-config.json": "{", "tokenizer.json": "{}"})
    assert webllm.renders(broken, "0.2.86", ASKED) == Known({})
    other = model({"mlc-chat-config.json": '{"model_list": []}'})
    assert isinstance(webllm.renders(other, "0.2.86", ASKED), Unknown)


def test_a_text_that_grows_with_the_square_of_its_size_is_not_made() -> None:
    bomb = {**BASE, "system_template": "x" * 1_000_000 + "{system_message}", "system_message": "$`" * 500_000}
    made = rendered(folder(conv_template=bomb))
    assert isinstance(made, Prompt)
    assert made.kind == "limits"


@pytest.mark.parametrize("key", ["system_message", "role_content_sep", "seps", "roles", "role_templates"])
@pytest.mark.parametrize("value", [[[[]]], 0.1, 10**400, {"user": {"toString": 1}, "assistant": [[]]}, [{"__proto__": 1}]])
def test_values_without_a_text_that_is_certain_are_not_guessed(key: str, value: Any) -> None:
    made = rendered(folder(conv_template={**BASE, key: value}))
    assert isinstance(made, Unknown | Prompt)
    assert isinstance(made, Unknown) or made.text is None or "toString" not in made.text


def test_a_prototype_is_not_guessed() -> None:
    config = json.dumps(CONFIG).replace('"name": "chatml"', '"__proto__": {"roles": {}}')
    files = {"mlc-chat-config.json": config, "tokenizer.json": json.dumps(TOKENIZER)}
    assert isinstance(rendered(model(files)), Unknown)


@pytest.mark.parametrize(
    ("changes", "first"),
    [
        ({}, None),
        ({"seps": []}, "prompt"),
        ({"roles": {"user": "U"}}, "prompt"),
        ({"roles": None}, "prompt"),
        ({"system_template": None}, "prompt"),
        ({"role_templates": None}, "prompt"),
        ({"stop_str": None}, "first-token"),
    ],
)
def test_a_template_of_which_no_prompt_can_be_made_fails_at_the_prompt(changes: dict[str, Any], first: str | None) -> None:
    found = webllm.predict(folder(conv_template={**BASE, **changes}), "0.2.86").fields["first_failure"]
    assert isinstance(found, Known)
    assert found.value == first
