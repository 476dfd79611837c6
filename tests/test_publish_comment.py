"""The comment and the job summary: what they say, in which order, and how they keep their limits."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.analyze.records import Comparison, Fix, ModelChange, PromptChange, Severity, Side, Unchecked
from bot.publish import marker
from bot.publish.comment import MIN_LIMIT, comment, nothing_new, should_create
from bot.publish.headline import headline
from bot.publish.links import Links
from bot.publish.marker import Marker
from bot.publish.summary import summary
from tests import comparisons
from tests.comparisons import comparison, finding, head, stops
from tests.test_publish_hostile import PARSERS

GOLDEN = Path(__file__).parent / "golden"
LINKS = Links("https://github.com", "acme/kimi", comparisons.BASE_SHA, comparisons.HEAD_SHA)
EARLIER = Marker(
    head="2b2b88e3" * 5,
    fingerprints=((comparisons.SPLIT_BRAIN.fingerprint, "error"), (comparisons.ORPHAN.fingerprint, "warning")),
)
EXAMPLES: dict[str, Callable[[], str]] = {
    "kimi-half-fix": lambda: comment(comparisons.kimi_half_fix(), links=LINKS),
    "nothing-new": lambda: comment(comparisons.nothing_new(), links=LINKS, previous=EARLIER),
    "template-change": lambda: comment(comparisons.template_change(), links=LINKS),
    "added-model": lambda: comment(comparisons.added_model(), links=LINKS),
    "many-findings": lambda: comment(comparisons.many_findings(), links=LINKS),
    "hostile": lambda: comment(comparisons.hostile(), links=LINKS),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_golden(name: str) -> None:
    path, said = GOLDEN / f"{name}.md", EXAMPLES[name]()
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_bytes(said.encode())
    assert path.read_bytes() == said.encode(), "run with UPDATE_GOLDEN=1 and look at the difference"


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("parse", PARSERS)
def test_examples_are_well_formed(name: str, parse: "Callable[[str], object]") -> None:
    said = EXAMPLES[name]()
    parse(said)
    assert said.count("<details") == said.count("</details>")
    assert marker.read(said.splitlines()[0]) is not None


def unfolded(said: str) -> str:
    """What a reader sees without a click."""
    while (left := re.sub(r"<details(?: open)?><summary>(?:(?!<details).)*?</details>", "", said, flags=re.DOTALL)) != said:
        said = left
    return said


def test_errors_come_first_and_the_rest_is_folded() -> None:
    said = comment(comparisons.many_findings(), links=LINKS)
    shown = unfolded(said)
    assert shown.count("#### 🔴") == 5
    assert "🟠" not in shown
    assert said.index("#### 🔴") < said.index("#### 🟠") < said.index("#### ⚪")
    assert "<summary>20 more new findings</summary>" in said


def test_rule_ids_stand_only_behind_a_click() -> None:
    record = comparisons.kimi_half_fix()
    said = comment(record, links=LINKS)
    assert all(each.check in said and each.check not in unfolded(said) for each in record.new)


def test_findings_of_one_cause_are_one_block() -> None:
    one = comparison(new=(finding(key="a", cause="c"), finding(key="b", cause="c", title="second")))
    two = comparison(new=(finding(key="a"), finding(key="b", title="second")))
    assert comment(one, links=LINKS).count("#### 🔴") == 1
    assert "- 🔴 second" in comment(one, links=LINKS)
    assert comment(two, links=LINKS).count("#### 🔴") == 2


def test_an_added_model_is_one_heading() -> None:
    new = tuple(finding(key=str(number), folder="new", title=f"number {number}") for number in range(50))
    record = comparison(models=(ModelChange(change="added", before=None, after="new"),), new=new)
    said = comment(record, links=LINKS)
    assert said.count("Adds a model in `new/`") == 1
    assert len(re.findall("number [0-9]+", said)) == 5
    assert "and 45 more, see the job summary" in said
    assert len(set(re.findall("number [0-9]+", summary(record, LINKS)))) == 50


def test_equal_answers_share_a_row_and_ids_have_texts() -> None:
    said = comment(comparisons.kimi_half_fix(), links=LINKS)
    assert "| With `trust_remote_code`: vLLM 0.33.0 · sglang 0.5.23 | stops on `[EOS]` 163585 |" in said
    assert "transformers `generate()` 4.46.3 – 5.24.0" in said
    assert not re.search(r"(?<![`] )16358[56](?!\")", said.split("####")[0])


@pytest.mark.parametrize(
    ("field", "before", "after", "words"),
    [
        ("stops", [], [1], ("never stops by token", "stops on `a` 1")),
        ("stops", None, [9], ("does not load", "stops on 9 (no text known)")),
        ("stops", [1, 2], [1], ("stops on `a` 1 and `b` 2", "stops on `a` 1, **no longer on `b` 2**")),
        ("stops", [1], [1, 2], ("stops on `a` 1", "stops on `a` 1 **and `b` 2**")),
        ("stops_in_grammar", [1], [], ("may end a JSON answer only with `a` 1", "can never end a JSON answer")),
        ("stops", [1], {"unknown": "no `x.json`"}, ("stops on `a` 1", "could not be predicted: no `x.json`")),
        ("loads.tokenizer", True, False, ("loads", "does not load")),
        ("template.sha256", None, "ab" * 32, ("has none", "reads `abababab`")),
        ("max_model_len", 4096, {"a": [1, None]}, ("4096 tokens", '`{"a": [1, null]}`')),
        ("dtype", "bfloat16", None, ("`bfloat16`", "nothing")),
    ],
)
def test_answers_in_words(field: str, before: object, after: object, words: tuple[str, str]) -> None:
    texts = {"1": "a", "2": "b"}
    change = stops(("vllm@0.33.0",), before, after, field=field, before_texts=texts, after_texts=texts)
    assert f"| {words[0]} | {words[1]} |" in comment(comparison(predictions=(change,)), links=LINKS)


def test_three_versions_are_a_range_only_without_a_gap() -> None:
    gap = stops(("transformers@4.46.3", "transformers@5.24.0", "transformers@4.57.6", "transformers@9.0.0"), [1], [2])
    assert "4.46.3 – 5.24.0 and 9.0.0" in comment(comparison(predictions=(gap,)), links=LINKS)


def test_clean_names_what_is_no_longer_reported() -> None:
    said = nothing_new(comparisons.nothing_new(), links=LINKS, previous=EARLIER)
    assert "The 1 error and 1 warning reported for `2b2b88e3` are no longer reported for `77aa01c0`." in said
    assert "fixed" not in said
    repaired = comparison(resolved=(comparisons.SPLIT_BRAIN,), unchanged=(comparisons.ORPHAN,))
    assert "(1 fixed, 1 in base as well by now)" in nothing_new(repaired, links=LINKS, previous=EARLIER)
    assert "no longer reported" not in nothing_new(comparisons.nothing_new(), links=LINKS)


def test_what_went_is_said_beside_what_is_new() -> None:
    said = comment(comparison(new=(comparisons.ORPHAN,)), links=LINKS, previous=EARLIER)
    assert "The 1 error reported for `2b2b88e3` is no longer reported" in said


def test_nothing_new_keeps_the_promises_of_a_comment() -> None:
    text = nothing_new(comparisons.nothing_new(), links=LINKS, comment_id="second", previous=EARLIER)
    said = marker.read(text.splitlines()[0])
    assert said == Marker(id="second", head="77aa01c0" * 5, gone=EARLIER.fingerprints, at=EARLIER.head)
    assert len(text.splitlines()) == 6


@pytest.mark.parametrize(
    "record", [comparisons.nothing_new(), comparison(new=(comparisons.ORPHAN,)), comparisons.many_findings()]
)
def test_another_run_for_the_same_head_says_the_same(record: Comparison) -> None:
    before = comment(record, links=LINKS, previous=EARLIER)
    assert comment(record, links=LINKS, previous=marker.read(before.splitlines()[0])) == before


def test_a_run_for_another_head_forgets_what_went_before() -> None:
    before = nothing_new(comparisons.nothing_new(), links=LINKS, previous=EARLIER)
    assert "no longer reported" not in nothing_new(comparison(), links=LINKS, previous=marker.read(before.splitlines()[0]))


def test_of_one_head_it_is_told_once() -> None:
    fingerprints, here = EARLIER.fingerprints, comparisons.nothing_new().head.sha or ""
    said = nothing_new(comparisons.nothing_new(), links=LINKS, previous=Marker(head=here, fingerprints=fingerprints))
    assert f"The 1 error and 1 warning reported for `{here[:8]}` are no longer reported. " in said


def test_what_went_is_the_first_to_go_where_room_is_short() -> None:
    rows: tuple[tuple[str, Severity], ...] = tuple((f"{number:016x}", "error") for number in range(40))
    line = marker.write(Marker(fingerprints=rows[:5], gone=rows[5:], at="a" * 40), 600)
    assert marker.read(line) == Marker(fingerprints=rows[:5])


PROMPT = PromptChange(folder=".", template="default", probe="user", before_sha256="1", after_sha256="2")
UNREAD = Unchecked(kind="file", id="config.json", folder=".", reason="too large", places=(head("config.json"),))
ADDED = (ModelChange(change="added", before=None, after="."),)


@pytest.mark.parametrize(
    "record",
    [
        comparison(new=(finding(severity="warning"),)),
        comparison(new=(finding(),)),
        comparison(predictions=(stops(("vllm@1",), [1], [2]),)),
        comparison(prompts=(PROMPT,)),
        comparison(unchecked=(UNREAD,)),
    ],
)
def test_a_comment_is_created(record: Comparison) -> None:
    assert should_create(record)
    assert "Nothing new" not in comment(record, links=LINKS)


@pytest.mark.parametrize(
    "record",
    [
        comparison(),
        comparison(new=(finding(severity="note"),)),
        comparison(resolved=(finding(),)),
        comparison(predictions=(stops(("vllm@1",), None, [2]),), models=ADDED),
        comparison(unchecked=(comparisons.POINTER,)),
        comparison(unchecked=(Unchecked(kind="engine", id="vllm@1", folder=".", reason="r"),)),
    ],
)
def test_no_comment_is_created(record: Comparison) -> None:
    assert not should_create(record)
    assert "### Nothing new goes wrong" in comment(record, links=LINKS)


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        (comparisons.kimi_half_fix(), "This pull request leaves the files disagreeing on which token ends a reply"),
        (comparisons.nothing_new(), "Nothing new goes wrong with this pull request"),
        (comparisons.added_model(), "This pull request adds a model with 2 errors and 1 warning"),
        (comparison(new=(finding(check="x"), finding(check="y"))), "This pull request introduces 2 errors"),
        (
            comparison(new=(finding(check="eos-split-brain"), finding(check="orphan-fix-commit"), finding(check="x"))),
            "This pull request leaves the files disagreeing on which token ends a reply, and 2 more errors",
        ),
        (comparison(new=(finding(check="x", severity="warning"),)), "This pull request introduces 1 warning"),
        (comparison(predictions=(stops(("vllm@1",), [1], [2]),)), "This pull request changes which tokens end a reply"),
        (comparison(prompts=(PROMPT,)), "This pull request changes what the model reads"),
        (comparison(unchecked=(UNREAD,)), "This pull request changes a file that could not be read"),
        (comparison(new=(finding(severity="note"),)), "Nothing new goes wrong with this pull request"),
    ],
)
def test_headline(record: Comparison, sentence: str) -> None:
    assert headline(record) == sentence


def large(number: int, size: int) -> Comparison:
    """A comparison with `number` of everything, its texts of `size` letters."""
    text = "& `é|` " * (size // 7)
    new = tuple(
        finding(key=str(each), severity=("error", "warning", "note")[each % 3], title=f"title {each:05}. {text}", detail=text)
        for each in range(number)
    )
    prompts = tuple(
        PromptChange(folder=".", template="t", probe=str(each), before_sha256="1", after_sha256="2", diff=f"+{each}{text}\n" * 9)
        for each in range(number)
    )
    changes = tuple(stops(("vllm@1",), [each], [each + 1], before_texts={}, after_texts={}) for each in range(number))
    unchecked = tuple(Unchecked(kind="file", id=f"{each}", folder=".", reason=f"{each} {text}") for each in range(number))
    return comparison(new=new, unchanged=new, prompts=prompts, predictions=changes, unchecked=unchecked)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 150), st.integers(0, 3000), st.integers(MIN_LIMIT, 65_000))
def test_limit_is_kept_by_whole_findings_and_the_rest_is_counted(number: int, size: int, limit: int) -> None:
    record = large(number, size)
    said = comment(record, links=LINKS, limit=limit)
    assert len(said) <= limit
    assert len(said.encode()) <= 262_144
    assert said.count("<details") == said.count("</details>")
    assert said.rstrip().endswith("</sub>")
    for parse in PARSERS:
        parse(said)
    new = said.split("**There before**")[0]
    shown = re.findall(r"#### . title (\d+)\.", new)
    left = re.search(r"\*\*and (\d+) more findings?\*\*, see the job summary", said)
    assert len(shown) + int(left[1] if left else 0) == number
    rank = [int(each) % 3 for each in shown]
    assert rank == sorted(rank)
    mark = marker.read(said.splitlines()[0])
    assert mark is not None
    assert len(mark.fingerprints) + mark.more == number


def test_a_finding_that_swells_is_still_named() -> None:
    swelling = finding(title="`x` swells", detail="\U000e0001" * 5000, fix=Fix("\u202e" * 5000, "\u202e" * 5999))
    many = tuple(head("\u0416" * 4000 + str(number), 1, "/\u202e" * 100) for number in range(20))
    record = comparison(
        new=tuple(
            finding(key=str(key), title=swelling.title, detail=swelling.detail, fix=swelling.fix, places=many) for key in range(9)
        )
    )
    said = comment(record, links=LINKS)
    assert said.count("#### 🔴 `x` swells") == 9
    assert "more findings" not in said.replace("more new finding", "")


def test_summary_keeps_the_runners_limit() -> None:
    said = summary(large(700, 3000), LINKS)
    assert 900_000 < len(said.encode()) <= 1_048_576
    assert said.count("<details") == said.count("</details>")
    assert "see the JSON report" in said


def test_summary_shows_every_finding_unfolded() -> None:
    record = comparisons.many_findings()
    said = summary(record, LINKS)
    assert "more new finding" not in said
    assert all(f"`<|reserved_{number}|>`" in unfolded(said) for number in range(1, 28))
    assert not said.startswith("<!--")


def test_a_limit_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 6000"):
        comment(comparisons.kimi_half_fix(), links=LINKS, limit=5_999)


def test_plain_folders_have_no_commit() -> None:
    here = Side(label="./before", sha=None, folders=(".",)), Side(label="./after", sha=None, folders=(".",))
    said = comment(comparison(base=here[0], head=here[1], new=(finding(),)), links=Links())
    assert "<sub>base `./before` → head `./after` · 4 checks, 4 engines</sub>" in said
    assert "`a.json:3` `eos_token_id`" in said


def test_a_model_that_is_added_without_a_finding_is_one_line() -> None:
    models = (ModelChange(change="added", before=None, after="x"), ModelChange(change="changed", before=".", after="."))
    said = comment(comparison(models=models, new=(finding(),)), links=LINKS)
    assert "\n\nAdds a model in `x/`.\n\n" in said
    assert "#### 🔴 `a.json`" in said
