"""Pieces put together into one text that keeps a limit: whole pieces only, the most important first, the rest counted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Measure = Callable[[str], int]


@dataclass(frozen=True)
class Item:
    """A piece that is shown whole or not at all; a run of items with one `heading` stands under it.

    `count` is how many things it stands for when it has to be left out.
    """

    text: str
    heading: str = ""
    count: int = 1


@dataclass(frozen=True)
class Group:
    """Pieces of one kind, most important first.

    `opening` stands before the first one, `joint` between them. Beyond `unfolded` they are folded under
    `fold` (with {n} for their number). `tail` says how many there was no room for. `share` is the part of the
    room that the group may take at most.
    """

    items: tuple[Item, ...]
    tail: str
    opening: str = ""
    joint: str = "\n\n"
    unfolded: int | None = None
    fold: str = ""
    share: float = 1.0


@dataclass(frozen=True)
class Fold:
    """Groups behind one click. `summary` holds words of ours only, because GitHub reads it as HTML."""

    summary: str
    groups: tuple[Group, ...]
    is_open: bool = False


def characters(text: str) -> int:
    """The measure of GitHub's limit on comments: code points."""
    return len(text)


def utf8_bytes(text: str) -> int:
    """The measure of the runner's limit on job summaries."""
    return len(text.encode("utf-8"))


def compose(start: str, parts: Sequence[Group | Fold], end: str, *, limit: int, measure: Measure) -> str:
    """`start`, the parts and `end` as paragraphs, of at most `limit` by `measure`.

    Raises ValueError where not even the fixed words fit.
    """
    fixed = measure(f"{start}\n\n\n{end}") + sum(_fixed(part, measure) for part in parts)
    room = limit - fixed
    if room < 0:
        raise ValueError(f"a limit of {limit} has no room for the {fixed} of the fixed words")
    left = room
    paragraphs = [start]
    for part in parts:
        groups = part.groups if isinstance(part, Fold) else (part,)
        written: list[str] = []
        for group in groups:
            kept, used = _fitting(group, min(left, int(room * group.share)), measure)
            left -= used
            if group.items:
                written.append(_written(group, kept))
        if not written:
            continue
        body = "\n\n".join(written)
        paragraphs.append(_folded(part.summary, body, is_open=part.is_open) if isinstance(part, Fold) else body)
    return "\n\n".join([*paragraphs, end]) + "\n"


def _fitting(group: Group, room: int, measure: Measure) -> tuple[int, int]:
    """How many of the group's pieces fit into `room`, and how much they take."""
    used = 0
    for kept, item in enumerate(group.items):
        cost = measure(item.text) + measure(item.heading) + measure(group.joint) + (2 if item.heading else 0)
        if used + cost > room:
            return kept, used
        used += cost
    return len(group.items), used


def _fixed(part: Group | Fold, measure: Measure) -> int:
    """The most that the words around a part's pieces can take."""
    if isinstance(part, Fold):
        return measure(_folded(part.summary, "", is_open=part.is_open)) + 2 + sum(_fixed(group, measure) for group in part.groups)
    if not part.items:
        return 0
    fold = measure(_folded(_number(part.fold, _things(part.items)), "", is_open=False)) if part.unfolded is not None else 0
    return fold + measure(part.opening) + measure(_number(part.tail, _things(part.items))) + 8


def _written(group: Group, kept: int) -> str:
    shown = group.items[:kept]
    split = len(shown) if group.unfolded is None else group.unfolded
    blocks: list[str] = []
    if shown[:split]:
        blocks.append(group.opening + _run(shown[:split], group.joint))
    if shown[split:]:
        blocks.append(_folded(_number(group.fold, _things(shown[split:])), _run(shown[split:], group.joint), is_open=False))
    if kept < len(group.items):
        blocks.append(_number(group.tail, _things(group.items[kept:])))
    return "\n\n".join(blocks)


def _run(items: Sequence[Item], joint: str) -> str:
    """The items, those under one heading together in the order of the headings' first appearance."""
    by_heading: dict[str, list[str]] = {}
    for item in items:
        by_heading.setdefault(item.heading, []).append(item.text)
    return "\n\n".join(
        f"{heading}\n\n{joint.join(texts)}" if heading else joint.join(texts) for heading, texts in by_heading.items()
    )


def _folded(summary: str, body: str, *, is_open: bool) -> str:
    return f"<details{' open' if is_open else ''}><summary>{summary}</summary>\n\n{body}\n\n</details>"


def _things(items: Sequence[Item]) -> int:
    return sum(item.count for item in items)


def _number(text: str, count: int) -> str:
    return text.replace("{n}", str(count)).replace("{s}", "" if count == 1 else "s")
