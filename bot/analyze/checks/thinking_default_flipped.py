"""Without the thinking argument, the prompt switches thinking the other way than before."""

from collections.abc import Iterator
from typing import Literal

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.prompt_change import WORDED, changes
from bot.analyze.model.templates import place_of
from bot.analyze.model.thinking import Default, default
from bot.analyze.wording import value

CHECK = Check(
    title="Thinking is on where it was off, or off where it was on",
    says="flips whether the model thinks by default",
    sees="conversations rendered without any thinking argument: in base the prompt ends with an open thought and in head with a closed one, or the other way round; "
    "where it ends with neither, the value of the thinking argument that gives the same prompt",
    why="Requests that do not mention thinking get longer or shallower replies than before, and parsers of reasoning find the other shape.",
    fix="Keep the default of the thinking variable, or tell users that it changed.",
    wrong_when="the prompt without the argument is the same, only the prompts with the argument changed, or one side has no default at all",
    severity="warning",
    weighed="A warning: the prompts are certain, and a new default may be meant. One real pair of revisions shows it, whose new template always closes the thought.",
)
_WORDS: dict[Literal["on", "off"], str] = {"on": "thinks", "off": "does not think"}


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare the defaults of one conversation after the other."""
    for change in changes(base, head):
        for probe in change.asked(WORDED):
            before, after = change.both(probe)
            if before.text is None or after.text is None or before.text == after.text:
                continue
            old, new = default(base, change.old, probe), default(head, change.new, probe)
            if old is not None and new is not None and old.way != new.way:
                yield Seen(
                    key=change.new.name,
                    title=f"{change.title} now {_WORDS[new.way]} unless it is told to: base did the contrary",
                    detail=f"For {probe.name} without the argument: base {_shown(old)}, head {_shown(new)}. {CHECK.why}",
                    places=(place_of(head, change.new),),
                )
                break


def _shown(found: Default) -> str:
    return f"ends with {value(found.tail)}" if not found.same_as else f"writes the prompt of {value(found.same_as)}"
