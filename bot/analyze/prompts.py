"""What the model reads after the change: conversations rendered with the templates of base and of head, side by side."""

import difflib
import hashlib
from collections.abc import Iterator

from bot.analyze.model.folder import Model
from bot.analyze.model.prompting import probes_for, prompt, same_name, taken
from bot.analyze.model.templates import Template
from bot.analyze.records import PromptChange, Unchecked
from bot.analyze.render import Prompt
from bot.probe import Probe

MOST_LINES = 60


def prompts(base: Model, head: Model, asked: tuple[Probe, ...], unchecked: list[Unchecked]) -> Iterator[PromptChange]:
    """The conversations whose prompt differs: those that were `asked`, or where none were, the built-in ones in every template that both have.

    A conversation that fails on one side only differs; one that fails on both does not. One that could not be rendered within limits is
    told in `unchecked`.
    """
    for before, after, probe in _asked(base, head, asked) if asked else _usual(base, head):
        old, new = prompt(base, before, probe), prompt(head, after, probe)
        if "limits" in (old.kind, new.kind):
            unchecked.append(_untold(head, after, probe, new if new.kind == "limits" else old))
        elif old.text != new.text:
            yield PromptChange(
                folder=base.name,
                template=after.name,
                probe=probe.name,
                before_sha256=_digest(old),
                after_sha256=_digest(new),
                diff=_diff(old, new),
            )


def _asked(base: Model, head: Model, asked: tuple[Probe, ...]) -> Iterator[tuple[Template, Template, Probe]]:
    for probe in asked:
        before, after = taken(base, probe), taken(head, probe)
        if before is not None and after is not None:
            yield before, after, probe


def _usual(base: Model, head: Model) -> Iterator[tuple[Template, Template, Probe]]:
    for before, after in same_name(base, head):
        for probe in probes_for(after, before):
            yield before, after, probe


def _untold(head: Model, template: Template, probe: Probe, prompt: Prompt) -> Unchecked:
    place = head.place(template.file, template.pointer)
    reason = f"the prompt for {probe.name} {prompt.error}"
    return Unchecked(kind="check", id="prompts", folder=head.name, reason=reason, places=(place,))


def _digest(prompt: Prompt) -> str | None:
    return None if prompt.text is None else hashlib.sha256(prompt.text.encode("utf-8", "backslashreplace")).hexdigest()


def _diff(old: Prompt, new: Prompt) -> str:
    """A unified diff without its head, cut after some lines; line ends are visible, and a prompt that fails is its error."""
    lines = list(difflib.unified_diff(_lines(old), _lines(new), lineterm="", n=2))[2:]
    lines = [line for line in lines if not line.startswith("@@")]
    cut = [*lines[:MOST_LINES], f"… {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else lines
    return "\n".join(cut)


def _lines(prompt: Prompt) -> list[str]:
    if prompt.text is None:
        return [f"(fails: {prompt.error})"]
    return [line.replace("\n", "⏎") for line in prompt.text.splitlines(keepends=True)]
