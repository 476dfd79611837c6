"""Options: one record, four sources, and errors that name source, option and cure."""

import datetime as dt
import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from bot.analyze.checks.check import checks
from bot.errors import UsageError
from bot.init import first
from bot.policy import Policy, Suppression, check_ids
from bot.settings import FILE, Layer, Settings, from_texts, json_schema, options, settle
from bot.settings_file import from_file

SCHEMA = Path(__file__).parent.parent / "schema" / "settings-1.json"


def test_nothing_chosen_gives_the_defaults() -> None:
    assert settle() == Settings(fail_on="error", comment=True, comment_id="default", comment_authors=())


def test_the_first_layer_that_names_an_option_wins() -> None:
    command_line = from_texts("command line", {"fail_on": "never"})
    inputs = from_texts("inputs", {"fail_on": "note", "comment_id": "big-model", "comment": ""})
    file = from_file(b'fail_on: warning\ncomment_id: other\ncomment: false\ncomment_authors: [octo-cat, "drift[bot]"]\n')

    settings = settle(command_line, inputs, file)

    assert settings == Settings(
        fail_on="never", comment=False, comment_id="big-model", comment_authors=("octo-cat", "drift[bot]")
    )


def test_inputs_are_texts_and_an_empty_one_chooses_nothing() -> None:
    layer = from_texts("inputs", {"comment": "False", "comment_authors": "octo-cat, drift[bot]\nhubot", "fail_on": "  "})

    assert settle(layer) == Settings(comment=False, comment_authors=("octo-cat", "drift[bot]", "hubot"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("fail-on: error", "unknown setting 'fail-on'; did you mean fail_on?"),
        ("coment: true", "unknown setting 'coment'; did you mean comment?"),
        ("zebra: 1", "unknown setting 'zebra'; there are fail_on, comment, comment_id, comment_authors"),
        ("fail_on: errors", "fail_on = 'errors' is not legal; legal: error, warning, note, unchecked, never"),
        ("fail_on: 3", "fail_on = '3' is not legal; legal: error, warning"),
        ('comment: "true"', "comment = 'true' is not legal; legal: true, false"),
        ("comment_id: a-->b", "comment_id = 'a-->b' is not legal"),
        ("comment_id: " + "x" * 65, "xxx... is not legal"),
        ("comment_authors: hubot", "comment_authors = 'hubot' is not legal; legal: a list of GitHub logins"),
        ('comment_authors: ["@hubot"]', "is not legal; legal: a list of GitHub logins"),
        ("engines: [vllm, '>=0.3']", "legal: a list of `name`, `name@version`, `name>=version`, or `all`"),
        ("engines: [vllm>=0.20,<0.30]", "legal: a list of `name`"),  # a range in a list needs quotes
        ("prove: sometimes", "prove = 'sometimes' is not legal; legal: auto, always, never"),
        ("comment:\n  authors: 1", "comment = {'authors': '1'} is not legal"),
        ("fail_on: [", "not YAML: while parsing a flow"),
        ("fail_on: error\nfail_on: note", "2: the key 'fail_on' stands twice"),
        ("!!python/object/apply:os.getcwd []", "the tag 'tag:yaml.org,2002:python/object/apply:os.getcwd' means nothing here"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(content: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        settle(from_file(content.encode()))

    message = str(refused.value)
    assert message.startswith((f"{FILE}:1: ", f"{FILE}:2: ", f"{FILE}:3: "))
    assert said in message
    assert "\n" not in message


def test_a_file_that_is_not_text_is_refused() -> None:
    with pytest.raises(UsageError, match="byte 0 is not UTF-8"):
        from_file(b"\xff\xfe")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "severity:\n  eos-split-brian: off",
            "2: severity.eos-split-brian: there is no such check; did you mean eos-split-brain?",
        ),
        (
            "severity:\n  eos-split-brain: loud",
            "2: severity.eos-split-brain = 'loud' is not legal; legal: error, warning, note, off",
        ),
        ("severity:\n  zzz: off", "2: severity.zzz: there is no such check; see `explain`"),
        ("severity:\n  Eos Split: off", "2: severity.'Eos Split' is not legal; legal: the id of a check"),
        (
            "severity: [eos-split-brain]",
            "1: severity = ['eos-split-brain'] is not legal; legal: for each check one of error, warning",
        ),
        ("suppress:\n- chek: x\n  reason: y", "2: suppress[0] has an unknown key 'chek'; did you mean check?"),
        (
            "suppress:\n- check: eos-split-brian\n  reason: y",
            "2: suppress[0].check = 'eos-split-brian': there is no such check; did you",
        ),
        ("suppress:\n- check: eos-split-brain", "2: suppress[0] has no `reason`; add a text that is not blank"),
        ("suppress:\n\n- reason: y", "3: suppress[0] names neither `check` nor `fingerprint`; without one it would silence"),
        (
            "suppress:\n- check: eos-split-brain\n  reason: ' '",
            "3: suppress[0].reason = ' ' is not legal; legal: a text that is not",
        ),
        (
            "suppress:\n- fingerprint: abc\n  reason: y",
            "2: suppress[0].fingerprint = 'abc' is not legal; legal: 16 hexadecimal digits",
        ),
        (
            "suppress:\n- check: eos-split-brain\n  reason: y\n  expires: 2026-13-01",
            "4: suppress[0].expires = '2026-13-01' is not",
        ),
        ("suppress:\n- check: eos-split-brain\n  reason: y\n  expires: soon", "legal: a day as YYYY-MM-DD"),
        ("suppress:\n- check: eos-split-brain\n  reason: y\n  key:", "4: suppress[0].key = None is not legal; legal: a text"),
        (
            "suppress: [eos-split-brain]",
            "suppress[0] = 'eos-split-brain' is not legal; legal: an object with check or fingerprint",
        ),
        ("suppress:\n  check: eos-split-brain", "suppress = {'check': 'eos-split-brain'} is not legal; legal: a list of objects"),
        ("folders: models", "1: folders = 'models' is not legal; legal: a list of folders or globs"),
        ("folders:\n- models\n- '!'", "3: folders[1] = '!' is not legal"),
        ("check_run: maybe", "1: check_run = 'maybe' is not legal; legal: true, false"),
    ],
)
def test_what_is_wrong_inside_of_a_setting_is_refused_with_its_line(content: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        settle(from_file(content.encode()))

    assert str(refused.value).startswith(f"{FILE}:{said}" if said[0].isdigit() else f"{FILE}:")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_policy_is_what_a_file_says_of_judging() -> None:
    content = """
folders: ["models/*", "!models/old"]
severity: {eos-split-brain: off, chat-template-changed: error}
check_run: yes
suppress:
  - {check: eos-split-brain, folder: models/a, key: eos_token, reason: known, expires: 2026-11-01}
  - {fingerprint: 0123456789012345, reason: known as well, expires: "2026-11-02"}
"""
    settings = settle(from_file(content.encode()))

    assert settings.check_run is True
    assert settings.policy() == Policy(
        folders=("models/*", "!models/old"),
        severity={"eos-split-brain": "off", "chat-template-changed": "error"},
        suppress=(
            Suppression(
                check="eos-split-brain", folder="models/a", key="eos_token", reason="known", expires=dt.date(2026, 11, 1)
            ),
            Suppression(fingerprint="0123456789012345", reason="known as well", expires=dt.date(2026, 11, 2)),
        ),
    )


@pytest.mark.parametrize(
    "text",
    ["eos-split-brain: warning\nchat-template-changed: off\n", "eos-split-brain=warning, chat-template-changed = off"],
    ids=["lines", "commas"],
)
def test_severities_are_texts_of_inputs_too(text: str) -> None:
    assert settle(from_texts("inputs", {"severity": text})).severity == {
        "eos-split-brain": "warning",
        "chat-template-changed": "off",
    }


def test_a_severity_without_a_level_is_refused() -> None:
    with pytest.raises(UsageError, match=r"inputs: severity\.eos-split-brain = '' is not legal"):
        settle(from_texts("inputs", {"severity": "eos-split-brain"}))


def test_severities_of_several_sources_are_joined_check_by_check() -> None:
    inputs = from_texts("inputs", {"severity": "eos-split-brain=note"})
    file = from_file(b"severity: {eos-split-brain: off, chat-template-changed: error}")

    assert settle(inputs, file).severity == {"eos-split-brain": "note", "chat-template-changed": "error"}


def test_the_names_of_checks_are_those_of_the_checks() -> None:
    assert check_ids() == tuple(sorted(loaded.id for loaded in checks()))


def test_only_suppressions_stand_in_a_file_alone() -> None:
    assert [option.name for option in options() if option.file_only] == ["suppress"]


def test_a_wrong_value_is_refused_even_where_another_layer_wins() -> None:
    with pytest.raises(UsageError, match="fail_on = 'nothing'"):
        settle(Layer("command line", {"fail_on": "never"}), Layer("inputs", {"fail_on": "nothing"}))


def test_every_option_has_help_and_legal_values() -> None:
    assert [option.name for option in options()] == [
        "fail_on",
        "comment",
        "comment_id",
        "comment_authors",
        "engines",
        "prove",
        "check_run",
        "suggest",
        "folders",
        "severity",
        "suppress",
    ]
    assert all(option.help.endswith(".") and option.legal for option in options())


def test_the_published_schema_is_the_record() -> None:
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == json_schema()


def test_the_schema_agrees_with_the_parser() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    validator = jsonschema.Draft202012Validator(json_schema())
    assert validator.is_valid({"fail_on": "never", "comment": False, "comment_authors": ["drift[bot]"]})
    assert validator.is_valid({"engines": ["vllm>=0.20,<0.30", "llama.cpp@0c1e57098", "all"], "prove": "always"})
    assert not validator.is_valid({"engines": [">=0.3"]})
    assert not validator.is_valid({"fail-on": "never"})
    assert not validator.is_valid({"comment_id": "a-->b"})


GOOD = """
folders: ["models/*"]
severity: {eos-split-brain: off}
suppress:
  - check: eos-split-brain
    reason: known
    expires: 2026-11-01
  - fingerprint: "0123456789abcdef"
    reason: known
"""
BAD = {
    "unknown key": "fail-on: error",
    "unknown key of a suppression": "suppress: [{check: a, reason: b, file: c}]",
    "unknown level": "severity: {eos-split-brain: loud}",
    "no reason": "suppress: [{check: eos-split-brain}]",
    "blank reason": 'suppress: [{check: eos-split-brain, reason: "  "}]',
    "silences everything": "suppress: [{reason: a}]",
    "no list": "folders: models",
    "no day": "suppress: [{check: eos-split-brain, reason: a, expires: soon}]",
}


def validated(path: Path, content: str) -> subprocess.CompletedProcess[str]:
    path.write_text(content, "utf-8")
    command = [Path(sys.executable).with_name("check-jsonschema"), "--schemafile", SCHEMA, path]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("content", [GOOD, f"{first((), dt.date(2026, 11, 30))}prove: never"], ids=["good", "first"])
def test_editors_take_what_the_program_takes(content: str, tmp_path: Path) -> None:
    settle(from_file(content.encode()))
    done = validated(tmp_path / "settings.yml", content)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", BAD)
def test_editors_refuse_what_the_program_refuses(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        settle(from_file(BAD[name].encode()))
    assert validated(tmp_path / "settings.yml", BAD[name]).returncode == 1
