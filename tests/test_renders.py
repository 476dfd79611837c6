"""The prompts of transformers: which template a request takes, and which token strings it is given, by version and against the installed one."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import transformers

from bot.analyze.engines import transformers as engine
from bot.analyze.model.folder import Model
from bot.analyze.model.templates import of_tokenizer
from bot.analyze.probes import ASKED, EXTENDED
from bot.analyze.render import Prompt
from bot.analyze.rules.loaded import loaded
from bot.analyze.rules.renders import text_for, tokens_of
from bot.answer import Known, Unknown
from bot.probe import Probe
from tests import random_chats
from tests.models import model
from tests.random_chats import ALL_TOKENS

NEWEST = transformers.__version__
FILE = json.dumps({"version": "1.0", "added_tokens": [], "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})
UNIGRAM = json.dumps(
    {"version": "1.0", "added_tokens": [], "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]]}}
)
USER = ({"role": "user", "content": "Hi"},)
TOOL = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}}}
PLAIN = Probe("plain", USER, {"add_generation_prompt": True})
TOOLS = Probe("with tools", USER, {"tools": [TOOL]})
PROBES = (
    *(PLAIN, TOOLS, Probe("no tools", USER, {"tools": []}), Probe("nothing", ()), Probe("own", USER, {"eos_token": "MINE"})),
    Probe("null", ({"role": "assistant", "content": None, "name": None},)),
    Probe("reasoning", ({"role": "assistant", "content": "x", "reasoning": "y"},)),
)
NAMED = [{"name": "default", "template": "d{{ eos_token }}"}, {"name": "tool_use", "template": "t{{ tools | length }}"}]


def files(config: dict[str, Any], **more: str) -> dict[str, str]:
    """A folder with a tokenizer; other files by name, "__" for the dot and "_in_" for the slash."""
    others = {name.replace("_in_", "/").replace("__", "."): text for name, text in more.items()}
    stated = {"tokenizer_class": "PreTrainedTokenizerFast", **config}
    return {"tokenizer.json": FILE, "tokenizer_config.json": json.dumps(stated), **others}


def folder(config: dict[str, Any], **more: str) -> Model:
    return msgspec.structs.replace(model(files(config, **more)), literal=True)


def prompts(found: Model, version: str, *probes: Probe) -> dict[str, Any]:
    """The text of each prompt, or the type of its exception."""
    answer = engine.renders(found, version, probes)
    assert isinstance(answer, Known)
    return {name: told(prompt) for name, prompt in answer.value.items()}


def told(prompt: Prompt | Unknown) -> Any:
    return prompt.reason if isinstance(prompt, Unknown) else prompt.type if prompt.text is None else prompt.text


def strings(found: Model, version: str) -> Any:
    answer = tokens_of(found, version)
    return answer.value if isinstance(answer, Known) else answer


WRITTEN: dict[str, dict[str, str]] = {
    "one template": files({"eos_token": "a", "chat_template": ALL_TOKENS}),
    "no template": files({}),
    "null": files({"chat_template": None}),
    "a number": files({"chat_template": 5}),
    "empty": files({"chat_template": ""}),
    "does not parse": files({"chat_template": "{% if %}"}),
    "named": files({"eos_token": "a", "chat_template": NAMED}),
    "named in an object": files({"chat_template": {"default": "d", "tool_use": "t"}}),
    "no default": files({"chat_template": [NAMED[1]]}),
    "no names": files({"chat_template": []}),
    "a default that is null": files({"chat_template": {"default": None}}),
    "one name twice": files({"chat_template": [NAMED[0], {"name": "default", "template": "second"}]}),
    "a token for a template": files({"chat_template": {"__type": "AddedToken", "content": "x"}}),
    "file before inline": files({"chat_template": "inline"}, chat_template__jinja="file"),
    "file with line ends": files({}, chat_template__jinja="a\r\nb\rc\n\n"),
    "file with a byte order mark": files({}, chat_template__jinja="\ufeffa"),
    "empty file": files({"chat_template": "inline"}, chat_template__jinja=""),
    "named files": files({}, chat_template__jinja="d", additional_chat_templates_in_tool_use__jinja="t"),
    "a named file alone": files({"chat_template": "inline"}, additional_chat_templates_in_rag__jinja="r"),
    "a file called default": files({}, chat_template__jinja="d", additional_chat_templates_in_default__jinja="other"),
    "a file called default alone": files({}, additional_chat_templates_in_default__jinja="other"),
    "a file called file": files({}, chat_template__jinja="d", additional_chat_templates_in_file__jinja="other"),
    "a file called file beside others": files({}, **{f"additional_chat_templates_in_{n}__jinja": n for n in ("file", "rag")}),
    "a file further down": files({"chat_template": "i"}, additional_chat_templates_in_a_in_b__jinja="x"),
    "a file of a processor": files({"chat_template": "i"}, chat_template__json='{"chat_template": "p"}'),
    "defaults of the class": files({"tokenizer_class": "Qwen2Tokenizer", "chat_template": ALL_TOKENS}),
    "null before a default": files({"tokenizer_class": "Qwen2Tokenizer", "pad_token": None, "chat_template": ALL_TOKENS}),
    "empty roles": files({"bos_token": "", "pad_token": "", "chat_template": ALL_TOKENS}),
    "empty names": files({"image_token": "", "extra_special_tokens": {"foo": ""}, "chat_template": ALL_TOKENS}),
    "names of their own": files({"image_token": "a", "extra_special_tokens": {"foo": "b"}, "chat_template": ALL_TOKENS}),
    "a name of a role": files({"eos_token": "a", "extra_special_tokens": {"eos_token": "b"}, "chat_template": ALL_TOKENS}),
    "a list": files({"additional_special_tokens": ["a", "b"], "chat_template": ALL_TOKENS}),
    "a typed token": files({"eos_token": {"__type": "AddedToken", "content": "b"}, "chat_template": ALL_TOKENS}),
    "the other file": files({"eos_token": "a", "chat_template": ALL_TOKENS}, special_tokens_map__json='{"eos_token": "b"}'),
    "the name of an argument": files({"extra_special_tokens": {"tools": "a"}, "chat_template": "{% if %}"}),
    "the name of messages": files({"extra_special_tokens": {"messages": "a"}, "chat_template": "x"}),
    "the name of messages, broken": files({"extra_special_tokens": {"messages": "a"}, "chat_template": "{% if %}"}),
    "the name of a function": files({"extra_special_tokens": {"range": "a"}, "chat_template": "{{ range }}"}),
    "refused": files({"additional_special_tokens": ["a", None], "chat_template": "x"}),
    "refused empty roles": files({"unk_token": "", "eos_token": "", "chat_template": "x"}),
    "refused name": files({"extra_special_tokens": {"foo": None}, "chat_template": "x"}),
}


def differences(where: Path, given: dict[str, str]) -> list[Any]:
    """What we say otherwise than the installed transformers."""
    ours = msgspec.structs.replace(model(given), literal=True)
    theirs, said = random_chats.real(where, given, PROBES), engine.renders(ours, NEWEST, PROBES)
    assert isinstance(said, Known)
    if theirs is None:  # where we do not know that, what we say holds for one that loads
        return [] if isinstance(loaded(ours, NEWEST), Unknown) else [*said.value]
    told = {name: p if isinstance(p, Unknown) else (p.text, p.type) for name, p in said.value.items()}
    found = {"tokens": strings(ours, NEWEST), **told}
    return [(key, found.get(key), theirs[key]) for key in theirs if found.get(key) != theirs[key]]


@pytest.mark.parametrize("name", WRITTEN)
def test_a_written_folder_renders_as_in_transformers(name: str, tmp_path: Path) -> None:
    assert differences(tmp_path, WRITTEN[name]) == []


@pytest.mark.filterwarnings("ignore")
def test_folders_of_chance_render_as_in_transformers(tmp_path: Path) -> None:
    transformers.logging.set_verbosity(50)
    wrong = {}
    for number in range(400):
        where = tmp_path / str(number)
        where.mkdir()
        wrong[number] = differences(where, random_chats.folder(number))
    assert {number: found for number, found in wrong.items() if found} == {}


# What the other versions do with such folders was run as well.
def test_version_4_lists_additional_tokens_and_leaves_empty_roles_out() -> None:
    found = folder({"eos_token": "a", "pad_token": "", "additional_special_tokens": ["b", "", "b"]})
    for version in ("4.46.3", "4.57.6"):
        assert strings(found, version) == {"eos_token": "a", "additional_special_tokens": ["b", "", "b"]}
    for version in ("5.0.0", "5.5.0", "5.15.1", "5.24.0"):
        assert strings(found, version) == {"eos_token": "a", "pad_token": ""}
    assert strings(folder({"additional_special_tokens": []}), "4.57.6") == {}


def test_tokens_with_a_name_came_with_4_47() -> None:
    found = folder({"extra_special_tokens": {"foo": "a", "eos_token": "b"}})
    assert strings(found, "4.46.3") == {}
    for version in ("4.57.6", "5.0.0", "5.24.0"):
        assert strings(found, version) == {"foo": "a", "eos_token": "b"}
    other = folder({"image_token": "a"})
    assert strings(other, "4.57.6") == {}
    assert strings(other, "5.0.0") == {"image_token": "a"}


def test_a_class_has_its_defaults() -> None:
    found = folder({"tokenizer_class": "Qwen2Tokenizer", "pad_token": None})
    assert strings(found, "5.24.0") == {"eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}
    assert strings(found, "4.57.6") == {"eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}


def test_files_are_read_since_4_47() -> None:
    found = folder({"chat_template": "inline"}, chat_template__jinja="file")
    assert prompts(found, "4.46.3", PLAIN) == {"plain": "inline"}
    assert prompts(found, "4.57.6", PLAIN) == {"plain": "file"}
    alone = folder({}, chat_template__jinja="file")
    assert prompts(alone, "4.46.3", PLAIN) == {"plain": "ValueError"}


def test_null_is_dropped_since_5_24_and_reasoning_renamed_since_5_22() -> None:
    found = folder({"chat_template": "{% for m in messages %}{{ m.content is defined }}{{ m.reasoning_content }}{% endfor %}"})
    null, thought = PROBES[-2:]
    assert {version: prompts(found, version, null, thought) for version in ("4.57.6", "5.15.1", "5.22.2", "5.24.0")} == {
        "4.57.6": {"null": "True", "reasoning": "True"},
        "5.15.1": {"null": "True", "reasoning": "True"},
        "5.22.2": {"null": "True", "reasoning": "Truey"},
        "5.24.0": {"null": "False", "reasoning": "Truey"},
    }


def test_what_is_looked_at_first_depends_on_the_version() -> None:
    nothing = Probe("nothing", ())
    broken, number = folder({"chat_template": "{% if %}"}), folder({"chat_template": 5})
    for found, first in ((broken, "TemplateSyntaxError"), (number, "TypeError")):
        assert [prompts(found, version, nothing)["nothing"] for version in ("4.46.3", "4.57.6", "5.5.0", "5.15.1")] == [
            first,
            "IndexError",
            "IndexError",
            "ValueError",
        ]


def test_a_tokenizer_that_does_not_load_renders_nothing() -> None:
    found = model({"tokenizer_config.json": '{"chat_template": "x", "tokenizer_class": "NoSuchTokenizer"}'})
    assert prompts(found, "4.57.6", *ASKED) == {}
    assert isinstance(tokens_of(found, "4.57.6"), Unknown)


def test_a_template_that_reads_no_token_is_rendered_where_none_is_known() -> None:
    # The class adds tokens of its own, so that nothing is said of how it loads.
    def unknown(template: str, version: str = NEWEST, probe: Probe = PLAIN) -> Any:
        config = {"tokenizer_class": "T5Tokenizer", "extra_special_tokens": {"foo": "a"}, "chat_template": template}
        found = folder(config, tokenizer__json=UNIGRAM)
        assert isinstance(loaded(found, version), Unknown)
        return prompts(found, version, probe)[probe.name]

    assert unknown("{% set x = messages[0].content %}{{ x }}") == "Hi"
    for name in ("eos_token", "image_token", "foo"):
        assert f"is given {name}," in unknown("{{ " + name + " }}")
    assert unknown("{{ additional_special_tokens }}") == ""
    assert "is given additional_special_tokens," in unknown("{{ additional_special_tokens }}", "4.57.6")
    assert unknown("{{ eos_token }}", probe=Probe("own", USER, {"eos_token": "MINE"})) == "MINE"
    assert unknown("{% if %}") == "TemplateSyntaxError"


def test_a_token_that_may_have_the_name_of_an_argument_leaves_all_open() -> None:
    config = {"tokenizer_class": "T5Tokenizer", "extra_special_tokens": {"tools": "a"}, "chat_template": "x"}
    assert "is given tools," in prompts(folder(config, tokenizer__json=UNIGRAM), NEWEST, PLAIN)["plain"]


def test_a_probe_may_name_the_template() -> None:
    several, single = folder({"chat_template": NAMED}), folder({"chat_template": "only"})
    named = {name: Probe(name, USER, {}, name) for name in ("default", "tool_use", "rag")}
    assert prompts(several, NEWEST, *named.values()) == {
        "default": "d",
        "tool_use": "TypeError",  # tools is None, which has no length
        "rag": "there is no chat template called rag",
    }
    assert prompts(single, NEWEST, named["default"]) == {"default": "only"}
    assert prompts(single, NEWEST, named["rag"]) == {"rag": "there is no chat template called rag"}


def test_an_argument_of_the_call_is_no_variable() -> None:
    probe = Probe("go on", USER, {"continue_final_message": True})
    assert "is an argument" in prompts(folder({"chat_template": "x"}), NEWEST, probe)["go on"]


def test_the_text_for_a_request() -> None:
    found = folder({"chat_template": NAMED})
    assert text_for(found, NEWEST, TOOLS) == Known("t{{ tools | length }}")
    assert text_for(folder({}), NEWEST, PLAIN) == Known(None)
    assert text_for(folder({"chat_template": [NAMED[1]]}), NEWEST, PLAIN) == Known(None)
    assert isinstance(text_for(folder({"chat_template": 5}), NEWEST, PLAIN), Unknown)
    broken = model({"tokenizer.json": FILE, "tokenizer_config.json": "../x.json"})
    assert isinstance(text_for(broken, NEWEST, PLAIN), Unknown)


def test_template_files_by_the_names_that_transformers_gives_them() -> None:
    found = folder({}, chat_template__jinja="d", additional_chat_templates_in_default__jinja="other")
    assert [(each.name, each.text) for each in of_tokenizer(found)] == [("default", "other")]
    below = folder({"chat_template": "i"}, additional_chat_templates_in_a_in_b__jinja="x")
    assert [(each.name, each.text) for each in of_tokenizer(below)] == [("default", "i")]


def test_every_version_renders_every_probe() -> None:
    found = folder({"eos_token": "a", "chat_template": ALL_TOKENS})
    for version in engine.VERSIONS:
        assert all(isinstance(text, str) and text.endswith("]Hi") for text in prompts(found, version, PLAIN).values())
        assert len(prompts(found, version, *ASKED, *EXTENDED)) == len({probe.name for probe in (*ASKED, *EXTENDED)})
