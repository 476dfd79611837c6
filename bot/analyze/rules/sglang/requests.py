"""What each release of sglang takes from a request, and in which shape a template finds it.

Read in the wheel of each release: entrypoints/openai/protocol.py (ChatCompletionMessageGenericParam, Function, Tool; line 360 in 0.5.3, 754 in 0.5.23),
entrypoints/openai/serving_chat.py (_process_messages and _apply_jinja_template; 183 and 234 in 0.5.3, 1793 and 2011 in 0.5.23).
"""

from typing import Literal, TypeAlias

import msgspec

Shape: TypeAlias = Literal["bare", "wrapped", "deferring", "ordered"]
# What jinja raises, by the names of the exceptions.
_OF_JINJA = (
    *(
        "TemplateError",
        "TemplateSyntaxError",
        "TemplateAssertionError",
        "TemplateRuntimeError",
        "UndefinedError",
        "SecurityError",
    ),
    *("FilterArgumentError", "TemplateNotFound", "TemplatesNotFound"),
)
_ROLES = ("system", "assistant", "tool", "function")
_FIELDS = ("role", "content", "tool_call_id", "name", "reasoning_content", "tool_calls")


class Requests(msgspec.Struct, frozen=True):
    """How a release takes requests.

    `roles` are those besides the user's, `fields` what a message of them may have. `parts` are the types of parts of a content besides media; where
    `texts` is set, those messages have no other than text. `joins_answers`: a tool's answer in parts of text becomes one text for every template.
    `tooled`: a message's own tools are of the same schema as those of the request; before, one of the openai package's.
    `tools` is the shape of a tool: the function "bare", "wrapped" as it came with its type, with a key "deferring" it, or "ordered" as the client had it.
    `exact`: arguments are decoded by orjson, which takes no numbers and letters beyond JSON's. `strict` says that they have to be an object, and that those
    that are no JSON are a plain ValueError. `replies`: a reply at the end
    becomes a user's message; `closes`: the conversation alone, without the beginning of a reply, can be asked for.
    `effort` is the reasoning_effort that a template is given unless the client says another, None for none.
    `plain` are the exceptions that the server turns into a ValueError. `blanks`: a system message without text leaves out the whole system turn where
    a conversation of sglang's own is written in lines.
    """

    roles: tuple[str, ...] = (*_ROLES, "developer", "latest_reminder")
    fields: tuple[str, ...] = (*_FIELDS, "tools")
    parts: tuple[str, ...] = ("text", "tool_reference")
    texts: bool = False
    joins_answers: bool = True
    tools: Shape = "deferring"
    tooled: bool = True
    exact: bool = True
    strict: bool = True
    replies: bool = True
    closes: bool = False
    effort: str | None = None
    plain: tuple[str, ...] = (*_OF_JINJA, "TypeError")
    blanks: bool = True


_FIRST = Requests(
    roles=_ROLES,
    fields=_FIELDS,
    parts=("text",),
    texts=True,
    joins_answers=False,
    tools="bare",
    tooled=False,
    exact=False,
    strict=False,
    replies=False,
    effort="medium",
    plain=(),
    blanks=False,
)
_change = msgspec.structs.replace
_SECOND = _change(_FIRST, texts=False, exact=True)
_THIRD = _change(
    _SECOND, roles=(*_ROLES, "developer"), fields=(*_FIELDS, "tools"), tools="wrapped", replies=True, plain=_OF_JINJA
)
_FOURTH = _change(_THIRD, effort=None)
_FIFTH = Requests(tooled=False, strict=False, plain=_OF_JINJA)
_SIXTH = Requests(tooled=False)
_SEVENTH = Requests(parts=("text", "tool_reference", "thinking", "reasoning"))
_EIGHTH = _change(
    _SEVENTH, fields=("role", "content", "tool_call_id", "name", "phase", "reasoning_content", "tool_calls", "tools")
)
_NEWEST = _change(_EIGHTH, roles=(*_EIGHTH.roles, "root"), fields=(*_EIGHTH.fields, "prefix"), tools="ordered", closes=True)

REQUESTS: dict[str, Requests] = {
    "0.5.3": _FIRST,
    "0.5.6": _SECOND,
    "0.5.9": _THIRD,
    "0.5.10": _FOURTH,
    "0.5.12": _FIFTH,
    "0.5.15": _SIXTH,
    "0.5.18": _SEVENTH,
    "0.5.21": _EIGHTH,
    "0.5.23": _NEWEST,
}
"""By the name of the release; 0.4.6 was not read."""
