"""What is read from unified diffs."""

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.publish.hunks import Edit, edit, shown

LINES = st.lists(st.sampled_from(("a", "b", "", " ", "-", "+x", "@@ -1 +1 @@", "--- a/x", "\tc", "\\")), max_size=12)
HEAD = "--- a/x\n+++ b/x\n"


def patch(before: list[str], after: list[str], context: int) -> str:
    """The diff as git would write it, for lines that all end with a newline."""
    lines = difflib.unified_diff(before, after, "a/x", "b/x", n=context, lineterm="")
    return "".join(f"{line}\n" for line in lines)


@given(LINES, LINES, st.integers(0, 3))
def test_an_edit_does_what_its_patch_does(before: list[str], after: list[str], context: int) -> None:
    found = edit(patch(before, after, context))
    groups = list(difflib.SequenceMatcher(None, before, after).get_grouped_opcodes(context))
    if len(groups) != 1:
        assert found is None
    elif found is None:
        assert groups[0][0][1] == groups[0][-1][2]  # an insertion without a line beside it
    else:
        assert found.path == "x"
        assert 1 <= found.first <= found.last <= len(before)
        assert before[: found.first - 1] + list(found.lines) + before[found.last :] == after


@given(LINES, LINES, st.integers(0, 3))
def test_a_diff_shows_the_lines_of_its_hunks(before: list[str], after: list[str], context: int) -> None:
    groups = difflib.SequenceMatcher(None, before, after).get_grouped_opcodes(context)
    ranges = [(group[0][3] + 1, group[-1][4]) for group in groups]
    text = patch(before, after, context).removeprefix("--- a/x\n+++ b/x\n")
    assert shown(text) == tuple((first, last) for first, last in ranges if last >= first)
    assert shown(text.removesuffix("\n")) == shown(text)


@given(st.text())
def test_any_other_text_is_no_edit(text: str) -> None:
    assert edit(text) is None
    assert edit(f"{HEAD}{text}") is None


def test_an_insertion_takes_in_the_line_beside_it() -> None:
    assert edit(f"{HEAD}@@ -1,2 +1,3 @@\n a\n+b\n c\n") == Edit("x", 1, 1, ("a", "b"))
    assert edit(f"{HEAD}@@ -1 +1,2 @@\n+b\n a\n") == Edit("x", 1, 1, ("b", "a"))
    assert edit(f"{HEAD}@@ -1,0 +2 @@\n+b\n") is None


def test_lines_may_go_without_another() -> None:
    assert edit(f"{HEAD}@@ -7,2 +7 @@\n a\n-b\n") == Edit("x", 8, 8, ())


@pytest.mark.parametrize(
    "text",
    [
        f"{HEAD}@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-a\n+b\n",
        f"{HEAD}@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n",
        "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n",
        "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n",
        f"{HEAD}@@ -1,2 +1 @@\n-a\n+b\n",
        f"{HEAD}@@ -1 +1 @@\n a\n",
        f"{HEAD}@@ -1 +1 @@\n-a\n+\ud800\n",
        f"{HEAD}@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n",
        f"{HEAD}@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n",
    ],
)
def test_what_is_not_one_edit_of_lines_is_none(text: str) -> None:
    assert edit(text) is None


def test_a_last_line_may_lack_its_newline_on_both_sides() -> None:
    without = "\\ No newline at end of file\n"
    assert edit(f"{HEAD}@@ -3 +3 @@\n-a\n{without}+b\n{without}") == Edit("x", 3, 3, ("b",))
    assert edit(f"{HEAD}@@ -3,2 +3,2 @@\n-a\n+b\n c\n{without}") == Edit("x", 3, 3, ("b",))


def test_a_name_with_spaces_ends_at_the_tab_of_git() -> None:
    assert edit("--- a/my file\t\n+++ b/my file\t\n@@ -1 +1 @@\n-a\n+b\n") == Edit("my file", 1, 1, ("b",))
