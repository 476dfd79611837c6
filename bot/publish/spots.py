"""Where a finding is shown beside the lines of a pull request: at the line that the pull request changed."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping

from bot.analyze.records import Comparison, Finding
from bot.place import Place

_FARTHEST = 1 << 62  # greater than the last line of any range
Changes = Mapping[str, tuple[tuple[int, int], ...]]


class Spots:
    """The spots of one comparison, whose changed lines are sorted out once."""

    def __init__(self, comparison: Comparison) -> None:
        self._changed: Changes = {each.path: each.lines for each in comparison.changed_lines if each.lines}

    def of(self, finding: Finding) -> Place | None:
        """The place to show a finding at, None where head's tree holds none (a deleted file, text of the pull request).

        The first place on a changed line; else the first in a changed file; else the first. So what two files disagree
        on is shown where one of them was changed, and not where the other one has always stood.
        """
        places = (place for place in finding.places if place.revision == "head" and place.in_tree)
        return max(places, key=self._closeness, default=None)  # the first of equals

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


def others(finding: Finding, shown: Place | None) -> Iterable[Place]:
    """The finding's other places, each once, in its own order."""
    return (place for place in dict.fromkeys(finding.places) if place != shown)
