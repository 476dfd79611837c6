"""Whether a prompt lets the model think when nobody says so."""

import json
import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from bot.analyze.model.folder import Model
from bot.analyze.model.prompt_change import ASKED, with_variables
from bot.analyze.model.prompting import arguments, prompt
from bot.analyze.model.templates import Template
from bot.probe import Probe

Way = Literal["on", "off"]
# What opens and closes a thought: <think>, <seed:think>, [THINK], ◁think▷, <|START_THINKING|>, <|begin_of_thought|>, Gemma 4's channel.
_MARKER = re.compile(
    r"(?P<off>"
    r"</(?:[a-z]+:)?(?:think|thinking|thought|reasoning)>|\[/THINK\]|◁/think▷|<\|END_THINKING\|>|<\|end_of_thought\|>|<channel\|>)"
    r"|(?P<on>"
    r"<(?:[a-z]+:)?(?:think|thinking|thought|reasoning)>|\[THINK\]|◁think▷|<\|START_THINKING\|>|<\|begin_of_thought\|>|<\|channel>thought)"
)
_NAME = re.compile("think|reason", re.IGNORECASE)
_INVERSE = re.compile("disable|without|skip|hide|no_|non_|off", re.IGNORECASE)
_MEASURE = re.compile("budget|tokens|length|content|format|language|start|end|prefix|keep|preserve|clear|history", re.IGNORECASE)
_OFF = {
    "off",
    "none",
    "no",
    "false",
    "chat",
    "no_think",
    "nothink",
    "no-think",
    "non-thinking",
    "non_thinking",
    "disabled",
    "instruct",
    "fast",
}
_MOST = 4  # variables of thinking that a template may have


class Default(msgspec.Struct, frozen=True):
    """Thinking is on or off by default: as the end of the prompt shows (`tail`), or because a value of a variable gives the same (`same_as`)."""

    way: Way
    tail: str = ""
    same_as: str = ""


def default(model: Model, template: Template, probe: Probe) -> Default | None:
    """What a template does for a conversation that ends with the words ASKED and has no thinking variable; None where nothing shows it."""
    text = prompt(model, template, probe).text
    if text is None:
        return None
    tail = text.rpartition(ASKED)[2]
    markers = [match.lastgroup for match in _MARKER.finditer(tail)]
    if markers:
        return Default("on" if markers[-1] == "on" else "off", tail=tail[-60:])
    return next(_by_value(model, template, probe, text), None)


def _by_value(model: Model, template: Template, probe: Probe, text: str) -> Iterator[Default]:
    """The defaults of the template's thinking variables whose value makes a difference."""
    names = [name for name in arguments(template.text) if _NAME.search(name) and not _MEASURE.search(name)]
    for name in names[:_MOST]:
        ways: dict[Way, list[Any]] = {"on": [], "off": []}
        same: list[Any] = []
        for value, way in _values(name, arguments(template.text)[name].values):
            made = prompt(model, template, with_variables(probe, {name: value})).text
            if made == text:
                same.append((way, value))
            elif made is not None:
                ways[way].append(value)
        for way, value in same:
            other: Way = "off" if way == "on" else "on"
            if ways[other] and all(each == way for each, _ in same):
                yield Default(way, same_as=f"{name} = {json.dumps(value)}")
                break


def _values(name: str, compared: tuple[Any, ...]) -> Iterator[tuple[Any, Way]]:
    """The values that a variable of thinking takes, with what they say."""
    words = [value for value in compared if isinstance(value, str)]
    if words:
        for word in words:
            yield word, "off" if word.lower() in _OFF else "on"
        return
    inverse = bool(_INVERSE.search(name))
    yield True, "off" if inverse else "on"
    yield False, "on" if inverse else "off"
