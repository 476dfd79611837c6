"""What vLLM makes of the messages and tools of a request before a chat template sees them.

Source: vllm 0.33.0 (run): renderers/chat_utils/chat_message.py:381-849 (messages), entrypoints/openai/chat_completion/protocol.py:206-224 and 577-601,
entrypoints/generate/base/protocol.py:298-313 (tools), renderers/hf.py:600-650 and 890-900 (the role developer). Older releases, read:
entrypoints/chat_utils.py, 0.8.5:977-1130, 0.10.2:1188-1365, 0.11.0:1305-1495, 0.12.0:1401-1595, 0.15.0:1377-1580, 0.17.0:1330-1530, 0.19.0:1379-1585,
0.20.0:1388-1615, 0.23.0:1567-1845, 0.26.0:1491-1890, 0.28.0:1531-1930, 0.31.0:1686-2150; entrypoints/openai/protocol.py and chat_completion/protocol.py.

A request that the server's schema refuses (tool arguments that are no text, a user without content) is taken as its offline call takes it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from bot.analyze.rules.content_format import PARTS
from bot.analyze.rules.vllm.release import Release
from bot.answer import Unknown
from bot.probe import Message

REFUSAL = "VLLMValidationError"
_UNTYPED = "a message, a part of one or a tool is of a shape that no request has"
_MEDIA = "what vLLM makes of images, audio, video and embeddings depends on the model"
_TEXT, _REFERENCE = "text", "tool_reference"
# Types of parts that are text, the key that holds it, and the release since which they are (MM_PARSER_MAP of each release).
_TEXTS = {
    "text": ("text", ""),
    "refusal": ("refusal", ""),
    "thinking": ("thinking", "0.10.2"),
    "input_text": ("text", "0.10.2"),
    "output_text": ("text", "0.12.0"),
}
_DROPPED_WITHOUT_TEXT = ("text", "refusal")
_MEDIA_KEYS = (
    *("image_url", "input_image", "image_pil", "image_embeds", "audio_url", "input_audio", "audio_embeds"),
    *("video_url", "video_embeds", "prompt_embeds"),
)
# Fields of parts that vLLM itself reads; all others are handed on since 0.26.0 (renderers/chat_utils/chat_message.py:199-215, with openai 3.57).
_FIELDS = (
    *("audio_embeds", "audio_url", "closed", "data", "file", "image_embeds", "image_pil", "image_url", "input_audio", "name"),
    *("prompt_cache_breakpoint", "refusal", "text", "thinking", "type", "uuid", "video_embeds", "video_url"),
)
_BILLING = "x-anthropic-billing-header"


class Handed(msgspec.Struct, frozen=True):
    """The messages and tools that a template is given; `tools` is None where there are none."""

    messages: tuple[Message, ...]
    tools: tuple[Message, ...] | None = None


class Refused(msgspec.Struct, frozen=True):
    """A request that ends before the template, by the exception."""

    type: str
    reason: str


class _RefusedError(Exception):
    """vLLM raises the exception named first."""


class _UntoldError(Exception):
    """It cannot be told what vLLM does; the message says why."""


def handed(
    messages: Sequence[Message], tools: Sequence[Any] | None, content_format: str, of: Release
) -> Handed | Refused | Unknown:
    """What a release hands to a template that takes content in a format ("string" or "openai", see `content_format`)."""
    try:
        given = None if tools is None else tuple(_tool(tool, of) for tool in tools)
        if given == () and of.since("0.20.0"):
            return Unknown("the server refuses an empty list of tools")
        made = [_message(message, of, in_parts=content_format == PARTS) for message in messages]
        return Handed(tuple(_with_arguments(message, of) for message in made), given)
    except _RefusedError as error:
        return Refused(*error.args)
    except _UntoldError as error:
        return Unknown(str(error))


def for_template(messages: tuple[Message, ...], template: str, of: Release) -> tuple[Message, ...]:
    """The messages with those of the role developer made system messages, where a template does not name that role.

    All system messages then become one in front of the others (renderers/hf.py:454-510 in 0.23.0; releases up to 0.20.0 do not).
    """
    quoted = any(name in template for name in ('"developer"', "'developer'"))
    if quoted or not of.since("0.23.0") or all(message["role"] != "developer" for message in messages):
        return messages
    renamed = [_renamed(message) for message in messages]
    system = [message for message in renamed if message["role"] == "system"]
    if len(system) == 1 and renamed[0] is system[0]:
        return tuple(renamed)
    texts = [text for text in (_joined(message["content"]) for message in system) if text]
    merged: Message = {"role": "system", "content": "\n\n".join(texts)}
    return (merged, *(message for message in renamed if message["role"] != "system"))


def _renamed(message: Message) -> Message:
    if message["role"] != "developer":
        return message
    return {**{key: value for key, value in message.items() if key != "tools"}, "role": "system"}


def _joined(content: Any) -> Any:
    """The content of a message as one text."""
    if not isinstance(content, list):
        return content
    return "\n".join(part["text"] for part in cast("list[Message]", content) if "text" in part)


def _message(message: Mapping[str, Any], of: Release, *, in_parts: bool) -> Message:
    role = message.get("role")
    if not isinstance(role, str):
        raise _UntoldError(_UNTYPED)
    content = _content(message.get("content"), role, of, in_parts=in_parts)
    made: Message = {"role": role, "content": content}
    if role == "assistant":
        made |= _of_assistant(message, of)
    elif role == "tool":
        if "tool_call_id" in message:
            made["tool_call_id"] = message["tool_call_id"]
        # Parts that are all text become one text again; any other keeps the list.
        if of.since("0.20.0") and isinstance(content, list) and all(part["type"] == _TEXT for part in content):
            made["content"] = _joined(content)
    made |= {
        key: message[key] for key in ("name", *(("task",) if of.since("0.20.0") else ())) if isinstance(message.get(key), str)
    }
    if role == "developer" and of.since("0.15.0"):
        made["tools"] = message.get("tools")
    return made


def _of_assistant(message: Mapping[str, Any], of: Release) -> Message:
    calls = message.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raise _UntoldError(_UNTYPED)
    made: Message = {} if calls is None or (not calls and of.since("0.15.0")) else {"tool_calls": cast("list[Any]", calls)}
    reasoning = _reasoning(message, of)
    return made if reasoning is None else {**made, "reasoning": reasoning, "reasoning_content": reasoning}


def _reasoning(message: Mapping[str, Any], of: Release) -> Any:
    """The reasoning of a reply: under which name a client has to send it depends on the release."""
    told, old = message.get("reasoning"), message.get("reasoning_content")
    if isinstance(told, dict):
        raise _UntoldError(_MEDIA)
    if of.since("0.23.0"):
        return old if told is None else told
    if of.since("0.17.0"):
        return told
    return (told or old) if of.since("0.12.0") else None


def _content(content: Any, role: str, of: Release, *, in_parts: bool) -> str | list[Any]:
    if content is not None and not isinstance(content, str | list):
        raise _UntoldError(_UNTYPED)
    rows: list[Any] = [{"type": _TEXT, "text": content}] if isinstance(content, str) else [*(content or ())]
    if role == "system" and of.since("0.33.0"):
        rows = [*_without_billing(rows)]
    made = [part for row in rows if (part := _part(row, of, in_parts=in_parts))]
    return made if in_parts else "\n".join(made)


def _without_billing(rows: list[Any]) -> Iterable[Any]:
    """The parts of a system message without the first line of one that starts with the header of a client."""
    for row in rows:
        of_text = isinstance(row, dict) and cast("Message", row).get("type") == _TEXT
        text: Any = cast("Message", row).get("text") if of_text else row
        if not isinstance(text, str) or not text.startswith(_BILLING):
            yield row
        elif rest := text.partition("\n")[2]:
            yield {**cast("Message", row), "text": rest} if of_text else rest


def _part(row: Any, of: Release, *, in_parts: bool) -> Any:
    """A part as it is handed on; what is empty is left out, a part of a list is never."""
    if isinstance(row, str):
        return {"type": _TEXT, "text": row} if in_parts and of.since("0.19.0") else row
    if not isinstance(row, dict):
        raise _UntoldError(_UNTYPED)
    part = cast("Message", row)
    kind = part.get("type")
    if not isinstance(kind, str) or part.get("uuid") is not None:
        raise _UntoldError(_MEDIA if any(key in part for key in _MEDIA_KEYS) else _UNTYPED)
    if kind == _REFERENCE and of.since("0.23.0"):
        return {"type": kind, "name": part.get("name")} if in_parts else _text(part.get("name"))
    key, since = _TEXTS.get(kind, ("", ""))
    if not key or (since and not of.since(since)):
        raise _unsupported(kind, of)
    text = _text(part.get(key))
    if text is None:
        if kind not in _DROPPED_WITHOUT_TEXT:
            raise _UntoldError(_UNTYPED)
        return None
    extra = {name: value for name, value in part.items() if name not in _FIELDS} if of.since("0.26.0") else {}
    return {"type": _TEXT, "text": text, **extra} if in_parts else text


def _text(text: Any) -> str | None:
    if text is not None and not isinstance(text, str):
        raise _UntoldError(_UNTYPED)
    return text


def _unsupported(kind: str, of: Release) -> Exception:
    if kind in _MEDIA_KEYS:
        return _UntoldError(_MEDIA)
    if of.since("0.23.0"):
        return _RefusedError(REFUSAL, f"Unsupported chat content part type: {kind!r}")
    return _RefusedError("NotImplementedError", f"Unknown part type: {kind}")


def _with_arguments(message: Message, of: Release) -> Message:
    """A message with the arguments of its calls as objects."""
    return {**message, "tool_calls": _calls(message["tool_calls"], of)} if "tool_calls" in message else message


def _calls(calls: list[Any], of: Release) -> list[Message]:
    made: list[Message] = []
    for call in calls:
        row = cast("Message", call) if isinstance(call, dict) else {}
        function: Any = row.get("function")
        if not isinstance(function, dict) or row.get("type", "function") != "function":
            if of.since("0.23.0"):
                raise _RefusedError(REFUSAL, "a tool call is no call of a function")
            raise _UntoldError(_UNTYPED)
        named = _in_order(cast("Message", function), row)
        made.append({**named, "function": {**named["function"], "arguments": _arguments(named["function"].get("arguments"), of)}})
    return made


def _in_order(function: Message, call: Message) -> Message:
    """A call with its keys as the schema has them (run with openai 3.57), unless the schema refuses it: then it came in by another way, as it stands."""
    if not all(
        isinstance(value, str) for value in (call.get("id"), call.get("type"), function.get("name"), function.get("arguments"))
    ):
        return call
    ordered = {"arguments": function["arguments"], "name": function["name"], **function}
    return {key: call[key] for key in ("id", "function", "type")} | call | {"function": ordered}


def _arguments(value: Any, of: Release) -> Any:
    """The arguments of a call: text is parsed; since 0.31.0 what is no object becomes an empty one."""
    if not value and of.since("0.11.0"):
        return {}
    if not isinstance(value, str):
        if isinstance(value, dict) and of.since("0.12.0"):
            return cast("Message", value)
        if of.since("0.31.0"):
            return {}
        if isinstance(value, list) and of.since("0.12.0"):
            return cast("list[Any]", value)
        raise _RefusedError("TypeError", "the arguments of a tool call are no text")
    try:
        parsed: Any = json.loads(value)
    except json.JSONDecodeError as error:
        if of.since("0.31.0"):
            return {}
        raise _RefusedError("JSONDecodeError", f"the arguments of a tool call are no JSON: {error}") from None
    except (ValueError, RecursionError):
        raise _UntoldError("the arguments of a tool call cannot be read") from None
    if isinstance(parsed, dict) or not of.since("0.23.0"):
        return cast("Any", parsed)
    return {} if parsed is None or of.since("0.31.0") else parsed


def _tool(tool: Any, of: Release) -> Message:
    """A tool as it is written again: declared fields first; those that no class declares follow, up to 0.26.0."""
    row = cast("Message", tool) if isinstance(tool, dict) else {}
    function: Any = row.get("function")
    if not isinstance(function, dict) or row.get("type", "function") != "function":
        raise _UntoldError(_UNTYPED)
    given = cast("Message", function)
    name, description, parameters = (given.get(key) for key in ("name", "description", "parameters"))
    if not (
        isinstance(name, str) and isinstance(description, str | None) and (parameters is None or isinstance(parameters, dict))
    ):
        raise _UntoldError(_UNTYPED)
    made: Message = {"name": name, "description": description, "parameters": parameters}
    deferred = row.get("defer_loading") if of.since("0.23.0") else None
    own = given.get("defer_loading")
    optional = {"strict": (given.get("strict"), "0.24.0"), "defer_loading": (deferred if own is None else own, "0.23.0")}
    declared = {key: value for key, (value, since) in optional.items() if of.since(since)}
    if not all(value is None or isinstance(value, bool) for value in (*declared.values(), deferred)):
        raise _UntoldError(_UNTYPED)
    made |= {key: value for key, value in declared.items() if value is not None}
    whole: Message = {"type": "function", "function": made, **({} if deferred is None else {"defer_loading": deferred})}
    if not of.since("0.28.0"):
        made |= {key: value for key, value in given.items() if key not in (*made, *declared)}
        known = ("type", "function", *(("defer_loading",) if of.since("0.23.0") else ()))
        whole |= {key: value for key, value in row.items() if key not in known}
    return whole
