"""Settings files: YAML that can do nothing but choose, whatever stands in it, and the line of every mistake."""

import datetime as dt
import json

import pytest
import yaml
from hypothesis import example, given
from hypothesis import settings as trying
from hypothesis import strategies as st

from bot.errors import UsageError
from bot.settings import FILE, settle
from bot.settings_file import from_file
from bot.snapshot import LARGEST_SETTINGS

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=40)


def refusal(content: str | bytes, source: str = FILE) -> str:
    with pytest.raises(UsageError) as refused:
        settle(from_file(content.encode() if isinstance(content, str) else content, source))
    return str(refused.value)


def nested(levels: int) -> str:
    """Lists of lists of lists that aliases make out of a few lines: 8 to the power of `levels` values."""
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, levels)]
    return "\n".join(rows)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("fail_on", f"{FILE}: holds no options; write lines such as `fail_on: warning`"),
        ("- fail_on", f"{FILE}: holds no options"),
        ("\n\nfail_on: [", f"{FILE}:3: not YAML: while parsing a flow node, expected the node content, but found '<stream end>'"),
        ("a: 1\n---\nb: 2", f"{FILE}:2: not YAML: expected a single document in the stream, but found another document"),
        ("folders: [*/a]", "put what starts with * or & in quotes"),
        ("folders:\n- *models", f"{FILE}:2: not YAML: found undefined alias 'models'; put what starts with * or & in quotes"),
        ("folders:\n- !models/old", f"{FILE}:2: the tag '!models/old' means nothing here; put what starts with ! in quotes"),
        ("!!python/object/apply:os.getcwd []", f"{FILE}:1: the tag 'tag:yaml.org,2002:python/object/apply:os.getcwd' means"),
        ("? [a, b]\n: 1", f"{FILE}:1: a key must be a word"),
        ("a: &a\n  <<: *a", f"{FILE}:1: an alias stands inside of what it repeats"),
        ("a: &a [*a]", f"{FILE}:1: an alias stands inside of what it repeats"),
        (nested(9), "holds more than 50,000 values, those of aliases counted each time"),
        ("[" * 5000, f"{FILE}:1: is nested more than 12 deep"),
        ("? " * 5000, f"{FILE}:1: is nested more than 12 deep"),
        ("suppress:\n- check: a\n  check: b", f"{FILE}:3: the key 'check' stands twice"),
        ("x: \0", "not YAML: "),
        ('x: "\\UFFFFFFFF"', f"{FILE}: not YAML: "),
        ('x: "\\uD83D"', f"{FILE}:1: '\\ud83d' holds half a letter; write the letter itself"),
        ("%YAML 1.99999999999999999999\n---\nx: 1", "unknown setting 'x'"),
        (b"\xff\xfe", f"{FILE}: byte 0 is not UTF-8; save the file as UTF-8"),
        (b"#" * (LARGEST_SETTINGS + 1), f"{FILE}: has 262,145 bytes; at most 262,144 are read"),
    ],
    ids=lambda each: str(each)[:20],
)
def test_what_is_no_settings_file_is_refused_in_one_line(content: str | bytes, said: str) -> None:
    message = refusal(content)
    assert said in message
    assert message.startswith(FILE)
    assert "\n" not in message
    assert len(message) < 300


def test_errors_name_the_file_that_was_read() -> None:
    assert refusal("zebra: 1", "my.yml").startswith("my.yml:1: unknown setting 'zebra'")


@pytest.mark.parametrize("content", ["", "# nothing\n", "---\n", "~", "\ufefffail_on: error"])
def test_a_file_may_choose_nothing_or_begin_with_a_mark_of_its_encoding(content: str) -> None:
    assert settle(from_file(content.encode())) == settle()


@pytest.mark.parametrize(
    ("written", "meant"),
    [("yes", True), ("no", False), ("true", True), ("FALSE", False), ("Yes", True)],
)
def test_yes_and_no_are_true_and_false(written: str, meant: bool) -> None:  # noqa: FBT001 - a parameter of a test
    assert settle(from_file(f"comment: {written}".encode())).comment is meant


def test_off_is_a_word_and_digits_and_days_stay_as_they_are_written() -> None:
    content = b"severity: {eos-split-brain: off}\nsuppress: [{fingerprint: 0000000000000012, reason: 7, expires: 2026-02-03}]"
    chosen = settle(from_file(content))
    assert chosen.severity == {"eos-split-brain": "off"}
    assert [(each.fingerprint, each.reason, each.expires) for each in chosen.suppress] == [
        ("0000000000000012", "7", dt.date(2026, 2, 3))
    ]


def test_anchors_repeat_what_they_name() -> None:
    content = b"suppress:\n- &one {check: eos-split-brain, reason: known}\n- *one\n"
    first, second = settle(from_file(content)).suppress
    assert first == second


@given(TEXTS.filter(str.strip))
@example("{{ x }}")
@example("\x85\u2028\ufeff\U0001f600")
@example("off")
def test_every_text_that_yaml_can_write_is_read_as_it_was(reason: str) -> None:
    written = yaml.safe_dump(
        {"suppress": [{"check": "eos-split-brain", "reason": reason}]}, default_style='"', allow_unicode=True
    )
    (read,) = settle(from_file(written.encode())).suppress
    assert read.reason == reason


@given(
    st.binary(max_size=200) | TEXTS.map(str.encode) | st.recursive(TEXTS, st.lists).map(lambda each: json.dumps(each).encode())
)
@trying(max_examples=300)
def test_whatever_stands_in_a_file_is_read_or_refused_in_one_line(content: bytes) -> None:
    try:
        settle(from_file(content))
    except UsageError as refused:
        said = str(refused)
    else:
        return
    assert said.startswith(FILE)
    assert "\n" not in said
