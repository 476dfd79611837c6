"""What the model reads after the change: conversations rendered with the templates of base and of head, side by side."""

import hashlib
from collections.abc import Iterator

import msgspec

from bot.analyze.model.folder import Model
from bot.analyze.model.prompt_change import RARER, VARIATIONS, as_read, changes
from bot.analyze.model.prompting import probes_for, prompt, taken
from bot.analyze.model.templates import Template, in_force
from bot.analyze.prompt_difference import Parts, diff, parts, way
from bot.analyze.prompt_ids import Ids, Room, ids
from bot.analyze.records import PromptChange, RenderedTemplate, Unchecked
from bot.analyze.render import Prompt
from bot.analyze.wording import listed, value
from bot.probe import Probe

# Ids that are told of one difference.
_MOST_IDS = 64
# Letters of all differences of a folder.
_MOST_SHOWN = 1 << 19


class Prompts(msgspec.Struct, frozen=True):
    """What became of the conversations of a model folder: those whose prompt differs, and every template that was rendered."""

    changes: tuple[PromptChange, ...] = ()
    templates: tuple[RenderedTemplate, ...] = ()


class _Both(msgspec.Struct, frozen=True):
    """A conversation rendered with the template of base and with that of head."""

    before: Template
    after: Template
    probe: Probe
    old: Prompt
    new: Prompt

    @property
    def unrendered(self) -> bool:
        return "limits" in (self.old.kind, self.new.kind)

    @property
    def differs(self) -> bool:
        """Whether the prompt does; one that fails on both sides does not, whatever the error."""
        return not self.unrendered and self.old.text != self.new.text


def prompts(base: Model, head: Model, asked: tuple[Probe, ...], unchecked: list[Unchecked], room: Room | None = None) -> Prompts:
    """The conversations whose prompt differs: those that were `asked`, or where none were, the built-in ones in every template that both have.

    A conversation that fails on one side only differs; one that fails on both does not. One that could not be rendered within limits is
    told in `unchecked`. Tokens are counted as long as there is `room`.
    """
    rows = _asked(base, head, asked, unchecked) if asked else _usual(base, head)
    unchecked.extend(_untold(head, [row for row in rows if row.unrendered]))
    differing = [row for row in rows if row.differs]
    room = room or Room()
    before, after = _ids(base, head, differing, unchecked, room)
    found, left = list[PromptChange](), min(_MOST_SHOWN, room.shown)
    for row in differing:
        shown = diff(_told(row.old), _told(row.new)) if left > 0 else "… not shown, for others are too long"
        left -= len(shown)
        room.shown -= len(shown)
        changed = _changed_ids(row, before, after)
        found.append(
            PromptChange(
                folder=base.name,
                template=row.after.name,
                probe=row.probe.name,
                before_sha256=_digest(row.old),
                after_sha256=_digest(row.new),
                diff=shown,
                before_error=_error(row.old),
                after_error=_error(row.new),
                way="" if row.old.text is None or row.new.text is None else way(row.old.text, row.new.text, row.probe),
                before_tokens=_length(row.old, before),
                after_tokens=_length(row.new, after),
                removed_ids=changed.removed,
                added_ids=changed.added,
            )
        )
    names = dict.fromkeys(row.after.name for row in rows)
    of_one = ([row for row in rows if row.after.name == name] for name in names)
    brought = bool(asked)
    return Prompts(tuple(found), tuple(_template(base.name, each, before, after, brought=brought) for each in of_one))


def _asked(base: Model, head: Model, asked: tuple[Probe, ...], unchecked: list[Unchecked]) -> list[_Both]:
    """The conversations of an operator; that a side has no template of the name that one of them gives is told in `unchecked`."""
    found: list[_Both] = []
    for probe in asked:
        old, new = taken(base, probe), taken(head, probe)
        if old is not None and new is not None:
            found.append(_both(base, head, old, new, probe))
        elif probe.template and (in_force(base) or in_force(head)):
            sides = "base and head have" if old is new else "base has" if old is None else "head has"
            reason = (
                f"the conversation {value(probe.name)} was not rendered: {sides} no chat template called {value(probe.template)}"
            )
            unchecked.append(Unchecked(kind="check", id="prompts", folder=head.name, reason=reason))
    return found


def _usual(base: Model, head: Model) -> list[_Both]:
    """The built-in conversations in every template; what seems to be cosmetic is looked at once more."""
    found: list[_Both] = []
    for change in changes(base, head):
        rows = [_both(base, head, change.old, change.new, probe) for probe in probes_for(change.new, change.old)]
        if change.rewritten and not any(row.differs or row.unrendered for row in rows):
            further = change.asked((*VARIATIONS, *RARER))
            rows += [_both(base, head, change.old, change.new, probe) for probe in further]
        found += rows
    return found


def _both(base: Model, head: Model, before: Template, after: Template, probe: Probe) -> _Both:
    return _Both(before, after, probe, prompt(base, before, probe), prompt(head, after, probe))


def _untold(head: Model, rows: list[_Both]) -> Iterator[Unchecked]:
    """What could not be rendered within limits, the conversations of one template with one reason together."""
    groups: dict[tuple[Template, str], list[str]] = {}
    for row in rows:
        error = (row.new if row.new.kind == "limits" else row.old).error
        groups.setdefault((row.after, error), []).append(row.probe.name)
    for (template, error), names in groups.items():
        place = head.place(template.file, template.pointer)
        reason = f"the prompt{'s' if len(names) > 1 else ''} for {listed(map(value, names), 4)} {error}"
        yield Unchecked(kind="check", id="prompts", folder=head.name, reason=reason, places=(place,))


def _ids(base: Model, head: Model, rows: list[_Both], unchecked: list[Unchecked], room: Room) -> tuple[Ids, Ids]:
    """The tokens of the prompts that differ; counting that breaks is said, and hinders nothing else."""
    texts = [text for row in rows for text in (row.old.text, row.new.text) if text]
    try:
        return ids(base, head, texts, room)
    except Exception as error:  # noqa: BLE001 - as for predictions
        reason = f"counting the tokens of prompts broke: {type(error).__name__}: {error}"
        unchecked.append(Unchecked(kind="check", id="prompts", folder=head.name, reason=reason))
        return {}, {}


def _template(folder: str, rows: list[_Both], before: Ids, after: Ids, *, brought: bool) -> RenderedTemplate:
    compared = [row for row in rows if not row.unrendered]
    # A conversation that fails on a side is no request that got longer.
    requests = [
        row for row in compared if row.probe.variables.get("add_generation_prompt") and None not in (row.old.text, row.new.text)
    ]
    more = {_more(row, before, after) for row in requests}
    return RenderedTemplate(
        folder=folder,
        template=rows[0].after.name,
        rewritten=any(as_read(row.before.text) != as_read(row.after.text) for row in rows),
        conversations=len(compared),
        differing=sum(row.differs for row in compared),
        failing=sum(row.old.text is None and row.new.text is None for row in compared),
        unrendered=len(rows) - len(compared),
        more_tokens=more.pop() if len(more) == 1 else None,
        brought=brought,
    )


def _more(row: _Both, before: Ids, after: Ids) -> int | None:
    """By how many tokens a prompt got longer; where its text is the same its length is as well, and it is not looked at more closely."""
    if not row.differs:
        return 0
    old, new = _length(row.old, before), _length(row.new, after)
    return None if old is None or new is None else new - old


def _length(prompt: Prompt, known: Ids) -> int | None:
    ids = known.get(prompt.text or "")
    return None if ids is None else len(ids)


def _changed_ids(row: _Both, before: Ids, after: Ids) -> Parts:
    """The ids that are taken away and put in; none where they are not known, or too many."""
    old, new = before.get(row.old.text or ""), after.get(row.new.text or "")
    found = Parts() if old is None or new is None else parts(old, new)
    return found if len(found.removed or ()) + len(found.added or ()) <= _MOST_IDS else Parts()


def _error(prompt: Prompt) -> str:
    """The exception of a prompt that fails, with its name; "" for a text."""
    if prompt.text is not None:
        return ""
    return prompt.error if prompt.error.startswith(f"{prompt.type}:") else f"{prompt.type}: {prompt.error}"


def _digest(prompt: Prompt) -> str | None:
    return None if prompt.text is None else hashlib.sha256(prompt.text.encode("utf-8", "backslashreplace")).hexdigest()


def _told(prompt: Prompt) -> str:
    return f"(fails: {prompt.error})" if prompt.text is None else prompt.text
