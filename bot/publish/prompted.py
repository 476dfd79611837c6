"""What the model reads after the change, in words: conversations whose prompts differ in the same way are one block, as sentences of `words`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bot.analyze.records import Comparison, PromptChange, RenderedTemplate
from bot.publish import words
from bot.publish.escape import quoted, shorten

_NAMED = 3
_MOST_IDS = 8
_MINUS = "\N{MINUS SIGN}"
_NAME = 60
ERROR = 300
"""Letters of an error that are shown."""
_SAID_BY = "chat-template-changed"
"""The check whose finding says that prompts differ, or that a change is cosmetic."""


@dataclass(frozen=True)
class Block:
    """Conversations of one template that differ in the same way: what is to be said of them, and the diff of the first ("" for none).

    `fails` and `works` are those that only one side renders.
    """

    said: str
    diff: str
    count: int
    fails: bool = False
    works: bool = False


@dataclass(frozen=True)
class _Rendered:
    """What blocks are about: the templates by folder and name, by how many tokens every request got longer, and where folders are that moved."""

    templates: Mapping[tuple[str, str], RenderedTemplate]
    on_every_request: int | None
    moved: Mapping[str, str]


def blocks(comparison: Comparison) -> tuple[Block, ...]:
    """Every changed prompt, those first that fail now and then those that no longer do."""
    groups: dict[tuple[str, ...], list[PromptChange]] = {}
    for change in comparison.prompts:
        groups.setdefault((change.folder, change.template, *_kind(change)), []).append(change)
    several = len({change.folder for change in comparison.prompts}) > 1
    rendered = _Rendered(
        {(each.folder, each.template): each for each in comparison.rendered[::-1]},
        _on_every_request(comparison),
        words.homes(comparison.models),
    )
    found = [_block(changes, rendered, several=several) for changes in groups.values()]
    return tuple(sorted(found, key=lambda block: (not block.fails, not block.works)))


def summary(comparison: Comparison) -> tuple[str, str]:
    """How many conversations read differently, and what that means for all of them ("" for nothing); words of ours and numbers only."""
    differing = len(comparison.prompts)
    every = sum(each.conversations for each in comparison.rendered)
    number = (
        f"{differing} of {words.plural(every, 'conversation')}" if every >= differing else words.plural(differing, "conversation")
    )
    fails = sum(change.after_sha256 is None for change in comparison.prompts)
    works = sum(change.before_sha256 is None for change in comparison.prompts)
    more = _on_every_request(comparison)
    told = [
        *([f"{fails} now {'fails' if fails == 1 else 'fail'}"] if fails else []),
        *([f"{works} no longer {'fails' if works == 1 else 'fail'}"] if works else []),
        *([f"{_signed(more)} on every request"] if more else []),
    ]
    return number, ", ".join(told)


def is_repaired(change: PromptChange) -> bool:
    """Whether a conversation renders at last."""
    return change.before_sha256 is None and change.after_sha256 is not None


def shown(comparison: Comparison) -> frozenset[str]:
    """The fingerprints of findings that say nothing but that prompts differ, or that a change is cosmetic, where that is told beside them."""
    told = {(change.folder, change.template) for change in comparison.prompts}
    told |= {(each.folder, each.template) for each in comparison.rendered if _is_cosmetic(each)}
    return frozenset(f.fingerprint for f in comparison.new if f.check == _SAID_BY and (f.folder, f.key) in told)


def cosmetic(comparison: Comparison) -> tuple[str, ...]:
    """The templates whose text changed and whose prompts did not, one sentence each; and what became of conversations that an operator brought."""
    several = len({each.folder for each in comparison.rendered}) > 1
    moved = words.homes(comparison.models)
    return tuple(
        (_brought if each.brought else _cosmetic)(
            each, f" in {words.folder(moved.get(each.folder, each.folder))}" if several else ""
        )
        for each in comparison.rendered
        if _is_cosmetic(each) or (each.brought and _is_same(each))
    )


def _is_cosmetic(template: RenderedTemplate) -> bool:
    """Whether the built-in conversations, of which some render, show that a change does not matter."""
    return _is_same(template) and template.conversations > template.failing and not template.brought


def _is_same(template: RenderedTemplate) -> bool:
    changed = template.differing or template.unrendered
    return template.rewritten and template.conversations > 0 and not changed


def _cosmetic(template: RenderedTemplate, where: str) -> str:
    same = words.plural(template.conversations - template.failing, "conversation")
    fail = (
        f", and {template.failing} more {'fails' if template.failing == 1 else 'fail'} before and after"
        if template.failing
        else ""
    )
    return f"The text of the chat template{_called(template)}{where} changed; all {same} render the same (cosmetic){fail}."


def _brought(template: RenderedTemplate, where: str) -> str:
    """What became of an operator's conversations, which may miss what others show: nothing is said of the change as a whole."""
    works, fail = template.conversations - template.failing, template.failing
    counted = [
        *([f"{words.plural(works, 'conversation')} {'renders' if works == 1 else 'render'} the same"] if works else []),
        *([f"{words.plural(fail, 'conversation')} {'fails' if fail == 1 else 'fail'} before and after"] if fail else []),
    ]
    return f"The text of the chat template{_called(template)}{where} changed. Of the file of probes, {words.listing(counted)}."


def _called(template: RenderedTemplate) -> str:
    return _template(template.template).removeprefix(", template")


def _kind(change: PromptChange) -> tuple[str, ...]:
    """What changes of one block have in common."""
    if change.after_sha256 is None or change.before_sha256 is None:
        return str(change.before_sha256 is None), change.before_error, change.after_error
    return ("way", change.way) if change.way else ("diff", change.diff)


def _block(changes: Sequence[PromptChange], rendered: _Rendered, *, several: bool) -> Block:
    first, one = changes[0], len(changes) == 1
    fails, works = first.after_sha256 is None, first.before_sha256 is None
    about = (
        f"{_template(first.template)}{f' in {words.folder(rendered.moved.get(first.folder, first.folder))}' if several else ''}"
    )
    if fails or works:
        said, error = (
            (f"now {'fails' if one else 'fail'}", first.after_error)
            if fails
            else (f"{'renders' if one else 'render'} now, and failed before", first.before_error)
        )
        why = f": {quoted(shorten(error, ERROR))}" if error else ""
        return Block(f"{_names(changes)}{about} {said}{why}", first.diff, len(changes), fails, works)
    tokens = "".join(f", {each}" for each in (_tokens(changes, rendered), _ids(changes)) if each)
    return Block(f"{_which(changes, rendered)}{about}{tokens}{_shown(changes)}", first.diff, len(changes))


def _which(changes: Sequence[PromptChange], rendered: _Rendered) -> str:
    """The conversations of a block: by name where they are few, else by their number among all."""
    first = changes[0]
    of = rendered.templates.get((first.folder, first.template))
    if of is None or len(changes) > of.conversations or of.conversations == 1:
        return _names(changes)
    if len(changes) == of.conversations - of.failing:
        return "every conversation that renders" if of.failing else "every conversation"
    return (
        _names(changes) if len(changes) <= _NAMED else f"{len(changes)} of {of.conversations} conversations ({_names(changes)})"
    )


def _names(changes: Sequence[PromptChange]) -> str:
    names = [quoted(shorten(each.probe, _NAME)) for each in changes]
    few = names if len(names) <= _NAMED else [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} more"]
    return words.listing(few)


def _shown(changes: Sequence[PromptChange]) -> str:
    """Which conversation the diff is of, where the others do not have the same one."""
    first = changes[0]
    return f"; here {quoted(shorten(first.probe, _NAME))}" if any(each.diff != first.diff for each in changes) else ""


def _template(name: str) -> str:
    return f", template {quoted(shorten(name, _NAME))}" if name not in ("", "default") else ""


def _tokens(changes: Iterable[PromptChange], rendered: _Rendered) -> str:
    """By how many tokens the prompts of a block got longer, "" where that is not known, nothing or the same as for all."""
    found = {_more(each) for each in changes}
    known = sorted(each for each in found if each is not None)
    if len(known) < len(found) or known == [0] or known == [rendered.on_every_request]:
        return ""
    return _signed(known[0]) if len(known) == 1 else f"{_signed(known[0]).partition(' ')[0]} to {_signed(known[-1])}"


def _ids(changes: Sequence[PromptChange]) -> str:
    """The ids that go and come in every conversation of a block, where these are the same few."""
    gone, come = changes[0].removed_ids or (), changes[0].added_ids or ()
    same = all((each.removed_ids, each.added_ids) == (changes[0].removed_ids, changes[0].added_ids) for each in changes)
    if not same or not 0 < len(gone) + len(come) <= _MOST_IDS:
        return ""
    signed = [*(f"{_MINUS}{number}" for number in gone), *(f"+{number}" for number in come)]
    return f"ids {quoted(' '.join(signed))}" if len(signed) > 1 else f"id {quoted(signed[0])}"


def _more(change: PromptChange) -> int | None:
    known = change.before_tokens is not None and change.after_tokens is not None
    return (change.after_tokens or 0) - (change.before_tokens or 0) if known else None


def _on_every_request(comparison: Comparison) -> int | None:
    found = {each.more_tokens for each in comparison.rendered if each.differing}
    return found.pop() if len(found) == 1 else None


def _signed(number: int) -> str:
    """`+14 tokens`, `−1 token`."""
    sign = {True: "+", False: _MINUS}[number > 0] if number else "±"
    return f"{sign}{words.plural(abs(number), 'token')}"
