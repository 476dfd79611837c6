"""How two prompts of one conversation differ: lines for people, and a name for the way, by which conversations are told together."""

import difflib
import hashlib
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, TypeVar

import msgspec

from bot.probe import Probe

T = TypeVar("T", bound=Hashable)
MOST_LINES = 60
# Lines of each prompt that are compared, in a long one from shortly before the first difference on, and letters of such a line: a template may print
# millions, and comparing takes time by the square.
_COMPARED, _LONG, _AROUND = 150, 4000, 1000
# Letters of a line that is shown whole, of one that is cut to what differs, and of what stands on either side of that.
_WHOLE, _WIDEST, _BESIDE = 400, 2000, 100
_BETWEEN = " ⋮"
# Letters of a prompt and pairs of equal words that are looked at: comparing takes time by the square.
_LONGEST, _MOST_PAIRS = 20_000, 200_000
_MOST_SAID = 64
_WORD = re.compile(r"<[^<>\s]{1,80}>|\w+|\s+|[^\w\s]")
_SAID = "\N{REPLACEMENT CHARACTER}"


def diff(before: str, after: str) -> str:
    """A unified diff without its head, cut after some lines; line ends are visible, and a long line is cut to what differs in it."""
    long = max(map(len, (before, after))) > _COMPARED * _LONG or max(text.count("\n") for text in (before, after)) >= _COMPARED
    start = _start(before, after) if long else 0
    found = list(difflib.unified_diff(_lines(before, start), _lines(after, start), lineterm="", n=2))[3:]
    lines = [*_narrowed(_BETWEEN if line.startswith("@@") else line for line in found)]
    left = len(lines) - MOST_LINES
    return "\n".join([*lines[:MOST_LINES], "… more lines" if long else f"… {left} more lines"] if left > 0 else lines)


def _start(before: str, after: str) -> int:
    """Near the first difference, where a line begins if one does there."""
    near = max(0, _same(before, after) - _AROUND)
    line = before.rfind("\n", 0, near) + 1
    return line if near - line < _AROUND else near


def _same(before: str, after: str) -> int:
    """How many letters both begin with."""
    same, differs = 0, min(len(before), len(after)) + 1
    while differs - same > 1:
        middle = (same + differs) // 2
        same, differs = (middle, differs) if before[same:middle] == after[same:middle] else (same, middle)
    return same


def _lines(text: str, start: int) -> list[str]:
    """The lines from a place on, some of them."""
    lines = text[start : start + _COMPARED * _LONG].splitlines(keepends=True)
    return [line.replace("\n", "⏎") for line in lines[:_COMPARED]]


def _narrowed(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a diff, long ones cut: lines that replace others to the part that differs."""
    gone: list[str] = []
    come: list[str] = []
    for line in lines:
        if line.startswith("-") and not come:
            gone.append(line[1:])
        elif line.startswith("+"):
            come.append(line[1:])
        else:
            yield from _replaced(gone, come)
            gone, come = ([line[1:]], []) if line.startswith("-") else ([], [])
            if not gone:
                yield line if len(line) <= _WHOLE + 1 else f"{line[: _WHOLE + 1]}…{'⏎' if line.endswith('⏎') else ''}"
    yield from _replaced(gone, come)


def _replaced(gone: list[str], come: list[str]) -> Iterator[str]:
    pairs = [*zip_longest(gone, come)]
    yield from (f"-{_part(old, new or '')}" for old, new in pairs if old is not None)
    yield from (f"+{_part(new, old or '')}" for old, new in pairs if new is not None)


def _part(line: str, other: str) -> str:
    """What of a line differs from another one, and a little on either side."""
    if len(line) <= _WHOLE:
        return line
    same = _same(line, other)
    at_end = min(_same(line[::-1], other[::-1]), len(other) - same, len(line) - same)
    start, end = max(0, same - _BESIDE), len(line) - max(0, at_end - _BESIDE)
    end = min(end, start + _WIDEST)
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


def way(before: str, after: str, probe: Probe) -> str:
    """A name for the way in which two prompts differ, "" where that takes too long.

    It is made of what is taken away and put in, each with the word in front of it: the same change after several turns counts once. What the
    messages say stands for any text.
    """
    if max(len(before), len(after)) > _LONGEST:
        return ""
    said = _said(probe)
    old, new = (_WORD.findall(said.sub(_SAID, text) if said else text) for text in (before, after))
    found = _pieces(old, new)
    if found is None:
        return ""
    parts = {(_last(old[:at]), "".join(gone), "".join(come)) for at, gone, come in found}
    return hashlib.sha256(repr(sorted(parts)).encode("ascii", "backslashreplace")).hexdigest()[:16]


class Parts(msgspec.Struct, frozen=True):
    """The ids that are taken away and those that are put in, in their order; None where they are not told."""

    removed: tuple[int, ...] | None = None
    added: tuple[int, ...] | None = None


def parts(before: Sequence[int], after: Sequence[int]) -> Parts:
    """How two lists of ids differ, as far as that takes no long time."""
    found = _pieces(before, after)
    if found is None:
        return Parts()
    return Parts(tuple(n for _, gone, _ in found for n in gone), tuple(n for _, _, come in found for n in come))


def _pieces(old: Sequence[T], new: Sequence[T]) -> list[tuple[int, Sequence[T], Sequence[T]]] | None:
    """Where something is taken away or put in, and what; None where that takes too long."""
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    counts = Counter(new)
    if sum(counts[each] for each in old) > _MOST_PAIRS:
        return None
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [(start + i, old[i:j], new[k:m]) for kind, i, j, k, m in codes if kind != "equal"]


def _last(words: Sequence[str]) -> str:
    return next((word for word in reversed(words) if not word.isspace()), "")


def _common(old: Sequence[T], new: Sequence[T]) -> int:
    """How many words or ids both begin with."""
    return next((i for i, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), min(len(old), len(new)))


def _said(probe: Probe) -> re.Pattern[str] | None:
    """What finds the texts of the messages in a prompt."""
    texts = {text.strip() for message in probe.messages for text in _texts(message)}
    found = sorted((text for text in texts if 1 < len(text) <= _LONGEST), key=lambda text: (-len(text), text))[:_MOST_SAID]
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, found))})(?!\w)") if found else None


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    for name in ("content", "reasoning_content"):
        parts = message.get(name)
        for part in parts if isinstance(parts, list) else [parts]:
            text = part.get("text") if isinstance(part, dict) else part
            if isinstance(text, str):
                yield text
