"""How a chat template ends an assistant's turn and opens others, seen by rendering a conversation."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, takewhile

import msgspec

from bot.analyze.model.folder import Model, fact
from bot.analyze.model.templates import Template, in_force
from bot.analyze.model.tokens import ROLES, role, tokens
from bot.analyze.render import Prompt, render
from bot.answer import Known

# Words that no template contains, so that they can be found in the prompt again.
USER, REPLY, SECOND, LAST, OUTPUT = "qxuserone", "qxreplyone", "qxusertwo", "qxreplytwo", "qxtooloutput"

MOST = 16  # tokens that may close a reply together; a hostile template writes millions

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
_DOCUMENTS = [{"title": "Sky", "text": "It is blue."}]


class Turns(msgspec.Struct, frozen=True):
    """What one template does around turns.

    `ends` maps the token strings with which an assistant's turn ends to the rendered text around them, for people. It is one token that
    the template writes after the reply, or, where it writes none after the last reply (`by_role`), the tokens that open whatever
    comes next: the model itself must produce them. Empty when the template writes no single token there.
    `run` are all the tokens that the template writes after every reply, one after another; a model that learned it writes them all.
    `openers` are the token strings that open a turn and do not end one. `unknown` says why nothing could be seen.
    """

    template: Template
    ends: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    run: tuple[str, ...] = ()
    openers: tuple[str, ...] = ()
    by_role: bool = False
    unknown: str = ""


@fact
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
    prompt = _rendered(template, strings)
    if prompt.text is None:
        return Turns(template, unknown=_why(prompt))
    between = _between(prompt.text, REPLY, SECOND)
    before = prompt.text.partition(USER)[0]
    _, found, after = prompt.text.partition(LAST)
    if not found or between is None:
        return Turns(template, unknown="the rendered prompt does not show the assistant's reply")
    markers = _markers(model, strings.values())
    following = _first(between, markers)
    tool = _tool_turn(template, strings, markers)
    end = _first(after, markers)
    # What opens a reply as well, and stands behind the last one alone, is the beginning of a turn that nobody asked for.
    opened_again = end is not None and end in (_between(prompt.text, USER, REPLY) or "") and end not in between
    by_role = not after.strip() or opened_again
    if not by_role:
        ends = {end: _readable(f"{LAST}{after}")} if end else {}
    elif following and following != strings.get("bos_token"):  # a new beginning is not what a model writes to end its turn
        ends = {following: _readable(f"{REPLY}{between}{SECOND}"), **tool}
    else:
        ends = {}
    run = () if by_role else _run(after, between, markers)
    opened = [*_opening(before, markers, ends), *(t for t in _opening(between, markers, ends) if t not in run), *tool]
    closing = set() if by_role else {*ends, following}
    openers = tuple(t for t in dict.fromkeys(opened) if t not in closing and t not in strings.values())
    return Turns(template, ends, run, openers, by_role)


def _rendered(template: Template, strings: Mapping[str, str]) -> Prompt:
    """The conversation by itself; where that fails, with tools and documents, which named templates may need."""
    plain = render(template.text, _TURNS, strings)
    if plain.text is not None or plain.kind in ("limits", "syntax"):
        return plain
    helped = render(template.text, _TURNS, strings, {"tools": _TOOLS, "documents": _DOCUMENTS})
    return plain if helped.text is None else helped


def _opening(text: str, markers: list[str], ends: Iterable[str]) -> list[str]:
    """The markers between the end of the turn before and the text of a message; by role every turn begins with its first marker."""
    closed = max((text.rfind(end) + len(end) for end in ends if end in text), default=0)
    return _all(text[closed:], markers) or _all(text, markers)[-1:]


def _tool_turn(template: Template, strings: dict[str, str], markers: list[str]) -> dict[str, str]:
    """The token that opens a tool's answer, with the text around it, in templates that know tools."""
    text = render(template.text, _WITH_TOOL, strings, {"tools": _TOOLS}).text
    plain = render(template.text, _WITH_TOOL[:2], strings, {"tools": _TOOLS}).text
    if text is None or plain is None or OUTPUT not in text or not text.startswith(plain.rstrip()):
        return {}
    opening = text[len(plain.rstrip()) :].partition(OUTPUT)[0]
    token = _first(opening, markers)
    return {token: _readable(f"{plain.rstrip()[-20:]}{opening}{OUTPUT}")} if token else {}


def _markers(model: Model, strings: Iterable[str]) -> list[str]:
    """Every string that is one token on purpose, longest first."""
    table = tokens(model)
    added = table.value.added if isinstance(table, Known) else {}
    return sorted({*added, *strings} - {""}, key=len, reverse=True)


def _first(text: str, markers: list[str]) -> str | None:
    """The marker that a text starts with, white space aside."""
    text = text.lstrip()
    return next((m for m in markers if text.startswith(m)), None)


def _run(after: str, between: str, markers: list[str]) -> tuple[str, ...]:
    """The tokens that follow the last reply and an earlier one alike, with nothing but white space between them."""
    both = islice(zip(_leading(after, markers), _leading(between, markers), strict=False), MOST)
    return tuple(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], both))


def _leading(text: str, markers: list[str]) -> Iterator[str]:
    while marker := _first(text, markers):
        yield marker
        text = text.lstrip()[len(marker) :]


def _all(text: str, markers: list[str]) -> list[str]:
    """Every marker in a text, in order."""
    return re.findall("|".join(map(re.escape, markers)), text) if markers else []


def _between(text: str, start: str, end: str) -> str | None:
    _, found, rest = text.partition(start)
    between, second, _ = rest.partition(end)
    return between if found and second else None


def _why(prompt: Prompt) -> str:
    return f"a plain conversation {prompt.error if prompt.kind == 'limits' else f'could not be rendered: {prompt.error}'}"


def _readable(text: str) -> str:
    for word, name in ((REPLY, "…reply"), (LAST, "…reply"), (SECOND, "next message…"), (OUTPUT, "what the tool says…")):
        text = text.replace(word, name)
    return text.replace("\n", "⏎")[:120]
