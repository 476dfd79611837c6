"""The chat template reaches for Python's internals, or changes lists and objects."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.calls import MOST_TEMPLATES, of_calls
from bot.analyze.model.folder import Model
from bot.analyze.model.prompting import probes_for, prompt, same_name
from bot.analyze.model.reach import reaches
from bot.analyze.model.templates import Template, in_force, place_of, sources
from bot.analyze.probes import CORE
from bot.analyze.render import Prompt
from bot.analyze.wording import listed, value
from bot.probe import Probe

CHECK = Check(
    title="The chat template does what a sandbox refuses",
    says="makes the chat template do what a sandbox refuses",
    sees="a chat template that takes an attribute of Python's internals, such as `__class__`, in any spelling and any branch; one that calls `append`, `pop`, `insert` and the like; and what SecurityError stops while conversations are rendered",
    why="transformers, vLLM and sglang render in a sandbox that allows neither: requests that come there fail with SecurityError.",
    fix="Print what is needed instead of changing the input; collect in a `namespace` with `+`.",
    wrong_when="the name is only printed or compared, or is a key of the messages that no object of Python has",
    severity="error",
    of_added_models=True,
    weighed="An error: no template of a public model family reaches for internals, and SecurityError was rendered where base gave a prompt. A warning for a change in a branch that was not entered; a note in a new template (Kimi-K2's own appends to a list).",
)

_INTERNALS = (
    "transformers stops it with SecurityError or prints nothing there; an engine that renders without a sandbox executes it."
)


def find(model: Model) -> Iterator[Seen]:
    """Look for internals in every template, also in those that only some readers take."""
    said: set[str] = set()
    for template in sources(model).every:
        found = reaches(template.text).internals
        if found and template.name not in said:
            said.add(template.name)
            names = listed(value(each.what) for each in found)
            yield Seen(
                key=template.name,
                title=f"The chat template reaches for Python's internals: {names} (line {found[0].line} of the template)",
                detail=_INTERNALS,
                fix="Take this out, and look at who wrote it: no prompt needs it.",
                places=(place_of(model, template),),
            )


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Render with both templates, then look for calls that change something in the new one."""
    pairs = {new.name: old for old, new in (*of_calls(base, head), *same_name(base, head))}
    known = {template.name for template in in_force(base)}
    unread = bool(sources(base).unread)  # then no template can be called new
    changed = [new for new in in_force(head) if new.name in pairs or (new.name not in known and not unread)]
    for new in changed[:MOST_TEMPLATES]:
        if reaches(new.text).internals:
            continue
        old = pairs.get(new.name)
        earlier = {each.what for each in reaches(old.text).changes} if old is not None else set[str]()
        fresh = [each for each in reaches(new.text).changes if each.what not in earlier]
        stopped = _stopped(base, old, head, new)
        broken = [probe for probe, before, _ in stopped if _matters(probe, old, before)]
        if broken:
            error = next(after.error for probe, _, after in stopped if probe in broken)
            yield Seen(
                key=f"{new.name} SecurityError",
                title=f"The chat template is stopped by the sandbox: {value(error)}, as for {listed((value(p.name) for p in broken), 3)}",
                places=(place_of(head, new),),
            )
        elif fresh:
            names = listed(value(each.what) for each in fresh)
            yield Seen(
                key=f"{new.name} changes",
                title=f"The chat template calls {names}, which the sandbox refuses (line {fresh[0].line} of the template)",
                places=(place_of(head, new),),
                severity="warning" if old is not None else "note",
                confidence="certain" if stopped else "likely",
            )


def _stopped(base: Model, old: Template | None, head: Model, new: Template) -> list[tuple[Probe, Prompt | None, Prompt]]:
    """The conversations that end in SecurityError, with what base made of them."""
    prompts = [(probe, prompt(head, new, probe)) for probe in probes_for(new, *([old] if old is not None else []))]
    return [
        (probe, None if old is None else prompt(base, old, probe), after)
        for probe, after in prompts
        if after.type == "SecurityError"
    ]


def _matters(probe: Probe, old: Template | None, before: Prompt | None) -> bool:
    """Whether base rendered the conversation; of a new template, whether every template must."""
    if old is None or before is None:
        return any(probe.name == each.name for each in CORE)
    return before.text is not None
