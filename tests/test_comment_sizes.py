"""Two thousand findings: comment and summary keep the limits of GitHub, and what has no room is counted, the worst kept."""

import re
from collections import Counter
from functools import cache

import pytest

from bot.analyze.records import Comparison, Fix, ModelChange, Severity, Unchecked
from bot.publish import marker
from bot.publish.comment import comment
from bot.publish.links import Links
from bot.publish.summary import summary
from tests import comparisons
from tests.comparisons import comparison, finding, head, stops
from tests.test_publish_hostile import assert_inert, by_github

NUMBER = 2_000
OTHERS = 200
LINKS = Links("https://github.com", "acme/kimi", comparisons.BASE_SHA, comparisons.HEAD_SHA)
SEVERITIES: tuple[Severity, ...] = ("note", "error", "warning")
# By name: what the texts of a finding are made of, every letter of two and more bytes or with a meaning somewhere.
LETTERS = {
    "plain": ("word",),
    "hostile": comparisons.HOSTILE,
    "emoji of four bytes": ("😀", "👩‍👩‍👧‍👦 🏳️‍🌈 🇺🇳", "😀" * 700),
    "letters of three bytes": ("漢字" * 300, "\u0d2f\u0d41\u0d28"),
    "letters that are made visible": ("\U000e0001\u202e\x00" * 400, "\U000f0000", "\ud83d", "\u2028\u0085"),
    "letters that are escaped": ("&<>|`*_~#[]" * 60, "\\" * 900, "`" * 333),
    "long words": ("x" * 5_000, "http://" * 300, "@" * 1_500),
}


def severity(number: int) -> Severity:
    return SEVERITIES[number % 3]


@cache
def large(letters: str) -> Comparison:
    """A comparison with findings of every severity in no order, among all else that wants room."""
    texts = LETTERS[letters]

    def text(number: int) -> str:
        return f"{texts[number % len(texts)]} {number}"

    new = tuple(
        finding(
            check=f"check-{number % 7}",
            key=text(number),
            folder=("chat", "embedding/large", text(3))[number % 3 if number % 5 == 0 else 0],
            severity=severity(number),
            confidence=("certain", "likely", "guess")[number % 11 % 3],
            title=f"n{number:04} {text(number)}",
            detail=text(number + 1),
            places=tuple(head(f"{text(number + line)}.json", line + 1, f"/{text(line)}") for line in range(number % 9 + 1)),
            engines=("vllm@0.33.0", text(number))[: number % 3],
            fix=Fix(text(number), f"@@ -1 +1 @@\n-{text(1)}\n+{text(2)}\n") if number % 2 else None,
        )
        for number in range(NUMBER)
    )
    before = tuple(finding(key=text(number), title=text(number), severity=severity(number)) for number in range(OTHERS))
    return comparison(
        models=(
            ModelChange(change="changed", before="chat", after="chat"),
            ModelChange(change="added", before=None, after="new"),
        ),
        new=new,
        unchanged=before,
        resolved=before,
        predictions=tuple(stops((f"vllm@{text(each)}",), [each], [each + 1], folder="chat") for each in range(OTHERS)),
        unchecked=tuple(Unchecked(kind="file", id=text(each), folder=".", reason=text(each + 1)) for each in range(OTHERS)),
    )


def shown(said: str) -> list[int]:
    """The findings that have a block, in their order on the page."""
    return [int(number) for number in re.findall(r"^#{4,5} (?:🔴|🟠|⚪) n(\d{4})\b", said, re.MULTILINE)]


def left_out(said: str, elsewhere: str) -> int:
    """How many findings the page says it had no room for, and where they are."""
    told = re.findall(rf"\*\*and (\d+) more findings?\*\*, {elsewhere}", said)
    assert len(told) <= 1
    return int(told[0]) if told else 0


def assert_worst_first(numbers: list[int]) -> None:
    """No warning is shown while an error is left out, and no note while a warning is."""
    assert len(set(numbers)) == len(numbers)
    kept, every = Counter(map(severity, numbers)), Counter(map(severity, range(NUMBER)))
    assert not kept["warning"] or kept["error"] == every["error"]
    assert not kept["note"] or kept["warning"] == every["warning"]


def assert_whole(said: str) -> None:
    """Nothing of a repository means anything, every tag that was opened is closed, and a table's rows are as wide as its head."""
    page = by_github(said)
    assert_inert(page)
    opened = Counter(tag for tag in page.skeleton if not tag.startswith("/") and tag != "br")
    assert opened == Counter(tag[1:] for tag in page.skeleton if tag.startswith("/"))
    rows = [line for line in said.splitlines() if line.startswith("| ")]
    assert len(rows) > 2
    assert {len(re.split(r"(?<!\\)\|", row)) for row in rows} == {6}
    assert opened["tr"] == len(rows) - opened["table"]  # the line under the head is no row


@pytest.mark.parametrize("letters", LETTERS)
def test_a_comment_on_two_thousand_findings_keeps_its_limits_and_counts_what_has_no_room(letters: str) -> None:
    said = comment(large(letters), links=LINKS, comment_id="large")
    assert len(said) <= 65_000
    assert len(said.encode("utf-8")) <= 262_144
    assert_whole(said)
    mark = marker.read(said.partition("\n")[0])
    assert mark is not None
    assert (mark.id, mark.head, len(mark.fingerprints) + mark.more) == ("large", comparisons.HEAD_SHA, NUMBER)
    known = {each.fingerprint: each.severity for each in large(letters).new}
    assert all(known[fingerprint] == kept == "error" for fingerprint, kept in mark.fingerprints)
    numbers = shown(said)
    assert numbers
    assert_worst_first(numbers)
    assert len(numbers) + left_out(said, "see the job summary") == NUMBER
    for number in numbers:  # whole: under the title stand a sentence and its places
        block = re.split(r"^#{3,5} ", said.partition(f" n{number:04}")[2], maxsplit=1, flags=re.MULTILINE)[0]
        assert len(block.split("\n\n")) > 2


@pytest.mark.parametrize("letters", LETTERS)
def test_a_summary_of_two_thousand_findings_keeps_its_limit_and_the_same_laws(letters: str) -> None:
    said = summary(large(letters), LINKS)
    assert len(said.encode("utf-8")) <= 1_000_000
    numbers = shown(said)
    assert numbers
    assert_worst_first(numbers)
    assert len(numbers) + left_out(said, "see the JSON report") == NUMBER
    assert_whole(said)


def test_a_summary_has_room_for_more_than_a_comment() -> None:
    record = large("hostile")
    assert len(shown(summary(record, LINKS))) > 5 * len(shown(comment(record, links=LINKS)))


def test_findings_of_one_cause_and_of_an_added_model_are_counted_too() -> None:
    new = tuple(finding(key=str(each), title=f"n{each:04}", severity=severity(each), cause="c") for each in range(NUMBER))
    said = comment(comparison(new=new), links=LINKS)
    listed = re.findall(r"^- (?:🔴|🟠|⚪) n\d{4}", said, re.MULTILINE)
    told = re.search(r"and (\d+) more of the same cause", said)
    assert told is not None
    assert len(shown(said)) + len(listed) + int(told[1]) == NUMBER
    added = tuple(finding(key=str(each), title=f"n{each:04}", severity=severity(each), folder="x") for each in range(NUMBER))
    model = ModelChange(change="added", before=None, after="x")
    said = comment(comparison(models=(model,), new=added), links=LINKS)
    listed = re.findall(r"^- 🔴 n\d{4}", said, re.MULTILINE)
    told = re.search(r"and (\d+) more and (\d+) notes, see the job summary", said)
    assert told is not None
    assert len(listed) + int(told[1]) + int(told[2]) == NUMBER
