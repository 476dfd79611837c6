"""How a chat template ends an assistant's turn and opens others, seen by rendering a conversation."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from bot.analyze.model.folder import Model, fact
from bot.analyze.model.templates import Template, in_force
from bot.analyze.model.tokens import ROLES, role, tokens
from bot.analyze.render import Prompt, render
from bot.answer import Known

# Words that no template contains, so that they can be found in the prompt again.
USER, REPLY, SECOND, LAST, OUTPUT = "qxuserone", "qxreplyone", "qxusertwo", "qxreplytwo", "qxtooloutput"

_TURNS = (
    {"role": "user", "content": USER},
    {"role": "assistant", "content": REPLY},
    {"role": "user", "content": SECOND},
    {"role": "assistant", "content": LAST},
)
_CALL = {"type": "function", "id": "call00001", "function": {"name": "look", "arguments": {"at": "sky"}}}
_WITH_TOOL = (
    _TURNS[0],
    {"role": "assistant", "content": "", "tool_calls": [_CALL]},
    {"role": "tool", "content": OUTPUT, "name": "look", "tool_call_id": "call00001"},
)
_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "look",
            "description": "Look.",
            "parameters": {
                "type": "object",
                "properties": {"at": {"type": "string", "description": "Where."}},
                "required": ["at"],
            },
        },
    }
]


@dataclass(frozen=True)
class Turns:
    """What one template does around turns.

    `ends` are the token strings with which an assistant's turn ends. They are one token that the template writes after the reply,
    or, where it writes none after the last reply (`by_role`), the tokens that open whatever comes next: the model itself must produce them.
    Empty when the template writes no single token there. `openers` are the token strings that open a turn and do not end one.
    `shown` is the rendered text around the end of a reply, for people. `unknown` says why nothing could be seen.
    """

    template: Template
    ends: tuple[str, ...] = ()
    openers: tuple[str, ...] = ()
    by_role: bool = False
    shown: str = ""
    unknown: str = ""


def role_strings(model: Model) -> dict[str, str]:
    """The role strings that a template may print, as transformers injects them; a role that is not set is left out."""
    found = {name: role(model, name) for name in ROLES}
    return {name: answer.value for name, answer in found.items() if isinstance(answer, Known)}


@fact
def turns(model: Model) -> tuple[Turns, ...]:
    """What each template in force does around turns."""
    return tuple(_turns(model, template) for template in in_force(model))


def _turns(model: Model, template: Template) -> Turns:
    strings = role_strings(model)
    prompt = render(template.text, _TURNS, strings)
    if prompt.text is None:
        return Turns(template, unknown=_why(prompt))
    between = _between(prompt.text, REPLY, SECOND)
    before = prompt.text.partition(USER)[0]
    _, found, after = prompt.text.partition(LAST)
    if not found or between is None:
        return Turns(template, unknown="the rendered prompt does not show the assistant's reply")
    markers = _markers(model, strings.values())
    end = _first(after, markers)
    by_role = not after.strip()
    opened = [t for t in (*_all(before, markers), *_all(between, markers)) if t not in strings.values()]
    tool = _tool_opener(template, strings, markers)
    if by_role:
        following = _first(between, markers)
        ends = tuple(dict.fromkeys(filter(None, (following, tool)))) if following else ()
    else:
        ends = (end,) if end else ()
    openers = tuple(
        t for t in dict.fromkeys((*opened, *filter(None, (tool,)))) if by_role or t not in (*ends, _first(between, markers))
    )
    shown = f"{LAST}{after}" if not by_role else f"{REPLY}{between}{SECOND}"
    return Turns(template, ends, openers, by_role, _readable(shown))


def _tool_opener(template: Template, strings: dict[str, str], markers: list[str]) -> str | None:
    """The token that stands directly before a tool's answer, in templates that know tools."""
    text = render(template.text, _WITH_TOOL, strings, tools=_TOOLS).text
    if text is None or OUTPUT not in text:
        return None
    plain = render(template.text, _WITH_TOOL[:2], strings, tools=_TOOLS).text
    if plain is None or not text.startswith(plain.rstrip()):
        return None
    return _first(text[len(plain.rstrip()) :].partition(OUTPUT)[0], markers)


def _markers(model: Model, strings: Iterable[str]) -> list[str]:
    """Every string that is one token on purpose, longest first."""
    table = tokens(model)
    added = table.value.added if isinstance(table, Known) else {}
    return sorted({*added, *strings} - {""}, key=len, reverse=True)


def _first(text: str, markers: list[str]) -> str | None:
    """The marker that a text starts with, white space aside."""
    text = text.lstrip()
    return next((m for m in markers if text.startswith(m)), None)


def _all(text: str, markers: list[str]) -> list[str]:
    """Every marker in a text, in order."""
    return re.findall("|".join(map(re.escape, markers)), text) if markers else []


def _between(text: str, start: str, end: str) -> str | None:
    _, found, rest = text.partition(start)
    between, second, _ = rest.partition(end)
    return between if found and second else None


def _why(prompt: Prompt) -> str:
    return f"a plain conversation could not be rendered: {prompt.error}"


def _readable(text: str) -> str:
    for word, name in ((REPLY, "…reply"), (LAST, "…reply"), (SECOND, "next message…")):
        text = text.replace(word, name)
    return text.replace("\n", "⏎")[:120]
