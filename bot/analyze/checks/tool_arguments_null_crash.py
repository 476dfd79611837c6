"""The chat template fails on tool calls with null."""

from collections.abc import Iterator
from typing import Any

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.calls import KEY, WORD, called, of_calls
from bot.analyze.model.folder import Model
from bot.analyze.model.templates import Template, place_of
from bot.analyze.records import Severity
from bot.analyze.wording import value

CHECK = Check(
    title="The chat template fails on tool calls with null arguments",
    says="breaks tool calls whose arguments are null",
    sees="a tool call is rendered with null for its arguments, and with null for one of them: base's template rendered it, head's fails, though it renders the same call with text there",
    why="A call of a function without parameters often comes back as the JSON text `null`, which vLLM up to 0.20.0 decodes to null before it renders, and transformers hands null on: the turn after such a call fails.",
    fix="Loop over `arguments` only where `arguments is mapping`, and print values with `tojson`.",
    wrong_when="base's template failed on null as well, or head's fails on every tool call or refuses null by `raise_exception`",
    severity="warning",
    weighed="A warning: rendered and certain, but only calls without arguments are hit; a note where text arguments fail alike, which tool-arguments-mapping-only says, and where base's template printed no arguments at all.",
)

_TEXT = f'{{"{KEY}": "{WORD}"}}'


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Render calls with null on both sides."""
    for old, new in of_calls(base, head):
        found = _failure(base, old, head, new, None)
        if found is not None:
            severity, error = found
            text_fails = _text_fails(base, old, head, new)
            if text_fails and severity == "note":
                continue  # calls are new to the template, and said once
            yield Seen(
                key=new.name,
                title=f"The chat template fails on tool calls whose arguments are null: {value(error)}",
                places=(place_of(head, new),),
                severity="note" if text_fails else severity,
            )
            continue
        found = _failure(base, old, head, new, {KEY: None})
        if found is not None:
            severity, error = found
            yield Seen(
                key=new.name,
                title=f"The chat template fails on tool calls with a null among their arguments: {value(error)}",
                detail="Models send null for an optional parameter: the turn after such a call fails.",
                places=(place_of(head, new),),
                severity=severity,
            )


def _failure(base: Model, old: Template, head: Model, new: Template, arguments: Any) -> tuple[Severity, str] | None:
    """How head's template fails on arguments that base's rendered, though it renders others in the same place; with the severity."""
    usual = {KEY: WORD}
    found: list[tuple[bool, str]] = []
    for before, printed, after, as_usual in zip(
        called(base, old, arguments),
        called(base, old, usual),
        called(head, new, arguments),
        called(head, new, usual),
        strict=True,
    ):
        if before.text is not None and after.kind == "failed" and as_usual.text is not None:
            found.append((WORD in (printed.text or ""), after.error))
    if not found:
        return None
    shown, error = max(found)
    return "warning" if shown else "note", error


def _text_fails(base: Model, old: Template, head: Model, new: Template) -> bool:
    pairs = zip(called(base, old, _TEXT), called(head, new, _TEXT), strict=True)
    return any(before.text is not None and after.kind == "failed" for before, after in pairs)
