"""What a chat template is given of a request: its messages and tools, checked and written anew.

Source: sglang 0.5.23, entrypoints/openai/protocol.py:585-905 (the fields of a request; others are dropped), entrypoints/openai/serving_chat.py:159-216,
513-549 and 2125-2160, parser/jinja_template_utils.py:215-341 (run). Older releases: read, see requests.py for what differs.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, cast

import msgspec

from bot.analyze.render import Prompt
from bot.analyze.rules.sglang.requests import Requests
from bot.answer import Unknown
from bot.probe import Message

T = TypeVar("T")
Item: TypeAlias = dict[str, Any]

_INTEGERS = range(-(2**63), 2**64)
_TYPES = ("null", "boolean", "object", "array", "number", "string", "integer")
_OF_FUNCTION = ("description", "name", "parameters", "strict", "defer_loading")
# Parts of a content that bring media along, by the name that a template finds in their place (jinja_template_utils.py:251-306).
_MEDIA = ("image_url", "video_url", "audio_url", "input_audio")
_THOUGHTS = ("thinking", "reasoning")


class Given(NamedTuple):
    """What a template is given."""

    messages: list[Item]
    tools: list[Item] | None


class RefusedError(Exception):
    """The server refuses the request: `kind` is the exception, `reason` says why."""

    def __init__(self, kind: str, reason: str) -> None:
        """Say why."""
        super().__init__(reason)
        self.kind, self.reason = kind, reason


class UnclearError(Exception):
    """What the server makes of the request is not known, and why."""


class _Function(msgspec.Struct, kw_only=True):
    name: str | None = None
    arguments: str | Item | None = None


class _Call(msgspec.Struct, kw_only=True):
    id: str | None = None
    index: Any = None
    type: Literal["function"] = "function"
    function: _Function


class _Message(msgspec.Struct, kw_only=True):
    """A message of any role but the user's; the order of the fields is that in which a template finds them."""

    role: str
    content: str | list[Item] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    phase: Literal["commentary", "final_answer"] | None = None
    reasoning_content: str | None = None
    tool_calls: list[_Call] | None = None
    tools: list[Item] | None = None
    prefix: Any = None


class _User(msgspec.Struct, kw_only=True):
    role: Literal["user"]
    content: str | list[Item]


class _Tool(msgspec.Struct, kw_only=True):
    type: str = "function"
    function: Item
    defer_loading: Any = None


def given(
    messages: Sequence[Message], tools: Any, requests: Requests, *, parts: bool, closed: bool = False
) -> Given | Prompt | Unknown:
    """What a template is given of a conversation; else the refusal as a Prompt.

    `parts` says that the template takes a content in parts as it is (format "openai"). `closed` stands for a request for the conversation alone, without
    the beginning of a reply, as /v1/tokenize takes it: a reply at the end stays one.
    """

    def work() -> Given:
        checked = checked_messages(messages, requests)
        offered = _tools(tools, requests)
        return Given([_written(message, requests, parts=parts) for message in checked], offered)

    found = answered(work)
    if not isinstance(found, Given):
        return found
    written, offered = found
    if requests.replies and not closed:
        last = written[-1]
        if last["role"] == "assistant" and isinstance(last["content"], str):
            written[-1] = {"role": "user", "content": last["content"]}
    return Given(written, offered)


def second(tools: list[Item], requests: Requests) -> list[Item]:
    """Tools as they are given once more when rendering failed: their functions alone (serving_chat.py:2206), or wrapped where they were bare before."""
    return [{"function": tool} if requests.tools == "bare" else tool["function"] for tool in tools]


def answered(work: Callable[[], T]) -> T | Prompt | Unknown:
    """What `work` gives, the refusal of the request as a Prompt, or why it is not known what becomes of it."""
    try:
        return work()
    except RefusedError as error:
        return Prompt(None, f"{error.kind}: {error.reason}", "failed", error.kind)
    except UnclearError as error:
        return Unknown(str(error))


def checked_messages(messages: Sequence[Message], requests: Requests) -> list[Item]:
    """The messages with the fields of the request's schema, null for those that are left out. Raises RefusedError and UnclearError."""
    if not messages:
        raise RefusedError("ValueError", "Messages cannot be empty.")
    return [_checked(message, requests) for message in messages]


def _checked(message: Message, requests: Requests) -> Item:
    role = message.get("role")
    if role == "user":
        found = msgspec.structs.asdict(_read(message, _User))
    else:
        if not isinstance(role, str) or role.lower() not in requests.roles:
            raise _refused(f"a message has the role {role!r}")
        stated = {key: value for key, value in message.items() if key in requests.fields}
        found = msgspec.to_builtins(_read({**stated, "role": role.lower()}, _Message))
        found = {key: value for key, value in found.items() if key in requests.fields}
        if not requests.tooled and found.get("tools") is not None:
            raise UnclearError("what tools of a message become in this release was not looked up")
        _clear(found.get("prefix"), bool, "prefix")
        for call in found["tool_calls"] or ():
            _clear(call["index"], int, "index")
        if found.get("tools") is not None:
            found["tools"] = [_tool(each, requests) for each in found["tools"]]
    if isinstance(found["content"], list):
        found["content"] = [_part(part, found["role"], requests) for part in found["content"]]
    return found


def _part(part: Item, role: str, requests: Requests) -> Item:
    kind = part.get("type")
    allowed = kind in (("text",) if requests.texts and role != "user" else requests.parts)
    if kind in _MEDIA and (role == "user" or not requests.texts):
        raise UnclearError("what a message with media becomes was not looked up")
    if kind == "text" and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if kind in _THOUGHTS and allowed and role == "assistant":
        said = [part.get(key) for key in ("thinking", "text")]
        if [type(each) for each in said if each is not None] == [str]:
            return {"type": kind}
    if kind == "tool_reference" and allowed and isinstance(part.get("name"), str):
        return {"type": kind, "name": part["name"]}
    raise _refused(f"a part of a content has the type {kind!r}, or lacks what goes with it")


def _tools(tools: Any, requests: Requests) -> list[Item] | None:
    """The tools as the request's schema writes them, in place of each other kind of nothing None."""
    if tools is None:
        return None
    if not isinstance(tools, list):
        raise _refused("tools is no list")
    return [_tool(tool, requests) for tool in cast("list[Any]", tools)] or None


def _tool(tool: Any, requests: Requests) -> Item:
    """A tool with the keys of the schema, in the order of the schema or, in a new release, of the client, what it left out behind (protocol.py:810-855)."""
    read = _read(tool, _Tool)
    ordered, deferring = requests.tools == "ordered", requests.tools in ("deferring", "ordered")
    given = {"strict": None if ordered else False, **{key: value for key, value in read.function.items() if key in _OF_FUNCTION}}
    function: Item = {key: given.get(key) for key in _OF_FUNCTION}
    name, description = function["name"], function["description"]
    if not isinstance(name, str) or not (description is None or isinstance(description, str)):
        raise _refused("the name or the description of a function is no text")
    if function["strict"] is None and not ordered:
        raise _refused("strict of a function is null")
    for value, key in (
        (function["strict"], "strict"),
        (function["defer_loading"], "defer_loading"),
        (read.defer_loading, "defer_loading"),
    ):
        _clear(value, bool, key)
    _hold_schema(function["parameters"])
    if function["defer_loading"] is None:
        function["defer_loading"] = read.defer_loading
    if not deferring or function["defer_loading"] is None:
        del function["defer_loading"]
    if ordered:
        if function["strict"] is None:
            del function["strict"]
        came = [key for key in read.function if key in function]
        function = {key: function[key] for key in (*came, *(key for key in function if key not in came))}
    if requests.tools == "bare":
        return function
    return {"type": read.type, "function": function, **({"defer_loading": read.defer_loading} if deferring else {})}


def _hold_schema(parameters: Any) -> None:
    """Refuse to say what becomes of a schema with types that are none of JSON's: some are replaced, others refused (function_call/utils.py:113)."""
    if parameters is not None and not isinstance(parameters, dict):
        raise UnclearError("the parameters of a function are no object")
    for kind in _types_in(parameters):
        if kind not in _TYPES:
            raise UnclearError(f"what becomes of the type {kind!r} in a tool's parameters was not looked up")


def _types_in(schema: Any) -> Iterator[Any]:
    if isinstance(schema, list):
        for each in cast("list[Any]", schema):
            yield from _types_in(each)
    elif isinstance(schema, dict):
        rows = cast("Item", schema)
        kind = rows.get("type")
        yield from cast("list[Any]", kind) if isinstance(kind, list) else (kind,) if isinstance(kind, str) else ()
        for each in rows.values():
            yield from _types_in(each)


def _written(message: Item, requests: Requests, *, parts: bool) -> Item:
    """A message as a template finds it: arguments decoded, no content as an empty text, keys that are null taken out, parts joined unless it takes them."""
    written: Item = {**message, "content": "" if message["content"] is None else message["content"]}
    if written["role"] == "assistant" and written["tool_calls"] is not None:
        written["tool_calls"] = [_decoded(call, requests) for call in written["tool_calls"]]
    listed = written["content"]
    kept = {key: value for key, value in written.items() if value is not None}
    if not isinstance(listed, list):
        return kept
    texts = [part["text"] for part in cast("list[Item]", listed) if part["type"] == "text"]
    if not parts:
        return {**kept, "content": " ".join(texts)}
    content = [part for part in cast("list[Item]", listed) if part["type"] not in _THOUGHTS]
    whole = kept["role"] == "tool" and requests.joins_answers and len(texts) == len(content)
    del kept["content"]  # it moves behind the other keys
    return {**kept, "content": " ".join(texts) if whole else content}


def _decoded(call: Item, requests: Requests) -> Item:
    arguments = call["function"]["arguments"]
    if not isinstance(arguments, str):
        return call
    try:
        decoded = msgspec.json.decode(arguments) if requests.exact else json.loads(arguments)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        kind = "ValueError" if requests.strict else "JSONDecodeError"
        raise RefusedError(kind, "Assistant tool call function.arguments must be valid JSON.") from None
    if requests.strict and not isinstance(decoded, dict):
        raise RefusedError("ValueError", "Assistant tool call function.arguments must be a JSON object.")
    return {**call, "function": {**call["function"], "arguments": _floated(decoded) if requests.exact else decoded}}


def _floated(value: Any) -> Any:
    """A decoded value as orjson gives it: whole numbers of more than 64 bits as floats."""
    if isinstance(value, dict):
        return {key: _floated(each) for key, each in cast("Item", value).items()}
    if isinstance(value, list):
        return [_floated(each) for each in cast("list[Any]", value)]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) and value not in _INTEGERS else value


def _read(value: Any, kind: type[T]) -> T:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise _refused(str(error)) from None


def _clear(value: Any, kind: type, name: str) -> None:
    """Leave open what becomes of a value of another type: some are taken for one of the right type."""
    if value is not None and type(value) is not kind:
        raise UnclearError(f"whether the server takes {value!r} for {name} was not looked up")


def _refused(reason: str) -> RefusedError:
    return RefusedError("ValidationError", reason)
