"""Hexadecimal words of a text."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.fetch.words import LONGEST_TEXT, MOST_WORDS, named, words

SHA = "6ad52ee1b15cd57ab3cc4dda698313579a47536e"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("fixed in commit `6ad52ee`.", ("6ad52ee",)),
        (f"https://example.com/a/b/commit/{SHA}#x", (SHA,)),
        ("use revision 222222222222.", ("222222222222",)),
        ('revision="6AD52EE1"', ("6ad52ee1",)),
        ("修复在6ad52ee中", ("6ad52ee",)),
        ("6ad52ee..7bd52ef and 6ad52ee again", ("6ad52ee", "7bd52ef")),
        ("6ad52ee-based work", ("6ad52ee",)),
        ("#aabbccdd", ("aabbccdd",)),
        ("6ad52e", ()),
        ("a sha256 " + "ab" * 32, ()),
        (SHA + "0", ()),
        ("550e8400-e29b-41d4-a716-446655440000", ()),
        ("x6ad52ee 6ad52eex _6ad52ee 6ad52ee_", ()),
        ("g6ad52ee", ()),
        ("", ()),
    ],
)
def test_words(text: str, found: tuple[str, ...]) -> None:
    assert words(text) == found


def test_words_are_capped() -> None:
    text = " ".join(f"{number:07x}" for number in range(MOST_WORDS * 2))
    assert len(words(text)) == MOST_WORDS


def test_a_word_that_the_cut_goes_through_is_no_word() -> None:
    text = " " * (LONGEST_TEXT - 8) + SHA
    assert words(text) == ()
    assert words(" " * (LONGEST_TEXT - 40) + SHA) == (SHA,)


@pytest.mark.parametrize("unit", ["a", "a-", "aaaaaaa-", "aaaaaaa-aaaaaaa_", "0" * 41 + " ", "aaaaaaag"])
def test_hostile_text_takes_linear_time(unit: str) -> None:
    text = unit * (LONGEST_TEXT // len(unit))
    start = time.process_time()
    words(text)
    assert time.process_time() - start < 2


@given(st.text(alphabet=st.sampled_from("0123456789abcdefABCDEFg-_ ./é中"), max_size=200))
def test_words_are_words(text: str) -> None:
    found = words(text)
    assert len(set(found)) == len(found)
    for word in found:
        assert re.fullmatch("[0-9a-f]{7,40}", word)
        assert re.search(rf"(?<![0-9A-Za-z_]){word}(?![0-9A-Za-z_])", text, re.IGNORECASE)


@given(st.text(max_size=50), st.from_regex(r"[0-9a-f]{7,40}", fullmatch=True), st.text(max_size=50))
def test_a_word_between_spaces_is_found(before: str, word: str, after: str) -> None:
    assert word in words(f"{before} {word} {after}")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"https://huggingface.co/org/name/commit/{SHA}", (("org/name", SHA),)),
        ("[x](https://hf.co/org/na.me/resolve/6AD52EE/config.json)", (("org/na.me", "6ad52ee"),)),
        (f"https://huggingface.co/datasets/org/name/commit/{SHA}", ()),
        (f"https://github.com/org/name/commit/{SHA}", ()),
        ("https://huggingface.co/org/name/tree/main", ()),
        ('from_pretrained("org/name", revision="6ad52ee")', (("org/name", "6ad52ee"),)),
        ("pipeline('a/b', model='org/name',\n  revision='6ad52ee')", (("org/name", "6ad52ee"),)),
        ("hf download org/name --revision 6ad52ee", (("org/name", "6ad52ee"),)),
        ('from_pretrained("name", revision="6ad52ee")', ()),
        ('from_pretrained("org/name", code_revision="6ad52ee")', ()),
        ("vllm serve org/name --code-revision 6ad52ee", ()),
        ('from_pretrained("org/name"' + " " * 300 + ', revision="6ad52ee")', ()),
        ("org/name revision: 6ad52e", ()),
        (f"org/name revision: {SHA}0", ()),
    ],
)
def test_words_that_stand_by_the_name_of_a_model(text: str, found: tuple[tuple[str, str], ...]) -> None:
    assert named(text) == found


@pytest.mark.parametrize(
    "unit", ["a/b ", "revision ", "revision=" + SHA + " ", "a/b revision 6ad52ee ", "huggingface.co/a/", "a/", "revision\"'"]
)
def test_names_are_looked_for_in_linear_time(unit: str) -> None:
    start = time.process_time()
    assert len(named((unit * LONGEST_TEXT)[:LONGEST_TEXT])) <= MOST_WORDS
    assert time.process_time() - start < 5
