"""The demo tells the story it is there to tell."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tools import demo


@cache
def comment() -> str:
    done = subprocess.run([sys.executable, ROOT / "tools" / "demo.py"], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(markdown: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in markdown.splitlines() if line.startswith("|")
    ]


def test_the_first_line_is_the_marker() -> None:
    assert comment().splitlines()[0].startswith("<!-- model-repo-drift {")


@pytest.mark.parametrize("engine", ["transformers", "vllm", "sglang"])
def test_each_engine_says_what_it_stops_on_before_and_after(engine: str) -> None:
    told = [row for row in rows(comment()) if engine in row[0].lower()]
    assert told, f"no row about {engine}"
    text = " ".join(" ".join(row[1:]) for row in told)
    assert str(demo.EOS) in text
    assert str(demo.IM_END) in text
    assert "EOS" in text
    assert "im_end" in text


def test_a_block_names_the_two_files_that_disagree() -> None:
    headings = [line for line in comment().splitlines() if line.startswith("####")]
    assert any("tokenizer_config.json" in line and "generation_config.json" in line for line in headings), headings
    assert "eos-split-brain" in comment()


def test_the_claimed_commit_is_named_as_on_no_branch(tmp_path: Path) -> None:
    whole = demo.build(tmp_path)
    assert demo.git(tmp_path, "for-each-ref", "--format=%(refname)", "--contains", whole) == "refs/pull/31/head"
    assert "orphan-fix-commit" in comment()
    assert whole[:7] in comment()
    assert "pull/31" in comment()


def test_both_halves_are_there_and_the_same_every_time(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()
    assert demo.build(first) == demo.build(second)
    changed = demo.git(first, "diff", "--name-only", "main", "fix").splitlines()
    assert changed == ["README.md", "config.json", "generation_config.json"]
