"""What a comparison tells of prompts: which differ, in which way, by how many tokens, and what is cosmetic."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import transformers
from transformers import AutoTokenizer

from bot.analyze.model.prompting import probes_for, taken
from bot.analyze.prompt_difference import Parts, diff, parts, way
from bot.analyze.prompt_ids import LETTERS, Room, ids
from bot.analyze.prompts import Prompts, prompts
from bot.analyze.records import PromptChange, RenderedTemplate, Unchecked
from bot.probe import Probe
from tests.changes import SNAPSHOTS
from tests.models import model, model_of

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
HI = Probe("hi", ({"role": "user", "content": "Hi"},))
BRIEF = Probe("brief", ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}))
TURNS = Probe(
    "turns",
    (
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": [{"type": "text", "text": "And now?"}, 5, {"type": "image"}]},
    ),
)


def chatml(template: str, **config: Any) -> dict[str, bytes | str]:
    """The files of a small model with a tokenizer and this template."""
    files: dict[str, bytes | str] = {path.name: path.read_bytes() for path in (SNAPSHOTS / "chatml").iterdir()}
    settings = json.loads(files["tokenizer_config.json"])
    return {**files, "tokenizer_config.json": json.dumps({**settings, "chat_template": template, **config})}


def compared(before: str, after: str, *, room: Room | None = None, asked: tuple[Probe, ...] = ()) -> Prompts:
    unchecked: list[Unchecked] = []
    found = prompts(model(chatml(before), "base"), model(chatml(after)), asked, unchecked, room)
    assert unchecked == []
    return found


def ways(changes: Iterable[PromptChange]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for change in changes:
        found.setdefault(change.way, []).append(change.probe)
    return found


def test_one_change_has_one_name_whatever_is_said() -> None:
    names = {
        way("<s>[INST] Hi [/INST]", "[INST] Hi [/INST]", HI),
        way("<s>[INST] Be brief.\n\nHi [/INST]", "[INST] Be brief.\n\nHi [/INST]", BRIEF),
        way(
            "<s>[INST] Hi [/INST] Hello!</s>[INST] And now? [/INST]", "[INST] Hi [/INST] Hello!</s>[INST] And now? [/INST]", TURNS
        ),
    }
    assert len(names) == 1
    assert "" not in names


def test_a_change_at_every_turn_is_one_change() -> None:
    one = way("<|im_start|>user\nHi<|im_end|>", "<|im_start|>user\nHi<|im_end|>\n", HI)
    assert one == way(
        "<u>Hi<|im_end|><a>Hello!<|im_end|><u>And now?<|im_end|>",
        "<u>Hi<|im_end|>\n<a>Hello!<|im_end|>\n<u>And now?<|im_end|>\n",
        TURNS,
    )
    assert one != way("<|im_start|>user\nHi<|im_end|>", "<|im_start|>user\n\nHi<|im_end|>", HI)


def test_the_same_letters_in_another_place_are_another_change() -> None:
    assert way("<a>x<b>y", "<a>\nx<b>y", HI) != way("<a>x<b>y", "<a>x<b>\ny", HI)
    assert way("<a>Hi", "<a>HiHi", HI) != way("<a>Hi", "<a>Hi<b>", HI)


def test_what_takes_too_long_to_name_has_no_name() -> None:
    assert way("a" * 30_000, "b", HI) == ""
    assert way("a b " * 1000 + "c", "b a " * 1000 + "d", HI) == ""


def test_a_long_line_is_cut_to_what_differs() -> None:
    line = "{}" * 300
    assert diff(f"{line}old{line}", f"{line}new{line}").split("\n") == [
        f"-…{line[-100:]}old{line[:100]}…",
        f"+…{line[-100:]}new{line[:100]}…",
    ]
    assert diff(line, f"{line}more") == f"-…{line[-100:]}\n+…{line[-100:]}more"
    assert diff(f"{line}\na", f"{line}\nb") == f" {line[:400]}…⏎\n-a\n+b"
    assert diff("a\n", f"a\n{line * 9}").split("\n")[1] == f"+{(line * 9)[:2000]}…"


def test_places_far_from_each_other_are_told_apart() -> None:
    lines = [f"{number}\n" for number in range(20)]
    other = ["x\n", *lines[1:-1], "y\n"]
    assert diff("".join(lines), "".join(other)).split("\n") == [
        *("-0⏎", "+x⏎", " 1⏎", " 2⏎"),
        " ⋮",
        *(" 17⏎", " 18⏎", "-19⏎", "+y⏎"),
    ]


def test_conversations_that_differ_in_one_way_have_one_name() -> None:
    found = compared(CHATML, CHATML.replace("assistant\n", "assistant\n<think>\n"))
    asking = [probe.name for probe in probes_for(_template(CHATML)) if probe.variables.get("add_generation_prompt")]
    assert list(ways(found.changes).values()) == [asking]
    assert [(row.conversations, row.differing, row.failing) for row in found.templates] == [(17, len(asking), 0)]


def _template(text: str) -> Any:
    return taken(model(chatml(text)), HI)


def test_what_fails_on_one_side_is_told_with_its_error() -> None:
    strict = "{% if tools %}{{ raise_exception('no tools here') }}{% endif %}" + CHATML
    by_side = compared(CHATML, strict), compared(strict, CHATML)
    for found in by_side:
        assert {change.probe for change in found.changes} == {
            p.name for p in probes_for(_template(CHATML)) if p.variables.get("tools")
        }
        assert {change.way for change in found.changes} == {""}
    after, before = by_side
    assert {(c.before_error, c.after_error) for c in after.changes} == {("", "TemplateError: no tools here")}
    assert {(c.before_error, c.after_error) for c in before.changes} == {("TemplateError: no tools here", "")}
    assert {(c.before_tokens is None, c.after_tokens is None) for c in after.changes} == {(False, True)}
    assert compared(strict, strict.replace("no tools", "none")).changes == ()
    (row,) = compared(strict, strict.replace("no tools", "none")).templates
    assert (row.rewritten, row.differing) == (True, 0)
    assert row.failing > 5
    (change,) = compared("{{ 1 + 'a' }}", "x", asked=(HI,)).changes
    assert change.before_error.startswith("TypeError: unsupported operand")
    (change,) = compared("{% if %}", "x", asked=(HI,)).changes
    assert change.before_error.startswith("TemplateSyntaxError: ")


def test_a_rewritten_template_that_renders_the_same_is_cosmetic() -> None:
    found = compared(CHATML, "{# the same #}" + CHATML)
    assert found.changes == ()
    (row,) = found.templates
    assert row == RenderedTemplate(
        folder=".", template="default", rewritten=True, conversations=row.conversations, differing=0, more_tokens=0
    )
    assert row.conversations > 20  # what seems to be cosmetic is looked at once more
    assert compared(CHATML, CHATML + "\n").templates[0].rewritten is False
    assert compared(CHATML, CHATML).templates == ()


def test_what_only_a_rare_conversation_shows_is_found() -> None:
    turn = "{% if loop.index0 == 1 and m.role == 'user' and messages[0].role == 'user' %}!{% endif %}"
    found = compared(CHATML, CHATML.replace("<|im_start|>{{", turn + "<|im_start|>{{"))
    assert [change.probe for change in found.changes] == ["two user messages in a row"]
    assert compared(CHATML, CHATML.replace("<|im_start|>{{", turn + "<|im_start|>{{"), asked=(HI,)).changes == ()


def test_what_did_not_end_is_counted_apart() -> None:
    endless = (
        "{% if messages|length > 1 %}{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}{% endif %}x"
    )
    unchecked: list[Unchecked] = []
    found = prompts(model(chatml("x"), "base"), model(chatml(endless)), (HI, BRIEF), unchecked)
    assert found.changes == ()
    assert [(row.conversations, row.unrendered) for row in found.templates] == [(1, 1)]
    assert [(row.id, row.reason) for row in unchecked] == [("prompts", "the prompt for `brief` could not be rendered within 2 s")]


def test_what_did_not_end_for_one_reason_is_told_together() -> None:
    endless = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    unchecked: list[Unchecked] = []
    prompts(model(chatml("x"), "base"), model(chatml(endless)), (), unchecked)
    (row,) = unchecked
    assert row.reason.startswith("the prompts for `a user message`, `a user message without generation prompt`, ")
    assert row.reason.endswith(" more could not be rendered within 2 s")
    assert [place.path for place in row.places] == ["tokenizer_config.json"]


@pytest.mark.filterwarnings("ignore")
def test_tokens_are_those_of_the_library(tmp_path: Path) -> None:
    transformers.logging.set_verbosity(50)
    later = CHATML.replace("assistant\n", "assistant\n<think>\n\n</think>\n")
    really: list[dict[str, list[int]]] = []
    probes = probes_for(_template(CHATML))
    for side, template in (("base", CHATML), ("head", later)):
        for name, content in chatml(template).items():
            (tmp_path / side).mkdir(exist_ok=True)
            (tmp_path / side / name).write_bytes(content.encode() if isinstance(content, str) else content)
        tokenizer: Any = AutoTokenizer.from_pretrained(tmp_path / side, local_files_only=True)
        really.append({p.name: _ids(tokenizer, p) for p in probes})
    found = compared(CHATML, later)
    assert found.changes
    for change in found.changes:
        old, new = (side[change.probe] for side in really)
        assert (change.before_tokens, change.after_tokens) == (len(old), len(new))
        assert change.removed_ids == ()
        assert change.added_ids == tuple(new[len(old) :])
    more = {len(change.added_ids or ()) for change in found.changes}
    assert [row.more_tokens for row in found.templates] == [more.pop()]
    assert more == set()


def _ids(tokenizer: Any, probe: Probe) -> list[int]:
    return list(tokenizer.apply_chat_template([*probe.messages], tokenize=True, **probe.variables)["input_ids"])


def test_ids_that_go_and_come_are_told_in_their_order() -> None:
    assert parts([1, 2, 3, 4, 5], [1, 9, 3, 5, 6]) == Parts((2, 4), (9, 6))
    assert parts([1], [1]) == Parts((), ())
    assert parts([1, 2] * 500 + [3], [2, 1] * 500 + [4]) == Parts()
    found = compared(CHATML, CHATML.replace("assistant\n", "assistant\n" + "\n" * 65 + "a" * 65))
    assert {change.added_ids for change in found.changes} == {None}
    assert None not in {change.after_tokens for change in found.changes}


def test_requests_that_do_not_all_grow_alike_have_no_common_number() -> None:
    found = compared(CHATML, "{% if tools %}x{% endif %}" + CHATML)
    assert found.changes
    assert [row.more_tokens for row in found.templates] == [None]


def test_tokens_are_counted_while_there_is_room() -> None:
    later = CHATML.replace("assistant\n", "assistant\n<think>\n")
    size = len(chatml(CHATML)["tokenizer.json"])
    room = Room(bytes=2 * size - 1)  # the tokenizer is the same on both sides
    counted, not_any_more = (compared(CHATML, later, room=room) for _ in range(2))
    assert {change.after_tokens is None for change in counted.changes} == {False}
    assert {change.after_tokens for change in not_any_more.changes} == {None}
    assert (room.bytes, len(not_any_more.changes)) == (size - 1, len(counted.changes))
    assert room.letters < LETTERS


def test_texts_that_are_too_long_have_no_length() -> None:
    base, head = (model(chatml(CHATML), side) for side in ("base", "head"))
    before, after = ids(base, head, ["x" * 200_000, "a", "y" * 149_999, "b"], Room())
    assert set(before) == set(after) == {"a", "y" * 149_999}


@pytest.mark.parametrize("taken_away", ["tokenizer.json", "config.json"])
def test_without_the_files_there_are_no_tokens(taken_away: str) -> None:
    sides = [{name: text for name, text in chatml(each).items() if name != taken_away} for each in ("a", "b")]
    found = prompts(model(sides[0], "base"), model(sides[1]), (HI,), [])
    assert [change.diff for change in found.changes] == ["-a\n+b"]
    assert [(c.before_tokens, c.after_tokens) for c in found.changes] == [(None, None)] or taken_away == "config.json"


def test_real_prompts_of_a_folder_without_a_tokenizer() -> None:
    kimi = model_of(SNAPSHOTS / "kimi"), model_of(SNAPSHOTS / "kimi", "base")
    found = prompts(kimi[1], kimi[0], (HI,), [])
    assert (found.changes, [row.differing for row in found.templates]) == ((), [0])
