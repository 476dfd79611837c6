"""Differences between prompts that are too long to be compared or shown."""

import json
import time
from typing import Any

import pytest

from bot.analyze import prompt_difference, watch
from bot.analyze.model.calls import MOST_TEMPLATES
from bot.analyze.model.discovery import Pair
from bot.analyze.model.templates import MOST, sources
from bot.analyze.prompt_difference import MOST_LINES
from bot.analyze.prompts import prompts
from bot.analyze.records import Unchecked
from bot.analyze.render import render
from bot.analyze.unread import unread_files, unrendered
from bot.probe import Probe
from tests.models import model

HELLO = Probe("hello", ({"role": "user", "content": "Hi"},))


def diff(old: str, new: str) -> list[str]:
    return prompt_difference.diff(old, new).split("\n")


def test_a_difference_far_away_is_found() -> None:
    common = "".join(f"line {number}\n" for number in range(100_000))
    shown = diff(common + "old\nend", common + "new\nend")
    assert shown == [" line 99998⏎", " line 99999⏎", "-old⏎", "+new⏎", " end"]
    assert diff("x" * 10**6 + "\na", "x" * 10**6 + "\nb")[-2:] == ["-a", "+b"]
    assert diff("x" * 10**6 + "a", "x" * 10**6 + "b") == ["-…" + "x" * 100 + "a", "+…" + "x" * 100 + "b"]
    assert diff(common, common + "more\n")[-1] == "+more⏎"


def test_a_difference_in_a_short_prompt_keeps_what_stands_before_it() -> None:
    assert diff("a" * 2000 + "\nb", "a" * 2000 + "\nc")[-2:] == ["-b", "+c"]
    lines = "".join(f"{number}\n" for number in range(100))
    assert diff(lines, lines.replace("99", "x"))[-3:] == [" 98⏎", "-99⏎", "+x⏎"]


@pytest.mark.parametrize("unit", ["a\n", "a\nb\n", "aaaaaaaaaaaaaa", "\x85", "a\n" * 10 + "b\n"])
def test_long_prompts_take_no_time(unit: str) -> None:
    old = unit * (4_000_000 // len(unit))
    start = time.monotonic()
    shown = diff(old, old.replace("a", "c")[:-9] + "d\n" * 9)
    assert time.monotonic() - start < 3
    assert len(shown) <= MOST_LINES + 1
    assert sum(map(len, shown)) < 300_000


def test_a_cut_difference_says_so() -> None:
    assert diff("a\n" * 100, "b\n" * 100)[-1] == "… 140 more lines"
    assert diff("a\n" * 1000, "b\n" * 1000)[-1] == "… more lines"
    assert diff("a" * 6000, "b" * 6000) == ["-" + "a" * 2000 + "…", "+" + "b" * 2000 + "…"]


def test_all_differences_of_a_folder_have_a_limit() -> None:
    def folder(letter: str) -> Any:
        names = {f"additional_chat_templates/t{number:03}.jinja": (letter * 400 + "\n") * 60 for number in range(60)}
        return model({"config.json": "{}", "tokenizer_config.json": "{}", **names})

    unchecked: list[Unchecked] = []
    found = prompts(folder("a"), folder("b"), (), unchecked).changes
    assert len(found) > 60
    assert unchecked == []
    assert sum(len(row.diff) for row in found) < 1 << 20
    assert found[-1].diff == "… not shown, for others are too long"
    assert len({row.after_sha256 for row in found}) == 1


def test_one_that_is_asked_about_is_shown() -> None:
    base, head = (model({"chat_template.jinja": text, "config.json": "{}"}) for text in ("a", "b"))
    assert [row.diff for row in prompts(base, head, (HELLO,), []).changes] == ["-a\n+b"]


@pytest.mark.parametrize("inline", [True, False])
def test_more_templates_than_anybody_has_are_read_in_part_and_the_rest_is_told(*, inline: bool) -> None:
    texts = {f"t{number:05}": f"{number}" for number in range(MOST + 1)}
    rows = {"chat_template": [{"name": name, "template": text} for name, text in texts.items()]}
    files = {f"additional_chat_templates/{name}.jinja": text for name, text in texts.items()}
    written = {"tokenizer_config.json": json.dumps(rows)} if inline else files
    head = model(written)
    assert len(sources(head).every) == MOST
    told = [each.reason for each in unread_files(Pair(None, head)) if "the others were not read" in each.reason]
    assert len(told) == 1


def test_templates_that_no_check_could_look_at_are_told_of() -> None:
    texts = {f"t{number}": f"{{{{ messages[0].content }}}}{number}" for number in range(MOST_TEMPLATES + 1)}
    files = {f"additional_chat_templates/{name}.jinja": text for name, text in texts.items()}
    base, head = model(files, "base"), model({name: f"{text}x" for name, text in files.items()})
    [row] = unrendered(Pair(base, head), ())
    assert row.reason.startswith(f"{MOST_TEMPLATES + 1} chat templates changed")
    assert [*unrendered(Pair(head, head), ())] == []


def test_a_template_that_only_a_check_brought_to_a_limit_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "{% if messages[0].content == 'qx' %}{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}{% endif %}"
    monkeypatch.setattr(watch, "SECONDS", 0.1)
    monkeypatch.setattr(watch.WATCH, "overran", {})
    head = model({"chat_template.jinja": text})
    assert [*unrendered(Pair(None, head), ())] == []
    assert render(text, [{"role": "user", "content": "qx"}], {}).kind == "limits"
    [row] = unrendered(Pair(None, head), ())
    assert row.reason == "a conversation that checks look at could not be rendered within 0.1 s"
    assert [*unrendered(Pair(None, head), (row,))] == []
