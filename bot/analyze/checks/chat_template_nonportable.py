"""The chat template uses something that engines other than transformers do not know."""

from collections.abc import Iterator

import msgspec

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.templates import Template, place_of, sources
from bot.analyze.render import Prompt
from bot.analyze.rules.portability import Use, uses
from bot.analyze.rules.portability_readers import READERS, Construct, Reader
from bot.analyze.wording import listed
from bot.place import Place

CHECK = Check(
    title="A chat template that not every engine can render",
    says="makes the chat template depend on things that not every engine knows",
    sees="a tag, filter, test, method, function or spelling that no template of base uses and that transformers.js, llama.cpp, TGI, minijinja, "
    "LiteLLM (Jinja without extensions) or transformers before 4.45 refuse",
    why="These engines have a Jinja of their own or one without extensions: they do not render the template at all, or fail where they get there.",
    fix="Write it with what every engine knows: a condition in place of `{% break %}`, `strftime_now is defined` before the call.",
    wrong_when="base used it already, or the template asks first whether it is there",
    severity="note",
    weighed="A note: vLLM, sglang and current transformers render it; it matters to those who serve the model elsewhere. No change among "
    "36 real pairs of revisions brings one; of 150 stored templates 32 hold one, mostly `strftime_now`, `tojson(ensure_ascii=…)` or `{% generation %}`.",
    of_added_models=True,
)
_MOST_TEMPLATES = 8


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Look for constructs in each template of head that none of base has."""
    before = sources(base)
    texts = {template.text for template in before.every}
    changed = [template for template in sources(head).every[:_MOST_TEMPLATES] if template.text not in texts]
    if not changed or before.unread or len(before.every) > _MOST_TEMPLATES:
        return
    known: set[Construct] = set()
    for text in texts:
        found = uses(text)
        if isinstance(found, Prompt):
            return  # what base used cannot be seen
        known.update(use.construct for use in found)
    for template in changed:
        found = uses(template.text)
        new = [] if isinstance(found, Prompt) else [use for use in found if use.construct not in known]
        known.update(use.construct for use in new)
        if new:
            yield _seen(head, template, new)


def _seen(head: Model, template: Template, new: list[Use]) -> Seen:
    readers = [reader for reader in READERS if any(reader in use.readers for use in new)]
    everyone = all(len(use.readers) == len(readers) for use in new)
    by = listed(reader.said for reader in readers) if everyone else "some of " + listed(reader.said for reader in readers)
    return Seen(
        key=f"{template.file}{template.pointer}",
        title=f"The chat template uses {listed(str(use.construct) for use in new)}, which {by} {_do(readers)} not know",
        detail=" ".join([CHECK.why, *_by_readers(new, template)]),
        places=tuple(dict.fromkeys(_place(head, template, use) for use in new)),
        confidence="certain" if any(use.whole for use in new) else "likely",
        engines=tuple(reader.name for reader in readers),
    )


def _do(readers: list[Reader]) -> str:
    return "does" if len(readers) == 1 else "do"


def _by_readers(new: list[Use], template: Template) -> Iterator[str]:
    """A sentence for each group of engines that fail in one way."""
    groups: dict[tuple[Reader, ...], tuple[list[str], list[str]]] = {}
    for use in new:
        shown = f"{use.construct} (line {use.line})" if template.text.count("\n") else str(use.construct)
        running = tuple(reader for reader in use.readers if reader not in use.whole)
        for readers, which in ((use.whole, 0), (running, 1)):
            if readers:
                groups.setdefault(readers, ([], []))[which].append(shown)
    for readers, (whole, reached) in groups.items():
        who = listed(f"{reader.said} ({reader.version})" for reader in readers)
        if whole:
            yield f"Because of {listed(whole)} {who} {'refuses' if len(readers) == 1 else 'refuse'} the whole template."
        if reached:
            yield f"Where {listed(reached)} {'is' if len(reached) == 1 else 'are'} reached, {who} {'fails' if len(readers) == 1 else 'fail'}."


def _place(head: Model, template: Template, use: Use) -> Place:
    """The line in a file of its own, else the value that holds the template."""
    place = place_of(head, template)
    return msgspec.structs.replace(place, line=use.line) if template.file.endswith(".jinja") else place
