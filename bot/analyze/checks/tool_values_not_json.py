"""Argument values of tool calls are not printed as JSON, as they were."""

import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.calls import KEY, WORD, called, of_calls
from bot.analyze.model.folder import Model
from bot.analyze.model.templates import Template, place_of
from bot.analyze.wording import listed, value

CHECK = Check(
    title="Argument values of tool calls are not printed as JSON",
    says="prints argument values of tool calls in Python style or without quotes",
    sees="tool calls are rendered with null, booleans, lists, objects and text as values: where base's template wrote JSON, head's writes `None`, `True` or single quotes, or leaves the quotes of text out in an unchanged place",
    why="The model reads its own earlier calls in a notation that it was not trained to write, and tends to write it: its next call is then no JSON.",
    fix="Print each value with `tojson`.",
    wrong_when="the notation of calls as a whole has changed from JSON to one that writes text bare, such as tags, or base's template wrote Python style as well",
    severity="note",
    weighed="A note: what is printed is certain, but some families are trained with Python style (Qwen3-Coder prints `True`).",
)


class _Kind(NamedTuple):
    """A value, how JSON spells it (a pattern) and how Python does, and both for people."""

    value: Any
    json: str
    python: str
    shown: tuple[str, str]


_KINDS = (
    _Kind(value=None, json=r"\bnull\b", python="None", shown=("null", "None")),
    _Kind(value=True, json=r"\btrue\b", python="True", shown=("true", "True")),
    _Kind(value=False, json=r"\bfalse\b", python="False", shown=("false", "False")),
    _Kind(WORD, f'"{WORD}"', f"'{WORD}'", ('"text"', "'text'")),
    _Kind([WORD], rf'\[\s*"{WORD}"\s*\]', f"['{WORD}']", ('["item"]', "['item']")),
    _Kind({"qxin": WORD}, rf'\{{\s*"qxin"\s*:\s*"{WORD}"\s*\}}', f"{{'qxin': '{WORD}'}}", ('{"key": "text"}', "{'key': 'text'}")),
    _Kind([None], r"\[\s*null\s*\]", "[None]", ("[null]", "[None]")),
    _Kind({"qxin": True}, r'\{\s*"qxin"\s*:\s*true\s*\}', "{'qxin': True}", ('{"key": true}', "{'key': True}")),
)
_PLAIN = "qxplain"  # what stands in the same place to count what the template writes by itself
_QUOTING = f'{WORD}"{WORD}'
_BEFORE, _AFTER = 4, 1  # characters beside a value that are the same on both sides where only its quotes went
_MOST = 3
_MOST_SHAPES = 3


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Render calls with each kind of value on both sides."""
    for old, new in of_calls(base, head):
        every = _prompts(base, old, head, new, _PLAIN)
        shown = [i for i, (before, after) in enumerate(every) if before and _PLAIN in after]
        shapes = sorted(shown, key=lambda i: _PLAIN not in every[i][0])[:_MOST_SHAPES]  # first those that base printed as well
        if not shapes:
            continue
        plain = tuple(every[i] for i in sorted(shapes))
        python = [kind.shown for kind in _KINDS if _in_python(kind, plain, _prompts(base, old, head, new, kind.value, shapes))]
        changes = python or _bare(*(_prompts(base, old, head, new, text, shapes) for text in (WORD, _QUOTING)))
        if changes:
            spelled = listed([f"{value(after)} for {value(before)}" for before, after in changes[:_MOST]])
            yield Seen(
                key=new.name,
                title=f"Argument values of tool calls are not printed as JSON: {spelled}",
                places=(place_of(head, new),),
            )


def _prompts(
    base: Model, old: Template, head: Model, new: Template, given: Any, shapes: Collection[int] | None = None
) -> tuple[tuple[str, str], ...]:
    """The prompts of base and head with a value, for shapes of a call; "" for one that was not rendered."""
    arguments = {KEY: given}
    pairs = zip(called(base, old, arguments, shapes), called(head, new, arguments, shapes), strict=True)
    return tuple((before.text or "", after.text or "") for before, after in pairs)


def _in_python(kind: _Kind, plain: tuple[tuple[str, str], ...], given: tuple[tuple[str, str], ...]) -> bool:
    """Whether in some shape of a call head writes a value as Python does, and base wrote it as JSON or no value at all."""
    json, python = re.compile(kind.json), re.compile(rf"(?<!\w){re.escape(kind.python)}(?!\w)")

    def more(pattern: re.Pattern[str], text: str, usual: str) -> bool:
        return len(pattern.findall(text)) > len(pattern.findall(usual))

    return any(
        more(python, after, usual_after)
        and not more(python, before, usual_before)
        and (more(json, before, usual_before) or (bool(before) and _PLAIN not in usual_before))
        for (usual_before, usual_after), (before, after) in zip(plain, given, strict=True)
    )


def _bare(word: tuple[tuple[str, str], ...], quoting: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """Text that lost its quotes, or the escapes in it, where what stands around it is the same."""
    for before, after in word:
        at, place = before.find(f'"{WORD}"'), after.find(WORD)
        if at < 0 or place < 0 or f'"{WORD}"' in after:
            continue
        left, right = before[max(0, at - _BEFORE) : at], before[at + len(WORD) + 2 :][:_AFTER]
        if left == after[max(0, place - len(left)) : place] and right == after[place + len(WORD) :][:_AFTER]:
            return [('"text"', "text")]
    for (before, after), (escaped, unescaped) in zip(word, quoting, strict=True):
        quoted = f'"{WORD}"' in before and f'"{WORD}"' in after
        if quoted and f'{WORD}\\"{WORD}' in escaped and f'"{_QUOTING}"' in unescaped:
            return [(r'"a\"b"', '"a"b"')]
    return []
