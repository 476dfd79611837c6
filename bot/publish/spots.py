"""Where a finding is shown beside the lines of a pull request: at the line that the pull request changed."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping

import msgspec

from bot.analyze.records import Comparison, Finding
from bot.place import Place

LAST_LINE = 10_000_000
"""Of a file; a number that is none of 1 to this one names no line, and GitHub refuses all annotations for one such."""
_FARTHEST = 1 << 62  # greater than the last line of any range
Changes = Mapping[str, tuple[tuple[int, int], ...]]


class Spots:
    """The spots of one comparison, whose changed lines are sorted out once."""

    def __init__(self, comparison: Comparison) -> None:
        self._pointers = frozenset(comparison.pointers)
        self._changed: Changes = {each.path: each.lines for each in comparison.changed_lines if each.lines}

    def of(self, finding: Finding) -> Place | None:
        """The place to show a finding at, None where head's tree holds no such line (a deleted file, text of the pull request).

        The first place on a changed line; else the first in a changed file; else the first. So what two files disagree
        on is shown where one of them was changed, and not where the other one has always stood.
        """
        places = (
            place for place in finding.places if place.revision == "head" and place.in_tree and 1 <= place.line <= LAST_LINE
        )
        closest = max(places, key=self._closeness, default=None)  # the first of equals
        return closest and self.stored(closest)

    def is_pointer(self, path: str) -> bool:
        """Whether the tree of head has a pointer of Git LFS there, and other lines than those that were judged."""
        return path in self._pointers

    def stored(self, place: Place) -> Place:
        """The place with a line that the tree has: of what Git LFS keeps, the first one of the pointer."""
        is_pointer = place.revision == "head" and self.is_pointer(place.path)
        return msgspec.structs.replace(place, line=1) if is_pointer else place

    def others(self, finding: Finding, shown: Place) -> Iterable[Place]:
        """The finding's other places as the tree has them, each once, in its own order."""
        return (place for place in dict.fromkeys(map(self.stored, finding.places)) if place != shown)

    def _closeness(self, place: Place) -> tuple[bool, bool]:
        ranges = self._changed.get(place.path, ())
        return within(place.line, ranges), bool(ranges)


def spot(finding: Finding, comparison: Comparison) -> Place | None:
    """The spot of one finding; for many of one comparison, `Spots` is faster."""
    return Spots(comparison).of(finding)


def within(line: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    """Whether a line is in one of the ranges, which are in order, first and last line included."""
    before = bisect_right(ranges, (line, _FARTHEST))
    return before > 0 and line <= ranges[before - 1][1]
