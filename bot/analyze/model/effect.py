"""Whether a variable that a caller gives makes any difference to what a template prints."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from jinja2 import nodes

from bot.analyze.model.prompt_change import Change, outcome, with_variables, without_variable
from bot.analyze.model.prompting import arguments, prompt
from bot.analyze.probes import CORE, EXTENDED, TOOLS
from bot.analyze.render import Prompt, examined
from bot.probe import Probe

_OF_NAMES: dict[str, tuple[Any, ...]] = {
    "tools": (TOOLS,),
    "documents": tuple(probe.variables["documents"] for probe in EXTENDED if "documents" in probe.variables),
}
_WORD = "qxvalue"
_MOST_VALUES = 8
_MOST_OTHERS = 12


def lost(change: Change, name: str) -> Probe | None:
    """A conversation whose prompt the variable changes in base, where no value changes any prompt in head; None where limits hide it."""
    found = _first(change, name)
    return None if found is None or _any(change, name, found) else found[0]


def sets(text: str, name: str) -> bool:
    """Whether a template assigns a variable anywhere."""
    found = examined(text, lambda root: frozenset(each.name for each in root.find_all(nodes.Name) if each.ctx == "store"))
    return not isinstance(found, Prompt) and name in found


@lru_cache(maxsize=64)
def inner(text: str) -> frozenset[str]:
    """The variables that a template makes of the conversation, as `system_message` of the first message: nobody means to give them."""
    found = examined(text, _made_of_messages)
    return frozenset() if isinstance(found, Prompt) else found


def _made_of_messages(root: nodes.Template) -> frozenset[str]:
    own = {"messages"}
    for loop in root.find_all(nodes.For):
        own.update(name.name for name in (loop.target, *loop.target.find_all(nodes.Name)) if isinstance(name, nodes.Name))
    found = {node.target.name for node in root.find_all(nodes.AssignBlock) if isinstance(node.target, nodes.Name)}
    for node in root.find_all(nodes.Assign):
        read = {name.name for name in (node.node, *node.node.find_all(nodes.Name)) if isinstance(name, nodes.Name)}
        if isinstance(node.target, nodes.Name) and read & own and node.target.name not in read:
            found.add(node.target.name)
    return frozenset(found)


def _first(change: Change, name: str) -> tuple[Probe, Any] | None:
    """The first conversation and value that show an effect in base, which may not render it without the variable, and that head can render."""
    for plain in _conversations(change, name, change.old.text):
        unset, after = change.both(plain)
        if "limits" in (unset.kind, after.kind):
            return None
        for value in _values(change, name) if _prints(after, plain) else ():
            given = prompt(change.base, change.old, with_variables(plain, {name: value}))
            if given.kind == "limits":
                return None
            if given.text not in (None, unset.text):
                return plain, value
    return None


def _prints(prompt: Prompt, probe: Probe) -> bool:
    """Whether the words of a message are in a prompt; a template that prints none of them has lost more than a variable."""
    texts = [message["content"].lower() for message in probe.messages if isinstance(message.get("content"), str)]
    return prompt.text is not None and any(text and text in prompt.text.lower() for text in texts)


def _any(change: Change, name: str, first: tuple[Probe, Any]) -> bool:
    """Whether any value of the variable has an effect on any conversation in head, or limits keep us from seeing it; `first` is tried first."""
    probes = (first[0], *_conversations(change, name, change.new.text)) if name in arguments(change.new.text) else first[:1]
    for plain in probes:
        unset = prompt(change.head, change.new, plain)
        for value in (first[1], *_values(change, name)):
            given = prompt(change.head, change.new, with_variables(plain, {name: value}))
            if "limits" in (unset.kind, given.kind) or outcome(given) != outcome(unset):
                return True
    return False


def _conversations(change: Change, name: str, text: str) -> Iterator[Probe]:
    """The built-in conversations without the variable: as they are, and with every other argument of the template switched on."""
    others = [each for each in arguments(text) if each not in (name, "messages", *_OF_NAMES)][:_MOST_OTHERS]
    probes = tuple(without_variable(probe, name) for probe in change.asked((*CORE, *EXTENDED)))
    yield from probes
    if others:
        yield from (with_variables(probe, {**dict.fromkeys(others, True), **probe.variables}) for probe in probes)


def _values(change: Change, name: str) -> tuple[Any, ...]:
    """What is tried: the values that either text compares the variable with, and some of every kind."""
    if name in _OF_NAMES:
        return _OF_NAMES[name]
    known = [v for text in (change.old.text, change.new.text) if (found := arguments(text).get(name)) for v in found.values]
    return (True, False, *dict.fromkeys(v for v in known if not isinstance(v, bool)), _WORD, [_WORD])[:_MOST_VALUES]
