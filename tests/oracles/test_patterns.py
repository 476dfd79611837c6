"""Which patterns the `tokenizers` library refuses, against ours."""

import re
import sys
import unicodedata
from itertools import product
from string import ascii_lowercase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex

from bot.analyze.model.patterns import fault

WORDS = {word.lower() for code in range(sys.maxunicode) for word in unicodedata.name(chr(code), "").split()[:3]}
SHORT = {"".join(letters) for length in (1, 2, 3) for letters in product(ascii_lowercase, repeat=length)}
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


@pytest.mark.parametrize("names", [WORDS, SHORT], ids=["words of the names of characters", "up to three letters"])
def test_a_name_of_a_property_is_known_where_the_library_knows_it(names: set[str]) -> None:
    patterns = [rf"\p{{{name}}}" for name in sorted(names) if re.fullmatch(r"[a-z0-9 _-]+", name)]
    assert [p for p in patterns if bool(fault(p)) != bool(refusal(p))] == []


@settings(derandomize=True, max_examples=3000)
@given(st.lists(PARTS, max_size=9).map("".join))
def test_a_pattern_that_we_refuse_is_refused_by_the_library(regex: str) -> None:
    assert not fault(regex) or refusal(regex)
