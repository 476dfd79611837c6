"""The first settings file: it shows every default, and as a baseline it knows what is wrong today and nothing else."""

import datetime as dt
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.analyze.records import Comparison
from bot.errors import UsageError
from bot.init import first
from bot.run import check
from bot.settings import Settings, options, settle
from bot.settings_file import from_file
from bot.snapshot import SETTINGS
from bot.suppress import suppress
from tests.changes import write
from tests.comparisons import comparison, finding
from tests.repositories import GitRepository
from tests.test_command_line import Ended, environment

TODAY = dt.date(2026, 11, 30)
DRIFT = {"generation_config.json": {"eos_token_id": 260}, "config.json": "{"}


def program(folder: Path, *arguments: str) -> Ended:
    command = [sys.executable, "-m", "bot", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment())
    return Ended(done.returncode, done.stdout, done.stderr)


def chosen(text: str) -> Settings:
    return settle(from_file(text.encode()))


def test_a_first_file_chooses_nothing_and_shows_every_default() -> None:
    text = first((), TODAY)

    assert chosen(text) == Settings()
    shown = [line for line in text.splitlines() if re.match(r"#\w", line)]
    assert [line[1:].partition(":")[0] for line in shown] == [option.name for option in options()]
    assert chosen("\n".join(line[1:] for line in shown)) == Settings()
    assert all(option.help.split(".")[0].split(";")[0] in text.replace("\n# ", " ") for option in options())
    assert max(map(len, text.splitlines())) <= 120


def test_every_example_of_a_first_file_can_be_taken_over() -> None:
    blocks = re.findall(r"# For example:\n((?:#   .*\n)+)", first((), TODAY))

    assert len(blocks) == sum(option.example is not None for option in options()) == 3
    for block in blocks:
        assert chosen(re.sub(r"^#   ", "", block, flags=re.MULTILINE)) != Settings()


def silenced(text: str, found: Comparison) -> Comparison:
    return suppress(found, chosen(text).suppress, TODAY + dt.timedelta(days=1000))


NAMES = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8).filter(lambda name: name.strip("./") != "")


@given(st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=5, unique=True))
def test_a_baseline_silences_what_it_was_made_of_whatever_it_is_called(names: list[tuple[str, str, str]]) -> None:
    found = comparison(
        new=tuple(
            finding(folder=folder.replace("/", "_"), key=key, title=f"`{title}`") for folder, key, title in dict.fromkeys(names)
        )
    )
    text = first(found.new, TODAY)

    assert silenced(text, found).new == ()
    assert len(chosen(text).suppress) == len(found.new)
    assert first(found.new[::-1], TODAY) == text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\x85\u2028\u2029]", text)


def test_a_baseline_says_in_each_entry_why_and_since_when() -> None:
    one = finding(folder="models/a[1]", key="x", title="`a` and `b` disagree")
    (entry,) = chosen(first((one,), TODAY)).suppress

    assert entry.reason == "there before Model Repo Drift was introduced on 2026-11-30"
    assert (entry.check, entry.fingerprint, entry.folder) == (one.check, one.fingerprint, "models/a[[]1]")
    assert "  # error: a and b disagree\n" in first((one,), TODAY)
    assert silenced(first((one,), TODAY), comparison(new=(finding(folder="models/a[1]", key="y"),))).new != ()


def test_more_findings_than_a_file_can_hold_are_refused() -> None:
    many = [finding(key=str(number)) for number in range(2000)]
    with pytest.raises(
        UsageError, match=r"2000 findings would make a settings file of [\d,]+ bytes, and at most 262,144 are read"
    ):
        first(many, TODAY)


@pytest.mark.parametrize("git", [False, True], ids=["folder", "git"])
def test_what_is_wrong_today_is_silenced_and_only_more_fails(git: bool, tmp_path: Path) -> None:  # noqa: FBT001 - a parameter of a test
    folder = write(tmp_path / "repository", "chatml", {})
    write(folder / "models/a", "chatml", DRIFT)
    repository = GitRepository(folder)
    repository.commit("Add models")
    revision = "git:HEAD" if git else "."

    assert program(folder, "check", revision).status == 1
    made = program(folder, "init", "--baseline", *([revision] if git else []))
    assert (made.status, made.errors) == (0, "")
    assert made.output.endswith(
        f"{SETTINGS}, which silences what is wrong today ({len(chosen((folder / SETTINGS).read_text()).suppress)})\n"
    )
    repository.commit("Add settings")

    ended = program(folder, "check", revision)
    assert (ended.status, ended.errors) == (0, "")
    assert "0 errors, 0 warnings" in ended.output
    assert " silenced" in ended.output
    before = (folder / SETTINGS).read_text()
    assert program(folder, "init", "--baseline", "--force", *([revision] if git else [])).status == 0
    assert (folder / SETTINGS).read_text() == before

    write(folder, "chatml", DRIFT)
    repository.commit("Drift")
    assert program(folder, "check", revision).status == 1


def test_the_baseline_knows_errors_and_warnings_alone(tmp_path: Path) -> None:
    folder = write(tmp_path / "model", "chatml", {"generation_config.json": {"eos_token_id": 260}})
    found = check(str(folder), repo=tmp_path).new
    program(tmp_path, "init", "--baseline", "model")

    entries = chosen((folder / SETTINGS).read_text()).suppress
    assert sorted(entry.fingerprint for entry in entries) == sorted(each.fingerprint for each in found if each.severity != "note")
    assert {each.severity for each in found} == {"error", "warning", "note"}


def test_a_file_that_is_there_is_not_overwritten_unasked(tmp_path: Path) -> None:
    (tmp_path / ".github").mkdir()
    file = tmp_path / SETTINGS
    file.write_text("fail_on: never\n")
    (tmp_path / "link.yml").symlink_to("nowhere")

    for arguments in ((), ("--output", SETTINGS), ("--output", "link.yml"), ("--baseline",)):
        ended = program(tmp_path, "init", *arguments)
        assert ended.status == 2
        assert re.fullmatch(
            r"model-repo-drift: \S+ is there already; --force overwrites it, --output FILE writes elsewhere\n", ended.errors
        )
    assert file.read_text() == "fail_on: never\n"
    assert program(tmp_path, "init", "--output", "new/mine.yml").output == "Wrote new/mine.yml\n"
    assert chosen((tmp_path / "new/mine.yml").read_text()) == Settings()
    assert program(tmp_path, "init", "--force").status == 0
    assert file.read_text() == (tmp_path / "new/mine.yml").read_text()


def test_where_nothing_can_be_written_or_judged_it_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    GitRepository(tmp_path / "bare", "--bare")
    for arguments, status, said in (
        (("nowhere",), 3, "nowhere: there is no such folder"),
        (("file",), 3, "file is a file, but a folder with a model in it is needed"),
        (("--output", "file/x.yml"), 2, "file/x.yml: cannot be written (File exists)"),
        (("git:main", "--repo", "bare"), 2, "is a bare repository; --output FILE says where to write"),
        (("git:nope", "--baseline", "--repo", "bare", "--output", "x.yml"), 3, "has no commit yet"),
    ):
        ended = program(tmp_path, "init", *arguments)
        assert (ended.status, ended.output, ended.errors.count("\n")) == (status, "", 1)
        assert said in ended.errors


def test_without_a_revision_the_last_commit_is_the_baseline(tmp_path: Path) -> None:
    made = GitRepository(tmp_path / "clone")
    made.commit("Claim", {"config.json": '{"model_type": "llama"}', "README.md": f"Fixed in commit {'c0ffee12' * 5}.\n"})
    command = Path(sys.executable).with_name("model-repo-drift")

    done = subprocess.run([command, "init", "--baseline"], cwd=made.path, check=False, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert "orphan-fix-commit" in (made.path / SETTINGS).read_text("utf-8")


def test_a_folder_inside_of_a_clone_is_refused(tmp_path: Path) -> None:
    made = GitRepository(tmp_path / "clone")
    made.commit("Add a model", {"sub/config.json": '{"model_type": "llama"}'})
    command = Path(sys.executable).with_name("model-repo-drift")

    done = subprocess.run([command, "init"], cwd=made.path / "sub", check=False, capture_output=True, text=True)

    assert done.returncode == 2
    assert "is not the root of its clone" in done.stderr
    assert not (made.path / "sub" / ".github").exists()
