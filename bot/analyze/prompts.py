"""What the model reads after the change: conversations rendered with the templates of base and of head, side by side."""

import difflib
import hashlib
from collections.abc import Iterator

from bot.analyze.model.folder import Model
from bot.analyze.model.templates import Template, in_force
from bot.analyze.model.turns import role_strings
from bot.analyze.probes import CORE, EXTENDED, Probe
from bot.analyze.records import PromptChange, Unchecked
from bot.analyze.render import Prompt, render

MOST_LINES = 60


def prompts(base: Model, head: Model, unchecked: list[Unchecked]) -> Iterator[PromptChange]:
    """The conversations whose prompt differs, for every template that both revisions have under one name.

    A conversation that fails on one side only differs; one that fails on both does not. One that could not be rendered within limits is
    told in `unchecked`.
    """
    before, after = ({template.name: template for template in in_force(model)} for model in (base, head))
    strings = role_strings(base), role_strings(head)
    for name in (name for name in before if name in after):
        if before[name].text == after[name].text and strings[0] == strings[1]:
            continue
        for probe in (*CORE, *EXTENDED):
            old = render(before[name].text, probe.messages, strings[0], probe.variables)
            new = render(after[name].text, probe.messages, strings[1], probe.variables)
            if "limits" in (old.kind, new.kind):
                unchecked.append(_untold(head, after[name], probe, new if new.kind == "limits" else old))
            elif old.text != new.text:
                yield PromptChange(
                    folder=base.name,
                    template=name,
                    probe=probe.name,
                    before_sha256=_digest(old),
                    after_sha256=_digest(new),
                    diff=_diff(old, new),
                )


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
