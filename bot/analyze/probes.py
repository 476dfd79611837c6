"""The conversations that are rendered where nobody brings others, and the texts whose ids are predicted."""

from collections.abc import Sequence
from typing import Any

import msgspec

from bot.errors import UsageError
from bot.probe import Message, Probe

# Texts whose ids are predicted: words, a space in front, a marker, letters beyond ASCII, code, digits.
TEXTS = ("Hello world", " leading space", "<|im_end|>", "naïve café 東京", "def f(x):\n    return x", "12345")

_ASKED: dict[str, Any] = {"add_generation_prompt": True}
_USER: Message = {"role": "user", "content": "Hi"}
_SYSTEM: Message = {"role": "system", "content": "Be brief."}
_REPLY: Message = {"role": "assistant", "content": "Hello!"}
_MORE: Message = {"role": "user", "content": "And now?"}

# What every chat template must be able to render, one conversation after the other.
CORE: tuple[Probe, ...] = (
    Probe("a user message", (_USER,), _ASKED),
    Probe("a user message without generation prompt", (_USER,)),
    Probe("a system and a user message", (_SYSTEM, _USER), _ASKED),
    Probe("several turns", (_USER, _REPLY, _MORE), _ASKED),
    Probe("a reply at the end", (_USER, _REPLY)),
)


def _tool(name: str, description: str, parameter: str) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {parameter: {"type": "string", "description": "Where."}},
        "required": [parameter],
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _calling(arguments: Any, content: str | None = "") -> Message:
    call = {"type": "function", "id": "call00001", "function": {"name": "look", "arguments": arguments}}
    return {"role": "assistant", "content": content, "tool_calls": [call]}


DOCUMENTS = [{"title": "Sky", "text": "It is blue."}]
TOOLS = [_tool("look", "Look somewhere.", "at")]
_OFFERED = {**_ASKED, "tools": TOOLS}
_ANSWER: Message = {"role": "tool", "name": "look", "tool_call_id": "call00001", "content": "blue"}
_THOUGHT: Message = {"role": "assistant", "content": "Hello!", "reasoning_content": "They greet me."}

# What a template may decline.
EXTENDED: tuple[Probe, ...] = (
    Probe("tools", (_USER,), _OFFERED),
    Probe("a tool call and its answer", (_USER, _calling({"at": "the sky"}), _ANSWER), _OFFERED),
    Probe("a tool call whose arguments are text", (_USER, _calling('{"at": "the sky"}'), _ANSWER), _OFFERED),
    Probe(
        "a tool call with values of every kind",
        (_USER, _calling({"at": "a", "n": 1, "on": True, "no": None, "l": ["b"]}), _ANSWER),
        _OFFERED,
    ),
    Probe("a tool call without content", (_USER, _calling({"at": "the sky"}, None), _ANSWER), _OFFERED),
    Probe("a tool call without arguments", (_USER, _calling(None), _ANSWER), _OFFERED),
    Probe("content in parts", ({"role": "user", "content": [{"type": "text", "text": "Hi"}]},), _ASKED),
    Probe("a reply with its reasoning", (_USER, _THOUGHT, _MORE), _ASKED),
    Probe("documents", (_USER,), {**_ASKED, "documents": DOCUMENTS}),
    Probe("a developer message", ({"role": "developer", "content": "Be brief."}, _USER), _ASKED),
    Probe("thinking switched off", (_USER,), {**_ASKED, "enable_thinking": False}),
    Probe("thinking switched on", (_USER,), {**_ASKED, "enable_thinking": True}),
)


def _weather(arguments: Any) -> tuple[Message, ...]:
    call = {"function": {"arguments": arguments, "name": "get_weather"}, "id": "call_1", "type": "function"}
    answer: Message = {"content": "18C", "name": "get_weather", "role": "tool", "tool_call_id": "call_1"}
    calling: Message = {"content": None, "role": "assistant", "tool_calls": [call]}
    return _QUESTION, calling, answer, {"role": "user", "content": "Thanks"}


_QUESTION: Message = {"role": "user", "content": "Weather in Paris?"}
_OF_CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_WEATHER = {"type": "function", "function": {"name": "get_weather", "description": "Get the weather", "parameters": _OF_CITY}}
_WITH_WEATHER = {**_ASKED, "tools": [_WEATHER]}


def _in_order(probe: Probe) -> Probe:
    """The probe with every object's keys in the order of the alphabet."""
    return msgspec.json.decode(msgspec.json.encode(probe, order="sorted"), type=Probe)


# What `predict` renders in every engine, as a client sends it that sorts its keys: templates print objects in the order that they come in.
ASKED: tuple[Probe, ...] = tuple(
    _in_order(probe)
    for probe in (
        Probe("user", (_USER,), _ASKED),
        Probe("system", (_SYSTEM, _USER), _ASKED),
        Probe("turns", (_USER, _REPLY, {"role": "user", "content": "Bye"}), _ASKED),
        Probe("tools", (_QUESTION,), _WITH_WEATHER),
        Probe("toolcall-dict", _weather({"city": "Paris"}), _WITH_WEATHER),
        Probe("toolcall-str", _weather('{"city": "Paris"}'), _WITH_WEATHER),
    )
)


def picked(written: Sequence[str]) -> tuple[Probe, ...]:
    """The built-in conversations that an operator names, by the whole name or a part that no other has; `all` is every one.

    The first one stands for none. Raises UsageError with the names.
    """
    every = (*CORE, *EXTENDED)
    names = (
        [probe.name for probe in every] if any(each.strip().lower() == "all" for each in written) else [*map(_picked, written)]
    )
    return tuple(probe for probe in every if probe.name in names) if written else every[:1]


def _picked(written: str) -> str:
    names, asked = [probe.name for probe in (*CORE, *EXTENDED)], " ".join(written.split()).lower()
    fitting = [[name for name in names if name == asked], [name for name in names if name.startswith(asked)]]
    found = next(filter(None, [*fitting, [name for name in names if asked in name]]), []) if asked else []
    if len(found) == 1:
        return found[0]
    said = f"fits {'several' if found else 'no'} built-in conversation{'s' if found else ''}"
    raise UsageError(f"--probe {written[:60]!r} {said}; there are: {'; '.join(found or names)}; or all")
