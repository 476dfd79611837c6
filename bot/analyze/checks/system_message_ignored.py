"""The chat template leaves the text of a system message out of the prompt."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.prompt_change import ASKED, SYSTEM, WORDED, changes, with_variables
from bot.analyze.model.templates import place_of
from bot.analyze.wording import listed
from bot.probe import Probe

_OPEN = {"add_generation_prompt": True}
_FIRST = tuple(probe for probe in WORDED if probe.messages[0]["role"] == "system")
_CONVERSATIONS = (
    *_FIRST,
    Probe("a system message without generation prompt", _FIRST[0].messages),
    with_variables(Probe("thinking switched off", _FIRST[0].messages, _OPEN), {"enable_thinking": False, "thinking": False}),
    with_variables(Probe("thinking switched on", _FIRST[0].messages, _OPEN), {"enable_thinking": True, "thinking": True}),
)
_PARTS = Probe(
    "a system message in parts",
    ({"role": "system", "content": [{"type": "text", "text": SYSTEM}]}, {"role": "user", "content": ASKED}),
    _OPEN,
)
_OF_PYTHON = f"'text': '{SYSTEM}'"  # parts printed as Python writes them were no system message either
CHECK = Check(
    title="The chat template ignores the system message",
    says="drops the system message from the prompt",
    sees="conversations with a system message of made-up words, alone, with several turns, with tools, with thinking on and off, and in parts: base prints the words, "
    "head renders a prompt without them",
    why="The operator's instructions never reach the model, and nothing fails.",
    fix="Print the system message, or refuse it with `raise_exception`.",
    wrong_when="the text stands elsewhere in the prompt (in the first user turn), the template refuses system messages, base ignored them as well, or only one after the first turns is left out, as in families that know one system message",
    severity="error",
    weighed="An error, for instructions are lost without a sign; a warning where only a message in parts is. No pair of real revisions shows it.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Render and look for the words."""
    for change in changes(base, head):
        lost: list[Probe] = []
        for probe in change.asked((*_CONVERSATIONS, _PARTS)):
            before, after = change.both(probe)
            if "limits" in (before.kind, after.kind):
                break
            if before.text is not None and after.text is not None and _printed(before.text) and _loses(after.text):
                lost.append(probe)
        if lost:
            in_parts = lost == [*change.asked((_PARTS,))]
            which = "a system message in parts" if in_parts else "the system message"
            yield Seen(
                key=change.new.name,
                title=f"{change.title} leaves the text of {which} out of the prompt",
                detail=f"Base printed it; seen for {listed(probe.name for probe in lost)}. {CHECK.why}",
                severity="warning" if in_parts else None,
                places=(place_of(head, change.new),),
            )


def _printed(text: str) -> bool:
    return _holds(text) and _OF_PYTHON not in text


def _holds(text: str) -> bool:
    return SYSTEM in text.lower()


def _loses(text: str) -> bool:
    """Whether the user's words are there without the system's; a template that prints neither has another fault."""
    return not _holds(text) and ASKED in text.lower()
