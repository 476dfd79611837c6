"""A unified diff from edits of a text, in the form that `git apply` takes."""

import re
from collections.abc import Iterable, Sequence

import msgspec

_CONTEXT = 3
_LONGEST = 400
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
# git writes other names in quotes, with escapes.
_PLAIN = re.compile(r"[^\x00-\x1f\x7f\"\\]+")


class Edit(msgspec.Struct, frozen=True, order=True):
    """What stands between two offsets of a text is replaced by another text."""

    start: int
    end: int
    text: str


class _Block(msgspec.Struct, frozen=True):
    """Whole lines of a text, from one offset to another, and what stands in their place."""

    start: int
    end: int
    new: str


def unified(path: str, text: str, edits: Iterable[Edit]) -> str:
    """The diff of a file, with three lines of context; "" where nothing changes, a changed line is longer than 400 letters or the file has a name that needs quotes.

    Only the lines around the edits are looked at. Raises ValueError for edits that overlap.
    """
    blocks = _blocks(text, sorted(edits, key=lambda edit: edit.start))
    changed = [line for block in blocks for line in (*_lines(text[block.start : block.end]), *_lines(block.new))]
    if not blocks or not _PLAIN.fullmatch(path) or any(len(line) > _LONGEST for line in changed):
        return ""
    end = "\t" if " " in path else ""  # it tells git that a name with blanks goes so far
    hunks: list[str] = []
    more = 0  # lines that the hunks before have added
    group: list[_Block] = []
    for block in [*blocks, None]:
        if group and (block is None or _back(text, block.start) > _on(text, group[-1].end)):
            hunk, added = _hunk(text, group, more)
            hunks.append(hunk)
            more += added
            group = []
        group += [block] if block is not None else []
    return f"--- a/{path}{end}\n+++ b/{path}{end}\n{''.join(hunks)}"


def _blocks(text: str, edits: Sequence[Edit]) -> list[_Block]:
    """The lines that change, each with its edits made; edits in one line share a block."""
    found: list[_Block] = []
    group: list[Edit] = []
    for edit in [*edits, None]:
        if group and (edit is None or edit.start > _line_end(text, group[-1].end)):
            found.append(_block(text, group))
            group = []
        if edit is not None:
            if group and edit.start < group[-1].end:
                raise ValueError("edits of a text overlap")
            group.append(edit)
    return [block for block in found if text[block.start : block.end] != block.new]


def _block(text: str, edits: Sequence[Edit]) -> _Block:
    start, end = text.rfind("\n", 0, edits[0].start) + 1, _line_end(text, edits[-1].end)
    parts: list[str] = []
    at = start
    for edit in edits:
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    old, new = _lines(text[start:end]), _lines("".join([*parts, text[at:end]]))
    while old and new and old[0] == new[0]:
        start += len(old.pop(0))
        new.pop(0)
    while old and new and old[-1] == new[-1]:
        end -= len(old.pop())
        new.pop()
    return _Block(start, end, "".join(new))


def _hunk(text: str, blocks: Sequence[_Block], more: int) -> tuple[str, int]:
    """One hunk, and how many lines it adds."""
    start, end = _back(text, blocks[0].start), _on(text, blocks[-1].end)
    body: list[str] = []
    at = start
    for block in blocks:
        body += [f" {line}" for line in _lines(text[at : block.start])]
        body += [f"-{line}" for line in _lines(text[block.start : block.end])]
        body += [f"+{line}" for line in _lines(block.new)]
        at = block.end
    body += [f" {line}" for line in _lines(text[at:end])]
    first = text.count("\n", 0, start) + 1
    before, after = (sum(line[0] != mark for line in body) for mark in "+-")
    shown = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in body)
    return f"@@ -{first},{before} +{first + more},{after} @@\n{shown}", after - before


def _lines(text: str) -> list[str]:
    return _LINE.findall(text)


def _line_end(text: str, at: int) -> int:
    """Where the line that an offset is in ends, its newline included."""
    newline = text.find("\n", at)
    return len(text) if newline < 0 else newline + 1


def _back(text: str, at: int) -> int:
    """Where the context above a line begins."""
    for _ in range(_CONTEXT):
        at = text.rfind("\n", 0, max(at - 1, 0)) + 1
    return at


def _on(text: str, at: int) -> int:
    """Where the context below a line ends."""
    for _ in range(_CONTEXT):
        at = _line_end(text, at) if at < len(text) else at
    return at
