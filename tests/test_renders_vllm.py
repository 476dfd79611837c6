"""What vLLM makes of a request before a template sees it, and the prompt that comes of it.

The expectations are those of vllm 0.33.0 as it was run, and for older releases those of their own code (the functions named in rules/vllm/messages.py
were taken out of every release's wheel and run on conversations made at random; these are the differences between releases that showed).
"""

import json
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from bot.analyze.engines import vllm
from bot.analyze.render import Prompt
from bot.analyze.rules.vllm.messages import Handed, Refused, for_template, handed
from bot.analyze.rules.vllm.release import TRANSFORMERS, release
from bot.answer import Known, Unknown
from bot.probe import Probe
from tests.models import model
from tests.test_vllm import LLAMA, NAMED, TOKENIZER

NEWEST = "0.33.0"
SHOW = "{{ messages | tojson }}"
LOOP = "{% for m in messages %}{% for p in m.content %}{% endfor %}{% endfor %}"
USER = {"role": "user", "content": "Hi"}
WHOLE = {"id": "c", "function": {"arguments": '{"a": 1}', "name": "f"}, "type": "function"}
TOOL = {"function": {"parameters": {"z": 1, "a": 2}, "name": "f"}, "type": "function"}


def prompt(template: str | None, probe: Probe, version: str = NEWEST, **files: Any) -> Prompt | Unknown:
    """The prompt of one conversation in a folder whose tokenizer has a template; `files` as in test_vllm."""
    entries: dict[str, Any] = {"config.json": LLAMA, "tokenizer.json": TOKENIZER, "tokenizer_config.json": NAMED}
    entries |= {name.replace("__", "."): content for name, content in files.items()}
    if template is not None:
        entries["chat_template.jinja"] = template
    given = model({name: content if isinstance(content, str) else json.dumps(content) for name, content in entries.items()})
    answer = vllm.renders(given, version, (probe,))
    assert isinstance(answer, Known), answer
    return answer.value[probe.name]


def shown(template: str, messages: list[Any], version: str = NEWEST, **variables: Any) -> str:
    """The text of a prompt."""
    found = prompt(template, Probe("p", tuple(messages), variables), version)
    assert isinstance(found, Prompt), found
    assert found.text is not None, found
    return found.text


def failed(template: str | None, messages: list[Any], version: str = NEWEST, **variables: Any) -> str:
    """The exception of a prompt."""
    found = prompt(template, Probe("p", tuple(messages), variables), version)
    assert isinstance(found, Prompt), found
    assert found.text is None
    return found.type


def seen(message: dict[str, Any], version: str = NEWEST, *, parts: bool = False) -> Any:
    """A message as a template is given it."""
    found = handed([message], None, "openai" if parts else "string", release(version))
    return found.messages[0] if isinstance(found, Handed) else found


def tool(given: dict[str, Any], version: str = NEWEST) -> Any:
    """A tool as a template is given it."""
    found = handed([], [given], "string", release(version))
    return found.tools[0] if isinstance(found, Handed) and found.tools else found


def in_order(value: Any) -> str:
    """A value with the order of its keys."""
    return json.dumps(value)


def test_every_text_is_a_list_of_parts_where_the_template_loops_over_content() -> None:
    system = {"role": "system", "content": "Be brief."}
    text = shown(LOOP + "{{ messages[0]['content'] }}|{{ messages[1].content }}", [system, USER])
    assert text == "[{'type': 'text', 'text': 'Be brief.'}]|[{'type': 'text', 'text': 'Hi'}]"
    assert shown("{{ messages[0]['content'] }}", [system, USER]) == "Be brief."


@pytest.mark.parametrize(
    ("message", "as_text", "in_parts"),
    [
        ({"role": "assistant", "content": None}, "", []),
        ({"role": "assistant"}, "", []),
        ({"role": "user", "content": ""}, "", [{"type": "text", "text": ""}]),
        (
            {
                "role": "user",
                "content": [{"type": "text", "text": "a"}, {"type": "text", "text": ""}, {"type": "text", "text": "b"}],
            },
            "a\nb",
            [{"type": "text", "text": "a"}, {"type": "text", "text": ""}, {"type": "text", "text": "b"}],
        ),
        ({"role": "user", "content": ["a", "b"]}, "a\nb", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        ({"role": "user", "content": [{"type": "text", "text": None}]}, "", []),
        ({"role": "user", "content": [{"type": "refusal", "refusal": "no"}]}, "no", [{"type": "text", "text": "no"}]),
        ({"role": "user", "content": [{"type": "thinking", "thinking": "t"}]}, "t", [{"type": "text", "text": "t"}]),
        (
            {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]},
            "a",
            [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}],
        ),
        ({"role": "tool", "content": "18C"}, "18C", "18C"),
        ({"role": "tool", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb", "a\nb"),
        ({"role": "tool", "content": []}, "", ""),
        (
            {"role": "tool", "content": [{"type": "tool_reference", "name": "f"}]},
            "f",
            [{"type": "tool_reference", "name": "f"}],
        ),
        (
            {"role": "system", "content": "x-anthropic-billing-header: cch=1\nBe brief."},
            "Be brief.",
            [{"type": "text", "text": "Be brief."}],
        ),
        ({"role": "system", "content": "x-anthropic-billing-header: cch=1"}, "", []),
    ],
)
def test_content_by_format(message: dict[str, Any], as_text: Any, in_parts: Any) -> None:
    assert seen(message)["content"] == as_text
    assert seen(message, parts=True)["content"] == in_parts


def test_a_message_keeps_only_the_keys_of_its_role() -> None:
    extra = {"name": "n", "task": "t", "weight": 1, "tool_call_id": "c", "reasoning": "r", "tools": [TOOL]}
    assert in_order(seen({"role": "user", "content": "a", **extra})) == in_order(
        {"role": "user", "content": "a", "name": "n", "task": "t"}
    )
    reply = seen({**extra, "content": "a", "role": "assistant"})
    assert in_order(reply) == in_order(
        {"role": "assistant", "content": "a", "reasoning": "r", "reasoning_content": "r", "name": "n", "task": "t"}
    )
    assert seen({"role": "tool", "content": "a", **extra}) == {
        "role": "tool",
        "content": "a",
        "tool_call_id": "c",
        "name": "n",
        "task": "t",
    }
    assert seen({"role": "developer", "content": "a", "name": None}) == {"role": "developer", "content": "a", "tools": None}


@pytest.mark.parametrize(
    ("arguments", "by_version"),
    [
        ('{"a": 1}', {"0.8.5": {"a": 1}, "0.12.0": {"a": 1}, "0.23.0": {"a": 1}, NEWEST: {"a": 1}}),
        ({"a": 1}, {"0.8.5": "TypeError", "0.11.0": "TypeError", "0.12.0": {"a": 1}, NEWEST: {"a": 1}}),
        ("", {"0.10.2": "JSONDecodeError", "0.11.0": {}, NEWEST: {}}),
        (None, {"0.10.2": "TypeError", "0.11.0": {}, NEWEST: {}}),
        ("{bad", {"0.8.5": "JSONDecodeError", "0.28.0": "JSONDecodeError", "0.31.0": {}, NEWEST: {}}),
        ("[1]", {"0.8.5": [1], "0.28.0": [1], "0.31.0": {}, NEWEST: {}}),
        ([1], {"0.11.0": "TypeError", "0.12.0": [1], "0.28.0": [1], "0.31.0": {}}),
        ("null", {"0.20.0": None, "0.23.0": {}, NEWEST: {}}),
    ],
)
def test_arguments_of_calls_by_release(arguments: Any, by_version: dict[str, Any]) -> None:
    call = {**WHOLE, "function": {"name": "f", "arguments": arguments}}
    for version, wanted in by_version.items():
        found = seen({"role": "assistant", "content": "", "tool_calls": [call]}, version)
        told = found.type if isinstance(found, Refused) else found["tool_calls"][0]["function"]["arguments"]
        assert told == wanted, version


def test_calls_have_the_order_of_the_schema_unless_it_refuses_them() -> None:
    sent = {"type": "function", "function": {"name": "f", "arguments": "{}"}, "id": "c"}
    (call,) = seen({"role": "assistant", "content": "", "tool_calls": [sent]})["tool_calls"]
    assert in_order(call) == '{"id": "c", "function": {"arguments": {}, "name": "f"}, "type": "function"}'
    offline = {"type": "function", "function": {"name": "f", "arguments": {"b": 1}}, "id": "c"}
    (call,) = seen({"role": "assistant", "content": "", "tool_calls": [offline]})["tool_calls"]
    assert in_order(call) == in_order(offline)


def test_an_empty_list_of_calls_is_dropped() -> None:
    empty = {"role": "assistant", "content": "a", "tool_calls": []}
    assert "tool_calls" not in seen(empty)
    assert seen(empty, "0.12.0")["tool_calls"] == []
    assert "tool_calls" not in seen({**empty, "tool_calls": None}, "0.8.5")


@pytest.mark.parametrize(
    ("version", "sent", "told"),
    [
        ("0.8.5", {"reasoning": "r"}, None),
        ("0.11.0", {"reasoning_content": "o"}, None),
        ("0.12.0", {"reasoning_content": "o"}, "o"),
        ("0.15.0", {"reasoning": "r", "reasoning_content": "o"}, "r"),
        ("0.17.0", {"reasoning_content": "o"}, None),
        ("0.20.0", {"reasoning_content": "o"}, None),
        ("0.23.0", {"reasoning_content": "o"}, "o"),
        (NEWEST, {"reasoning": "r", "reasoning_content": "o"}, "r"),
    ],
)
def test_reasoning_by_release(version: str, sent: dict[str, str], told: str | None) -> None:
    message = seen({"role": "assistant", "content": "a", **sent}, version)
    assert (message.get("reasoning"), message.get("reasoning_content")) == (told, told)


def test_older_releases_hand_the_parts_of_a_tool_on() -> None:
    answer = {"role": "tool", "content": "18C"}
    assert seen(answer, "0.19.0", parts=True)["content"] == [{"type": "text", "text": "18C"}]
    assert seen(answer, "0.20.0", parts=True)["content"] == "18C"


def test_parts_that_are_refused_or_not_told() -> None:
    odd = {"role": "user", "content": [{"type": "weird", "text": "a"}]}
    assert seen(odd).type == "VLLMValidationError"
    assert seen(odd, "0.20.0").type == "NotImplementedError"
    image = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}
    for message in (image, {"role": "user", "content": 3}, {"role": 1}, {"role": "user", "content": [7]}, {"content": "a"}):
        assert isinstance(seen(message), Unknown)


@pytest.mark.parametrize(
    ("version", "given", "wanted"),
    [
        (NEWEST, TOOL, {"type": "function", "function": {"name": "f", "description": None, "parameters": {"z": 1, "a": 2}}}),
        ("0.8.5", TOOL, {"type": "function", "function": {"name": "f", "description": None, "parameters": {"z": 1, "a": 2}}}),
        (
            NEWEST,
            {"other": 1, "function": {"extra": 1, "strict": True, "name": "f"}, "defer_loading": True},
            {
                "type": "function",
                "function": {"name": "f", "description": None, "parameters": None, "strict": True, "defer_loading": True},
                "defer_loading": True,
            },
        ),
        (
            "0.26.0",
            {"other": 1, "function": {"extra": 1, "strict": None, "name": "f"}},
            {"type": "function", "function": {"name": "f", "description": None, "parameters": None, "extra": 1}, "other": 1},
        ),
        (
            "0.20.0",
            {"function": {"strict": None, "name": "f", "description": "d"}},
            {"type": "function", "function": {"name": "f", "description": "d", "parameters": None, "strict": None}},
        ),
    ],
)
def test_a_tool_is_written_again(version: str, given: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert in_order(tool(given, version)) == in_order(wanted)


@pytest.mark.parametrize(
    "given", [{}, {"function": {}}, {"function": {"name": 1}}, {"type": "custom", "function": {"name": "f"}}]
)
def test_a_tool_that_the_schema_refuses_is_not_told(given: dict[str, Any]) -> None:
    assert isinstance(tool(given), Unknown)


def test_a_template_sees_the_tools_as_they_are_written_again() -> None:
    text = shown("{{ tools | tojson }}", [USER], tools=[TOOL])
    assert text == '[{"type": "function", "function": {"name": "f", "description": null, "parameters": {"z": 1, "a": 2}}}]'
    assert shown("{{ tools }}", [USER]) == "None"
    found = prompt("{{ tools }}", Probe("p", (USER,), {"tools": []}))
    assert isinstance(found, Unknown)


def test_the_request_is_left_as_it_was() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [WHOLE]}
    before = in_order([message, TOOL])
    handed([message], [TOOL], "openai", release(NEWEST))
    assert in_order([message, TOOL]) == before


DEVELOPER = (
    {"role": "user", "content": "a", "name": "n"},
    {"role": "developer", "content": "D", "tools": None},
    {"role": "system", "content": "S"},
)


@pytest.mark.parametrize(
    ("version", "template", "roles"),
    [
        (NEWEST, SHOW, ["system", "user"]),
        ("0.23.0", SHOW, ["system", "user"]),
        ("0.20.0", SHOW, ["user", "developer", "system"]),
        (NEWEST, SHOW + "{# 'developer' #}", ["user", "developer", "system"]),
        (NEWEST, SHOW + "{# developer #}", ["system", "user"]),
    ],
)
def test_developer_messages_become_one_system_message(version: str, template: str, roles: list[str]) -> None:
    found = for_template(DEVELOPER, template, release(version))
    assert [message["role"] for message in found] == roles
    if roles[0] == "system":
        assert found[0] == {"role": "system", "content": "D\n\nS"}


def test_one_developer_message_in_front_keeps_its_content() -> None:
    first = {"role": "developer", "content": [{"type": "text", "text": "D"}], "tools": None}
    assert for_template((first, USER), SHOW, release(NEWEST))[0] == {"role": "system", "content": [{"type": "text", "text": "D"}]}
    assert for_template((USER, first), SHOW, release(NEWEST))[0] == {"role": "system", "content": "D"}
    assert shown("{{ messages[0].role }}", [{"role": "developer", "content": "D"}, USER]) == "system"


def test_only_variables_that_a_template_reads_reach_it() -> None:
    # The row of the run of 0.33.0: only enable_thinking is kept.
    template = "{% if enable_thinking %}T{% endif %}{% set x = 1 %}{{ x }}{% if thinking is defined %}{% endif %}"
    assert shown(template, [USER], enable_thinking=True, foo=1, x=2) == "T1"
    assert shown("{% set x = x %}{{ x }}", [USER], x=2, add_generation_prompt=True) == "2"
    hidden = "{% set ns = namespace(x=1) %}{% macro m(x) %}{{ x }}{% endmacro %}{{ m(3) }}"
    assert shown(hidden, [USER], x=2) == "3"
    assert shown("{{ documents }}|{{ add_generation_prompt }}", [USER], documents=None, add_generation_prompt=True) == "None|True"


def test_arguments_of_the_call_are_not_told() -> None:
    for name in ("tokenize", "chat_template", "continue_final_message", "return_dict"):
        assert isinstance(prompt(SHOW, Probe("p", (USER,), {name: True})), Unknown)
    assert shown("x", [USER], continue_final_message=False) == "x"


@pytest.mark.parametrize(
    ("template", "kinds"),
    [
        (
            "{{ raise_exception('no') }}",
            {NEWEST: "VLLMValidationError", "0.31.0": "VLLMValidationError", "0.28.0": "ValueError", "0.8.5": "ValueError"},
        ),
        ("{{ messages[0].content + 1 }}", {NEWEST: "VLLMValidationError", "0.28.0": "ValueError"}),
        ("{% for m in messages %}", {NEWEST: "TemplateSyntaxError", "0.12.0": "TemplateSyntaxError", "0.11.0": "ValueError"}),
        ("{{ messages | nothing }}", {NEWEST: "TemplateAssertionError", "0.8.5": "ValueError"}),
        (None, {NEWEST: "ChatTemplateResolutionError", "0.15.0": "ChatTemplateResolutionError", "0.12.0": "ValueError"}),
    ],
)
def test_exceptions_by_release(template: str | None, kinds: dict[str, str]) -> None:
    for version, kind in kinds.items():
        assert failed(template, [USER], version) == kind, version
        assert failed(template, [USER], version, enable_thinking=True) == kind, version


def test_what_a_request_with_tools_takes() -> None:
    named = [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t{{ tools | length }}"}]
    files: Any = {"tokenizer_config__json": {**NAMED, "chat_template": named}}
    texts = [prompt(None, Probe("p", (USER,), variables), **files) for variables in ({}, {"tools": [TOOL]})]
    assert [found.text for found in texts if isinstance(found, Prompt)] == ["d", "t1"]
    only: Any = {"tokenizer_config__json": {**NAMED, "chat_template": named[1:]}}
    found = prompt(None, Probe("p", (USER,)), **only)
    assert isinstance(found, Prompt)
    assert found.type == "ChatTemplateResolutionError"


def test_a_template_of_the_processor_is_not_told() -> None:
    # Whether its own file counts depends on whether the processor loads; one with tools never asks for it.
    files: Any = {
        "chat_template__json": {"chat_template": "p"},
        "preprocessor_config__json": {"processor_class": "LlavaProcessor"},
    }
    assert isinstance(prompt("d", Probe("p", (USER,)), **files), Unknown)
    found = prompt("d", Probe("p", (USER,), {"tools": [TOOL]}), **files)
    assert isinstance(found, Prompt)
    assert found.text == "d"


@pytest.mark.parametrize(
    "config",
    [{**LLAMA, "model_type": "gpt_oss"}, {**LLAMA, "architectures": ["DeepseekV32ForCausalLM"]}],
)
def test_chats_that_vllm_writes_itself_are_not_told(config: dict[str, Any]) -> None:
    assert isinstance(prompt(SHOW, Probe("p", (USER,)), config__json=config), Unknown)


@pytest.mark.parametrize("version", TRANSFORMERS)
def test_every_release_renders_a_plain_conversation(version: str) -> None:
    template = "{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token }}{% endfor %}"
    assert shown(template, [USER], version, add_generation_prompt=True) == "user: Hi<end>"


def test_a_tokenizer_that_does_not_load_renders_nothing() -> None:
    broken = model(
        {
            "config.json": json.dumps(LLAMA),
            "tokenizer.json": "[]",
            "tokenizer_config.json": json.dumps(NAMED),
            "chat_template.jinja": SHOW,
        }
    )
    assert vllm.renders(broken, NEWEST, (Probe("p", (USER,)),)) == Known(
        {}, vllm.predict(broken, NEWEST).fields["loads.tokenizer"].places
    )


_KEYS = (
    "role",
    "content",
    "type",
    "text",
    "name",
    "tool_calls",
    "function",
    "arguments",
    "id",
    "uuid",
    "parameters",
    "reasoning",
    "defer_loading",
)
_WORDS = (
    "system",
    "assistant",
    "tool",
    "developer",
    "text",
    "function",
    "tool_reference",
    "{}",
    "x-anthropic-billing-header",
    "",
)
_LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(_WORDS), st.text(max_size=3))
_JSON = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(_KEYS), inner, max_size=6)),
    max_leaves=12,
)
_ROWS = st.lists(st.dictionaries(st.sampled_from(_KEYS), _JSON, max_size=8), max_size=4)


@settings(max_examples=150, deadline=None)
@drawn(_ROWS, st.none() | st.lists(_JSON, max_size=2), st.sampled_from(["string", "openai"]), st.sampled_from([*TRANSFORMERS]))
def test_whatever_a_request_holds_there_is_an_answer(rows: list[Any], tools: list[Any] | None, way: str, version: str) -> None:
    found = handed(rows, tools, way, release(version))
    if isinstance(found, Handed):
        assert len(found.messages) == len(rows)
        assert all(isinstance(message["role"], str) for message in for_template(found.messages, SHOW, release(version)))
    else:
        assert found.reason
