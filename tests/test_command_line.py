"""The program as it is called: exit statuses, one-line errors, where its output goes, and that no process is left behind."""

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import bot
from bot.analyze import child
from tests.changes import write
from tests.conftest import ROOT
from tests.repositories import GitRepository

PROGRAM = (sys.executable, "-m", "bot")
ESCAPE = "\x1b["


class Ended(NamedTuple):
    """What a run left."""

    status: int
    output: str
    errors: str


def started(folder: Path, *arguments: str, **variables: str) -> Ended:
    """Run the program in a folder, and see that no process of its session is left."""
    command = [*PROGRAM, *arguments]
    running = subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=environment(**variables),
        start_new_session=True,
    )
    output, errors = running.communicate(timeout=120)
    with pytest.raises(ProcessLookupError):
        os.killpg(running.pid, 0)
    return Ended(running.returncode, output, errors)


def environment(**variables: str) -> dict[str, str]:
    """The environment of a person's shell, whatever this one holds."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "LC_ALL": "C.UTF-8", "TERM": "xterm", "PYTHONPATH": str(ROOT), **variables}


@pytest.fixture
def sides(tmp_path: Path) -> Path:
    """A folder with `base`, and `head` that stops on another token; both only say it in one file."""
    write(tmp_path / "base", "chatml", {})
    write(tmp_path / "head", "chatml", {"generation_config.json": {"eos_token_id": 260}})
    return tmp_path


USAGE = {
    "no command": ((), "the following arguments are required: COMMAND; see `model-repo-drift --help`"),
    "unknown command": (("nope",), "invalid choice: 'nope'"),
    "no sides": (
        ("compare",),
        "compare takes BASE and HEAD, each a folder, git:<revision> or hub:<repository>@<revision>, or --staged instead of them",
    ),
    "one side": (("compare", "base"), "compare takes BASE and HEAD"),
    "staged and sides": (("compare", "base", "head", "--staged"), "or --staged instead of them"),
    "three sides": (("compare", "base", "head", "more"), "unrecognized arguments: more"),
    "unknown option": (("compare", "base", "head", "--nope"), "unrecognized arguments: --nope"),
    "shortened option": (("compare", "base", "head", "--form", "json"), "unrecognized arguments: --form"),
    "option without its value": (("compare", "base", "head", "--format"), "expected one argument"),
    "unknown format": (("compare", "base", "head", "--format", "xml"), "invalid choice: 'xml'"),
    "unknown severity": (("compare", "base", "head", "--fail-on", "all"), "invalid choice: 'all'"),
    "no history file": (("compare", "base", "head", "--history", "none.json"), "none.json: there is no such history file"),
    "output into a folder": (
        ("compare", "base", "head", "--output", "base"),
        "--output base: cannot be written (Is a directory)",
    ),
    "output below nothing": (("compare", "base", "head", "--output", "no/x"), "--output no/x: cannot be written (No such file"),
    "unknown check": (("explain", "nope"), "there is no check 'nope'; `model-repo-drift explain` lists them"),
}
NOT_THERE = {
    "no base": (("compare", "nowhere", "head"), "nowhere: there is no such folder; a revision of a git repository is written"),
    "no head": (("compare", "base", "nowhere"), "nowhere: there is no such folder"),
    "no repository": (("compare", "git:a", "git:b", "--repo", "base"), "base is not in a git repository; give --repo"),
    "no revision": (("compare", "git:nope", "git:HEAD", "--repo", "clone"), "nope"),
    "a name too long for a file": (("predict", "x" * 300), "xxx cannot be looked at: File name too long"),
    "a repository with such a name": (
        ("predict", "git:HEAD", "--repo", "x" * 300),
        "xxx cannot be looked at: File name too long",
    ),
    "a name with line ends and escapes": (("compare", "a\nb\x1b[31m", "head"), "a; b\\x1b[31m: there is no such folder"),
}


def one_line(ended: Ended) -> str:
    assert ended.output == ""
    assert ended.errors.startswith("model-repo-drift: ")
    assert ended.errors.endswith("\n")
    assert ended.errors[:-1].isprintable()
    return ended.errors


@pytest.mark.parametrize("name", USAGE)
def test_wrong_usage_is_said_in_one_line_with_status_2(name: str, sides: Path) -> None:
    arguments, said = USAGE[name]
    ended = started(sides, *arguments)
    assert said in one_line(ended)
    assert ended.status == 2


@pytest.mark.parametrize("name", NOT_THERE)
def test_what_is_not_there_is_said_in_one_line_with_status_3(name: str, sides: Path) -> None:
    GitRepository(sides / "clone").commit("Begin", {"README.md": "x"})
    arguments, said = NOT_THERE[name]
    ended = started(sides, *arguments)
    assert said in one_line(ended)
    assert ended.status == 3


def test_what_breaks_is_a_fault_with_status_3(sides: Path) -> None:
    """Where no file can be written at all, not even a folder for temporary ones is found: nobody foresaw that."""
    limited = ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *PROGRAM, "compare", "base", "head"]
    ended = subprocess.run(limited, cwd=sides, capture_output=True, text=True, check=False, env=environment())
    assert ended.stdout == ""
    lines = ended.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "model-repo-drift: this is a fault in the program; nothing was judged"
    assert ended.returncode == 3


@pytest.mark.parametrize(
    ("arguments", "status"),
    [((), 1), (("--fail-on", "never"), 0), (("--fail-on", "note"), 1), (("--format", "json", "--fail-on", "never"), 0)],
    ids=str,
)
def test_findings_are_status_1(arguments: tuple[str, ...], status: int, sides: Path) -> None:
    ended = started(sides, "compare", "base", "head", *arguments)
    assert (ended.status, ended.errors) == (status, "")
    assert "eos-split-brain" in ended.output
    assert started(sides, "compare", "base", "base", *arguments).status == 0


def test_files_behind_links_out_of_the_folder_are_unread_and_not_gone(sides: Path) -> None:
    """As in a snapshot of the Hugging Face cache, whose files are links to blobs beside it."""
    shutil.copytree(sides / "base", sides / "cache" / "blobs")
    snapshot = sides / "cache" / "snapshot"
    snapshot.mkdir()
    shutil.copy(sides / "base" / "config.json", snapshot)
    for path in (sides / "base").iterdir():
        if path.name != "config.json":
            (snapshot / path.name).symlink_to(f"../blobs/{path.name}")
    compared = started(sides, "compare", "base", str(snapshot), "--prove", "never", "--format", "json", "--fail-on", "note")
    assert compared.status == 0
    answer = json.loads(compared.output)
    assert answer["new"] == []
    unread = {row["id"]: row["reason"] for row in answer["unchecked"] if row["kind"] == "file"}
    assert unread["tokenizer.json"] == "symbolic link to ../blobs/tokenizer.json, which leads out of the tree"
    predicted = started(sides, "predict", str(snapshot), "--engine", "transformers")
    assert predicted.status == 0
    assert "cannot be told: tokenizer_config.json" in predicted.output
    assert "is not there" not in predicted.output


@pytest.mark.parametrize("command", ["predict", "check", "inspect"])
def test_a_folder_of_nothing_but_links_out_of_it_is_named_with_a_cure(command: str, sides: Path) -> None:
    (sides / "snapshot").mkdir()
    (sides / "snapshot" / "config.json").symlink_to("../base/config.json")
    ended = started(sides, command, "snapshot")
    said = one_line(ended)
    assert "snapshot: no file of its model folders could be read: config.json: symbolic link to ../base/config" in said
    assert said.endswith("which leads out of the tree; `cp -RL` makes a folder that holds the files themselves\n")
    assert ended.status == 3


def test_a_commit_and_its_files_in_a_folder_are_equal(sides: Path) -> None:
    shutil.copytree(sides / "base", sides / "clone")
    GitRepository(sides / "clone").commit("Begin", {"modeling_x.py": "import os\n"})
    shutil.copy(sides / "clone" / "modeling_x.py", sides / "base")
    for pair in (("git:HEAD", "base"), ("base", "git:HEAD")):
        ended = started(sides, "compare", *pair, "--repo", "clone")
        assert ended.output.startswith("No model folder differs between the two revisions\n")
        assert ended.status == 0


def test_quiet_prints_nothing(sides: Path) -> None:
    assert started(sides, "compare", "base", "head", "--quiet") == Ended(1, "", "")
    assert started(sides, "compare", "base", "base", "-q") == Ended(0, "", "")


def test_output_goes_to_a_file(sides: Path) -> None:
    ended = started(sides, "compare", "base", "head", "--format", "json", "--output", "report.json")
    assert ended == Ended(1, "", "")
    report = json.loads((sides / "report.json").read_text("utf-8"))
    assert report == json.loads(started(sides, "compare", "base", "head", "--format", "json").output)
    assert report["new"]


def test_the_version() -> None:
    ended = started(ROOT, "--version")
    assert (ended.status, ended.errors) == (0, "")
    assert ended.output.startswith(f"{bot.__version__}\nfacts of ")


def test_help_names_every_status() -> None:
    ended = started(ROOT, "--help")
    assert (ended.status, ended.errors) == (0, "")
    for status in ("0 nothing new", "1 such findings", "2 wrong usage", "3 could not look"):
        assert status in " ".join(ended.output.split())


def unread(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run with a standard output that nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [*PROGRAM, *arguments], cwd=folder, stdout=writing, stderr=subprocess.PIPE, text=True, check=False, env=environment()
        )
    finally:
        os.close(writing)
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("arguments", [("explain",), ("explain", "eos-split-brain"), ("compare", "base", "base")], ids=str)
def test_a_closed_pipe_is_status_141(arguments: tuple[str, ...], sides: Path) -> None:
    assert unread(sides, *arguments) == (141, "")


def on_a_terminal(folder: Path, *arguments: str, **variables: str) -> str:
    """What a person sees: the output of a run whose standard output is a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([*PROGRAM, *arguments], cwd=folder, stdout=theirs, env=environment(**variables)) as running:
        os.close(theirs)
        parts: list[bytes] = []
        try:
            while part := os.read(ours, 1 << 16):
                parts.append(part)
        except OSError:  # how Linux says that the other end of a terminal was closed
            pass
        finally:
            os.close(ours)
    assert running.returncode == 1
    return b"".join(parts).decode()


def test_colours_are_for_terminals_without_no_color(sides: Path) -> None:
    colourful = on_a_terminal(sides, "compare", "base", "head")
    plain = on_a_terminal(sides, "compare", "base", "head", NO_COLOR="1")
    assert ESCAPE in colourful
    assert ESCAPE not in plain
    assert "eos-split-brain" in plain
    assert ESCAPE not in started(sides, "compare", "base", "head").output


def test_a_child_that_was_taken_is_not_dismissed() -> None:
    child.prepare(os.environ)
    taken = child.take(os.environ)
    child.dismiss()
    assert taken.poll() is None
    child.end(taken)
    assert taken.poll() is not None


def test_a_closed_standard_error_changes_no_status(tmp_path: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec {sys.executable} -m bot predict nowhere 2>&-"], cwd=tmp_path, env=environment(), check=False
    )
    assert done.returncode == 3
