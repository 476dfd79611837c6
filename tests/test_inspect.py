"""`inspect` and `check`: one revision by itself, described and judged, through the jail and on the command line."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from bot import schema
from bot.analyze.describe import page
from bot.analyze.inspection import Inspection, Page
from bot.analyze.model.document import Document, parse
from bot.run import check, inspect
from tests.changes import SNAPSHOTS, write
from tests.conftest import ROOT, SHARED, present
from tests.models import model, model_of
from tests.repositories import GitRepository

VALIDATOR = jsonschema.Draft202012Validator(json.loads((schema.FOLDER / "inspection-1.json").read_text("utf-8")))
REAL = sorted({path.parent for path in SHARED.glob("corpus/**/tokenizer_config.json")}) if present("shared") else []


def inspected(folder: Path) -> Page:
    inspection = inspect(str(folder), repo=folder)
    VALIDATOR.validate(json.loads(msg(inspection)))
    (found,) = inspection.models
    return found


def msg(inspection: Inspection) -> bytes:

    return msgspec.json.encode(inspection)


def ran(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "bot", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def places(value: Any) -> Iterator[dict[str, Any]]:
    """Every place in a report."""
    if isinstance(value, dict):
        if {"revision", "path", "pointer", "line"} <= value.keys():
            yield value
        for inner in value.values():
            yield from places(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from places(inner)


def test_a_token_has_its_ids_by_reader_and_every_statement() -> None:
    found = inspected(SNAPSHOTS / "chatml")
    row = next(row for row in found.tokens if row.text == "<|im_end|>")
    assert row.ids == {"tokenizers": 262, "4.57.6": 262, "5.24.0": 262}
    assert set(row.special.values()) == {True}
    assert {(said.file, said.slot, said.id) for said in row.declared} == {
        ("tokenizer.json", "", 262),
        ("tokenizer_config.json", "", 262),
        ("tokenizer_config.json", "eos_token", None),
    }
    assert "<think>" in found.plain_markers
    assert found.collisions == {}
    assert [(turn.ends, turn.opens) for turn in found.turns] == [(("<|im_end|>",), ("<|im_start|>",))]


def test_a_table_that_disagrees_shows_as_more_than_one_id(tmp_path: Path) -> None:
    decoder = {"300": {"content": "<|im_end|>", "special": True}}
    folder = write(tmp_path / "head", "chatml", {"tokenizer_config.json": {"added_tokens_decoder": decoder}})
    found = inspected(folder)
    assert found.collisions["<|im_end|>"] == (262, 300)


@pytest.mark.parametrize(
    ("config", "loads", "cls"),
    [
        ({"tokenizer_class": "PreTrainedTokenizerFast"}, (True, True), ("PreTrainedTokenizerFast", "TokenizersBackend")),
        ({"tokenizer_class": "TokenizersBackend"}, (False, True), ("", "TokenizersBackend")),
        ({"extra_special_tokens": ["<|im_end|>"]}, (None, False, True), ("", "", "Qwen2Tokenizer")),
    ],
)
def test_versions_that_load_the_tokenizer(
    config: dict[str, Any], loads: tuple[bool | None, ...], cls: tuple[str, ...], tmp_path: Path
) -> None:
    found = inspected(write(tmp_path / "head", "chatml", {"tokenizer_config.json": config}))
    assert tuple(load.loads for load in found.loads) == loads
    assert tuple(load.cls for load in found.loads) == cls
    assert all(load.reason for load in found.loads if not load.loads)


def test_the_class_by_version_shows_where_it_changes(tmp_path: Path) -> None:
    config = {"tokenizer_class": "LlamaTokenizerFast", "bos_token": "<|endoftext|>"}
    found = inspected(
        write(tmp_path / "head", "chatml", {"tokenizer_config.json": config, "config.json": {"model_type": "llama"}})
    )
    classes = [str(row.value).partition(",")[0] for row in found.classes]
    assert classes == ["TokenizersBackend", "LlamaTokenizer", "TokenizersBackend"]
    assert found.classes[0].about.startswith("transformers 5.0.0")


def test_remote_code_and_what_it_needs() -> None:
    found = inspected(SNAPSHOTS / "kimi")
    (named, reached) = found.remote_code
    assert named.value == {"code": "tokenization_kimi", "repository": ".", "there": True}
    assert reached.value == ["tokenization_kimi.py"]
    assert {"trust_remote_code", "tiktoken"} <= {need.about for need in found.needs}
    assert {load.loads for load in found.loads} == {None}
    row = next(row for row in found.tokens if row.text == "[EOS]")
    assert row.ids == {"tokenizer in Python": 163585}


def test_quantization_is_found_wherever_it_stands(tmp_path: Path) -> None:
    quantization = {"quant_method": "compressed-tensors", "format": "pack-quantized", "ignore": ["lm_head", "re:.*gate$"]}
    groups = {"group_0": {"weights": {"num_bits": 4, "group_size": 32}}}
    config = {"text_config": {"quantization_config": {**quantization, "config_groups": groups, "kv_cache_scheme": None}}}
    found = inspected(write(tmp_path / "head", "quantized", {"config.json": {"quantization_config": "<absent>", **config}}))
    row = next(row for row in found.quantization if row.about == "text_config.quantization_config")
    assert row.value == {"summary": "compressed-tensors, 4 bit, group 32, pack-quantized", "ignored": 2, "kv_cache": None}
    assert row.places[0].pointer == "/text_config/quantization_config"


def test_types_and_quantization_files_are_said_as_they_can_be_read(tmp_path: Path) -> None:
    changes = {
        "config.json": {"text_config": {"dtype": "float16"}},
        "hf_quant_config.json": "[]",
        "chat_template.json": {"chat_template": "x"},
    }
    found = inspected(write(tmp_path / "head", "chatml", changes))
    rows = {row.about: row for row in found.quantization}
    assert rows["config.json text_config.dtype"].value == "float16"
    assert rows["config.json text_config.dtype"].places[0].pointer == "/text_config/dtype"
    assert rows["hf_quant_config.json"].state == "unknown"
    assert [row.value["used"] for row in found.templates] == ["in force", "read by processors only"]


def test_a_large_file_that_does_not_parse_is_placed_where_reading_stopped(tmp_path: Path) -> None:
    rows = json.dumps({f"token {i}": i for i in range(60_000)}, indent=1)
    folder = write(tmp_path / "head", "chatml", {"tokenizer.json": rows.replace('"token 40000"', ',"token 40000"')})
    (finding,) = [each for each in check(str(folder), repo=tmp_path).new if each.check == "invalid-json"]
    assert finding.places[0].line == 40_002


def test_what_files_state_differently_is_said_with_every_place(tmp_path: Path) -> None:
    changes = {"generation_config.json": {"eos_token_id": 260}, "config.json": {"dtype": "float16", "torch_dtype": "bfloat16"}}
    found = inspected(write(tmp_path / "head", "chatml", changes))
    rows = {row.about: row for row in found.disagreements}
    assert rows["dtype"].value == {"config.json dtype": "float16", "config.json torch_dtype": "bfloat16"}
    assert {place.path for place in rows["the tokenizer's EOS is not among the stop ids"].places} == {
        "generation_config.json",
        "tokenizer_config.json",
    }


def test_a_revision_of_a_repository_is_named(tmp_path: Path) -> None:
    repository = GitRepository(tmp_path / "clone")
    write(repository.path, "chatml", {})
    sha = repository.commit("Add the model")
    inspection = inspect("git:HEAD", repo=repository.path)
    assert inspection.sha == sha
    assert [found.folder for found in inspection.models] == ["."]
    assert check("git:HEAD", repo=repository.path).head.sha == sha


def test_what_cannot_be_read_is_unknown_and_unchecked(tmp_path: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 11421896\n"
    folder = write(tmp_path / "head", "chatml", {"tokenizer.json": pointer})
    inspection = inspect(str(folder), repo=folder)
    assert {load.loads for load in inspection.models[0].loads} == {None}
    assert "tokenizer.json" in {row.id for row in inspection.unchecked}


def test_lone_surrogates_are_shown_by_their_escape(tmp_path: Path) -> None:
    folder = write(tmp_path / "head", "chatml", {})
    config = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
    (folder / "tokenizer_config.json").write_text(json.dumps({**config, "pad_token": "\ud800"}), "utf-8")
    assert "\\ud800" in {row.text for row in inspected(folder).tokens}


def test_check_finds_what_a_comparison_with_nothing_finds(tmp_path: Path) -> None:
    folder = write(tmp_path / "head", "chatml", {"generation_config.json": {"eos_token_id": 260}})
    judged = check(str(folder), repo=tmp_path)
    assert "turn-end-not-in-eos" in {finding.check for finding in judged.new}
    assert judged.models == ()
    assert (judged.resolved, judged.unchanged, judged.predictions, judged.prompts) == ((), (), (), ())


def test_check_and_inspect_on_the_command_line(tmp_path: Path) -> None:
    folder = write(tmp_path / "head", "chatml", {"generation_config.json": {"eos_token_id": 260}})
    judged = ran("check", folder)
    assert judged.returncode == 1
    assert "turn-end-not-in-eos" in judged.stdout
    assert ran("check", SNAPSHOTS / "chatml").returncode == 0
    described = ran("inspect", folder)
    assert described.returncode == 0
    assert "`" not in described.stdout
    assert "<|im_end|>" in described.stdout
    assert json.loads(ran("inspect", folder, "--format", "json").stdout)["models"][0]["folder"] == "."
    assert json.loads(ran("check", folder, "--format", "json").stdout)["schema"] == 1
    for command in ("check", "inspect"):
        gone = ran(command, tmp_path / "nowhere")
        assert (gone.returncode, gone.stdout, gone.stderr.count("\n")) == (3, "", 1)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "There is no model folder in this revision" in ran("inspect", empty).stdout


@pytest.mark.needs("shared")
@pytest.mark.parametrize("folder", REAL, ids=lambda folder: folder.relative_to(SHARED).as_posix())
def test_every_place_of_a_real_folder_is_where_the_value_stands(folder: Path) -> None:
    """The line of a statement is that of its value, and the value at the pointer is there."""

    head = model_of(folder)
    described = json.loads(msgspec.json.encode(page(head)))
    documents: dict[str, Document] = {}
    for place in list(places(described))[:400]:
        if place["path"].endswith(".json") and place["pointer"]:
            if place["path"] not in documents:
                document = parse((folder / place["path"]).read_bytes())
                if not isinstance(document, Document):
                    continue  # the line is then the one where reading stopped
                documents[place["path"]] = document
            assert place["line"] == documents[place["path"]].line(place["pointer"]), place


@pytest.mark.parametrize("text", ['{"a": [1,\n 2], "b": {"c/d": 1,\n\n"e~f": {}}, "g": []}'])
def test_lines_of_many_are_those_of_each(text: str) -> None:
    document = parse(text.encode())
    assert isinstance(document, Document)
    assert document.lines("/a") == {"0": document.line("/a/0"), "1": document.line("/a/1")}
    assert document.lines("/b") == {"c/d": document.line("/b/c~1d"), "e~f": document.line("/b/e~0f")}
    assert document.lines("/g") == {}
    assert document.lines("") == {name: document.line(f"/{name}") for name in "abg"}


def test_a_folder_without_anything_has_a_page() -> None:
    found = page(model({}))
    assert (found.tokens, found.turns, found.templates) == ((), (), ())
