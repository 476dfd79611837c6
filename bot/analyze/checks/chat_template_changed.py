"""The text of a chat template changed."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.prompt_change import RARER, VARIATIONS, Change, as_read, called, changes, outcome
from bot.analyze.model.prompting import probes_for
from bot.analyze.model.templates import Template, in_force, place_of, sources
from bot.analyze.wording import listed, value
from bot.probe import Probe

CHECK = Check(
    title="The chat template changed",
    says="changes the chat template",
    sees="the text of a chat template under one name in base and head, wherever it stands; both are rendered with every built-in conversation and "
    "with each value of the variables that they read; where nothing differs, with some more; it is silent where all that differs is that conversations render at last",
    why="The model reads another prompt than before.",
    fix="Look at the prompts that differ; nothing is to be done when they are meant.",
    wrong_when="the text only moved to another file, or differs in nothing but a line end that Jinja drops",
    severity="note",
    weighed="A note: a changed template is what a pull request may be about, and how many prompts differ says more than its text.",
)

_UNKNOWN = "How its prompts differ is not known."


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Render both texts, in force or kept for readers of another file."""
    for change in (*changes(base, head), *_copies(base, head)):
        if change.rewritten:
            kept = change.new not in in_force(head)
            title = f"{called(change.new)} in {value(change.new.file)}" if kept else change.title
            told = _rendered(change)
            if told is None:
                continue
            shown, detail = told
            moved = change.old.file != change.new.file
            yield Seen(
                key=f"{change.new.name} in {change.new.file}" if kept else change.new.name,
                title=f"{title} {shown}",
                detail=" ".join(filter(None, (detail, f"It stood in {value(change.old.file)}." if moved else ""))),
                places=(place_of(head, change.new),),
            )


def _rendered(change: Change) -> tuple[str, str] | None:
    """How many conversations render differently, as the end of a sentence, and which, as another.

    None where all that differs is that some render at last: a repair, which the prompts tell, is no reason to look at a line.
    """
    usual = probes_for(change.new, change.old)
    found = _compared(change, usual)
    if found is not None and found[0] and not found[2]:  # what is called cosmetic is looked at once more
        usual = (*usual, *change.asked((*VARIATIONS, *RARER)))
        found = _compared(change, usual)
    if found is None:
        return "changed, and could not be rendered within limits", _UNKNOWN
    rendered, failing, different, repaired = found
    if different and repaired == len(different):
        return None
    if not rendered:
        return "changed, and renders no conversation before or after", _UNKNOWN
    if not different:
        return f"changed in its text alone: all {len(usual)} conversations render the same", "The change is cosmetic."
    fails = f" Of the conversations that base rendered, {failing} fail." if failing else ""
    return f"renders {len(different)} of {len(usual)} conversations differently", f"Different: {listed(different)}.{fails}"


def _compared(change: Change, probes: tuple[Probe, ...]) -> tuple[int, int, list[str], int] | None:
    """How many conversations either side renders, how many head alone does not, the names of those that differ, and how many of these base did not render.

    None where limits hide it.
    """
    rendered, failing, different, repaired = 0, 0, list[str](), 0
    for probe in probes:
        before, after = change.both(probe)
        if "limits" in (before.kind, after.kind):
            return None
        rendered += before.text is not None or after.text is not None
        failing += before.text is not None and after.text is None
        repaired += before.text is None and after.text is not None
        if outcome(before) != outcome(after):
            different.append(probe.name)
    return rendered, failing, different, repaired


def _copies(base: Model, head: Model) -> Iterator[Change]:
    """Templates beside those in force, for readers of another file, unless they follow those in force."""
    followed = {(template.name, as_read(template.text)) for template in in_force(head)}
    before = {(t.name, t.file): t for t in _kept(base)}
    for new in _kept(head):
        old = before.get((new.name, new.file))
        if old is not None and (new.name, as_read(new.text)) not in followed:
            yield Change(base, head, old, new)


def _kept(model: Model) -> tuple[Template, ...]:
    taken = in_force(model)
    return tuple(template for template in sources(model).every if template not in taken)
