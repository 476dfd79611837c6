"""The lines of head that base does not have, held against git."""

import re
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.analyze.changed import changed_lines
from bot.analyze.records import Comparison
from tests.changes import compared
from tests.repositories import GitRepository, environment

KINDS = [b"{\n", b"}\n", b"  },\n", b'  "a": 1,\n', b'  "b": 2\n', b"\n", b"x\r\n", b"y\rz\n", b"\xff\x00\n"]
ENDS = st.sampled_from([b"", b"}", b"a\r"]).map(lambda end: [end])
CONTENTS = st.tuples(st.lists(st.sampled_from(KINDS), max_size=12), ENDS).map(lambda sides: b"".join([*sides[0], *sides[1]]))
NUMBERED = st.lists(st.integers(0, 30), max_size=25).map(lambda numbers: b"".join(b"%d\n" % number for number in numbers))


def lines(content: bytes) -> list[bytes]:
    return re.findall(rb"[^\n]*\n|[^\n]+", content)


def within(ranges: tuple[tuple[int, int], ...]) -> set[int]:
    return {number for first, last in ranges for number in range(first, last + 1)}


def hunks_of_git(before: bytes, after: bytes, folder: Path) -> list[tuple[int, int]]:
    """The first line and the count of what each hunk adds."""
    (folder / "before").write_bytes(before)
    (folder / "after").write_bytes(after)
    command = ["git", "diff", "--no-index", "--text", "-U0", "--minimal", "--no-color", "before", "after"]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    found = re.findall(rb"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", done.stdout, re.MULTILINE)
    return [(int(first), int(count) if count else 1) for first, count in found]


@given(before=CONTENTS | NUMBERED, after=CONTENTS | NUMBERED)
@settings(deadline=None)
def test_what_lies_outside_of_the_ranges_stands_in_base_in_the_same_order(before: bytes, after: bytes) -> None:
    ranges = changed_lines(before, after)
    said = within(ranges)
    kept: Iterator[bytes] = iter(lines(before))
    assert all(line in kept for number, line in enumerate(lines(after), 1) if number not in said)
    bounds = [bound for row in ranges for bound in row]
    assert bounds == sorted(bounds)
    assert all(1 <= first <= last <= len(lines(after)) for first, last in ranges)
    assert all(last + 1 < first for (_, last), (first, _) in pairwise(ranges))


@given(before=CONTENTS | NUMBERED, after=CONTENTS | NUMBERED)
@settings(deadline=None, max_examples=60)
def test_git_and_we_agree_on_whether_there_are_new_lines_and_on_every_single_hunk(
    before: bytes, after: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    hunks = hunks_of_git(before, after, tmp_path_factory.mktemp("sides"))
    said = within(changed_lines(before, after))
    known = set(lines(before))
    new = {number for number, line in enumerate(lines(after), 1) if line not in known}
    assert new <= said, "a line that base has nowhere"
    assert bool(said) == any(count for _, count in hunks)
    assert len(said) >= sum(count for _, count in hunks), "git's are the fewest there can be"
    if len(hunks) == 1:
        assert len(said) == hunks[0][1]


@given(lines=st.lists(st.integers(0, 9), min_size=1, max_size=30), data=st.data())
def test_lines_that_are_only_taken_out_leave_no_range(lines: list[int], data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.booleans(), min_size=len(lines), max_size=len(lines)))
    before = b"".join(b"%d\n" % line for line in lines)
    after = b"".join(b"%d\n" % line for line, keep in zip(lines, kept, strict=True) if keep)
    assert changed_lines(before, after) == ()


@given(lines=st.sets(st.integers(), min_size=1, max_size=60), data=st.data())
def test_of_lines_that_are_all_different_exactly_the_rewritten_ones_are_told(lines: set[int], data: st.DataObject) -> None:
    rows = [b"%d\n" % line for line in lines]
    rewritten = data.draw(st.sets(st.integers(1, len(rows))))
    after = [b"new " + row if number in rewritten else row for number, row in enumerate(rows, 1)]
    assert within(changed_lines(b"".join(rows), b"".join(after))) == rewritten


def test_a_new_file_is_one_range_and_an_empty_one_has_none() -> None:
    assert changed_lines(b"", b"a\nb\nc") == ((1, 3),)
    assert changed_lines(b"", b"a\n\n") == ((1, 2),)
    assert changed_lines(b"a\n", b"") == ()


def test_a_newline_at_the_end_of_the_file_changes_its_last_line_alone() -> None:
    assert changed_lines(b"a\nb", b"a\nb\n") == ((2, 2),)
    assert changed_lines(b"a\nb\n", b"a\nb") == ((2, 2),)


def test_too_many_lines_in_between_are_one_range() -> None:
    before = b"".join(b"%d\n" % number for number in range(150_000))
    after = before.replace(b"\n10\n", b"\nten\n").replace(b"\n149990\n", b"\nmany\n")
    assert changed_lines(before, after) == ((11, 149_991),)


def test_large_files_are_walked_through_once() -> None:
    rows = [b'  "token %d": %d,\n' % (number, number) for number in range(1_500_000)]
    before = b"{\n" + b"".join(rows)
    rows[700_000] = b'  "another": 700000,\n'
    assert len(before) > 32 << 20
    assert changed_lines(before, b"{\n" + b"".join(rows)) == ((700_002, 700_002),)


CONFIG = '{\n  "model_type": "llama",\n  "eos_token_id": %s\n}\n'
TOKENIZER = '{\n  "tokenizer_class": "LlamaTokenizer",\n  "bos_token": {"content": "<s>"},\n  "eos_token": "</s>"\n}\n'


def repository(path: Path, base: dict[str, str | None], head: dict[str, str | None]) -> Comparison:
    made = GitRepository(path / "repo")
    made.commit("base", base)
    made.git("branch", "base")
    made.commit("head", head)
    made.git("branch", "head")
    return compared("git:base", "git:head", path / "exchange", repo=made.path)


def told(comparison: Comparison) -> dict[str, tuple[tuple[int, int], ...]]:
    return {each.path: each.lines for each in comparison.changed_lines}


def test_a_comparison_holds_the_changed_lines_of_every_file_that_a_new_finding_names(tmp_path: Path) -> None:
    good = TOKENIZER.replace('{"content": "<s>"}', '"<s>"')
    comparison = repository(
        tmp_path, {"tokenizer_config.json": good, "config.json": CONFIG % 2}, {"tokenizer_config.json": TOKENIZER}
    )
    assert "special-token-object-untyped" in {finding.check for finding in comparison.new}
    assert told(comparison) == {"tokenizer_config.json": ((3, 3),)}


def test_a_moved_folder_is_held_against_its_former_self(tmp_path: Path) -> None:
    good = TOKENIZER.replace('{"content": "<s>"}', '"<s>"')
    base: dict[str, str | None] = {"old/tokenizer_config.json": good, "old/config.json": CONFIG % 2}
    head: dict[str, str | None] = {
        "old/tokenizer_config.json": None,
        "old/config.json": None,
        "new/tokenizer_config.json": TOKENIZER,
        "new/config.json": CONFIG % 2,
    }
    assert told(repository(tmp_path, base, head)) == {"new/tokenizer_config.json": ((3, 3),)}


def test_a_file_of_head_alone_is_new_from_its_first_line_to_its_last(tmp_path: Path) -> None:
    comparison = repository(tmp_path, {"config.json": CONFIG % 2}, {"tokenizer_config.json": TOKENIZER})
    assert told(comparison)["tokenizer_config.json"] == ((1, 5),)


def test_a_line_of_the_readme_is_told_and_a_text_of_the_pull_request_has_none(tmp_path: Path) -> None:
    made = GitRepository(tmp_path / "repo")
    made.commit("base", {"config.json": CONFIG % 2, "README.md": "# Card\n\nText.\n"})
    made.git("branch", "base")
    lost = made.commit("a fix", {"other.txt": "x"})
    made.git("reset", "--quiet", "--hard", "base")
    made.commit(f"Take {lost}", {"README.md": f"# Card\n\nThe fix is in commit {lost}.\nText.\n", "config.json": CONFIG % 3})
    made.git("branch", "head")
    made.git("update-ref", "refs/pull/1/head", lost)
    comparison = compared("git:base", "git:head", tmp_path / "exchange", repo=made.path)
    assert "orphan-fix-commit" in {finding.check for finding in comparison.new}
    assert told(comparison)["README.md"] == ((3, 3),)
    assert all(":" not in path for path in told(comparison))


def test_nothing_is_told_of_a_link_or_of_a_file_that_was_not_read(tmp_path: Path) -> None:
    good = TOKENIZER.replace('{"content": "<s>"}', '"<s>"')
    made = GitRepository(tmp_path / "repo")
    made.commit("base", {"a/tokenizer_config.json": good, "a/config.json": CONFIG % 2})
    made.git("branch", "base")
    (made.path / "a" / "tokenizer_config.json").unlink()
    (made.path / "a" / "tokenizer_config.json").symlink_to("real.txt")
    made.commit("head", {"a/real.txt": TOKENIZER})
    made.git("branch", "head")
    comparison = compared("git:base", "git:head", tmp_path / "exchange", repo=made.path)
    assert "a/tokenizer_config.json" in {place.path for finding in comparison.new for place in finding.places}
    assert told(comparison) == {}
