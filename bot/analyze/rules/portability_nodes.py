"""The constructs of Jinja that a node of a syntax tree is, as far as readers differ in them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from jinja2 import nodes

from bot.analyze.rules import portability_readers as known
from bot.analyze.rules.portability_readers import Construct

# Given by transformers whether a request has any or not (None), so that templates ask for them before use.
_OPTIONAL = ("tools", "documents")
# Jinja's own filters of these names take None.
_LAZY = frozenset({"selectattr", "rejectattr", "select", "reject", "map", "string"})
# Nodes that are a construct whatever they hold.
_PLAIN: dict[type[nodes.Node], Construct] = {
    nodes.Break: Construct("tag", "break"),
    nodes.Continue: Construct("tag", "continue"),
    nodes.With: Construct("tag", "with"),
    nodes.Block: Construct("tag", "block"),
    nodes.ScopedEvalContextModifier: Construct("tag", "autoescape"),
    nodes.FloorDiv: known.syntax(known.FLOOR),
    nodes.Pow: known.syntax(known.POWER),
    nodes.Pos: known.syntax(known.PLUS),
}


class Surroundings(msgspec.Struct, frozen=True):
    """What has to be known of a template around a node.

    `conditions` were looked at before the node is reached, `assigned` are the variables that the template sets with the
    first line that does (see `assignments`), `macros` its macros by name.
    """

    conditions: tuple[nodes.Node, ...]
    assigned: Mapping[str, int]
    macros: Mapping[str, nodes.Macro]


def assignments(nodes_and_conditions: Iterable[tuple[nodes.Node, tuple[nodes.Node, ...]]]) -> dict[str, int]:
    """The variables that a template sets, with the first line.

    To set tools or documents where they are not defined does not count: transformers defines both.
    """
    lines: dict[str, int] = {}
    for node, conditions in nodes_and_conditions:
        if isinstance(node, nodes.Name) and node.ctx != "load":
            asked = [each for each in conditions if _mentions(each, node.name)]
            if node.name not in _OPTIONAL or not any(_asks_if_defined(each, node.name) for each in asked):
                lines.setdefault(node.name, node.lineno)
    return lines


def _asks_if_defined(condition: nodes.Node, name: str) -> bool:
    """Whether all that a condition asks of a variable is whether it is defined."""
    tests, filters, whole = _asked(condition, name)
    return whole and not filters and tests <= {"defined", "undefined"}


def constructs(node: nodes.Node, around: Surroundings) -> Iterator[Construct]:
    """The constructs that a node is, without those inside it."""
    if type(node) in _PLAIN:
        yield _PLAIN[type(node)]
    match node:
        case nodes.Filter():
            yield from _of_filter(node, around)
        case nodes.Test():
            yield Construct("test call" if node.args or node.kwargs else "test", node.name)
        case nodes.Call():
            yield from _of_call(node, around)
        case nodes.Stmt():
            yield from map(known.syntax, _of_statement(node))
            if isinstance(node, nodes.CallBlock) and isinstance(node.call.node, nodes.ExtensionAttribute):
                yield Construct("tag", "generation")
        case _:
            yield from map(known.syntax, _of_value(node))


def _of_statement(node: nodes.Stmt) -> Iterator[str]:
    match node:
        case nodes.CallBlock():
            if not isinstance(node.call.node, nodes.Name | nodes.ExtensionAttribute):
                yield known.CALL_PATH
        case nodes.Macro():
            given = {argument.name for argument in node.args}
            if any(name.name in {"varargs", "kwargs"} - given for name in node.find_all(nodes.Name)):
                yield known.EXTRA
        case nodes.AssignBlock(filter=nodes.Filter()):
            yield known.SET_FILTER
        case nodes.Assign(target=nodes.Tuple()):
            yield known.UNPACKED
        case nodes.For(recursive=True):
            yield known.RECURSIVE
        case _:
            pass


def _of_value(node: nodes.Node) -> Iterator[str]:
    match node:
        case nodes.Pair(key=nodes.Const() | nodes.Tuple() | nodes.Neg() as key) if not _is_text(key):
            yield known.KEYS
        case nodes.Slice(step=nodes.Neg() as step) if not (_is_one(step.node) and node.start is None and node.stop is None):
            yield known.STEP_BACK
        case nodes.Tuple(items=[] | [_]) if node.ctx == "load":
            yield known.SHORT_TUPLE
        case nodes.Compare(ops=[first, _, *_]) if first.op in ("lt", "gt", "lteq", "gteq"):
            yield known.CHAIN
        case nodes.Mod() if _is_text(node.left):
            yield known.PERCENT
        case nodes.Mul() if _is_text(node.left) or _is_text(node.right):
            yield known.TIMES_TEXT
        case nodes.Mul(left=nodes.List()) | nodes.Mul(right=nodes.List()):
            yield known.TIMES_LIST
        case _:
            pass


def _of_filter(node: nodes.Filter, around: Surroundings) -> Iterator[Construct]:
    name, given, words = node.name, node.args, {word.key for word in node.kwargs}
    yield Construct("filter call" if given or words else "filter", name)
    if isinstance(node.node, nodes.Name) and node.node.name in _OPTIONAL:
        yield from _of_optional(node, node.node.name, around)
    rules = {
        known.MAP_FILTER: name == "map" and bool(given) and "attribute" not in words,
        known.DEFAULT_BARE: name in ("default", "d") and not given and not words,
        known.DEFAULT_NAMED: name in ("default", "d") and bool(words),
        known.INDENT_NAMED: name == "indent" and bool(words),
        known.JOIN_MORE: name == "join" and (bool(words) or len(given) > 1),
        known.SORT_POSITION: name in ("sort", "dictsort") and bool(given),
        known.FILTER_REPLACE_COUNT: name == "replace" and len(given) + len(words) > 2,
    }
    yield from (known.syntax(rule) for rule, applies in rules.items() if applies)
    if name == "tojson":
        yield from (known.syntax(known.TOJSON_NAMED.format(word)) for word in words)
    if name in ("selectattr", "rejectattr") and given:
        yield from _of_attribute_test(given[1:])


def _of_attribute_test(given: list[nodes.Expr]) -> Iterator[Construct]:
    """The test that selectattr is given by name, and its value."""
    match given:
        case [nodes.Const(value=str(test)), *values]:
            yield Construct("test of an attribute", test)
            if not values:
                yield known.syntax(known.ATTRIBUTE_TEST)
            if any(not isinstance(each, nodes.Const) or not isinstance(each.value, str) for each in values):
                yield known.syntax(known.ATTRIBUTE_VALUE)
        case [_, *_]:
            yield known.syntax(known.ATTRIBUTE_VALUE)
        case _:
            pass


def _of_optional(node: nodes.Filter, name: str, around: Surroundings) -> Iterator[Construct]:
    """A filter on something that is None where a request has none of it, unless the template has set it to something by then."""
    if around.assigned.get(name, node.lineno) < node.lineno:
        return
    asked = [each for each in around.conditions if _mentions(each, name)]
    if node.name in _LAZY and not asked:
        yield known.syntax(known.LAZY)
    if node.name in ("length", "count") and asked and all(_only_iterable(each, name) for each in asked):
        yield known.syntax(known.ONLY_ITERABLE)


def _only_iterable(condition: nodes.Node, name: str) -> bool:
    """Whether all that a condition asks of a variable is `is iterable`, `is defined`, or its length behind them."""
    tests, filters, whole = _asked(condition, name)
    return whole and "iterable" in tests and tests <= {"iterable", "defined"} and filters <= {"length", "count"}


def _asked(condition: nodes.Node, name: str) -> tuple[set[str], set[str], bool]:
    """The tests and filters that a condition puts a variable through, and whether that is all it does with it."""
    inside = (condition, *condition.find_all((nodes.Test, nodes.Filter, nodes.Name)))
    asking = [each for each in inside if isinstance(each, nodes.Test | nodes.Filter) and _is_name(each.node, name)]
    tests = {each.name for each in asking if isinstance(each, nodes.Test)}
    filters = {each.name for each in asking if isinstance(each, nodes.Filter)}
    return tests, filters, sum(_is_name(each, name) for each in inside) == len(asking)


def _of_call(node: nodes.Call, around: Surroundings) -> Iterator[Construct]:
    if node.dyn_args is not None:
        yield known.syntax(known.STAR)
    if node.dyn_kwargs is not None:
        yield known.syntax(known.STARS)
    called = node.node
    if isinstance(called, nodes.Getattr):
        yield from _of_method(node, called)
    elif isinstance(called, nodes.Name) and called.name in around.macros:
        macro = around.macros[called.name]
        all_there = node.dyn_args is None and node.dyn_kwargs is None
        if all_there and len(node.args) + len(node.kwargs) < len(macro.args) - len(macro.defaults):
            yield known.syntax(known.FEW)
    elif isinstance(called, nodes.Name) and called.name not in around.assigned:
        if not any(_mentions(each, called.name) for each in around.conditions):
            yield Construct("function", called.name)
        if called.name == "range" and any(isinstance(each, nodes.Neg) for each in node.args):
            yield known.syntax(known.RANGE_BELOW)


def _of_method(node: nodes.Call, method: nodes.Getattr) -> Iterator[Construct]:
    name = method.attr
    if name in known.METHODS:
        yield Construct("method", name)
    if name == "split" and node.kwargs:
        yield known.syntax(known.SPLIT_NAMED)
    if name == "replace" and len(node.args) > 2:
        yield known.syntax(known.REPLACE_COUNT)
    if name in ("startswith", "endswith") and any(isinstance(each, nodes.Tuple) for each in node.args):
        yield known.syntax(known.STARTS_TUPLE)
    text: Any = method.node.value if isinstance(method.node, nodes.Const) else None
    if name == "format" and isinstance(text, str) and (node.kwargs or re.search(r"\{[^{}]", text)):
        yield known.syntax(known.PLACEHOLDER)


def _mentions(node: nodes.Node, name: str) -> bool:
    return _is_name(node, name) or any(each.name == name for each in node.find_all(nodes.Name))


def _is_name(node: nodes.Node | None, name: str) -> bool:
    return isinstance(node, nodes.Name) and node.name == name


def _is_one(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Const) and node.value == 1


def _is_text(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Const) and isinstance(node.value, str)
