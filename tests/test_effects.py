"""What engines do differently after a change, from real folders to the rows that a reviewer reads."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bot.analyze.comparison import compare
from bot.analyze.engines.choice import choose, in_pairs
from bot.analyze.model.reader import Reader
from bot.analyze.records import Comparison, EngineChange
from bot.fetch.gather import gather
from bot.publish import words
from bot.publish.annotations import annotations
from bot.publish.effects import effects
from bot.publish.headline import headline
from bot.publish.telling import telling
from tests.changes import SNAPSHOTS, write

SHARED = Path(__file__).parent.parent.parent / "shared"
CHATML = "tokenizer_config.json"
TEMPLATE = "{% for message in messages %}<|im_start|>{{ message['content'] }}<|im_end|>{% endfor %}"
PARTS = "{% for message in messages %}{% for part in message['content'] %}<|im_start|>{{ part['text'] }}<|im_end|>{% endfor %}{% endfor %}"


def between(base: Path, head: Path, work: Path, *engines: str, after: tuple[str, ...] = ()) -> Comparison:
    """The comparison of two folders, by engines as an operator names them or by the default ones."""
    asked = in_pairs(engines, after) if after else tuple((each, each) for each in choose(engines))
    names = tuple(old.name for old, _ in asked)
    news = tuple(new.name for _, new in asked) if after else ()
    exchange = gather(work, base=str(base), head=str(head), repo=base, engines=names, engines_after=news)
    return compare(exchange, Reader.of_folder(work / "contents"))


def changed(
    work: Path, head: Mapping[str, Any], *engines: str, base: Mapping[str, Any] | None = None, snapshot: str = "chatml"
) -> Comparison:
    """The comparison of a snapshot with a changed one."""
    sides = write(work / "base", snapshot, base or {}), write(work / "head", snapshot, head)
    return between(*sides, work / "exchange", *engines)


def rows(comparison: Comparison) -> list[tuple[str, str, str]]:
    """The rows as a reviewer reads them, the stressed part of the second answer in place."""
    return [(row.engines, row.before, f"{row.after} {row.news}".strip()) for row in effects(comparison)]


def test_a_file_that_newly_fails_to_load_has_one_row_with_the_error(tmp_path: Path) -> None:
    found = changed(tmp_path, {CHATML: {"tokenizer_class": "TokenizersBackend"}}, "transformers@4.57", "transformers@5.24")
    why = "`ValueError: Tokenizer class TokenizersBackend does not exist or is not currently imported`"
    assert rows(found) == [("transformers 4.57.6, tokenizer", "loads", f"does not load: {why}")]


def test_engines_that_raise_something_else_are_one_row_that_names_them(tmp_path: Path) -> None:
    eos = {"content": "<|im_end|>", "lstrip": False}
    found = changed(tmp_path, {CHATML: {"eos_token": eos}}, "transformers", "vllm", "sglang")
    [(engines, before, after)] = rows(found)
    assert engines == "transformers 5.24.0 · vLLM 0.33.0 · sglang 0.5.23, tokenizer"
    assert before == "loads"
    assert after.startswith("does not load: `TypeError: eos_token")
    assert after.endswith("`; `RuntimeError` in sglang")


def test_what_follows_from_a_configuration_that_does_not_load_has_no_row(tmp_path: Path) -> None:
    found = changed(tmp_path, {"config.json": "{"}, "transformers", "vllm")
    assert {row.field for row in found.predictions} > {"loads.config", "loads.tokenizer"}
    [(engines, before, after)] = rows(found)
    assert engines == "transformers 5.24.0 · vLLM 0.33.0, `config.json`"
    assert (before, after) == ("loads", "does not load: `OSError` in transformers")


def test_what_was_not_there_hides_only_what_could_not_be_before() -> None:
    def change(field: str, before: Any, after: Any) -> EngineChange:
        return EngineChange(engines=("vllm@0.33.0",), folder=".", field=field, before=before, after=after)

    there = change("loads.tokenizer", before=None, after=True)
    from_nothing, other = change("stops", None, [1]), change("stops", [1], [2])
    assert telling([there, from_nothing]) == [there]
    assert telling([there, other]) == [there, other]


def test_a_new_generation_config_is_told_by_what_it_does(tmp_path: Path) -> None:
    found = changed(tmp_path, {}, "transformers", base={"generation_config.json": False})
    assert "loads.generation_config" in {row.field for row in found.predictions}
    [(engines, before, after)] = rows(found)
    assert (engines, before) == ("transformers `generate()` 5.24.0", "stops on `<|im_end|>` 262")
    assert after == "stops on `<|im_end|>` 262 and `<|endoftext|>` 260"


def test_a_tokenizer_without_its_vocabulary_loads_but_is_empty(tmp_path: Path) -> None:
    found = changed(tmp_path, {"tokenizer.json": False}, "transformers@5.24", "vllm")
    assert (
        "transformers 5.24.0 · vLLM 0.33.0, tokenizer",
        "loads",
        "loads, but empty: it holds nothing but added tokens",
    ) in rows(found)


def test_a_stop_that_is_gained_or_lost_is_stressed(tmp_path: Path) -> None:
    one = {"generation_config.json": {"eos_token_id": [262]}}
    gained = changed(tmp_path / "gained", {}, "transformers", base=one)
    assert rows(gained) == [
        ("transformers `generate()` 5.24.0", "stops on `<|im_end|>` 262", "stops on `<|im_end|>` 262 and `<|endoftext|>` 260")
    ]
    lost = changed(tmp_path / "lost", one, "transformers")
    [(_, before, after)] = rows(lost)
    assert before == "stops on `<|endoftext|>` 260 and `<|im_end|>` 262"
    assert after == "stops on `<|im_end|>` 262, no longer on `<|endoftext|>` 260"


def test_two_stops_gained_are_one_list(tmp_path: Path) -> None:
    one, three = ({"generation_config.json": {"eos_token_id": ids}} for ids in ([262], [262, 260, 261]))
    [(_, _, after)] = rows(changed(tmp_path, three, "transformers", base=one))
    assert after == "stops on `<|im_end|>` 262, `<|endoftext|>` 260 and `<|im_start|>` 261"


def test_json_mode_has_a_row_only_where_it_differs_from_chat(tmp_path: Path) -> None:
    same = changed(tmp_path / "same", {"generation_config.json": {"eos_token_id": [262, 260, 261]}}, "vllm", "sglang")
    assert {row.field for row in same.predictions} == {"stops", "stops_in_grammar"}
    assert [engines for engines, _, _ in rows(same)] == ["vLLM 0.33.0 · sglang 0.5.23"]
    other = changed(tmp_path / "other", {"generation_config.json": False, "config.json": {"eos_token_id": 260}}, "vllm", "sglang")
    told = {engines: (before, after) for engines, before, after in rows(other)}
    assert told["sglang 0.5.23, JSON mode"][1] == "may end a JSON answer only with `<|endoftext|>` 260"
    assert not any("vLLM" in engines and "JSON" in engines for engines in told)


def test_a_template_that_moves_to_a_file_is_lost_for_those_that_do_not_read_it(tmp_path: Path) -> None:
    moved = {CHATML: {"chat_template": "<absent>"}, "chat_template.jinja": TEMPLATE}
    engines = ("transformers@4.46", "transformers@5.24", "vllm", "tgi", "llama.cpp")
    found = changed(tmp_path, moved, *engines, base={CHATML: {"chat_template": TEMPLATE}})
    [before] = {before.partition(" of ")[0] for _, before, _ in rows(found)}
    assert before.startswith("reads `")
    assert rows(found) == [
        (
            "transformers 4.46.3, chat template; read in the source, not run: TGI 3.3.7",
            f"{before} of `tokenizer_config.json`",
            "has none",
        ),
        ("transformers 5.24.0 · vLLM 0.33.0 · llama.cpp 2026-10-01, chat template", before, "unchanged"),
    ]


def test_an_engine_that_keeps_the_old_template_is_unchanged(tmp_path: Path) -> None:
    found = changed(tmp_path, {"chat_template.jinja": TEMPLATE}, "transformers@4.46", "transformers@5.24", "vllm", "tgi")
    by_answer = {after: engines for engines, _, after in rows(found) if "chat template" in engines}
    assert by_answer["unchanged"] == "transformers 4.46.3, chat template; read in the source, not run: TGI 3.3.7"
    [new] = [after for after in by_answer if after != "unchanged"]
    assert by_answer[new] == "transformers 5.24.0 · vLLM 0.33.0, chat template"
    assert new.endswith(" of `chat_template.jinja`")


def test_a_template_that_every_engine_reads_anew_is_told_by_the_prompts(tmp_path: Path) -> None:
    plain = json.loads((SNAPSHOTS / "chatml" / CHATML).read_text("utf-8"))["chat_template"]
    found = changed(tmp_path, {CHATML: {"chat_template": f"Hello. {plain}"}}, "transformers", "vllm")
    assert [row.field for row in found.predictions] == ["template.sha256"]
    assert rows(found) == []
    assert found.prompts
    assert headline(found) == "This pull request changes what the model reads"


@pytest.mark.parametrize("mark", [{"config.json": {"transformers.js_config": {}}}, {"onnx/model.onnx": "weights"}])
def test_the_browser_library_is_asked_where_it_has_business(mark: dict[str, Any], tmp_path: Path) -> None:
    moved = {CHATML: {"chat_template": "<absent>"}, "chat_template.jinja": TEMPLATE}
    before = {CHATML: {"chat_template": TEMPLATE}}
    asked = ("transformers.js", "transformers")
    assert rows(changed(tmp_path / "without", moved, *asked, base=before)) == []
    (lost, kept) = rows(changed(tmp_path / "with", moved | mark, *asked, base=before | mark))
    assert (kept[0], kept[2]) == ("transformers 5.24.0, chat template", "unchanged")
    assert (lost[0], lost[2]) == ("Read in the source, not run: transformers.js 4.3.2, chat template", "has none")


def test_content_as_parts_where_it_was_text(tmp_path: Path) -> None:
    found = changed(tmp_path, {CHATML: {"chat_template": PARTS}}, "vllm", "sglang", base={CHATML: {"chat_template": TEMPLATE}})
    assert rows(found) == [("vLLM 0.33.0 · sglang 0.5.23, content of messages", "as text", "as lists of parts")]


@pytest.mark.parametrize(
    ("change", "about", "before", "after"),
    [
        ({"generation_config.json": {"temperature": 0.7}}, "sampling defaults", "none of these", "temperature `0.7`"),
        (
            {"config.json": {"max_position_embeddings": 2048}, CHATML: {"model_max_length": 2048}},
            "context",
            "4096 tokens",
            "2048 tokens",
        ),
        ({"config.json": {"torch_dtype": "float16"}}, "type of the weights", "`bfloat16`", "`float16`"),
        ({"config.json": {"quantization_config": {"quant_method": "fp8"}}}, "quantization", "not quantized", "`fp8`"),
    ],
)
def test_a_setting_of_the_engine(change: dict[str, Any], about: str, before: str, after: str, tmp_path: Path) -> None:
    assert (f"vLLM 0.33.0, {about}", before, after) in rows(changed(tmp_path, change, "vllm"))


def test_a_long_list_of_settings_is_cut(tmp_path: Path) -> None:
    many = {
        "do_sample": True,
        "temperature": 0.5,
        "top_k": 5,
        "top_p": 0.5,
        "max_length": 9,
        "max_new_tokens": 9,
        "repetition_penalty": 2.0,
    }
    [(_, _, after)] = rows(changed(tmp_path, {"generation_config.json": many}, "transformers"))
    assert after.endswith(" 1 more")
    assert after.count(",") == 6


def test_what_is_known_of_one_side_only_is_not_a_change(tmp_path: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 7000000\n"
    found = changed(tmp_path, {"tokenizer.json": pointer}, "transformers", "vllm", "sglang")
    assert rows(found) == []
    [said] = [row for row in words.unread(found.unchecked) if "predicted" in row]
    gap = "not everything could be predicted after the change"
    assert said.startswith(f"transformers 5.24.0, vLLM 0.33.0 and sglang 0.5.23: {gap}: tokenizer.json is a Git LFS pointer")
    assert not any(isinstance(side, dict) and "unknown" in side for row in found.predictions for side in (row.before, row.after))


def test_rows_of_trusted_code_say_so(tmp_path: Path) -> None:
    other = {"generation_config.json": {"eos_token_id": 163585}}
    told = {
        engines: (before, after)
        for engines, before, after in rows(changed(tmp_path, other, "transformers", "vllm", snapshot="kimi"))
    }
    assert told["transformers `generate()` 5.24.0"] == ("stops on `<|im_end|>` 163586", "stops on `[EOS]` 163585")
    assert "With `trust_remote_code`, read in the source, not run: vLLM 0.33.0" in told


def test_engines_that_agree_are_one_row_and_versions_a_range(tmp_path: Path) -> None:
    change = {
        "generation_config.json": {"eos_token_id": [260]},
        "config.json": {"eos_token_id": 260},
        CHATML: {"eos_token": "<|endoftext|>"},
    }
    found = changed(tmp_path, change, "transformers>=5.0,<5.5", "vllm", "lmdeploy")
    [(engines, before, after)] = rows(found)
    assert engines == "transformers `generate()` 5.0.0 – 5.4.0 · vLLM 0.33.0; read in the source, not run: LMDeploy 0.18.0"
    assert before == "stops on `<|endoftext|>` 260 and `<|im_end|>` 262"
    assert after == "stops on `<|endoftext|>` 260, no longer on `<|im_end|>` 262"


CHANGES: list[dict[str, Any]] = [
    {"generation_config.json": {"eos_token_id": [262], "temperature": 0.7}, "config.json": {"torch_dtype": "float16"}},
    {CHATML: {"tokenizer_class": "TokenizersBackend"}},
    {CHATML: {"chat_template": "<absent>"}, "chat_template.jinja": TEMPLATE},
    {"tokenizer.json": False},
    {"config.json": "{"},
    {"generation_config.json": False},
]


@pytest.mark.parametrize("number", range(len(CHANGES)))
def test_swapping_the_sides_swaps_the_answers(number: int, tmp_path: Path) -> None:
    base, head = write(tmp_path / "base", "chatml", {}), write(tmp_path / "head", "chatml", CHANGES[number])
    there, back = between(base, head, tmp_path / "there", "all"), between(head, base, tmp_path / "back", "all")

    def sides(rows: tuple[EngineChange, ...], *, swapped: bool) -> set[str]:
        told = ((row.field, row.engines, *((row.after, row.before) if swapped else (row.before, row.after))) for row in rows)
        return set(map(repr, told))

    assert there.predictions
    assert sides(there.predictions, swapped=False) == sides(back.predictions, swapped=True)
    assert sorted(row.engines for row in effects(there)) == sorted(row.engines for row in effects(back))
    assert between(head, head, tmp_path / "same", "all").predictions == ()


@pytest.mark.parametrize("change", [{"README.md": "# Another text\n"}, {"model-00001-of-00001.safetensors": "other bytes"}])
def test_a_change_of_what_no_engine_reads_here_has_no_rows(change: dict[str, Any], tmp_path: Path) -> None:
    found = changed(tmp_path, change, "all")
    assert (found.predictions, rows(found)) == ((), [])
    assert not [each for each in found.unchecked if each.kind == "engine"]


def test_rows_come_in_the_order_of_engines(tmp_path: Path) -> None:
    change = {"generation_config.json": {"temperature": 0.7, "max_new_tokens": 5}}
    found = [engines.split()[0] for engines, _, _ in rows(changed(tmp_path, change))]
    assert found == sorted(found, key=["transformers", "vLLM", "sglang"].index)
    assert len(found) > 1


def test_a_move_between_versions_is_named_and_finds_nothing_new(tmp_path: Path) -> None:
    model = write(tmp_path / "model", "chatml", {CHATML: {"tokenizer_class": "TokenizersBackend"}})
    found = between(model, model, tmp_path / "work", "transformers@4.57", after=("transformers@5.24",))
    assert (found.new, found.resolved) == ((), ())
    assert headline(found) == "The move from transformers 4.57.6 to 5.24.0 changes what loads"
    why = "`ValueError: Tokenizer class TokenizersBackend does not exist or is not currently imported`"
    assert rows(found)[0] == ("transformers 4.57.6 -> 5.24.0, tokenizer", f"does not load: {why}", "loads")
    assert words.judges(found.modelled).split(" · ")[1] == "transformers 4.57.6 -> 5.24.0"
    plain = write(tmp_path / "plain", "chatml", {})
    still = between(plain, plain, tmp_path / "still", "vllm@0.28", after=("vllm@0.33",))
    assert headline(still) == "Nothing that is predicted changes with the move from vLLM 0.28.0 to 0.33.0"


def recorded(snapshot: str, chosen: str) -> dict[str, Any]:
    """What the real engine did with one side, {} where it was not run."""
    engine, _, version = chosen.partition("@")
    path = SHARED / "golden" / f"{engine}-{version}" / f"{snapshot}.json"
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


@pytest.mark.needs("shared")
def test_every_row_of_the_cases_is_what_the_engines_did(tmp_path: Path) -> None:
    held = 0
    for case in sorted((SHARED / "cases").iterdir()):
        if not (case / "base").is_dir():
            continue
        found = between(case / "base", case / "head", tmp_path / case.name)
        for change in found.predictions:
            for chosen in change.engines:
                for side, said in (("base", change.before), ("head", change.after)):
                    did: Any = recorded(f"cases__{case.name}__{side}", chosen)
                    for part in change.field.split("."):
                        did = did.get(part, {}) if isinstance(did, dict) else {}
                    if did != {} and not change.with_remote_code:
                        assert (case.name, chosen, change.field, side, did) == (case.name, chosen, change.field, side, said)
                        held += 1
    assert held > 500


def test_a_template_that_renders_at_last_is_repaired(tmp_path: Path) -> None:
    broken = {CHATML: {"chat_template": TEMPLATE.removesuffix("{% endfor %}")}}
    found = changed(tmp_path, {CHATML: {"chat_template": TEMPLATE}}, "vllm", base=broken)

    assert (
        headline(found)
        == f"This pull request repairs the chat template: {len(found.prompts)} conversations that failed render now"
    )
    assert "chat-template-changed" not in {finding.check for finding in found.new}
    assert annotations(found) == []
    assert "chat-template-syntax-error" in {finding.check for finding in found.resolved}

    one = msgspec.structs.replace(found, prompts=found.prompts[:1])
    assert headline(one).endswith("repairs the chat template: 1 conversation that failed renders now")
    reads = msgspec.structs.replace(found.prompts[0], before_sha256="a")
    assert headline(msgspec.structs.replace(found, prompts=(*found.prompts, reads))).endswith("changes what the model reads")
