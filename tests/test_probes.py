"""Conversations of an operator's own: the file, what is wrong with one, and that exactly they are rendered."""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.analyze.model.prompting import arguments, probes_for, taken, variables
from bot.analyze.model.templates import Template
from bot.analyze.prompts import prompts
from bot.analyze.records import Unchecked
from bot.analyze.render import Prompt
from bot.errors import UsageError
from bot.probe import Probe, read_messages, read_probes
from tests.conftest import SHARED
from tests.models import model

USER = {"role": "user", "content": "Hi"}
DEFAULT, TOOLS, RAG = "d:{{ messages[0].content }}", "t:{{ messages[0].content }}", "r:{{ messages[0].content }}"


def written(folder: Path, value: Any) -> Path:
    path = folder / "probes.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


def named(**texts: str) -> str:
    return json.dumps({"chat_template": [{"name": name, "template": text} for name, text in texts.items()]})


def test_a_file_of_probes_gives_them_in_order(tmp_path: Path) -> None:
    tools = [{"type": "function", "function": {"name": "look"}}]
    rows = [
        {"name": "plain", "messages": [USER], "shows": "nothing else"},
        {
            "name": "all",
            "messages": [USER],
            "add_generation_prompt": False,
            "tools": tools,
            "variables": {"x": [1]},
            "template": "rag",
        },
    ]
    assert read_probes(written(tmp_path, {"schema": 1, "probes": rows})) == (
        Probe("plain", (USER,), {"add_generation_prompt": True}),
        Probe("all", (USER,), {"add_generation_prompt": False, "tools": tools, "x": [1]}, "rag"),
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ([], 'has no list "probes"'),
        ({"probes": []}, 'has no list "probes"'),
        ({"probes": [5]}, "probes[0] is no conversation"),
        ({"probes": [{"name": "a", "messages": [5]}]}, "probes[0] is no conversation"),
        ({"probes": [{"name": "a", "messages": [{}]}]}, 'message 0 of probes[0] has no role; write one such as "user"'),
        ({"probes": [{"name": "a", "messages": [USER], "tool": []}]}, "unknown field `tool`"),
        ({"probes": [{"name": "a", "messages": [USER]}] * 2}, "two probes are called 'a'"),
        ({"probes": [{"name": "a", "messages": [USER], "variables": {"tools": []}}]}, "has 'tools' among its variables"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_place_and_cure(value: Any, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, value)
    with pytest.raises(UsageError) as error:
        read_probes(path)
    assert str(path) in str(error.value)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_probes(tmp_path / "nothing.json")


def test_messages_alone_are_a_conversation(tmp_path: Path) -> None:
    for value in ([USER], {"messages": [USER]}):
        assert read_messages(written(tmp_path, value)) == Probe("probes", (USER,), {"add_generation_prompt": True})
    with pytest.raises(UsageError, match="is no list of messages"):
        read_messages(written(tmp_path, {"probes": []}))


@pytest.mark.parametrize("value", ["[", [5], {"messages": [USER], "tools": "x"}, {"messages": [{}]}])
def test_the_cure_for_a_wrong_conversation_is_one(value: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        read_messages(written(tmp_path, value))
    said = str(error.value)
    assert "probes" not in said.replace("probes.json", "")
    if "; write {" in said or "; write [" in said:
        cure = json.loads(said.rpartition("; write ")[2])
        assert read_messages(written(tmp_path, cure)).messages == (USER,)
    else:
        assert said.endswith('; write one such as "user"')


def test_a_file_without_end_is_not_read_to_it() -> None:
    with pytest.raises(UsageError, match="is larger than 4 MiB"):
        read_messages(Path("/dev/zero"))


@pytest.mark.needs("shared")
def test_the_conversations_of_a_published_study_are_such_a_file() -> None:
    found = read_probes(SHARED / "corpus" / "template-history" / "probes.json")
    assert [probe.name for probe in found][:2] == ["user_only", "system_user"]


def test_exactly_the_given_conversations_are_rendered() -> None:
    base, head = model({"chat_template.jinja": DEFAULT}, "base"), model({"chat_template.jinja": "x" + DEFAULT})
    unchecked: list[Unchecked] = []
    changed = prompts(base, head, (Probe("mine", (USER,)),), unchecked).changes
    assert [(change.probe, change.diff) for change in changed] == [("mine", "-d:Hi\n+xd:Hi")]
    assert unchecked == []


def test_a_conversation_whose_template_is_missing_is_said() -> None:
    folder, more = named(default=DEFAULT), named(default=DEFAULT, rag=RAG)
    for before, after, sides in ((folder, folder, "base and head have"), (more, folder, "head has"), (folder, more, "base has")):
        unchecked: list[Unchecked] = []
        base, head = model({"tokenizer_config.json": before}, "base"), model({"tokenizer_config.json": after})
        found = prompts(base, head, (Probe("mine", (USER,), template="rag"), Probe("other", (USER,))), unchecked)
        assert [each.reason for each in unchecked] == [
            f"the conversation `mine` was not rendered: {sides} no chat template called `rag`"
        ]
        assert [(each.conversations, each.brought) for each in found.templates] == [(1, True)]
    unchecked = []
    assert prompts(model({}, "base"), model({}), (Probe("mine", (USER,), template="rag"),), unchecked).templates == ()
    assert unchecked == []


def test_a_request_takes_the_template_that_it_names_or_the_one_for_tools_or_the_default() -> None:
    folder = model({"tokenizer_config.json": named(default=DEFAULT, tool_use=TOOLS, rag=RAG)})
    for probe, text in (
        (Probe("a", (USER,)), DEFAULT),
        (Probe("a", (USER,), {"tools": [{}]}), TOOLS),
        (Probe("a", (USER,), {"tools": []}), DEFAULT),
        (Probe("a", (USER,), {"tools": [{}]}, "rag"), RAG),
    ):
        assert getattr(taken(folder, probe), "text", None) == text
    assert taken(folder, Probe("a", (USER,), {}, "nothing")) is None


def test_the_template_for_tools_is_tried_with_tools_and_others_with_everything() -> None:
    assert {bool(probe.variables.get("tools")) for probe in probes_for(Template("tool_use", TOOLS, "x"))} == {True}
    rag = probes_for(Template("rag", RAG, "x"))
    assert {probe.template for probe in rag} == {"rag"}
    assert {bool(probe.variables.get("tools")) for probe in rag} == {False, True}


def test_every_variable_that_a_template_reads_is_tried() -> None:
    text = "{% if effort == 'high' %}H{% elif effort in ['low', 'none'] %}L{% endif %}{% if not keep is defined %}K{% endif %}{{ messages | tojson }}"
    names = [probe.name for probe in probes_for(Template("default", text, "x"))]
    assert names[-5:] == ['effort = "high"', 'effort = "low"', 'effort = "none"', "keep = false", "keep = true"]
    other = Template("default", "{{ gone }}", "x")
    assert [probe.name for probe in probes_for(Template("default", text, "x"), other)][-2:] == ["keep = false", "keep = true"]
    assert "gone = true" in [probe.name for probe in probes_for(Template("default", text, "x"), other)]


def test_arguments_are_what_a_template_reads_before_it_sets_it() -> None:
    text = (
        "{% if not thinking is defined %}{% set thinking = false %}{% endif %}{% set own = 1 %}{{ own }}{{ other }}"
        "{% for m in messages %}{{ m.role }}{% endfor %}{{ m }}{{ bos_token }}{{ add_generation_prompt }}"
    )
    assert [*arguments(text)] == ["add_generation_prompt", "other", "thinking"]
    assert [*arguments("{% set thinking = true %}{{ thinking }}")] == []
    assert isinstance(variables("{% if %}"), Prompt)
    assert arguments("{% if %}") == {}
