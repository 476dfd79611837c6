"""What a chat template's outcome is called, and the limits within which it is rendered."""

import hashlib
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, cast

import pytest

from bot.analyze import render as rendering
from bot.analyze import watch as room
from bot.analyze.render import LONGEST, Prompt, examined, render, syntax_error
from bot.analyze.watch import WATCH, OverrunError, limited

MEMO = cast("Any", rendering)._MEMO
USER = ({"role": "user", "content": "Hi"},)
ENDLESS = "{% for i in range(99999) %}{% for j in range(99999) %}{% set x = i * j %}{% endfor %}{% endfor %}"


@pytest.fixture(autouse=True)
def watch() -> Iterator[list[str]]:
    """What is noted, with the watch put back afterwards."""
    MEMO.clear()
    WATCH.overran.clear()
    before = WATCH.note, WATCH.refused, WATCH.seconds
    noted: list[str] = []
    WATCH.note = noted.append
    yield noted
    MEMO.clear()
    WATCH.overran.clear()
    WATCH.note, WATCH.refused, WATCH.seconds = before


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("text", "kind", "error"),
    [
        ("{% if %}", "syntax", "Expected an expression, got 'end of statement block' (line 1)"),
        ("a\n{% endfor %}", "syntax", "(line 2)"),
        ("{{ 1 | nothing }}", "syntax", "No filter named 'nothing'"),
        ("{% import 'x' as x %}", "failed", "TypeError"),
        ("{{ raise_exception('Roles must alternate') }}", "declined", "Roles must alternate"),
        ("{{ raise_exception('{{ x }}\n`') }}", "declined", "{{ x }}\n`"),
        ("{{ messages.append(1) }}", "failed", "SecurityError"),
        ("{{ ''.__class__.__mro__ }}", "failed", "SecurityError"),
        ("{{ nothing.at.all }}", "failed", "UndefinedError: 'nothing' is undefined"),
        ("{{ 1 // 0 }}", "failed", "ZeroDivisionError"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "limits", "RecursionError"),
        (
            "{% set n = namespace(a='xx') %}{% for i in range(22) %}{% set n.a = n.a ~ n.a %}{% endfor %}{{ n.a }}",
            "limits",
            "longer than",
        ),
    ],
)
def test_each_outcome_has_its_kind(text: str, kind: str, error: str) -> None:
    prompt = render(text, USER, {})
    assert (prompt.text, prompt.kind) == (None, kind)
    assert error in prompt.error


def test_a_text_of_the_greatest_length_is_one() -> None:
    text = "{{ 'x' * " + str(LONGEST) + " }}"
    assert len(render(text, USER, {}).text or "") == LONGEST
    assert render(text + "x", USER, {}) == Prompt(
        None, f"could not be rendered within limits (its text is longer than {LONGEST} characters)", "limits"
    )


def test_what_does_not_end_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "SECONDS", 0.2)
    start = time.monotonic()
    assert render(ENDLESS, USER, {}) == Prompt(None, "could not be rendered within 0.2 s", "limits")
    assert time.monotonic() - start < 5
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_template_cannot_catch_the_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "SECONDS", 0.2)
    text = "{% for i in range(9) %}{{ (" + "nothing | default(" * 3 + "1" + ")" * 3 + ") }}{% endfor %}" + ENDLESS
    assert render(text, USER, {}).kind == "limits"


def test_the_timer_of_others_comes_back() -> None:
    called: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: called.append(number))
    try:
        assert render("x", USER, {}).text == "x"
        signal.raise_signal(signal.SIGALRM)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert called == [signal.SIGALRM]


def test_a_thread_has_no_timer_and_still_an_answer() -> None:
    found: list[Prompt] = []
    thread = threading.Thread(target=lambda: found.append(render("{{ messages[0].content }}", USER, {})))
    thread.start()
    thread.join()
    assert found == [Prompt("Hi")]


def test_the_conversation_is_not_the_callers() -> None:
    messages = ({"role": "user", "content": ["a"]},)
    assert render("{{ messages[0].content }}{{ messages[0].content is mapping }}", messages, {}).text == "['a']False"
    assert messages == ({"role": "user", "content": ["a"]},)


def test_role_strings_and_variables_are_given() -> None:
    text = "{{ bos_token }}{{ tools is none }}{{ documents is none }}{{ add_generation_prompt }}{{ enable_thinking }}"
    assert (
        render(text, USER, {"bos_token": "<s>"}, {"add_generation_prompt": True, "enable_thinking": False}).text
        == "<s>TrueTrueTrueFalse"
    )
    assert render("{{ pad_token is defined }}", USER, {}).text == "False"


def test_the_clock_stands_still() -> None:
    text = "{{ strftime_now('%d %b %Y %H:%M:%S') }}"
    assert render(text, USER, {}).text == "02 Jan 2026 03:04:05"


@pytest.mark.parametrize("text", ["{% for m in messages %}{% break %}{% endfor %}", "{% generation %}x{% endgeneration %}", ""])
def test_what_transformers_knows_is_no_syntax_error(text: str) -> None:
    assert syntax_error(text) is None


@pytest.mark.parametrize(
    "text", ["{{ raise_exception('no') }}", "{{ 1 // 0 }}", "{{ " + "(" * 20_000 + "1" + ")" * 20_000 + " }}"]
)
def test_what_fails_otherwise_is_no_syntax_error(text: str) -> None:
    assert render(text, USER, {}).text is None
    assert syntax_error(text) is None


def test_each_template_is_noted_before_and_after(watch: list[str]) -> None:
    render("x", USER, {})
    render("{% if %}", USER, {})
    syntax_error("y")
    assert watch == [digest("x"), "", digest("{% if %}"), "", digest("y"), ""]


def test_a_refused_template_is_not_touched(watch: list[str]) -> None:
    WATCH.refused = frozenset({digest(ENDLESS)})
    assert render(ENDLESS, USER, {}) == Prompt(None, "could not be rendered within limits (it had to be killed)", "limits")
    assert syntax_error(ENDLESS) is None
    assert watch == []
    assert render("x", USER, {}).text == "x"


def test_slow_templates_have_a_limit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "SECONDS", 0.1)
    WATCH.seconds = 0.2
    errors = [render(ENDLESS + "x" * number, USER, {}).error for number in range(3)]
    assert errors == [*["could not be rendered within 0.1 s"] * 2, "was not rendered, because others took more than 20 s"]
    assert syntax_error("{% if %}") is None


def test_a_template_that_overran_its_time_is_not_tried_again(watch: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "SECONDS", 0.1)
    first = render(ENDLESS, USER, {})
    second = render(ENDLESS, ({"role": "user", "content": "Bye"},), {})
    assert first == second == Prompt(None, "could not be rendered within 0.1 s", "limits")
    assert watch == [digest(ENDLESS), ""]


@pytest.mark.parametrize(
    "text", ["{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "{{ 'x' * 4000001 }}", "{{ '%99999999999d' % 1 }}"]
)
def test_a_template_that_came_to_a_limit_is_not_tried_again(text: str, watch: list[str]) -> None:
    first, second = (render(text, ({"role": "user", "content": content},), {}) for content in ("Hi", "Bye"))
    assert first == second
    assert first.kind == "limits"
    assert watch == [digest(text), ""]
    assert isinstance(examined(text, lambda tree: len(tree.body)), int), "it can be read all the same"


def test_a_slow_template_that_ends_counts_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_SLOW", 0.0)
    WATCH.seconds = 1e-9
    assert render("{{ 1 + 1 }}", USER, {}).text == "2"
    assert render("{{ 1 + 2 }}", USER, {}).error == "was not rendered, because others took more than 20 s"


def test_all_templates_may_be_refused(watch: list[str]) -> None:
    WATCH.refused = frozenset({digest(ENDLESS), room.EVERY})
    assert "(it had to be killed)" in render(ENDLESS, USER, {}).error
    assert render("x", USER, {}) == Prompt(None, "was not rendered, because too many others had to be killed", "limits")
    assert watch == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{{ raise_exception('x' * 9000) }}", "declined"),
        ("{{ ''['x' * 9000].y }}", "failed"),
        ("{{ 1 " + "x" * 9000 + " }}", "syntax"),
        ("{{ 1 | " + "x" * 9000 + " }}", "syntax"),
    ],
)
def test_an_error_is_cut(text: str, kind: str) -> None:
    prompt = render(text, USER, {})
    assert prompt.kind == kind
    assert 2000 < len(prompt.error) < 2100
    assert "more characters" in prompt.error


def test_an_escape_that_python_warns_of_is_kept() -> None:
    assert render(r"{{ '\d' }}", USER, {}) == Prompt(r"\d")


def test_an_interruption_that_is_lost_in_a_callback_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "SECONDS", 0.1)

    class Deaf:
        def __del__(self) -> None:  # what is raised here is only printed
            until = time.monotonic() + 0.3
            while time.monotonic() < until:
                pass

    def work() -> None:
        del [Deaf()][0:]
        while True:
            pass

    seen: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    with pytest.raises(OverrunError):
        limited("x", work)
    assert len(seen) == 1
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
