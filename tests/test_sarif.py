"""The SARIF view, held to the published schema, with which GitHub's upload action validates every file as well."""

import gzip
import json
import random
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft4Validator

from bot import __version__
from bot.analyze.records import ChangedLines, Comparison, Fix, Side, Suppressed, Unchecked
from bot.place import Place
from bot.publish import sarif
from tests import comparisons
from tests.comparisons import NESTED, ORPHAN, POINTER, SPLIT_BRAIN, base, comparison, finding, head
from tests.conftest import ROOT
from tests.test_publish_hostile import RECORDS, hostile_texts, replaced

URL = "https://github.com/acme/kimi"


@cache
def validator() -> Draft4Validator:
    schema = json.loads(gzip.decompress((ROOT / "tests" / "oracles" / "sarif-2.1.0.json.gz").read_bytes()))
    Draft4Validator.check_schema(schema)
    return Draft4Validator(schema)


def log(record: Comparison, **options: Any) -> Any:
    """The file as a reader has it, after the schema has nothing against it."""
    found = json.loads(sarif.encode(record, **options))
    assert [error.message for error in validator().iter_errors(found)] == []
    return found


def run(record: Comparison, **options: Any) -> Any:
    return log(record, **options)["runs"][0]


def uri(result: Any) -> str:
    return result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]


def silenced() -> Suppressed:
    return msgspec.convert(msgspec.to_builtins(NESTED) | {"reason": "known, see the `card`"}, Suppressed)


def test_the_schema_refuses_what_is_no_sarif() -> None:
    found = log(comparisons.kimi_half_fix())
    found["runs"][0]["results"][0]["level"] = "fatal"
    assert [error.message for error in validator().iter_errors(found)] == [
        "'fatal' is not one of ['none', 'note', 'warning', 'error']"
    ]


def test_a_finding_says_what_where_and_since_when() -> None:
    lines = (ChangedLines(path="config.json", lines=((30, 40),)),)
    found = run(comparison(new=(SPLIT_BRAIN,), changed_lines=lines), repository_url=URL)
    (result,) = found["results"]
    assert result["ruleId"] == "eos-split-brain"
    assert result["level"] == "error"
    assert result["baselineState"] == "new"
    assert result["partialFingerprints"] == {"modelRepoDrift/v1": SPLIT_BRAIN.fingerprint}
    assert result["message"]["text"].startswith(
        "generation_config.json stops on <|im_end|>, tokenizer_config.json still says [EOS]. Tools that read one file only, "
    )
    assert "Name the turn terminator in the tokenizer as well." in result["message"]["text"]
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "config.json", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 38},
            },
            "logicalLocations": [{"fullyQualifiedName": "/text_config/eos_token_id", "kind": "member"}],
        }
    ]
    related = [
        (each["id"], each["physicalLocation"]["artifactLocation"]["uri"], each["message"]["text"])
        for each in result["relatedLocations"]
    ]
    assert related == [
        (1, "generation_config.json", "generation_config.json:4 eos_token_id"),
        (2, "tokenizer_config.json", "tokenizer_config.json:171 eos_token"),
    ]
    assert result["properties"] == {"confidence": "certain", "folder": ".", "engines": list(SPLIT_BRAIN.engines)}
    assert found["versionControlProvenance"] == [
        {"repositoryUri": URL, "revisionId": comparisons.HEAD_SHA, "mappedTo": {"uriBaseId": "%SRCROOT%"}}
    ]


def test_the_tool_names_the_checks_that_speak() -> None:
    record = comparison(
        new=(ORPHAN, SPLIT_BRAIN), unchanged=(finding(severity="note", key="x"), finding(check="odd-one", key="y"))
    )
    driver = run(record)["tool"]["driver"]
    assert (driver["name"], driver["semanticVersion"]) == ("Model Repo Drift", __version__)
    rules = {rule["id"]: rule for rule in driver["rules"]}
    assert list(rules) == ["eos-split-brain", "orphan-fix-commit", "odd-one"]
    assert rules["eos-split-brain"]["shortDescription"]["text"] == "Leaves the files disagreeing on which token ends a reply"
    assert rules["odd-one"]["shortDescription"]["text"] == "odd one"
    assert rules["eos-split-brain"]["defaultConfiguration"] == {"level": "error"}
    assert rules["eos-split-brain"]["properties"] == {
        "precision": "very-high",
        "problem.severity": "error",
        "tags": ["model-repository"],
    }
    assert "model-repo-drift explain eos-split-brain says" in rules["eos-split-brain"]["help"]["text"]
    for result in run(record)["results"]:
        assert list(rules)[result["ruleIndex"]] == result["ruleId"]


def test_every_kind_of_finding_has_its_state() -> None:
    record = comparison(
        new=(SPLIT_BRAIN,),
        unchanged=(ORPHAN,),
        resolved=(finding(places=(head("new.json", 1), base("old.json", 9)), key="gone"),),
        suppressed=(silenced(),),
    )
    results = run(record)["results"]
    assert [(each["baselineState"], each.get("suppressions")) for each in results] == [
        ("new", None),
        ("unchanged", None),
        ("absent", None),
        ("unchanged", [{"kind": "external", "justification": "known, see the card"}]),
    ]
    assert uri(results[2]) == "old.json"


def test_an_upload_holds_only_what_head_has_and_nobody_silenced() -> None:
    record = comparison(new=(SPLIT_BRAIN,), unchanged=(ORPHAN,), resolved=(finding(),), suppressed=(silenced(),))
    found = run(record, for_upload=True)
    assert [each["baselineState"] for each in found["results"]] == ["new", "unchanged"]
    assert [rule["id"] for rule in found["tool"]["driver"]["rules"]] == ["eos-split-brain", "orphan-fix-commit"]


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (head("a b/c#ü%.json", 7), "a%20b/c%23%C3%BC%25.json"),
        (base("gone.json"), "gone.json"),
        (head("c:x.json"), "c%3Ax.json"),
        (head("//evil.example/x"), "%2F%2Fevil.example%2Fx"),
        (head("../x"), "..%2Fx"),
        (head("pull-request:body", 3), "pull-request/body"),
        (head(f"commit:{'a' * 40}", 3), f"commit/{'a' * 40}"),
        (head("\udcff.json"), "%ED%B3%BF.json"),
    ],
)
def test_every_finding_has_a_file_that_is_a_path(place: Place, expected: str) -> None:
    (result,) = run(comparison(new=(finding(places=(place,)),)))["results"]
    assert uri(result) == expected
    where = result["locations"][0]
    assert where["physicalLocation"]["region"] == {"startLine": place.line}
    assert where.get("logicalLocations") == (None if place.in_tree else [{"fullyQualifiedName": place.path}])
    assert ("uriBaseId" in where["physicalLocation"]["artifactLocation"]) == place.in_tree


def test_a_file_comes_before_a_text_that_no_file_holds() -> None:
    (result,) = run(comparison(new=(finding(places=(head("pull-request:body", 3), base("gone.json", 1))),)))["results"]
    assert uri(result) == "gone.json"
    assert [each["physicalLocation"]["artifactLocation"]["uri"] for each in result["relatedLocations"]] == ["pull-request/body"]


def test_a_fix_with_a_patch_can_be_applied() -> None:
    (result,) = run(comparison(new=(SPLIT_BRAIN,)))["results"]
    (fix,) = result["fixes"]
    (change,) = fix["artifactChanges"]
    assert change == {
        "artifactLocation": {"uri": "tokenizer_config.json", "uriBaseId": "%SRCROOT%"},
        "replacements": [
            {
                "deletedRegion": {"startLine": 171, "endLine": 171},
                "insertedContent": {"text": '  "eos_token": "<|im_end|>",'},
            }
        ],
    }
    gone = finding(fix=Fix("Take it out.", "--- a/x\n+++ b/x\n@@ -2 +1,0 @@\n-a\n"))
    for record in (comparison(resolved=(SPLIT_BRAIN,)), comparison(new=(gone, NESTED))):
        assert all("fixes" not in each for each in run(record)["results"])


def test_what_git_lfs_keeps_stands_at_its_pointer_and_has_no_lines_to_replace() -> None:
    patch = "--- a/a.json\n+++ b/a.json\n@@ -9 +9 @@\n-1\n+2\n"
    kept = finding(places=(head("a.json", 9), head("b.json", 4), base("a.json", 8), head("a.json", 7)), fix=Fix("x", patch))
    (result,) = run(comparison(new=(kept,), pointers=("a.json",)))["results"]
    (resolved,) = run(comparison(resolved=(kept,), pointers=("a.json",)))["results"]

    assert [(uri(result), result["locations"][0]["physicalLocation"]["region"])] == [("a.json", {"startLine": 1})]
    related = [each["physicalLocation"] for each in result["relatedLocations"]]
    assert [(each["artifactLocation"]["uri"], each["region"]["startLine"]) for each in related] == [("b.json", 4), ("a.json", 8)]
    assert "fixes" not in result
    assert resolved["locations"][0]["physicalLocation"]["region"] == {"startLine": 8}


def test_what_was_not_checked_is_told_and_the_run_succeeded() -> None:
    many = tuple(Unchecked(kind="file", id=f"{n}.json", folder=".", reason=f"reason {n}") for n in range(300))
    (invocation,) = run(comparison(unchecked=(POINTER, *many)))["invocations"]
    assert invocation["executionSuccessful"] is True
    told = invocation["toolExecutionNotifications"]
    assert told[0]["message"]["text"].startswith("Not checked: tiktoken.model: a Git LFS pointer")
    assert {each["level"] for each in told} == {"warning"}
    assert len(told) == 201
    assert told[-1]["message"]["text"] == "Not checked: 101 more, see the JSON report."
    assert run(comparison())["invocations"] == [{"executionSuccessful": True}]


@pytest.mark.parametrize("url", ["", "git@github.com:a/b", "https://x/a b", "javascript:x", "https://github.com"])
def test_what_is_no_address_of_a_repository_is_not_told(url: str) -> None:
    assert "versionControlProvenance" not in run(comparison(), repository_url=url)


def test_a_folder_has_no_commit_to_name() -> None:
    assert "versionControlProvenance" not in run(comparison(head=Side(label="x", sha=None, folders=())), repository_url=URL)


def test_what_has_no_room_is_left_out_from_the_end_and_counted() -> None:
    new = tuple(finding(key=str(n), severity=("note", "error", "warning")[n % 3]) for n in range(90))
    found = run(comparison(new=new, unchanged=(NESTED,)), most_results=40)
    assert [each["level"] for each in found["results"]] == ["error"] * 30 + ["warning"] * 10
    (told,) = found["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"].startswith("51 findings had no room here")


def test_a_file_keeps_the_limit_of_an_upload() -> None:
    noise = random.Random(1)
    new = tuple(finding(key=str(n), detail=noise.randbytes(900).hex()) for n in range(200))
    content = sarif.encode(comparison(new=new), most_bytes=30_000)
    assert len(gzip.compress(content)) <= 30_000
    kept = json.loads(content)["runs"][0]
    assert 20 < len(kept["results"]) < 40
    assert kept["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"].startswith(f"{200 - len(kept['results'])} ")


def test_places_beyond_ten_are_left_out() -> None:
    (result,) = run(comparison(new=(finding(places=tuple(head("a", n) for n in range(1, 30))),)))["results"]
    assert len(result["relatedLocations"]) == 10


def test_no_letter_of_a_repository_is_markup() -> None:
    odd = finding(title="`a` [x](http://evil.example) {0} {{ messages }}", detail="b\nc\x1b[0m \ud800", fix=Fix("![i](//x)"))
    text = run(comparison(new=(odd,)))["results"][0]["message"]["text"]
    assert text == "a [x] (http://evil.example) {{0}} {{{{ messages }}}}. b c␛[0m ⟨U+D800⟩ Fix: ![i] (//x)"


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(RECORDS), st.lists(hostile_texts, min_size=1, max_size=6), st.booleans())
def test_any_comparison_is_valid_and_says_no_more_than_text(record: Comparison, texts: list[str], for_upload: bool) -> None:  # noqa: FBT001 - drawn
    found = run(replaced(record, texts, hostile=True), repository_url=URL, for_upload=for_upload)
    assert len(found["results"]) == len(record.new) + len(record.unchanged) + (
        0 if for_upload else len(record.resolved) + len(record.suppressed)
    )
    for message in messages(found):
        assert message.isprintable()
        assert "](" not in message
        assert not re.search(r"(?<!\{)\{(?:\{\{)*(?!\{)", message)
    for address in re.findall(r'"uri": "([^"]*)"', json.dumps(found)):
        assert urlsplit(urljoin("file:///repository/", address)).netloc == ""
        assert urlsplit(address).scheme == ""
        assert not unquote(address).startswith("%")


def messages(value: Any) -> list[str]:
    """Every message for people in a file."""
    if isinstance(value, list):
        return [said for inner in value for said in messages(inner)]
    if not isinstance(value, dict):
        return []
    own = [value["text"]] if "text" in value else []
    return own + [said for name, inner in value.items() if name != "insertedContent" for said in messages(inner)]


def test_the_command_line_writes_it(tmp_path: Path) -> None:
    for side, stop in (("base", 5), ("head", 6)):
        folder = tmp_path / side
        folder.mkdir()
        tokens = {"5": {"content": "[EOS]", "special": True}, "6": {"content": "<|im_end|>", "special": True}}
        tokenizer = {"eos_token": "[EOS]", "added_tokens_decoder": tokens}
        (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer), encoding="utf-8")
        (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": stop}), encoding="utf-8")
    command = [
        Path(sys.executable).with_name("model-repo-drift"),
        "compare",
        tmp_path / "base",
        tmp_path / "head",
        "--format",
        "sarif",
    ]

    done = subprocess.run(command, check=False, capture_output=True)

    assert done.returncode == 1, done.stderr
    (found,) = json.loads(done.stdout)["runs"]
    assert {result["ruleId"] for result in found["results"] if result["baselineState"] == "new"} >= {"eos-split-brain"}
