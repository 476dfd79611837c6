"""Conversations that are rendered to see what a chat template does."""

from collections.abc import Mapping
from typing import Any

import msgspec


class Probe(msgspec.Struct, frozen=True):
    """A conversation with a name for people, and the variables that go with it."""

    name: str
    messages: tuple[Mapping[str, Any], ...]
    variables: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])


_USER = {"role": "user", "content": "Hi"}
_SYSTEM = {"role": "system", "content": "Be brief."}
_REPLY = {"role": "assistant", "content": "Hello!"}
_MORE = {"role": "user", "content": "And now?"}

# Texts whose ids are predicted: words, a space in front, a marker, letters beyond ASCII, code, digits.
TEXTS = ("Hello world", " leading space", "<|im_end|>", "naïve café 東京", "def f(x):\n    return x", "12345")

# What every chat template must be able to render, one conversation after the other.
CORE: tuple[Probe, ...] = (
    Probe("a user message", (_USER,), {"add_generation_prompt": True}),
    Probe("a user message without generation prompt", (_USER,)),
    Probe("a system and a user message", (_SYSTEM, _USER), {"add_generation_prompt": True}),
    Probe("several turns", (_USER, _REPLY, _MORE), {"add_generation_prompt": True}),
    Probe("a reply at the end", (_USER, _REPLY)),
)

_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "look",
            "description": "Look somewhere.",
            "parameters": {
                "type": "object",
                "properties": {"at": {"type": "string", "description": "Where."}},
                "required": ["at"],
            },
        },
    }
]
_CALL = {"type": "function", "id": "call00001", "function": {"name": "look", "arguments": {"at": "the sky"}}}
_CALLING = {"role": "assistant", "content": "", "tool_calls": [_CALL]}
_ANSWER = {"role": "tool", "name": "look", "tool_call_id": "call00001", "content": "blue"}

# What a template may decline.
EXTENDED: tuple[Probe, ...] = (
    Probe("tools", (_USER,), {"add_generation_prompt": True, "tools": _TOOLS}),
    Probe("a tool call and its answer", (_USER, _CALLING, _ANSWER), {"add_generation_prompt": True, "tools": _TOOLS}),
    Probe("thinking switched off", (_USER,), {"add_generation_prompt": True, "enable_thinking": False}),
    Probe("thinking switched on", (_USER,), {"add_generation_prompt": True, "enable_thinking": True}),
)
