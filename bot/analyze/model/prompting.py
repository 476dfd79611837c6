"""What the templates of a model folder make of conversations, and which variables they read."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
from jinja2 import meta, nodes

from bot.analyze.model.folder import Model
from bot.analyze.model.templates import DEFAULT, Template, in_force
from bot.analyze.model.turns import role_strings
from bot.analyze.probes import CORE, EXTENDED
from bot.analyze.render import Prompt, examined, render
from bot.probe import Probe

WITH_TOOLS = "tool_use"  # the named template that a request with tools takes
# What is always given, by transformers or by Jinja; everything else that a template reads is for the caller to give.
_GIVEN = {"messages", "raise_exception", "strftime_now", "range", "dict", "lipsum", "cycler", "joiner", "namespace"}
_ROLES = ("bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token", "additional_special_tokens")
_OF_PROBES = {"add_generation_prompt", "tools", "documents", "enable_thinking"}
# Names that are the caller's also where the template sets them without asking, as in {% if not tools %}{% set tools = [] %}.
_OF_CALLERS = {*_OF_PROBES, "thinking", "reasoning_effort", "builtin_tools", "custom_tools", "xml_tools"}
_MOST_VARIABLES = 12
_MOST_VALUES = 4


class Variable(msgspec.Struct, frozen=True):
    """A variable that a template reads before it sets it.

    `values` are the constants that it is compared with, in a fixed order; `is_set` says that the template sets it as well, `is_asked` that it
    asks whether it is defined.
    """

    name: str
    values: tuple[Any, ...] = ()
    is_set: bool = False
    is_asked: bool = False


def prompt(model: Model, template: Template, probe: Probe) -> Prompt:
    """What a template of a model makes of a conversation, in the newest transformers."""
    return render(template.text, probe.messages, role_strings(model), probe.variables)


def taken(model: Model, probe: Probe) -> Template | None:
    """The template that a request takes: the one that the probe names, else of several `tool_use` where tools are offered, else the default."""
    found = {template.name: template for template in in_force(model)}
    if probe.template:
        return found.get(probe.template)
    return (found.get(WITH_TOOLS) if probe.variables.get("tools") else None) or found.get(DEFAULT)


def same_name(base: Model, head: Model) -> tuple[tuple[Template, Template], ...]:
    """The templates that both revisions have under one name, wherever they stand, and whose prompts can differ: by text or by role strings."""
    before, after = ({template.name: template for template in in_force(model)} for model in (base, head))
    tokens_differ = role_strings(base) != role_strings(head)
    pairs = ((before[name], after[name]) for name in before if name in after)
    return tuple((old, new) for old, new in pairs if tokens_differ or old.text != new.text)


def probes_for(template: Template, *others: Template) -> tuple[Probe, ...]:
    """The built-in conversations, and one for each value of each further variable that one of the templates reads."""
    named = "" if template.name == DEFAULT else template.name
    usual = tuple(msgspec.structs.replace(probe, template=named) for probe in (*CORE, *EXTENDED))
    if named == WITH_TOOLS:
        return tuple(probe for probe in usual if probe.variables.get("tools"))
    found = {
        v.name: v for each in (template, *others) for v in _or_none(variables(each.text)) if v.name not in (*_OF_PROBES, *_ROLES)
    }
    further = [each for name in sorted(found)[:_MOST_VARIABLES] for each in _with(found[name], named)]
    return (*usual, *further)


def _with(variable: Variable, template: str) -> list[Probe]:
    first = CORE[0]
    values = (
        variable.values[:_MOST_VALUES]
        if variable.values and not all(isinstance(v, bool) for v in variable.values)
        else (False, True)
    )
    return [
        Probe(f"{variable.name} = {_spelled(value)}", first.messages, {**first.variables, variable.name: value}, template)
        for value in values
    ]


def _spelled(value: Any) -> str:
    return json.dumps(value)  # ASCII, for a template may hold half of a surrogate pair


def _or_none(found: tuple[Variable, ...] | Prompt) -> tuple[Variable, ...]:
    return () if isinstance(found, Prompt) else found


@lru_cache(maxsize=256)
def variables(text: str) -> tuple[Variable, ...] | Prompt:
    """The variables that a template reads and that its caller gives, by name; or why that cannot be seen."""
    return examined(text, _of_tree)


def _of_tree(root: nodes.Template) -> tuple[Variable, ...]:
    compared: dict[str, list[Any]] = {}
    asked: set[str] = set()
    for node in root.find_all((nodes.Compare, nodes.Test, nodes.Filter)):
        if isinstance(node, nodes.Compare):
            _compared(node, compared)
        elif isinstance(node.node, nodes.Name) and node.name in ("defined", "undefined", "none", "default", "d"):
            asked.add(node.node.name)
    stored = {name.name for name in root.find_all(nodes.Name) if name.ctx == "store"}  # not a macro's parameter of that name
    names = meta.find_undeclared_variables(root) - _GIVEN  # last, for it folds constants in the tree
    return tuple(
        Variable(name, tuple(dict.fromkeys(compared.get(name, ()))), name in stored, name in asked) for name in sorted(names)
    )


def _compared(node: nodes.Compare, found: dict[str, list[Any]]) -> None:
    """The constants that a comparison holds against names or what filters and methods make of them, on either side; for "in" those of the list."""
    sides = [node.expr, *(operand.expr for operand in node.ops)]
    names = [name for side in sides if (name := _name(side))]
    values = [side.value for side in sides if isinstance(side, nodes.Const)]
    for side in sides:
        if isinstance(side, nodes.List | nodes.Tuple):
            values += [item.value for item in side.items if isinstance(item, nodes.Const)]
    plain = [value for value in values if isinstance(value, str | int | float | bool)]
    for name in names:
        found.setdefault(name, []).extend(plain)


def _name(node: nodes.Node | None) -> str | None:
    """The variable that an expression is about: `mode` in mode, mode | lower and mode.strip()."""
    match node:
        case nodes.Name():
            return node.name
        case nodes.Filter(node=inner) | nodes.Call(node=nodes.Getattr(node=inner)):
            return _name(inner)
        case _:
            return None


def arguments(text: str) -> Mapping[str, Variable]:
    """The variables that are a template's arguments by all signs: never set by itself, asked whether they are defined, or known; none where it cannot be seen."""
    found = _or_none(variables(text))
    return {
        each.name: each
        for each in found
        if each.name not in _ROLES and (each.is_asked or not each.is_set or each.name in _OF_CALLERS)
    }
