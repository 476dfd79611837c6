"""Which patterns the `tokenizers` library refuses, against ours."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex

from bot.analyze.model.patterns import doubt, fault

PARTS = st.sampled_from(
    [
        "\\",
        "p",
        "P",
        "{",
        "}",
        "^",
        "(",
        ")",
        "(?i:",
        "(?x)",
        "(?#",
        "[",
        "[^",
        "]",
        "|",
        "+",
        "\\p{",
        "\\P{",
        "L",
        "Foo",
        "Han",
        " ",
        "_",
        "-",
        "\\c",
        "&&",
    ]
)


def refusal(regex: str) -> str:
    try:
        Regex(regex)
    except Exception as error:  # noqa: BLE001 - the library raises nothing narrower
        return str(error)
    return ""


@pytest.mark.parametrize(
    "regex",
    ["*a", r"(a)\2", "a{100001}", "[z-a]", "(" * 2400 + "a" + ")" * 2400, "(", r"\p{Foo}", "(?<=a*)b", r"\p{N}{1,3}"],
    ids=lambda regex: regex[:20],
)
def test_a_pattern_is_refused_where_the_library_refuses_it(regex: str) -> None:
    assert bool(fault(regex)) == bool(refusal(regex))


@pytest.mark.parametrize("regex", [r"(?<x>a\g<x>?b|\g<x>)", "a" * 5001], ids=lambda regex: regex[:20])
def test_a_pattern_that_may_take_the_library_hours_is_in_doubt(regex: str) -> None:
    assert doubt(regex)
    assert fault(regex) == ""


@settings(derandomize=True, max_examples=3000)
@given(st.lists(PARTS, max_size=9).map("".join))
def test_what_we_say_of_a_pattern_is_what_the_library_does(regex: str) -> None:
    assert doubt(regex) or bool(fault(regex)) == bool(refusal(regex))
