"""Diffs that repair a finding: git applies them, the finding is gone, and no other one comes."""

import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.analyze.checks.check import checks
from bot.analyze.model.edits import Add, Change, Put, Rename, Take, diff
from bot.analyze.model.folder import Model
from bot.analyze.patch import Edit, unified
from bot.analyze.records import SEVERITIES, Comparison, Finding
from bot.snapshot import File
from tests.changes import CASES, Case, cases, compared, write
from tests.conftest import SHARED, present
from tests.models import model
from tests.repositories import environment

PATCHING = {check.id for check in checks() if check.patch is not None}
FILES = sorted(CASES.glob("*.toml"))
OF_SHARED = sorted(p.parent for p in (SHARED / "cases").glob("*/expect.json")) if present("shared") else []


def apply(patch: str, folder: Path) -> None:
    """Let git apply a patch to the files of a folder."""
    done = subprocess.run(
        ["git", "apply", "--whitespace=error-all", "-"],
        cwd=folder,
        input=patch.encode(),
        env=environment() | {"GIT_CEILING_DIRECTORIES": str(folder.parent)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode() + patch


# What a patch given with a finding is worth.


def weight(finding: Finding) -> int:
    return SEVERITIES.index(finding.severity)


def patched(comparison: Comparison) -> list[Finding]:
    return [finding for finding in comparison.new if finding.fix is not None and finding.fix.patch]


def faults(base: Path, head: Path, work: Path, history: Path | None = None) -> tuple[list[str], list[str]]:
    """The checks whose findings come with a patch, and what is wrong with those patches, each applied to head by itself."""
    comparison = compared(base, head, work / "exchange", history=history)
    assert [row.reason for row in comparison.unchecked if " broke: " in row.reason] == []
    told = {finding.fingerprint: weight(finding) for finding in (*comparison.new, *comparison.unchanged)}
    wrong: list[str] = []
    for number, finding in enumerate(patched(comparison)):
        repaired = work / f"repaired-{number}"
        shutil.copytree(head, repaired, symlinks=True)
        apply(finding.fix.patch if finding.fix else "", repaired)
        again = compared(base, repaired, work / f"exchange-{number}", history=history)
        for other in again.new:
            if other.fingerprint == finding.fingerprint:
                wrong.append(f"{finding.title}: still there")
            elif weight(other) < told.get(other.fingerprint, len(SEVERITIES)):
                wrong.append(f"{finding.title}: brings {other.title}")
    return [finding.check for finding in patched(comparison)], wrong


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_patch_repairs_its_finding_and_brings_no_other(file: Path, tmp_path: Path) -> None:
    repaired: list[str] = []
    for number, case in enumerate(case for case in cases(file) if case.expect == "fires" and not case.git):
        work = tmp_path / str(number)
        base, head = (write(work / side, case.snapshot, changes) for side, changes in sides(case))
        found, wrong = faults(base, head, work)
        assert wrong == [], case.name
        repaired += found
    check = file.stem.replace("_", "-")
    assert (check in repaired) == (check in PATCHING)


def sides(case: Case) -> Iterable[tuple[str, Mapping[str, Any]]]:
    return ("base", case.base), ("head", case.head)


@pytest.mark.needs("shared")
@pytest.mark.parametrize("case", OF_SHARED, ids=lambda case: case.name)
def test_every_patch_of_a_shared_case_repairs_its_finding_and_brings_no_other(case: Path, tmp_path: Path) -> None:
    history = case / "refs.json"
    _, wrong = faults(case / "base", case / "head", tmp_path, history if history.exists() else None)
    assert wrong == []


@pytest.mark.needs("shared")
def test_the_half_fix_of_kimi_gets_its_other_half(tmp_path: Path) -> None:
    case = SHARED / "cases" / "kimi-k26-half-fix"
    (finding,) = patched(compared(case / "base", case / "head", tmp_path))
    assert finding.fix is not None
    assert [line for line in finding.fix.patch.splitlines() if line[0] in "+-"] == [
        "--- a/tokenizer_config.json",
        "+++ b/tokenizer_config.json",
        '-  "eos_token": "[EOS]",',
        '+  "eos_token": "<|im_end|>",',
    ]


def test_what_was_there_before_and_what_is_resolved_come_without_a_patch(tmp_path: Path) -> None:
    rope = {"config.json": {"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}}}
    plain, scaled = write(tmp_path / "plain", "chatml", {}), write(tmp_path / "scaled", "chatml", rope)
    other = write(tmp_path / "other", "chatml", {**rope, "README.md": "x"})
    for number, (base, head, given_) in enumerate(((plain, scaled, 1), (scaled, plain, 0), (scaled, other, 0))):
        comparison = compared(base, head, tmp_path / str(number))
        every = [
            f for f in (*comparison.new, *comparison.resolved, *comparison.unchanged) if f.check == "rope-scaling-legacy-key"
        ]
        assert len(every) == 1
        assert len([f for f in every if f.fix is not None and f.fix.patch]) == given_


def test_a_patch_is_for_the_files_of_head_where_a_folder_moved(tmp_path: Path) -> None:
    base, head = tmp_path / "base", tmp_path / "head"
    write(base / "old", "chatml", {})
    cut = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
    write(head / "new name", "chatml", {"tokenizer.json": {"truncation": cut}})
    (finding,) = patched(compared(base, head, tmp_path / "exchange"))
    assert finding.fix is not None
    apply(finding.fix.patch, head)
    assert json.loads((head / "new name" / "tokenizer.json").read_bytes())["truncation"] is None


# How a value is changed in a text.

LEAVES = st.none() | st.booleans() | st.integers(-5, 300_000) | st.sampled_from(["", "a", "é", '"\\\n', "<|im_end|>", "a/b~c"])
NAMES = st.sampled_from(["a", "b", "c", "eos_token_id", "a/b", "~", "é", ""])
VALUES: Any = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=12
)
OBJECTS = st.dictionaries(NAMES, VALUES, min_size=1, max_size=5)
STYLES: Any = st.sampled_from(
    [
        {"indent": 2},
        {"indent": 4},
        {"indent": "\t"},
        {"indent": 1},
        {},
        {"separators": (",", ":")},
        {"indent": 2, "ensure_ascii": False},
    ]
)


def escaped(key: object) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


def pointers(value: Any, above: str = "") -> list[tuple[str, Any, Any]]:
    """Every value inside another one, as (pointer, what holds it, its key)."""
    rows: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        rows = list(cast("dict[str, Any]", value).items())
    elif isinstance(value, list):
        rows = list(enumerate(cast("list[Any]", value)))
    found: list[tuple[str, Any, Any]] = []
    for key, inner in rows:
        pointer = f"{above}/{escaped(key)}"
        found += [(pointer, value, key), *pointers(inner, pointer)]
    return found


def applied(text: str, changes: Sequence[Change], folder: Path, name: str = "x.json") -> str:
    """The text after git has applied the diff of the changes."""
    (folder / name).write_bytes(text.encode())
    patch = diff(model({name: text}), {name: changes})
    assert patch
    apply(patch, folder)
    return (folder / name).read_bytes().decode()


@given(value=OBJECTS, style=STYLES, end=st.sampled_from(["", "\n"]), data=st.data())
@settings(deadline=None, max_examples=150)
def test_a_change_is_made_and_nothing_else_is(
    value: dict[str, Any], style: dict[str, Any], end: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = json.dumps(value, **style) + end
    pointer, holder, key = data.draw(st.sampled_from(pointers(value)))
    old, empty = holder[key], holder[key] in ({}, [])
    new = data.draw(LEAVES)
    change: Change
    match data.draw(st.sampled_from(["put", "further", "take", "add", "new"])):
        case "put":
            change = Put(pointer, new)
            holder[key] = new
        case "further" if isinstance(old, dict):
            change = Put(f"{pointer}/further", new)
            old["further"] = new
        case "take":
            change = Take(pointer)
            del holder[key]
        case "add" if not isinstance(old, dict):
            change = Add(pointer, (new, 7))
            holder[key] = [*([] if old is None else old if isinstance(old, list) else [old]), new, 7]
        case _:
            change = Put("/further", new)
            value["further"] = new
    if diff(model({"x.json": text}), {"x.json": [change]}) == "":
        assert json.loads(text) == value, "there is nothing to change"
        return
    after = applied(text, [change], tmp_path_factory.mktemp("side"))
    assert json.loads(after) == value
    if not isinstance(change, Add) and not empty and not (isinstance(change, Take) and not holder):
        assert json.dumps(json.loads(after), **style) + end == after, "in the style of the file"


def test_a_key_is_added_beside_another_one(tmp_path: Path) -> None:
    text = '{\n  "rope": {\n    "type": "yarn",\n    "factor": 4.0\n  }\n}\n'
    after = applied(text, [Put("/rope/rope_type", "yarn", beside="type")], tmp_path)
    assert after == text.replace('"type": "yarn",', '"type": "yarn",\n    "rope_type": "yarn",')


def test_a_key_gets_another_name_in_its_place(tmp_path: Path) -> None:
    text = '{"a": 1,\n "b": [2]}'
    assert applied(text, [Rename("/b", "c")], tmp_path) == '{"a": 1,\n "c": [2]}'


def test_an_object_is_written_over_several_lines_where_the_file_is(tmp_path: Path) -> None:
    value = {"a": {"b": {"bits": 4, "groups": [1]}}, "c": None}
    styles: list[dict[str, Any]] = [{"indent": 2}, {"indent": 4}, {"indent": "\t"}, {}]
    for style in styles:
        text = json.dumps({"c": None, "a": {"z": 1}}, **style)
        after = applied(text, [Put("/a/b", value["a"])], tmp_path)
        assert after == json.dumps({"c": None, "a": {"z": 1, "b": value["a"]}}, **style)


def test_lines_that_end_as_on_windows_stay_so(tmp_path: Path) -> None:
    text = '{\r\n  "list": [\r\n    1\r\n  ],\r\n  "b": 1\r\n}\r\n'
    (tmp_path / "x.json").write_bytes(text.encode())
    patch = diff(model({"x.json": text}), {"x.json": [Add("/list", (2,)), Put("/c", {"d": 1})]})
    done = subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=patch.encode(), env=environment(), check=False)
    assert done.returncode == 0
    expected = '{\r\n  "list": [\r\n    1,\r\n    2\r\n  ],\r\n  "b": 1,\r\n  "c": {\r\n    "d": 1\r\n  }\r\n}\r\n'
    assert (tmp_path / "x.json").read_bytes() == expected.encode()


@pytest.mark.parametrize("name", ["x.json", "a folder/x.json", "ünï/x.json", "a'b/x.json", "a\\b.json", 'a"b.json', "a\tb.json"])
def test_git_finds_the_file_by_any_name_that_a_patch_is_given_for(name: str, tmp_path: Path) -> None:
    text = '{\n  "a": 1\n}\n'
    patch = diff(model({name: text}), {name: [Put("/a", 2)]})
    assert bool(patch) == (not set(name) & {"\\", '"', "\t"})
    (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
    (tmp_path / name).write_bytes(text.encode())
    if patch:
        apply(patch, tmp_path)
        assert json.loads((tmp_path / name).read_bytes()) == {"a": 2}


def test_files_and_places_far_apart_are_changed_by_one_patch(tmp_path: Path) -> None:
    text = json.dumps({f"key {number}": number for number in range(40)}, indent=2)
    patch = diff(
        model({"a.json": text, "b.json": text}),
        {"a.json": [Put("/key 1", None), Put("/key 38", [1])], "b.json": [Take("/key 39")]},
    )
    assert patch.count("\n@@ ") == 3
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(text, "utf-8")
    apply(patch, tmp_path)
    after = [json.loads((tmp_path / name).read_bytes()) for name in ("a.json", "b.json")]
    assert after[0] == json.loads(text) | {"key 1": None, "key 38": [1]}
    assert "key 39" not in after[1]


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ('{"a": 1, "a": 2}', Put("/a", 3)),
        ('{"a": {"b": 1}, "a": {"b": 1}}', Put("/a/b", 3)),
        ('{"a": 1', Put("/a", 3)),
        ("", Put("/a", 3)),
        ("[1]", Put("/a", 3)),
        ("3", Put("/a", 3)),
        ('\ufeff{"a": 1}', Put("/a", 3)),
        ('{"a": {}}', Add("/a", (1,))),
        ('{"a": 1}', Take("/b")),
        ('{"a": 1, "b": 1}', Rename("/a", "b")),
        ('{"a": 1}', Put("/b/c", 3)),
        ('{"a": 1}', Put("/a", 1)),
        ("[" * 100_000, Put("/0", 1)),
    ],
)
def test_no_patch_is_given_for_what_cannot_be_changed_for_certain(text: str, change: Change) -> None:
    assert diff(model({"x.json": text}), {"x.json": [change]}) == ""


def test_no_patch_is_given_for_a_line_that_nobody_reads_or_for_one_of_two_files() -> None:
    long = json.dumps({"a": 1, "text": "x" * 400})
    assert diff(model({"x.json": long}), {"x.json": [Put("/a", 2)]}) == ""
    assert diff(model({"x.json": json.dumps({"a": 1, "text": "x" * 400}, indent=1)}), {"x.json": [Put("/a", 2)]}) != ""
    assert diff(model({"x.json": '{"a": 1}'}), {"x.json": [Put("/a", 2)], "y.json": [Put("/a", 2)]}) == ""


def test_no_patch_is_given_for_a_link_or_a_file_that_is_elsewhere() -> None:
    plain = model({"x.json": '{"a": 1}'})
    entry = plain.files["x.json"]
    linked = File("x.json", kind="symlink", oid=entry.oid, size=entry.size, content=entry.content, target="y.json")
    assert diff(Model("head", ".", ".", {"x.json": linked}, plain.reader), {"x.json": [Put("/a", 2)]}) == ""
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 300\n"
    assert diff(model({"x.json": pointer}), {"x.json": [Put("/a", 2)]}) == ""


@given(text=st.text("ab\n", max_size=60), data=st.data())
@settings(deadline=None, max_examples=150)
def test_git_makes_of_a_text_what_its_edits_make_of_it(
    text: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    edits = [Edit(*cut, data.draw(st.text("xy\n", max_size=4))) for cut in zip(cuts[::2], cuts[1::2], strict=False)]
    expected = text
    for edit in reversed(edits):
        expected = expected[: edit.start] + edit.text + expected[edit.end :]
    patch = unified("x", text, edits)
    if not patch:
        assert expected == text
        return
    folder = tmp_path_factory.mktemp("side")
    (folder / "x").write_text(text, "utf-8", newline="")
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", "--unidiff-zero", "-"],
        cwd=folder,
        input=patch.encode(),
        env=environment(),
        check=False,
    )
    if expected:  # a patch that empties a file may take it away
        assert done.returncode == 0
        assert (folder / "x").read_text("utf-8") == expected


def test_edits_that_overlap_are_an_error() -> None:
    with pytest.raises(ValueError, match="overlap"):
        unified("x", "abcdef", [Edit(0, 3, "x"), Edit(2, 4, "y")])
