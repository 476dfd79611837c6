"""Options: one record, four sources, and errors that name source, option and cure."""

import json
from pathlib import Path

import jsonschema
import pytest

from bot.errors import UsageError
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
