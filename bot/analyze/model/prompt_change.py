"""One conversation before and after a change: two templates of one name, each rendered with the role strings of its revision."""

from collections.abc import Iterable
from typing import Any

import msgspec

from bot.analyze.model.folder import Model
from bot.analyze.model.prompting import WITH_TOOLS, prompt, same_name
from bot.analyze.model.templates import DEFAULT, Template
from bot.analyze.probes import CORE, DOCUMENTS, TOOLS
from bot.analyze.render import Prompt
from bot.analyze.wording import value
from bot.probe import Message, Probe

# Words that no template contains, so that they can be found in the prompt again; every conversation below ends with ASKED.
SYSTEM, FIRST, REPLY, ASKED = "qxsystemtext", "qxfirstuser", "qxreplytext", "qxlastuser"


class Change(msgspec.Struct, frozen=True):
    """A template of base and the one of the same name in head, which differs by its text or by its role strings."""

    base: Model
    head: Model
    old: Template
    new: Template

    def both(self, probe: Probe) -> tuple[Prompt, Prompt]:
        """A conversation in base and in head."""
        return prompt(self.base, self.old, probe), prompt(self.head, self.new, probe)

    @property
    def title(self) -> str:
        """How a sentence about the template begins."""
        return called(self.new)

    @property
    def rewritten(self) -> bool:
        """Whether the two are different texts to Jinja."""
        return as_read(self.old.text) != as_read(self.new.text)

    def asked(self, probes: Iterable[Probe]) -> tuple[Probe, ...]:
        """Conversations as the template is asked for them: `tool_use` always with tools, one that base renders only with documents with those."""
        given = tuple(probes)
        if self.new.name == WITH_TOOLS:
            return tuple(map(with_tools, given))
        plain, helped = (prompt(self.base, self.old, probe).text for probe in (CORE[0], with_documents(CORE[0])))
        return tuple(map(with_documents, given)) if plain is None and helped is not None else given


def changes(base: Model, head: Model) -> tuple[Change, ...]:
    """Every template in force under one name in both revisions whose prompts can differ."""
    return tuple(Change(base, head, old, new) for old, new in same_name(base, head))


def called(template: Template) -> str:
    """A template as the beginning of a sentence."""
    return "The chat template" if template.name == DEFAULT else f"The chat template {value(template.name)}"


def as_read(text: str) -> str:
    """A text as Jinja's lexer takes it: one kind of line end, and none at the end (tokeniter in jinja2/lexer.py of 3.1.6)."""
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")


def with_tools(probe: Probe) -> Probe:
    """The conversation with tools offered."""
    return with_variables(probe, {"tools": TOOLS}) if not probe.variables.get("tools") else probe


def with_documents(probe: Probe) -> Probe:
    """The conversation with documents given."""
    return with_variables(probe, {"documents": DOCUMENTS}) if not probe.variables.get("documents") else probe


def with_variables(probe: Probe, variables: dict[str, Any]) -> Probe:
    """The conversation with more variables."""
    return msgspec.structs.replace(probe, variables={**probe.variables, **variables})


def without_variable(probe: Probe, name: str) -> Probe:
    """The conversation without one of its variables."""
    return msgspec.structs.replace(probe, variables={key: given for key, given in probe.variables.items() if key != name})


def outcome(prompt: Prompt) -> tuple[str | None, str]:
    """What counts when two prompts are compared: two failures of one kind are the same."""
    return prompt.text, prompt.kind


def _said(role: str, content: str) -> Message:
    return {"role": role, "content": content}


_TURNS = (_said("user", FIRST), _said("assistant", REPLY))
_LAST = _said("user", ASKED)
_OPEN = {"add_generation_prompt": True}
WORDED: tuple[Probe, ...] = (
    Probe("a user message", (_LAST,), _OPEN),
    Probe("a system and a user message", (_said("system", SYSTEM), _LAST), _OPEN),
    Probe("several turns", (*_TURNS, _LAST), _OPEN),
    Probe("a system message and several turns", (_said("system", SYSTEM), *_TURNS, _LAST), _OPEN),
    Probe("tools", (_LAST,), {**_OPEN, "tools": TOOLS}),
    Probe("tools and a system message", (_said("system", SYSTEM), _LAST), {**_OPEN, "tools": TOOLS}),
)

# Variations of what every template must be able to render.
VARIATIONS: tuple[Probe, ...] = (
    Probe("a system message and several turns", (_said("system", SYSTEM), *_TURNS, _LAST), _OPEN),
    Probe("two user messages in a row", (_said("user", FIRST), _LAST), _OPEN),
    Probe("a system and two user messages", (_said("system", SYSTEM), _said("user", FIRST), _LAST), _OPEN),
    Probe("a reply at the beginning", (_said("assistant", REPLY), _LAST), _OPEN),
    Probe("a system message after the first turns", (*_TURNS, _said("system", SYSTEM), _LAST), _OPEN),
)
# Variations of what a template may decline.
RARER: tuple[Probe, ...] = (
    Probe(
        "a system message in parts",
        (
            {"role": "system", "content": [{"type": "text", "text": SYSTEM}]},
            {"role": "user", "content": [{"type": "text", "text": ASKED}]},
        ),
        _OPEN,
    ),
    Probe(
        "a reply in parts",
        (_said("user", FIRST), {"role": "assistant", "content": [{"type": "text", "text": REPLY}]}, _LAST),
        _OPEN,
    ),
    Probe("tools and a system message", (_said("system", SYSTEM), _LAST), {**_OPEN, "tools": TOOLS}),
)
