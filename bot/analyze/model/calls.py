"""Calls of tools as clients send them, and the templates of two revisions that render them."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from bot.analyze.environment import NEWEST, Dialect, dialect
from bot.analyze.model.folder import Model
from bot.analyze.model.prompting import WITH_TOOLS
from bot.analyze.model.templates import DEFAULT, Template, in_force
from bot.analyze.model.turns import role_strings
from bot.analyze.render import Prompt, render
from bot.probe import Message

# Words that no template contains, so that they can be found in the prompt again.
KEY, WORD = "qxplace", "qxsky"

MOST_TEMPLATES = 8
"""Changed templates of one model that are rendered; nobody has more, and each costs hundreds of prompts."""

OLD = dialect("4.57.6")
"""A version that hands null content on, which 5.24.0 takes out."""

_ASKED: dict[str, Any] = {"add_generation_prompt": True}
_FUNCTION = {
    "name": "qxlook",
    "description": "Look somewhere.",
    "parameters": {"type": "object", "properties": {KEY: {"type": "string", "description": "Where."}}, "required": [KEY]},
}
_OFFERED: dict[str, Any] = {**_ASKED, "tools": [{"type": "function", "function": _FUNCTION}]}
_USER: Message = {"role": "user", "content": "Hi"}
_ANSWER: Message = {"role": "tool", "name": "qxlook", "tool_call_id": "call00001", "content": "blue"}


class Calling(NamedTuple):
    """A conversation with a call, and the version of transformers that hands it to the template."""

    messages: tuple[Message, ...]
    variables: dict[str, Any]
    dialect: Dialect = NEWEST


def calling(arguments: Any) -> tuple[Calling, ...]:
    """A call with some arguments, in every shape that templates tell apart.

    With tools offered and without, answered and not, with text and without (some take a call only where content is null), several at once, and
    without the object `function` around it.
    """
    function = {"name": "qxlook", "arguments": arguments}
    call = {"type": "function", "id": "call00001", "function": function}
    turn: Message = {"role": "assistant", "content": "", "tool_calls": [call]}
    null = (_USER, {**turn, "content": None}, _ANSWER)
    return (
        Calling((_USER, turn, _ANSWER), _OFFERED),
        Calling((_USER, turn, _ANSWER), _ASKED),
        Calling((_USER, turn), {}),
        Calling((_USER, {**turn, "content": "I look."}, _ANSWER, {"role": "assistant", "content": "Blue."}, _USER), _OFFERED),
        Calling(null, _OFFERED),
        Calling(null, _OFFERED, OLD),
        Calling((_USER, {**turn, "tool_calls": [call, {**call, "id": "call00002"}]}, _ANSWER), _OFFERED),
        Calling((_USER, {**turn, "tool_calls": [function]}, _ANSWER), _OFFERED),
    )


def called(model: Model, template: Template, arguments: Any, shapes: Collection[int] | None = None) -> tuple[Prompt, ...]:
    """What a template makes of a call, shape by shape; of all, or of those whose places in `calling` are given."""
    strings = role_strings(model)
    return tuple(
        render(template.text, each.messages, strings, each.variables, each.dialect)
        for i, each in enumerate(calling(arguments))
        if shapes is None or i in shapes
    )


def of_calls(base: Model, head: Model) -> Iterator[tuple[Template, Template]]:
    """Each template of head with the one that rendered the same requests in base, where their texts differ.

    A template `tool_use` that comes or goes takes requests with tools from the default one, or leaves them to it.
    """
    before, after = ({template.name: template for template in in_force(model)} for model in (base, head))
    found = 0
    for name, new in after.items():
        old = before.get(name)
        if name == WITH_TOOLS or (name == DEFAULT and WITH_TOOLS not in after):
            old = before.get(WITH_TOOLS) or before.get(DEFAULT)
        if old is not None and old.text != new.text and found < MOST_TEMPLATES:
            found += 1
            yield old, new
