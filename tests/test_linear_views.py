"""No view looks at everything once more for each thing that it shows: a report may hold 50,000 of each."""

import re
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import msgspec
import pytest

from bot.analyze.records import Comparison, EngineChange, PromptChange, RenderedTemplate
from bot.publish import blocks
from bot.publish.annotations import annotations
from bot.publish.blocks import Limits
from bot.publish.check_run import summary as check_run_summary
from bot.publish.comment import comment
from bot.publish.effects import effects
from bot.publish.links import Links
from bot.publish.summary import summary
from bot.publish.telling import telling
from bot.publish.text import text
from tests.comparisons import comparison, finding, head

VIEWS: dict[str, Callable[[Comparison], object]] = {
    "comment": lambda record: comment(record, links=Links()),
    "summary": lambda record: summary(record, Links()),
    "check run": lambda record: check_run_summary(record, Links(), 0),
    "annotations": annotations,
    "text": lambda record: text(record, color=False, verbose=True),
}


class Counted(tuple[Any, ...]):
    """A list of a comparison that counts how often somebody begins to read it."""

    read: ClassVar[int] = 0

    def __iter__(self) -> Iterator[Any]:
        Counted.read += 1
        return super().__iter__()


class Number(int):
    """A token id that counts how often it is compared or looked up."""

    compared: ClassVar[int] = 0

    def __hash__(self) -> int:
        Number.compared += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        Number.compared += 1
        return int(self) == other


def change(**fields: Any) -> EngineChange:
    given: dict[str, Any] = {"engines": ("vllm@1",), "folder": ".", "field": "stops", "before": [1], "after": [2]}
    return EngineChange(**(given | fields))


def many(count: int) -> Comparison:
    """A comparison with so many of everything, no two alike."""
    made = comparison(
        new=Counted(finding(key=str(n), check=f"c{n}", title=f"t{n}", places=(head("a", n + 1),)) for n in range(count)),
        predictions=Counted(
            change(engines=(f"vllm@{n}",), field="loads.config", before=False, after=True, before_why=f"E{n}: x")
            for n in range(count)
        ),
        prompts=Counted(
            PromptChange(folder=".", template="t", probe=f"p{n}", before_sha256="a", after_sha256="b", way=str(n))
            for n in range(count)
        ),
        rendered=Counted(
            RenderedTemplate(folder=".", template=f"t{n}", rewritten=True, conversations=1, differing=1) for n in range(count)
        ),
    )
    judged = msgspec.structs.replace(made.modelled, engines=Counted(f"vllm@{n}" for n in range(count)))
    return msgspec.structs.replace(made, modelled=judged)


@pytest.mark.parametrize("view", VIEWS)
def test_the_lists_of_a_comparison_are_read_no_more_often_where_they_are_longer(view: str) -> None:
    read: list[int] = []
    for count in (10, 40):
        record = many(count)
        Counted.read = 0
        VIEWS[view](record)
        read.append(Counted.read)
    assert 0 < read[0] == read[1]


def test_token_ids_are_looked_up_and_not_searched_for() -> None:
    count = 2_000
    before, after = [Number(n) for n in range(count)], [Number(n) for n in range(5, count + 5)]
    record = comparison(predictions=(change(before=before, after=after),))
    Number.compared = 0

    (row,) = effects(record)

    assert row.after.startswith("stops on")
    assert Number.compared < 50 * count


def test_equal_answers_are_not_compared_for_every_engine() -> None:
    engines = tuple(f"vllm@{n}" for n in range(300))
    numbers = [Number(n) for n in range(300)]
    chat = change(engines=engines, before=numbers, after=None)
    grammar = change(engines=engines, field="stops_in_grammar", before=numbers[::-1], after=None)
    Number.compared = 0

    assert telling([chat, grammar]) == [chat]
    assert Number.compared < 10 * len(numbers)


def test_an_answer_that_is_no_list_of_ids_breaks_nothing() -> None:
    odd = [change(before=[[1], {"a": 1}], after=None), change(field="stops_in_grammar", before=[{"a": 1}, [1]], after=None)]
    assert telling(odd) == odd[:1]


def test_of_many_errors_the_most_frequent_are_told() -> None:
    changes = tuple(
        change(engines=(f"vllm@{n}",), field="loads.config", before=True, after=False, after_why=f"E{n}: x") for n in range(200)
    )
    (row,) = effects(comparison(predictions=changes))
    assert row.after.endswith("; 193 more in others")
    assert len(row.after) < 1_000


def test_what_no_page_has_room_for_is_counted_and_not_written() -> None:
    record = comparison(new=tuple(finding(key=str(n), title="t" * 290, detail="word " * 200) for n in range(3_000)))
    items = blocks.blocks(record, Links(), several=False, limits=Limits(block=16_000, diff=6_000), whole=True)

    assert sum(item.count for item in items) == len(items) == 3_000
    assert blocks.MOST < sum(len(item.text) for item in items) < blocks.MOST + 16_000
    page = summary(record, Links())
    left = re.search(r"\*\*and (\d+) more findings\*\*", page)
    assert left is not None
    assert page.count("\n#### ") + int(left[1]) == 3_000
