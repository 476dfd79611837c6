"""Which lines of head's files base does not have."""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from bot.analyze.records import ChangedLines, Finding
from bot.snapshot import File, Snapshot

# Beyond so many lines between the first and the last difference, all of them count as changed.
_MOST_LINES = 100_000
# How often the stretch between two lines that stayed is looked at again for lines that stayed.
_DEEPEST = 8
_STEP = 1 << 16

Ranges = tuple[tuple[int, int], ...]


def changed(
    findings: Iterable[Finding], base: Snapshot, head: Snapshot, former: Mapping[str, str], raw: Callable[[str], bytes]
) -> tuple[ChangedLines, ...]:
    """The changed lines of every file of head that a finding names, by path; `former` maps paths of head to those in base where they differ.

    A file that could not be read on either side, or is a symbolic link, is left out: nothing is known of its lines. One without a range has no changed line.
    """
    before, after = ({file.path: file for file in snapshot.files} for snapshot in (base, head))
    named = {place.path for finding in findings for place in finding.places if place.revision == "head"}
    found: list[ChangedLines] = []
    for path in sorted(named & after.keys()):
        old, new = before.get(former.get(path, path)), after[path]
        if _text(new) and (old is None or _text(old)):
            same = old is not None and old.content == new.content
            lines = () if same else changed_lines(raw(old.content or "") if old else b"", raw(new.content or ""))
            found.append(ChangedLines(path=path, lines=lines))
    return tuple(found)


def changed_lines(before: bytes, after: bytes) -> Ranges:
    """The lines of `after` that `before` does not have: ranges of 1-based lines, first and last included, in order and never side by side.

    A line ends with a newline, as git has it. The lines outside of the ranges stand in `before` in the same order. Between the first and the last
    difference, lines that occur once on each side are taken for the same line (as patience diff does), so the work is linear but for sorting those.
    """
    if before == after:
        return ()
    start = before.rfind(b"\n", 0, _shared(before, after)) + 1
    end = _end(before, after, start)
    stop_before, stop_after = len(before) - end, len(after) - end
    first = after.count(b"\n", 0, start) + 1
    new = after.count(b"\n", start, stop_after) + (not after.endswith(b"\n", start, stop_after) and start < stop_after)
    if start < stop_before and max(new, before.count(b"\n", start, stop_before)) <= _MOST_LINES:
        return tuple(_added(_lines(before[start:stop_before]), _lines(after[start:stop_after]), first, _DEEPEST))
    return ((first, first + new - 1),) if new else ()


def _text(file: File) -> bool:
    return file.kind == "file" and file.content is not None


def _shared(one: bytes, other: bytes) -> int:
    """How many bytes two contents have in common at their start, found in strides so that only equal memory is compared."""
    at, step = 0, _STEP
    while step:
        while at + step <= min(len(one), len(other)) and one[at : at + step] == other[at : at + step]:
            at += step
        step //= 2
    return at


def _end(before: bytes, after: bytes, start: int) -> int:
    """How many bytes of whole lines two contents have in common at their end, `start` left aside."""
    most = min(len(before), len(after)) - start
    at, step = 0, _STEP
    while step:
        while at + step <= most and _slice(before, at, step) == _slice(after, at, step):
            at += step
        step //= 2
    whole = all(len(side) - at == start or side[len(side) - at - 1 : len(side) - at] == b"\n" for side in (before, after))
    if whole or not at:
        return at
    newline = after.find(b"\n", len(after) - at)
    return len(after) - newline - 1 if newline >= 0 else 0


def _lines(content: bytes) -> list[bytes]:
    return re.findall(rb"[^\n]*\n|[^\n]+", content)


def _slice(content: bytes, at: int, step: int) -> bytes:
    return content[len(content) - at - step : len(content) - at]


def _added(old: list[bytes], new: list[bytes], first: int, depth: int) -> Iterator[tuple[int, int]]:
    """The ranges of new lines; `first` is the number of the first of them."""
    start, most = 0, min(len(old), len(new))
    while start < most and old[start] == new[start]:
        start += 1
    end = 0
    while end < most - start and old[-1 - end] == new[-1 - end]:
        end += 1
    old, new, first = old[start : len(old) - end], new[start : len(new) - end], first + start
    if _all_in(new, old):  # nothing but lines taken out
        return
    stayed = _stayed(old, new) if depth else []
    if not stayed:
        yield first, first + len(new) - 1
        return
    above, below = 0, 0
    for at, place in [*stayed, (len(old), len(new))]:
        yield from _added(old[above:at], new[below:place], first + below, depth - 1)
        above, below = at + 1, place + 1


def _all_in(new: list[bytes], old: list[bytes]) -> bool:
    """Whether all lines stand among the old ones, in their order."""
    left = iter(old)
    return all(line in left for line in new)


def _stayed(old: list[bytes], new: list[bytes]) -> list[tuple[int, int]]:
    """Where lines that occur once on each side stand on both: the longest row of them that kept its order."""
    counts, places = Counter(new), Counter(old)
    once = {line: at for at, line in enumerate(old) if places[line] == 1 and counts[line] == 1}
    rows = [(once[line], place) for place, line in enumerate(new) if line in once]
    ends: list[int] = []  # the lowest end of a row of each length so far
    last: list[int] = []  # and the number of the pair that it ends with
    before: list[int] = []
    for number, (at, _) in enumerate(rows):
        length = bisect_left(ends, at)
        ends[length : length + 1], last[length : length + 1] = [at], [number]
        before.append(last[length - 1] if length else -1)
    row: list[tuple[int, int]] = []
    number = last[-1] if last else -1
    while number >= 0:
        row.append(rows[number])
        number = before[number]
    return row[::-1]
