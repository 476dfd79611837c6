"""Whether vLLM hands a chat template its messages' content as text or as a list of parts.

Source: vllm 0.33.0, renderers/hf.py:359-596 (run; the table of constructs is in the tests). Older releases find less (read: 0.8.5
entrypoints/chat_utils.py:200-305, unchanged to 0.20.0 renderers/hf.py; 0.23.0 renderers/hf.py:399; 0.31.0 renderers/hf.py:362-470).
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from jinja2 import nodes

from bot.analyze.render import Prompt, examined
from bot.analyze.tables import parts
from bot.answer import Answer, Known, Unknown

STRING = "string"
PARTS = "openai"
_ENDLESS = "endless"


class _Stage(NamedTuple):
    """What a release looks at: loops over a variable that is called content, content that a macro is given, lists that a namespace holds."""

    content: bool
    macros: bool
    namespaces: bool


def content_format(text: str, version: str) -> Answer[str]:
    """Give "openai" (a list of parts) where a loop of the template goes over the content of a message, else "string"; "string" for one that does not parse.

    `version` is that of vLLM.
    """
    at = parts(version)
    return _format(text, _Stage(at >= (0, 23), at >= (0, 31), at >= (0, 33)))


@lru_cache(maxsize=256)
def _format(text: str, stage: _Stage) -> Answer[str]:
    found = examined(text, lambda root: _of_tree(root, stage))
    if isinstance(found, Prompt):
        return Known(STRING) if found.kind == "syntax" else Unknown(f"the chat template {found.error}")
    return Known(found) if found != _ENDLESS else Unknown("this release never ends looking through the chat template")


def _of_tree(root: nodes.Template, stage: _Stage) -> str:
    """A loop whose target is a tuple ends the search: the engine's own assertion fails there, and it takes "string"."""
    messages = _aliases(root, "messages", stage)
    if isinstance(messages, str):
        return messages
    loops = list(root.find_all(nodes.For))
    names: list[str] = []
    for loop in loops:
        if any(_is(loop.iter, name) for name in messages):
            if not isinstance(loop.target, nodes.Name):
                return STRING
            names.append(loop.target.name)
    parameters = _content_parameters(root, names) if stage.macros else {}
    for loop in loops:
        plain = loop.iter.name if isinstance(loop.iter, nodes.Name) else None
        held = parameters.get(id(loop))  # None outside macros
        named = plain is not None and (stage.content and plain == "content" if held is None else plain in held)
        if named or any(_is(loop.iter, name, "content") for name in names):
            return PARTS if isinstance(loop.target, nodes.Name) else STRING
    return STRING


def _aliases(root: nodes.Template, first: str, stage: _Stage) -> list[str] | str:
    """The names that hold the list, or a slice of it, by assignment; "ns.rest" for an attribute of a namespace. A word where the search fails or never ends."""
    given: dict[str, set[str]] = {first: set()}
    for name in (found := [first]):  # it grows while it is gone through
        for assigned in root.find_all(nodes.Assign):
            if not stage.namespaces and _is(assigned.node, name) and not isinstance(assigned.target, nodes.Name):
                return STRING
            aliases = {alias for alias in _targets(assigned, name) if stage.namespaces or "." not in alias}
            given[name] |= aliases - {name}
            found += [alias for alias in aliases if alias not in found]
            given |= {alias: given.get(alias, set()) for alias in aliases}
    return found if stage.namespaces or not _in_circles(given) else _ENDLESS


def _in_circles(given: dict[str, set[str]]) -> bool:
    """Whether a name is assigned to others and from them again, which sends older releases round for ever."""
    left = dict(given)
    while ends := [name for name, others in left.items() if not others & left.keys()]:
        for name in ends:
            del left[name]
    return bool(left)


def _targets(assigned: nodes.Assign, name: str) -> Iterator[str]:
    target, value = assigned.target, assigned.node
    if isinstance(target, nodes.Name):
        if _is(value, name):
            yield target.name
        elif isinstance(value, nodes.Call) and isinstance(value.node, nodes.Name) and value.node.name == "namespace":
            yield from (f"{target.name}.{word.key}" for word in value.kwargs if _is(word.value, name))
    elif isinstance(target, nodes.NSRef) and _is(value, name):
        yield f"{target.name}.{target.attr}"


def _content_parameters(root: nodes.Template, names: list[str]) -> dict[int, set[str]]:
    """For each loop inside a macro, by its id(): the parameters of that macro that are somewhere given the content of a message."""
    calls: dict[str, list[nodes.Call]] = {}
    for call in root.find_all(nodes.Call):
        if isinstance(call.node, nodes.Name):
            calls.setdefault(call.node.name, []).append(call)
    found: dict[int, set[str]] = {}
    for macro in root.find_all(nodes.Macro):
        parameters = [parameter.name for parameter in macro.args]
        given: set[str] = set()
        for call in calls.get(macro.name, ()):
            words = [(word.key, word.value) for word in call.kwargs if word.key in parameters]
            pairs = [*zip(parameters, call.args, strict=False), *words]
            given |= {parameter for parameter, value in pairs if any(_is(value, name, "content") for name in names)}
        for loop in macro.find_all(nodes.For):
            if given or id(loop) not in found:
                found[id(loop)] = given
    return found


def _is(node: nodes.Node | None, name: str, key: str | None = None) -> bool:
    """Whether an expression reads the variable `name`, or its item `key`, also through filters, tests and slices."""
    while isinstance(node, nodes.Filter | nodes.Test) or (isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice)):
        node = node.node
    if key is None:
        return _reads(node, name)
    if isinstance(node, nodes.Getitem):
        return isinstance(node.arg, nodes.Const) and node.arg.value == key and _reads(node.node, name)
    return isinstance(node, nodes.Getattr) and node.attr == key and _reads(node.node, name)


def _reads(node: nodes.Node | None, name: str) -> bool:
    if isinstance(node, nodes.Name):
        return node.ctx == "load" and node.name == name
    base, _, attribute = name.rpartition(".")
    return isinstance(node, nodes.Getattr) and bool(base) and node.attr == attribute and _reads(node.node, base)
