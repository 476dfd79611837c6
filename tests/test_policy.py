"""Judging by a policy: folders, what checks weigh, what is known; and whose settings apply to a change."""

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.analyze.comparison import compare
from bot.analyze.model.reader import Reader
from bot.analyze.records import Comparison, Finding, SettingsChange, Severity
from bot.errors import UsageError
from bot.fetch.gather import gather
from bot.fetch.globs import chosen, fits, literal
from bot.fetch.revision import open_revision
from bot.fetch.settings import settings_in
from bot.policy import Policy, Suppression
from bot.publish.comment import comment, should_create
from bot.publish.headline import headline
from bot.publish.links import Links
from bot.publish.summary import summary
from bot.publish.text import judged, text
from bot.run import check
from bot.run import compare as run
from bot.snapshot import SETTINGS, Level
from bot.suppress import suppress
from tests import comparisons
from tests.changes import SNAPSHOTS, write
from tests.comparisons import comparison, finding
from tests.conftest import ROOT
from tests.repositories import GitRepository
from tests.test_publish_hostile import assert_inert, by_github

TODAY = dt.date(2026, 11, 30)
DRIFT = {"generation_config.json": {"eos_token_id": 260}}  # the tokenizer and the chat template stop on 262
LINKS = Links("https://github.com", "acme/kimi", comparisons.BASE_SHA, comparisons.HEAD_SHA)


# Globs


@pytest.mark.parametrize(
    ("glob", "folders", "others"),
    [
        (".", ["."], ["a", "a/b"]),
        ("models", ["models"], [".", "models/a", "a/models"]),
        ("models/*", ["models/a", "models/b c"], [".", "models", "models/a/b"]),
        ("models/**", ["models", "models/a", "models/a/b"], [".", "a/models"]),
        ("**", [".", "a", "a/b"], []),
        ("**/onnx", ["onnx", "a/onnx", "a/b/onnx"], ["onnx/a", "."]),
        ("a/**/z", ["a/z", "a/b/z", "a/b/c/z"], ["a", "z", "b/a/z"]),
        ("*", ["a"], [".", "a/b"]),
        ("model-?", ["model-1"], ["model-10", "model-"]),
        ("model-[12]", ["model-1"], ["model-3"]),
        ("./models/", ["models"], ["."]),
    ],
)
def test_a_glob_means_folders(glob: str, folders: list[str], others: list[str]) -> None:
    assert [folder for folder in [*folders, *others] if fits(folder, glob)] == folders


@pytest.mark.parametrize(
    ("globs", "folders"),
    [
        ((), [".", "models/a", "models/old", "other"]),
        (("models/*", "!models/old"), ["models/a"]),
        (("!models/old", "models/*"), ["models/a"]),
        (("!models/*",), [".", "other"]),
        ((".",), ["."]),
        (("nothing",), []),
    ],
)
def test_folders_are_those_of_some_glob_and_of_no_exclusion(globs: tuple[str, ...], folders: list[str]) -> None:
    assert [folder for folder in (".", "models/a", "models/old", "other") if chosen(folder, globs)] == folders


NAMES = st.text("ab*?[]!-.^ ", min_size=1, max_size=5).filter(lambda name: name not in (".", ".."))
FOLDERS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)


@given(FOLDERS, FOLDERS)
def test_a_literal_glob_fits_its_folder_alone(folder: str, other: str) -> None:
    assert fits(folder, literal(folder))
    assert fits(other, literal(folder)) is (other == folder)


# Known findings

SEVERITIES: st.SearchStrategy[Severity] = st.sampled_from(("error", "warning", "note"))
CHECKS = st.sampled_from(("eos-split-brain", "invalid-json", "lfs-pointer"))
PLACED = st.sampled_from((".", "models/a", "models/b"))
KEYS = st.sampled_from(("eos_token", "config.json"))


@st.composite
def found(draw: st.DrawFn) -> Comparison:
    """A comparison of a few findings, none of them twice."""
    names = draw(st.lists(st.tuples(CHECKS, PLACED, KEYS), unique=True, max_size=10))
    lists: dict[str, list[Finding]] = {"new": [], "resolved": [], "unchanged": []}
    for check_, folder, key in names:
        each = finding(check=check_, folder=folder, key=key, severity=draw(SEVERITIES))
        lists[draw(st.sampled_from(sorted(lists)))].append(each)
    return comparison(**{name: tuple(each) for name, each in lists.items()})


@st.composite
def known(draw: st.DrawFn) -> Suppression:
    """An entry that may fit some of them."""
    fields: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {"check": CHECKS},
            optional={"folder": st.sampled_from((".", "models/*", "**", "models/a", "x")), "key": KEYS},
        )
        | st.fixed_dictionaries(
            {
                "fingerprint": st.builds(
                    lambda *each: finding(**dict(zip(("check", "folder", "key"), each, strict=True))).fingerprint,
                    CHECKS,
                    PLACED,
                    KEYS,
                )
            }
        )
    )
    expires = draw(st.none() | st.integers(-2, 2).map(lambda days: TODAY + dt.timedelta(days=days)))
    return Suppression(**fields, reason=draw(st.sampled_from(("known", "known, `x`"))), expires=expires)


ENTRIES = st.lists(known(), max_size=5)


def silence(given_: Comparison, *entries: Suppression, today: dt.date = TODAY) -> Comparison:
    return suppress(given_, entries, today)


def fingerprints(*lists: tuple[Finding, ...]) -> list[str]:
    return sorted(each.fingerprint for group in lists for each in group)


@given(found(), ENTRIES)
def test_no_finding_is_lost_or_doubled_and_the_counts_are_those_of_the_lists(
    before: Comparison, entries: list[Suppression]
) -> None:
    after = silence(before, *entries)

    assert fingerprints(after.new, after.unchanged, after.suppressed) == fingerprints(before.new, before.unchanged)
    assert after.resolved == before.resolved
    assert (after.predictions, after.prompts, after.unchecked) == (before.predictions, before.prompts, before.unchecked)
    assert (
        after.verdict
        == comparison(new=after.new, resolved=after.resolved, unchanged=after.unchanged, suppressed=after.suppressed).verdict
    )
    assert {each.fingerprint for each in after.new} <= {each.fingerprint for each in before.new}


@given(found(), ENTRIES)
def test_what_is_silenced_once_is_not_silenced_again(before: Comparison, entries: list[Suppression]) -> None:
    once = silence(before, *entries)
    assert silence(once, *entries) == once


@given(found(), ENTRIES)
def test_an_entry_holds_through_its_last_day_and_then_says_so(before: Comparison, entries: list[Suppression]) -> None:
    after = silence(before, *entries)
    lasting = [entry for entry in entries if entry.expires is None or entry.expires >= TODAY]
    assert silence(before, *lasting).suppressed == after.suppressed
    for each in (*after.new, *after.unchanged):
        expired = [
            entry
            for entry in entries
            if entry not in lasting and silence(comparison(new=(each,)), msgspec.structs.replace(entry, expires=None)).suppressed
        ]
        assert bool(expired) is (": known" in each.detail)


@given(found(), ENTRIES)
def test_a_revision_compared_with_itself_has_nothing_new_whatever_is_known(same: Comparison, entries: list[Suppression]) -> None:
    nothing_new = comparison(unchanged=same.unchanged)
    assert silence(nothing_new, *entries).new == ()


def test_an_expired_entry_is_told_with_its_reason() -> None:
    entry = Suppression(check="eos-split-brain", reason="vendor fixes it", expires=dt.date(2026, 11, 1))
    (each,) = silence(comparison(new=(finding(detail="Engines differ."),)), entry).new
    assert each.detail == "Engines differ. Silenced until 2026-11-01: vendor fixes it"
    assert silence(comparison(new=(finding(),)), entry, today=dt.date(2026, 11, 1)).new == ()


@pytest.mark.parametrize(
    "entry",
    [
        Suppression(check="invalid-json", reason="known"),
        Suppression(check="eos-split-brain", folder="models/*", reason="known"),
        Suppression(check="eos-split-brain", key="bos_token", reason="known"),
        Suppression(check="eos-split-brain", fingerprint="0" * 16, reason="known"),
    ],
)
def test_everything_that_an_entry_names_has_to_apply(entry: Suppression) -> None:
    given_ = comparison(new=(finding(),))
    assert silence(given_, entry) == given_


def test_a_known_finding_creates_no_comment_and_no_headline() -> None:
    after = silence(
        comparisons.kimi_half_fix(), *(Suppression(check=each.check, reason="known") for each in comparisons.kimi_half_fix().new)
    )
    assert after.new == ()
    assert after.predictions == comparisons.kimi_half_fix().predictions
    alone = silence(comparison(new=(finding(),)), Suppression(check="eos-split-brain", reason="known @octocat"))
    assert not should_create(alone)
    assert headline(alone) == "Nothing new goes wrong with this pull request"
    assert "1 silenced by settings" in summary(alone, LINKS)
    assert "silenced by base: eos-split-brain a.json and b.json disagree (a.json:3 eos_token_id): known" in text(
        alone, color=False, width=200, verbose=True
    )
    assert "silenced by settings: eos-split-brain" in judged(alone, color=False, width=200, verbose=True)
    assert "· 1 silenced · 0 not checked" in judged(alone, color=False, width=200)


# Severities and folders


def judged_by(
    base: Path, head: Path, work: Path, *, severity: dict[str, Level] | None = None, folders: tuple[str, ...] = ()
) -> Comparison:
    """The comparison of two folders in this process, without the jail."""
    exchange = gather(work, base=str(base), head=str(head), repo=base, severity=severity, folders=folders)
    return compare(exchange, Reader.of_folder(work / "contents"))


@pytest.fixture
def drift(tmp_path: Path) -> tuple[Path, Path]:
    """A folder, and one in which files disagree on the end of a reply."""
    return write(tmp_path / "base", "chatml", {}), write(tmp_path / "head", "chatml", DRIFT)


@pytest.mark.parametrize("level", ["error", "warning", "note"])
def test_a_check_weighs_what_the_policy_says(level: Level, drift: tuple[Path, Path], tmp_path: Path) -> None:
    weighed = judged_by(*drift, tmp_path / "work", severity={"eos-split-brain": level})
    plain = judged_by(*drift, tmp_path / "plain")

    assert {each.severity for each in weighed.new if each.check == "eos-split-brain"} == {level}
    assert getattr(weighed.verdict.new, level) == sum(each.severity == level for each in weighed.new)
    assert fingerprints(weighed.new) == fingerprints(plain.new)


def test_a_check_that_is_off_does_not_run_and_is_not_among_those_that_judged(drift: tuple[Path, Path], tmp_path: Path) -> None:
    off = judged_by(*drift, tmp_path / "off", severity={"eos-split-brain": "off", "turn-end-not-in-eos": "off"})
    plain = judged_by(*drift, tmp_path / "plain")

    gone = {"eos-split-brain", "turn-end-not-in-eos"}
    assert gone <= {each.check for each in plain.new}
    assert off.new == tuple(each for each in plain.new if each.check not in gone)
    assert set(plain.modelled.checks) - set(off.modelled.checks) == gone
    assert not any(row.kind == "check" and row.id in gone for row in off.unchecked)
    assert off.predictions == plain.predictions


@pytest.mark.parametrize("level", ["error", "warning", "note", "off"])
def test_a_policy_makes_nothing_new_of_what_stays_the_same(level: Level, drift: tuple[Path, Path], tmp_path: Path) -> None:
    write(drift[0], "chatml", {**DRIFT, "README.md": "before"})
    write(drift[1], "chatml", {**DRIFT, "README.md": "after"})
    same = judged_by(*drift, tmp_path / "work", severity={"eos-split-brain": level})
    assert (same.new, same.resolved) == ((), ())


@pytest.fixture
def several(tmp_path: Path) -> tuple[Path, Path]:
    """Two repositories with models in the root, in models/a and in models/a/old; in head all of them drift."""
    for side, changes in (("base", {}), ("head", DRIFT)):
        for folder in (".", "models/a", "models/a/old"):
            write(tmp_path / side / folder, "chatml", changes)
    return tmp_path / "base", tmp_path / "head"


@pytest.mark.parametrize(
    ("folders", "judged_", "left"),
    [
        ((), (".", "models/a", "models/a/old"), 0),
        (("models/**",), ("models/a", "models/a/old"), 1),
        (("**", "!models/a/old"), (".", "models/a"), 1),
        ((".",), (".",), 2),
        (("none",), (), 3),
    ],
)
def test_only_the_folders_of_the_policy_are_judged_and_the_others_are_counted(
    folders: tuple[str, ...], judged_: tuple[str, ...], left: int, several: tuple[Path, Path], tmp_path: Path
) -> None:
    compared = judged_by(*several, tmp_path / "work", folders=folders)

    assert tuple(each.folder for each in compared.models) == judged_
    assert {each.folder for each in compared.new} == set(judged_)
    assert (compared.base.left_out, compared.head.left_out) == (left, left)
    assert {row.folder for row in compared.unchecked} <= {".", *judged_}
    counted = f"{left} folder{'' if left == 1 else 's'} left out by settings"
    for view in (summary(compared, LINKS), text(compared, color=False, width=200), comment(compared, links=LINKS)):
        assert (counted in view) is (left > 0)


def test_a_model_below_a_chosen_one_does_not_become_part_of_it_when_it_is_left_out(
    several: tuple[Path, Path], tmp_path: Path
) -> None:
    for side in several:
        (side / "models/a/old/modeling_x.py").write_text(f"# {side.name}")
    exchange = gather(tmp_path / "work", base=str(several[0]), head=str(several[1]), repo=tmp_path, folders=("models/a",))
    assert [file.path for file in exchange.head.files if "old" in file.path] == []


def test_where_nothing_is_judged_nobody_says_that_all_is_well(several: tuple[Path, Path], tmp_path: Path) -> None:
    compared = judged_by(*several, tmp_path / "work", folders=("none",))
    assert headline(compared) == "No model folder that the settings name differs between the two revisions"
    alone = check(str(several[1]), repo=tmp_path, policy=Policy(folders=("none",)))
    assert "There is no model folder among those that the settings name" in judged(alone, color=False)


def test_folders_that_stay_the_same_are_not_said_to_be_left_out(several: tuple[Path, Path], tmp_path: Path) -> None:
    assert judged_by(several[0], several[0], tmp_path / "work", folders=(".",)).head.left_out == 0


def test_the_policy_holds_in_a_run(drift: tuple[Path, Path], tmp_path: Path) -> None:
    policy = Policy(
        severity={"turn-end-not-in-eos": "note", "config-generation-eos-disagree": "off"},
        suppress=(Suppression(check="eos-split-brain", reason="known", expires=TODAY),),
    )
    compared = run(base=str(drift[0]), head=str(drift[1]), repo=tmp_path, policy=policy, today=TODAY)
    alone = check(str(drift[1]), repo=tmp_path, policy=policy, today=TODAY)

    for each in (compared, alone):
        assert [(one.check, one.severity) for one in each.new if one.check != "unrelated" and one.severity != "note"] == []
        assert [(one.check, one.reason) for one in each.suppressed] == [("eos-split-brain", "known")]
        assert each.verdict.suppressed == 1
    later = run(base=str(drift[0]), head=str(drift[1]), repo=tmp_path, policy=policy, today=TODAY + dt.timedelta(days=1))
    assert later.verdict.new.error == 1


# Whose settings apply


class Ended(msgspec.Struct):
    """What a run left."""

    status: int
    output: str
    errors: str


def program(folder: Path, *arguments: str) -> Ended:
    done = subprocess.run(
        [sys.executable, "-m", "bot", *arguments], cwd=folder, capture_output=True, text=True, check=False, env=_environment()
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def _environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}


@pytest.fixture
def clone(tmp_path: Path) -> GitRepository:
    """A repository whose main has strict settings, and a branch that drifts and silences it."""
    repository = GitRepository(tmp_path / "clone")
    files = {path.name: path.read_bytes() for path in (SNAPSHOTS / "chatml").iterdir()}
    repository.commit("Add a model", {**files, SETTINGS: "fail_on: warning\n"})
    repository.git("checkout", "--quiet", "-b", "fix")
    silence_ = "fail_on: never\nseverity: {eos-split-brain: off}\nfolders: [none]\n"
    repository.commit("Drift", {"generation_config.json": '{"eos_token_id": 260}', SETTINGS: silence_})
    return repository


def test_a_change_is_judged_by_the_settings_of_base(clone: GitRepository) -> None:
    ended = program(clone.path, "compare", "git:main", "git:fix", "--format", "markdown", "--severity", "eos-split-brain=note")

    assert ended.status == 1  # fail_on: warning of base, and there is a warning
    assert f"This pull request changes `{SETTINGS}`; what it says applies once it is merged." in ended.output
    assert "Runs will stop" not in ended.output


def test_the_settings_are_those_of_the_branch_as_it_is_now_and_not_of_the_merge_base(clone: GitRepository) -> None:
    clone.git("checkout", "--quiet", "main")
    clone.commit("Loosen", {SETTINGS: "fail_on: never\n"})

    ended = program(clone.path, "compare", "git:main", "git:fix", "--format", "markdown")
    assert (ended.status, ended.errors) == (0, "")
    assert "1 error, 2 warnings" in ended.output
    assert program(clone.path, "compare", "git:main~1", "git:fix").status == 1


def test_what_is_staged_is_judged_by_the_settings_of_the_last_commit(clone: GitRepository) -> None:
    clone.git("checkout", "--quiet", "main")
    clone.write({"generation_config.json": '{"eos_token_id": 260}', SETTINGS: "fail_on: never"})
    clone.git("add", "--all")
    assert program(clone.path, "compare", "--staged", "--severity", "eos-split-brain=off").status == 1


def test_folders_bring_their_settings_and_one_file_may_stand_for_them(drift: tuple[Path, Path], tmp_path: Path) -> None:
    write(drift[0], "chatml", {SETTINGS: "fail_on: never\n"})
    write(drift[1], "chatml", {**DRIFT, SETTINGS: "fail_on: errors\n"})
    (tmp_path / "mine.yml").write_text("fail_on: warning\nseverity: {eos-split-brain: off}\n")

    ended = program(tmp_path, "compare", "base", "head")
    assert ended.status == 0
    assert "Runs will stop then: .github/model-repo-drift.yml:1: fail_on = 'errors' is not legal" in " ".join(
        ended.output.split()
    )
    assert program(tmp_path, "compare", "base", "head", "--fail-on", "error").status == 1
    assert program(tmp_path, "compare", "base", "head", "--settings", "mine.yml").status == 1
    assert program(tmp_path, "compare", "base", "head", "--settings", "mine.yml", "--fail-on", "error").status == 0
    refused = program(tmp_path, "check", "head")
    assert refused.status == 2
    assert refused.errors.startswith(f"model-repo-drift: head/{SETTINGS}:1: fail_on = 'errors' is not legal")
    assert program(tmp_path, "check", "head", "--settings", "mine.yml", "--fail-on", "error").status == 0


def test_a_folder_compared_with_a_commit_is_told_apart_by_its_files_and_not_by_how_they_were_listed(clone: GitRepository) -> None:
    clone.git("checkout", "--quiet", "main")
    for pair in (("git:main", "."), (".", "git:main")):
        ended = program(clone.path, "compare", *pair)
        assert (ended.status, ended.output.splitlines()[0]) == (0, "No model folder differs between the two revisions")


LINK = {"<link>": "x"}
BESIDE = {".github/x": "fail_on: never"}


def test_what_is_no_plain_file_of_settings_is_refused_with_its_cure(tmp_path: Path) -> None:
    folder = write(tmp_path / "model", "chatml", {**BESIDE, SETTINGS: LINK})
    with pytest.raises(UsageError, match="is a symlink and no plain file; a plain file is needed"):
        settings_in(open_revision(str(folder), tmp_path))
    write(tmp_path / "other", "chatml", {".github/model-repo-drift.yaml": "fail_on: never"})
    with pytest.raises(UsageError, match=r"\.yaml of .* is not read; call it \.github/model-repo-drift\.yml"):
        settings_in(open_revision(str(tmp_path / "other"), tmp_path))
    write(tmp_path / "large", "chatml", {SETTINGS: "#" * 300_000})
    with pytest.raises(UsageError, match="has 300,000 bytes; a plain file is needed, of at most 262,144 bytes"):
        settings_in(open_revision(str(tmp_path / "large"), tmp_path))
    assert settings_in(open_revision(str(write(tmp_path / "none", "chatml", {})), tmp_path)) is None


@pytest.mark.parametrize(
    ("base", "head", "change", "error"),
    [
        ({}, {}, None, ""),
        ({SETTINGS: "a"}, {SETTINGS: "a"}, None, ""),
        ({SETTINGS: f"#{'a' * 2000}"}, {SETTINGS: f"#{'a' * 2000}"}, None, ""),
        ({SETTINGS: f"#{'a' * 2000}"}, {SETTINGS: f"#{'b' * 2000}"}, "changed", ""),
        ({}, {SETTINGS: "fail_on: never"}, "added", ""),
        ({SETTINGS: "fail_on: never"}, {}, "removed", ""),
        ({}, {SETTINGS: "fail_on: x"}, "added", f"{SETTINGS}:1: fail_on = 'x' is not legal; legal: error, warning"),
        ({}, {SETTINGS: "engines: [vlm]"}, "added", "vlm"),
        ({SETTINGS: "a"}, {**BESIDE, SETTINGS: LINK}, "changed", f"{SETTINGS}: is a symlink and no plain file"),
        ({SETTINGS: "a"}, {SETTINGS: "#" * 300_000}, "changed", f"{SETTINGS}: has 300,000 bytes"),
        ({}, {SETTINGS: "[" * 1000}, "added", f"{SETTINGS}:1: is nested more than 12 deep"),
    ],
)
def test_what_head_does_to_the_settings_is_told(
    base: dict[str, Any], head: dict[str, Any], change: str | None, error: str, tmp_path: Path
) -> None:
    before, after = write(tmp_path / "base", "chatml", base), write(tmp_path / "head", "chatml", head)
    told = run(base=str(before), head=str(after), repo=tmp_path, prove="never").settings_changed

    assert (told.change if told else None) == change
    if told is not None:
        assert error in told.error
        assert bool(told.error) is bool(error)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (SettingsChange(change="added"), f"adds `{SETTINGS}`; what it says applies once it is merged."),
        (SettingsChange(change="removed"), f"removes `{SETTINGS}`, which applies until it is merged."),
        (
            SettingsChange(change="changed", error=f"{SETTINGS}:2: unknown setting 'x'"),
            f"changes `{SETTINGS}`; what it says applies once it is merged. Runs will stop then: `{SETTINGS}:2`: unknown setting 'x'",
        ),
    ],
)
def test_every_view_says_what_becomes_of_the_settings_and_no_comment_is_made_for_it(change: SettingsChange, said: str) -> None:
    given_ = comparison(settings_changed=change)
    assert not should_create(given_)
    assert f"This pull request {said}" in summary(given_, LINKS)
    assert f"This pull request {said}" in comment(comparison(settings_changed=change, new=(finding(),)), links=LINKS)
    assert f"The new revision {said}".replace("`", "") in text(given_, color=False, width=300)


HOSTILE = (
    "\n::error::x",
    "a `b` <img src=x> @octocat #1 [x](http://x)",
    "```\n<!--",
    "x" * 10_000,
    "\u202e\x1b[31m",
    "| a | b |",
)


@pytest.mark.parametrize("words", HOSTILE)
def test_an_error_of_heads_settings_means_nothing_on_github(words: str) -> None:
    plain, shown = (
        by_github(summary(comparison(settings_changed=SettingsChange(change="changed", error=f"{SETTINGS}:1: {each}")), LINKS))
        for each in ("word", words)
    )
    assert_inert(shown)
    assert [tag for tag in shown.skeleton if tag != "br"] == [tag for tag in plain.skeleton if tag != "br"]
    assert "\x1b" not in text(comparison(settings_changed=SettingsChange(change="changed", error=words)), color=False)


def test_a_glob_that_fits_no_model_folder_is_not_taken_for_a_clean_bill(several: tuple[Path, Path], tmp_path: Path) -> None:
    compared = judged_by(*several, tmp_path / "work", folders=("modles/*", "models/a", "!nothing"))
    assert [(each.id, each.changed) for each in compared.unchecked if "no model folder fits" in each.reason] == [
        ("modles/*", False)
    ]
    assert not should_create(judged_by(several[0], several[0], tmp_path / "other", folders=("modles/*",)))
