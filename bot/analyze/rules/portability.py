"""Which constructs of a chat template other readers than transformers refuse; they are found in its syntax tree and its tokens.

A construct counts where the text uses it, whether or not a conversation gets there; a use that asks for its name first (`strftime_now is defined`)
is portable.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast

import msgspec
from jinja2 import nodes

from bot.analyze.environment import environment
from bot.analyze.render import Prompt, examined
from bot.analyze.rules import portability_readers as known
from bot.analyze.rules.portability_nodes import Surroundings, assignments, constructs
from bot.analyze.rules.portability_readers import READERS, Construct, Reader

# Fields of a node that are reached after another of its fields was looked at.
_BEFORE_FIELDS: dict[type[nodes.Node], tuple[str, tuple[str, ...]]] = {
    nodes.If: ("test", ("body", "elif_", "else_")),
    nodes.CondExpr: ("test", ("expr1", "expr2")),
    nodes.And: ("left", ("right",)),
    nodes.Or: ("left", ("right",)),
}


class Use(msgspec.Struct, frozen=True):
    """A construct that some reader refuses, the line of the template where it first stands, and who refuses it.

    `whole` are those of them that refuse the whole template, whatever the conversation.
    """

    construct: Construct
    line: int
    readers: tuple[Reader, ...]
    whole: tuple[Reader, ...]


@lru_cache(maxsize=256)
def uses(text: str) -> tuple[Use, ...] | Prompt:
    """The constructs of a template that some reader refuses, in the order of their lines, or why it could not be examined."""
    return examined(text, lambda root: _uses(root, text))


def _uses(root: nodes.Template, text: str) -> tuple[Use, ...]:
    lines: dict[Construct, int] = {}
    for construct, line, _ in found(root, text):
        if any(reader.refuses(construct) for reader in READERS):
            lines[construct] = min(line, lines.get(construct, line))
    return tuple(
        Use(
            construct,
            line,
            tuple(reader for reader in READERS if reader.refuses(construct)),
            tuple(reader for reader in READERS if reader.whole(construct)),
        )
        for construct, line in sorted(lines.items(), key=lambda row: (row[1], str(row[0])))
    )


def found(root: nodes.Template, text: str) -> Iterator[tuple[Construct, int, nodes.Node | None]]:
    """Every construct with its line and, where the tree has one, its node."""
    for construct, line in _of_tokens(text):
        yield construct, line, None
    every = list(_walk(root, ()))
    assigned = assignments(every)
    macros = {node.name: node for node, _ in every if isinstance(node, nodes.Macro)}
    for node, conditions in every:
        for construct in constructs(node, Surroundings(conditions, assigned, macros)):
            yield construct, node.lineno, node


def _of_tokens(text: str) -> Iterator[tuple[Construct, int]]:
    """What the tree does not show."""
    read = [token for token in environment(guarded=True).lex(text) if token[1] not in ("comment", "data")]
    for i, (line, kind, value) in enumerate(read):
        if (kind, value) in (("name", "generation"), ("name", "endgeneration")):
            around = "".join(token[2] for token in read[max(i - 2, 0) : i + 3])
            if f"{{% {value} %}}" not in around:
                yield known.syntax(known.TRIMMED_GENERATION), line
    tokens = [token for token in read if token[1] != "whitespace"]
    for i, (line, kind, value) in enumerate(tokens):
        after = [token[2] for token in tokens[i + 1 : i + 4]]
        yield from ((construct, line) for construct in _of_token(kind, value, after))
    yield from ((known.syntax(known.KEYWORD_IF), line) for line in _keyword_ifs(tokens))


def _of_token(kind: str, value: str, after: list[str]) -> Iterator[Construct]:
    """What a token is together with those after it."""
    if kind == "raw_begin":
        yield Construct("tag", "raw")
    elif kind in ("block_begin", "block_end") and "+" in value:
        yield known.syntax(known.SIGN)
    elif kind in ("integer", "float") and re.search("[_a-zA-Z]", value):
        yield known.syntax(known.NUMBER)
    elif kind == "string":
        yield from (Construct("escape", letter) for letter in re.findall(r"(?s)\\(.)", value))
    elif (kind, value) == ("operator", "|") and after[1:3] == ["(", ")"]:
        yield Construct("filter without arguments", after[0])
    elif (kind, value) == ("operator", "|") and after[:1] == ["default"] and after[1:2] != ["("]:
        yield known.syntax(known.DEFAULT_WORD)
    elif (kind, value) == ("operator", ".") and after[:1] and after[0][0].isdigit():
        yield known.syntax(known.DOT_NUMBER)


def _keyword_ifs(tokens: list[tuple[int, str, str]]) -> Iterator[int]:
    """The lines where the value of a named argument is chosen by an `if` without brackets of its own."""
    inside: list[bool] = []  # for each open bracket: whether a named argument is being read
    defining = False
    for i, (line, kind, value) in enumerate(tokens):
        if kind == "block_begin":
            defining = tokens[i + 1][2] == "macro"
        elif kind == "operator" and value in "([{":
            inside.append(False)
        elif kind == "operator" and value in ")]}":
            inside[-1:] = []
        elif kind == "operator" and value in "=," and inside:
            inside[-1] = value == "=" and not defining
        elif (kind, value) == ("name", "if") and inside and inside[-1]:
            yield line


def _walk(node: nodes.Node, conditions: tuple[nodes.Node, ...]) -> Iterator[tuple[nodes.Node, tuple[nodes.Node, ...]]]:
    """Every node, with the conditions that were looked at before it is reached."""
    yield node, conditions
    condition, governed = _BEFORE_FIELDS.get(type(node), ("", ()))
    for field, value in node.iter_fields():
        within = (*conditions, cast("nodes.Node", getattr(node, condition))) if field in governed else conditions
        for child in cast("list[Any]", value) if isinstance(value, list) else [value]:
            if isinstance(child, nodes.Node):
                yield from _walk(child, within)
