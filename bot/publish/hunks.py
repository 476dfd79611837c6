"""Unified diffs, as far as the views need them: which lines of a file a patch replaces and by what, which lines a diff shows.

Of the text, only the headers and the first letter of each line mean anything here.
"""

import re
from dataclasses import dataclass
from itertools import pairwise

_NUMBERS = r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@[^\n]*\n"
_ONE_HUNK = re.compile(rf"--- a/([^\n]+)\n\+\+\+ b/([^\n]+)\n{_NUMBERS}")
_HUNK = re.compile(rf"^{_NUMBERS}", re.MULTILINE)
_POINTER = re.compile(r"^[ +]version https://git-lfs\.github\.com/spec/v1$", re.MULTILINE)
_NO_TEXT = re.compile("[\ud800-\udfff]")  # what cannot be sent as UTF-8
_OLD, _NEW = (" ", "-"), (" ", "+")


@dataclass(frozen=True)
class Edit:
    """Lines `first` to `last` of the file `path` (1-based, both included) become `lines`, which have no line ends."""

    path: str
    first: int
    last: int
    lines: tuple[str, ...]


def edit(patch: str) -> Edit | None:
    """What a patch of one hunk on one file does to that file, from its first changed line to its last.

    A patch that only inserts takes in the line beside it, for there is no edit of no line. None for any other patch: several files or
    hunks, an insertion without context, a change to the line end at the end of the file, and what is no patch or no text.
    """
    head = _ONE_HUNK.match(patch)
    if head is None or head[1] != head[2] or _NO_TEXT.search(patch):
        return None
    body = patch[head.end() :].removesuffix("\n").split("\n")
    if _ends_differ(body):
        return None
    rows = [(line[:1], line[1:]) for line in body if not line.startswith("\\")]
    marks = [mark for mark, _ in rows]
    counts = (sum(mark in _OLD for mark in marks), sum(mark in _NEW for mark in marks))
    if not set(marks) <= {" ", "-", "+"} or counts != (int(head[4] or 1), int(head[6] or 1)):
        return None
    changed = [index for index, mark in enumerate(marks) if mark != " "]
    if not changed:
        return None
    start, stop = changed[0], changed[-1] + 1
    if not any(mark in _OLD for mark in marks[start:stop]):
        start, stop = (start - 1, stop) if start else (start, stop + 1)
    replaced = sum(mark in _OLD for mark in marks[start:stop])
    if not replaced:
        return None
    first = int(head[3]) + sum(mark in _OLD for mark in marks[:start])
    lines = tuple(text for mark, text in rows[start:stop] if mark in _NEW)
    return Edit(head[1].removesuffix("\t"), first, first + replaced - 1, lines)


def shown(patch: str) -> tuple[tuple[int, int], ...]:
    """The lines of the new file that a diff shows, changed or beside a change: a range per hunk, first and last included.

    None of a file that Git LFS keeps: the diff is of its pointer, and these are no lines of what was judged.
    """
    if _POINTER.search(patch):
        return ()
    found = ((int(head[3]), int(head[4] or 1)) for head in _HUNK.finditer(patch if patch.endswith("\n") else f"{patch}\n"))
    return tuple((start, start + count - 1) for start, count in found if count)


def _ends_differ(body: list[str]) -> bool:
    """Whether the file's last line ends with a newline on one side alone."""
    bare = {before[:1] for before, line in pairwise(body) if line.startswith("\\")}
    return bare in ({"-"}, {"+"})
