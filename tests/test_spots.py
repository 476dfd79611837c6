"""Where findings are shown beside the lines of a pull request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.analyze.records import ChangedLines
from bot.place import Place
from bot.publish.annotations import annotations
from bot.publish.spots import LAST_LINE, Spots, spot, within
from tests.comparisons import SPLIT_BRAIN, base, comparison, finding, head

PLACES = st.builds(
    Place,
    revision=st.sampled_from(("base", "head")),
    path=st.sampled_from(("a", "b", "c", "pull-request:body", "commit:abc")),
    line=st.integers(1, 12),
)
LINES = st.lists(st.integers(1, 12), unique=True).map(lambda numbers: tuple((number, number) for number in sorted(numbers)))


def changed(**lines: tuple[tuple[int, int], ...]) -> tuple[ChangedLines, ...]:
    return tuple(ChangedLines(path=path, lines=ranges) for path, ranges in lines.items())


def test_a_pair_of_files_is_shown_at_the_line_that_changed() -> None:
    pair = finding(places=(head("a", 3), head("b", 7), head("c", 5), head("c", 9)))
    assert spot(pair, comparison(changed_lines=changed(c=((8, 10),), a=((1, 2), (4, 4))))) == head("c", 9)
    assert spot(pair, comparison(changed_lines=changed(c=((1, 2),), b=((7, 7),)))) == head("b", 7)


def test_without_a_changed_line_the_changed_file_is_next_and_then_the_first_place() -> None:
    pair = finding(places=(base("a", 1), head("a", 3), head("b", 7)))
    assert spot(pair, comparison(changed_lines=changed(a=(), b=((1, 2),)))) == head("b", 7)
    assert spot(pair, comparison(changed_lines=changed(a=()))) == head("a", 3)
    assert spot(pair, comparison()) == head("a", 3)


def test_what_the_tree_of_head_does_not_hold_has_no_spot() -> None:
    for place in (base("a", 1), head("pull-request:body", 1), head("commit:abc", 1)):
        assert spot(finding(places=(place,)), comparison(changed_lines=changed(a=((1, 9),)))) is None


@given(st.lists(PLACES, min_size=1, max_size=6), st.dictionaries(st.sampled_from(("a", "b", "c")), LINES))
def test_no_place_of_head_is_better_than_the_spot(places: list[Place], lines: dict[str, tuple[tuple[int, int], ...]]) -> None:
    def rank(place: Place) -> tuple[bool, bool]:
        ranges = lines.get(place.path, ())
        return (any(first <= place.line <= last for first, last in ranges), bool(ranges))

    found = spot(finding(places=tuple(places)), comparison(changed_lines=changed(**lines)))
    possible = [place for place in places if place.revision == "head" and place.in_tree]
    best = max(map(rank, possible), default=None)
    assert found == next((place for place in possible if rank(place) == best), None)


@given(st.integers(1, 60), st.sets(st.integers(1, 60)))
def test_a_line_is_within_ranges_exactly_if_one_holds_it(line: int, lines: set[int]) -> None:
    ranges: list[tuple[int, int]] = []
    for number in sorted(lines):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    assert within(line, tuple(ranges)) == (line in lines)


def test_the_other_places_are_told_once() -> None:
    pair = finding(places=(head("a", 1), head("b", 2), head("a", 1), base("a", 1)))
    assert list(Spots(comparison()).others(pair, head("b", 2))) == [head("a", 1), base("a", 1)]


@pytest.mark.parametrize("line", [0, -7, LAST_LINE + 1, 1 << 62])
def test_a_number_that_names_no_line_has_no_spot(line: int) -> None:
    record = comparison(new=(finding(places=(head("a", line),)),))
    assert spot(record.new[0], record) is None
    assert spot(finding(places=(head("a", line), head("b", 2))), record) == head("b", 2)
    assert "file=" not in annotations(record)[0]


def test_what_git_lfs_keeps_is_shown_at_the_first_line_of_its_pointer() -> None:
    kept = finding(places=(head("b", 3), head("a", 3), base("a", 3), head("a", 9)))
    record = comparison(new=(kept,), changed_lines=changed(a=((1, 9),)), pointers=("a",))
    assert spot(kept, record) == head("a", 1)
    assert list(Spots(record).others(kept, head("a", 1))) == [head("b", 3), base("a", 3)]
    assert annotations(record)[0].startswith("::error file=a,line=1,title=")


def test_annotations_stand_at_the_changed_line() -> None:
    record = comparison(new=(SPLIT_BRAIN,), changed_lines=changed(**{"config.json": ((30, 40),)}))
    assert annotations(record)[0].startswith("::error file=config.json,line=38,title=")
