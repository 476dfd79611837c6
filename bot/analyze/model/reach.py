"""What a chat template reaches for that a sandbox refuses, seen in its syntax tree: Python's internals, and methods that change what they belong to.

The spellings are Jinja's own: an attribute, a subscript, the filter `attr`, filters that take an attribute by name (`map`, `selectattr`, `sort`, …),
a format string with a field of attributes; names may be put together from constants (jinja2 3.1.6, sandbox.py:37-120 and 300-420, filters.py).
"""

import builtins
import re
import types
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice, product
from typing import NamedTuple, cast

from jinja2 import nodes

from bot.analyze.render import Prompt, examined

# Methods that ImmutableSandboxedEnvironment refuses on lists and dicts (jinja2 3.1.6, sandbox.py:68-100).
_CHANGING = frozenset(
    ["append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault", "sort", "update"]
)
_BY_NAME = frozenset(["attr", "map", "selectattr", "rejectattr", "sort", "groupby", "sum", "unique", "min", "max", "join"])
_OF_FRAMES = frozenset(
    [
        *("gi_frame", "gi_code", "cr_frame", "cr_code", "ag_frame", "ag_code", "tb_frame", "func_globals", "func_code"),
        *("f_globals", "f_builtins", "f_locals", "f_back", "f_code"),
    ]
)
_TYPES: tuple[object, ...] = (
    *(type, types.FunctionType, types.MethodType, types.BuiltinMethodType, types.ModuleType, types.GeneratorType, types.CodeType),
    *(object(), str, int, list, dict, builtins),
)
# What objects of Python have between two underscores on each side; any other such name can only be a key.
_INTERNAL = frozenset(name for each in _TYPES for name in dir(each) if name.startswith("__") and name.endswith("__")) | {
    "__builtins__",
    "__wrapped__",
}
# Of those, the ones that lead somewhere: as a plain text they stand in a template for no other use.
_LEADING = frozenset(
    [
        *("__class__", "__base__", "__bases__", "__mro__", "__subclasses__", "__globals__", "__builtins__", "__import__"),
        *("__getattribute__", "__code__", "__closure__", "__reduce__", "__reduce_ex__", "__loader__", "__spec__", "__dict__"),
    ]
)
_FIELD = re.compile(r"\{[^{}]*\}")
_PRINTING = (nodes.Output, nodes.Concat, nodes.Add, nodes.CondExpr)
_MOST = 16  # spellings of one expression


class Reach(NamedTuple):
    """One thing that is reached for, as people know it ("__class__", "messages.insert"), and the line of the template."""

    what: str
    line: int


class Reaches(NamedTuple):
    """What leads to Python's internals, and what changes a list or an object; each once, in the order of the text."""

    internals: tuple[Reach, ...] = ()
    changes: tuple[Reach, ...] = ()


@lru_cache(maxsize=256)
def reaches(text: str) -> Reaches:
    """What a template reaches for; nothing for one that does not parse or cannot be looked through within limits."""
    found = examined(text, _of_tree)
    return Reaches() if isinstance(found, Prompt) else found


def _of_tree(root: nodes.Template) -> Reaches:
    texts = _assigned(root)
    internals = [
        Reach(part, node.lineno)
        for node, name in _attributes(root, texts)
        for part in name.split(".")[::-1]
        if part in _INTERNAL or part in _OF_FRAMES
    ]
    internals += [Reach(text, node.lineno) for node, text in _plain(root) if text in _LEADING]
    changes = [
        Reach(f"{_path(receiver)}.{method}", call.lineno)
        for call in root.find_all(nodes.Call)
        for receiver, method in _methods(call.node, texts)
        if method in _CHANGING
    ]
    return Reaches(_once(internals[::-1]), _once(changes))  # the innermost name first, as it is written


def _once(found: list[Reach]) -> tuple[Reach, ...]:
    first: dict[str, Reach] = {}
    for reach in sorted(found, key=lambda each: each.line):
        first.setdefault(reach.what, reach)
    return tuple(first.values())


def _attributes(root: nodes.Template, texts: Mapping[str, frozenset[str]]) -> Iterator[tuple[nodes.Node, str]]:
    """Every name that an attribute or an item is taken by, in each spelling."""
    for node in root.find_all((nodes.Getattr, nodes.Getitem, nodes.Filter, nodes.Call, nodes.NSRef)):
        match node:
            case nodes.Getattr() | nodes.NSRef():
                yield node, node.attr
            case nodes.Getitem():
                yield from ((node, name) for name in _strings(node.arg, texts))
            case nodes.Filter() if node.name in _BY_NAME:
                given = [*node.args, *(pair.value for pair in node.kwargs)]
                yield from ((node, name) for each in given for name in _strings(each, texts))
            case nodes.Call():
                formats = [text for text, method in _methods(node.node, texts) if method in ("format", "format_map")]
                fields = (field for each in formats for text in _strings(each, texts) for field in _FIELD.findall(text))
                yield from ((node, ".".join(re.findall(r"\w+", field))) for field in fields)
            case _:
                pass


def _plain(root: nodes.Template) -> Iterator[tuple[nodes.Node, str]]:
    """Every constant text that is neither printed as it stands nor compared with anything."""
    left: list[tuple[nodes.Node, bool]] = [(root, False)]
    while left:
        node, printed = left.pop()
        if isinstance(node, nodes.Const):
            if isinstance(node.value, str) and not printed:
                yield node, node.value
        elif not isinstance(node, nodes.Compare):
            inside = isinstance(node, nodes.Output) or (printed and isinstance(node, _PRINTING))
            left.extend((child, inside) for child in node.iter_child_nodes())


def _methods(node: nodes.Expr, texts: Mapping[str, frozenset[str]]) -> Iterator[tuple[nodes.Expr, str]]:
    """The object and the name of a method that is called, in each spelling."""
    match node:
        case nodes.Getattr():
            yield node.node, node.attr
        case nodes.Getitem():
            yield from ((node.node, name) for name in _strings(node.arg, texts))
        case nodes.Filter(name="attr") if node.node is not None and node.args:
            receiver = node.node
            yield from ((receiver, name) for name in _strings(node.args[0], texts))
        case _:
            pass


def _assigned(root: nodes.Template) -> dict[str, frozenset[str]]:
    """The constant texts that variables are given."""
    found: dict[str, frozenset[str]] = {}
    for node in root.find_all((nodes.Assign, nodes.For)):
        target = node.target
        if not isinstance(target, nodes.Name):
            continue
        if isinstance(node, nodes.Assign):
            given = _strings(cast("nodes.Expr", node.node), found)
        else:
            items = node.iter.items if isinstance(node.iter, nodes.List | nodes.Tuple) else []
            given = frozenset(text for item in items[:_MOST] for text in _strings(item, found))
        found[target.name] = frozenset(islice(sorted(found.get(target.name, frozenset()) | given), _MOST))
    return found


def _strings(node: nodes.Expr, texts: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The texts that an expression can be, as far as constants and the variables that hold them tell."""
    match node:
        case nodes.Const():
            return frozenset([node.value]) if isinstance(node.value, str) else frozenset()
        case nodes.Name():
            return texts.get(node.name, frozenset())
        case nodes.CondExpr():
            others = [node.expr1, *([node.expr2] if node.expr2 is not None else [])]
            return frozenset(text for each in others for text in _strings(each, texts))
        case nodes.Concat() | nodes.Add():
            pieces = node.nodes if isinstance(node, nodes.Concat) else [node.left, node.right]
            spelled = product(*(sorted(_strings(piece, texts)) for piece in pieces))
            return frozenset("".join(each) for each in islice(spelled, _MOST))
        case _:
            pass
    try:
        text = cast("object", node.as_const())
    except nodes.Impossible:
        return frozenset()
    return frozenset([text]) if isinstance(text, str) else frozenset()


def _path(node: nodes.Expr) -> str:
    """An expression as people write it, as far as it is names."""
    match node:
        case nodes.Name():
            return node.name
        case nodes.Getattr():
            return f"{_path(node.node)}.{node.attr}"
        case nodes.Getitem():
            return f"{_path(node.node)}[…]"
        case _:
            return "…"
