"""The chat template takes the arguments of tool calls as objects only."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.calls import KEY, WORD, called, of_calls
from bot.analyze.model.folder import Model
from bot.analyze.model.templates import place_of
from bot.analyze.wording import value

CHECK = Check(
    title="The chat template takes tool arguments as objects only",
    says="breaks tool calls whose arguments are JSON text",
    sees="a tool call is rendered with its arguments as an object and as JSON text: the text, which base's template printed, makes head's fail or is left out, while the object is printed",
    why="The OpenAI format carries arguments as JSON text, and transformers hands them on as they come: callers that do not decode them first fail on the turn after a call. vLLM and sglang decode them.",
    fix="Test `arguments is string` first and print the text as it is; loop over `arguments` in the other branch.",
    wrong_when="base's template failed on text as well, head's fails on an object too, or it refuses text by `raise_exception`",
    severity="warning",
    weighed="A warning: rendered and certain, but engines that decode arguments are not hit; a note where base's template printed no arguments at all.",
    engines=("transformers",),
)

_TEXT = f'{{"{KEY}": "{WORD}"}}'


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Render a call both ways on both sides."""
    for old, new in of_calls(base, head):
        found: list[tuple[bool, str]] = []
        for before, after, as_object in zip(
            called(base, old, _TEXT), called(head, new, _TEXT), called(head, new, {KEY: WORD}), strict=True
        ):
            if before.text is None or as_object.text is None:
                continue
            printed = WORD in before.text
            if after.kind == "failed":
                found.append((printed, after.error))
            elif after.text is not None and printed and WORD in as_object.text and WORD not in after.text:
                found.append((True, ""))
        if not found:
            continue
        printed, error = max(found)
        outcome = f"fails on tool arguments given as text: {value(error)}" if error else "leaves out tool arguments given as text"
        yield Seen(
            key=new.name,
            title=f"The chat template {outcome}",
            places=(place_of(head, new),),
            severity="warning" if printed else "note",
        )
