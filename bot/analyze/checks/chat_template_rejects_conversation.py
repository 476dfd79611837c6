"""The chat template raises for a conversation that it rendered before."""

import re
from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.prompt_change import RARER, VARIATIONS, called, changes
from bot.analyze.model.prompting import prompt
from bot.analyze.model.templates import DEFAULT, in_force, place_of
from bot.analyze.probes import CORE, EXTENDED
from bot.analyze.render import Prompt
from bot.analyze.wording import listed, value
from bot.probe import Probe

CHECK = Check(
    title="The chat template refuses a conversation that it rendered",
    says="makes the chat template refuse conversations",
    sees="plain conversations, ordinary variations of them (two user messages in a row, a reply first, a later system message) and those with tools, parts, "
    "documents and reasoning: base renders one and head raises; for the last group only an error that is no refusal",
    why="A server answers such a request with an error, and some local engines fall back to another template without a word.",
    fix="Render the conversation as before.",
    wrong_when="base did not render the conversation either, the template declines on purpose what not every model can do, or it could not be rendered within limits",
    severity="warning",
    weighed="A warning: who sends such conversations gets an error that can be seen; the real pairs that show it include a file or add up a role string that is not there. A note for a new template that fails on a single user message.",
    of_added_models=True,
)
_OF_SANDBOX = "SecurityError"  # template-sandbox-escape tells of it
_ORDINARY = (*CORE, *VARIATIONS)
_OF_PYTHON = re.compile(r"\{'type': 'text'|\{'text': '")  # parts printed as Python writes them were not rendered before either


def _answered_elsewhere(probe: Probe) -> bool:
    """Whether a probe is of a tool call with arguments that are no object; checks of their own look at those."""
    calls = [call for message in probe.messages for call in message.get("tool_calls") or ()]
    return any(not isinstance(call["function"]["arguments"], dict) for call in calls)


_EXTENDED = tuple(probe for probe in (*EXTENDED, *RARER) if not _answered_elsewhere(probe))


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Render all of them in base and head; in a new template a user message."""
    for change in changes(base, head):
        found: list[tuple[str, Prompt]] = []
        for probe, refusable in [(p, False) for p in change.asked(_ORDINARY)] + [(p, True) for p in change.asked(_EXTENDED)]:
            before, after = change.both(probe)
            if "limits" in (before.kind, after.kind):
                break
            raises = after.kind == "failed" or (after.kind == "declined" and not refusable)
            if raises and after.type != _OF_SANDBOX and before.text is not None and not _OF_PYTHON.search(before.text):
                found.append((probe.name, after))
        if found:
            names = listed((name for name, _ in found), most=4)
            verb = "refuses" if all(after.kind == "declined" for _, after in found) else "fails on"
            yield Seen(
                key=change.new.name,
                title=f"{change.title} {verb} conversations that it rendered: {names}",
                detail=f"For {found[0][0]}: {value(found[0][1].error)}. {CHECK.why}",
                places=(place_of(head, change.new),),
            )
    yield from _of_new(base, head)


def _of_new(base: Model, head: Model) -> Iterator[Seen]:
    """A new default template that fails on the plainest conversation."""
    if any(template.name == DEFAULT for template in in_force(base)):
        return
    for template in in_force(head):
        made = prompt(head, template, CORE[0])
        if template.name == DEFAULT and made.kind == "failed":
            yield Seen(
                key=template.name,
                title=f"{called(template)} is new and fails on {CORE[0].name}",
                detail=f"{value(made.error)}. {CHECK.why}",
                severity="note",
                places=(place_of(head, template),),
                fix="Render the conversation, or refuse it with `raise_exception`.",
            )
