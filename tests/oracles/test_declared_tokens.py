"""What the checks of added and special tokens claim about loading, against AutoTokenizer and `tokenizers` themselves."""

import json
import tempfile
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from bot.analyze.checks import (
    added_token_content_duplicate,
    added_token_dropped_on_v5,
    added_token_id_duplicate,
    added_token_id_mismatch,
    added_token_ids_not_contiguous,
    special_flag_lost,
    special_token_object_untyped,
    special_tokens_map_differs,
)
from bot.analyze.model.declared import of_table, renumbered, spelled
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import rebuilt_id
from tests.changes import SNAPSHOTS, write
from tests.models import model, model_of

FILE = json.loads((SNAPSHOTS / "chatml/tokenizer.json").read_text("utf-8"))
CONFIG = json.loads((SNAPSHOTS / "chatml/tokenizer_config.json").read_text("utf-8"))
NAMES = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "<new>", "th", "<|pad|>")
SLOW = settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)


def token(content: str, *, special: bool = False) -> dict[str, Any]:
    return {"content": content, "special": special, **dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)}


def folder(path: Path, added: list[tuple[int, str]], config: dict[str, Any], special: Any = None) -> Path:
    """The snapshot with another list in tokenizer.json and other keys in tokenizer_config.json; null takes a key out."""
    write(path, "chatml", {} if special is None else {"special_tokens_map.json": special})
    rows = [{"id": i, **token(content)} for i, content in added]
    (path / "tokenizer.json").write_text(json.dumps({**FILE, "added_tokens": rows}), "utf-8")
    kept = {key: value for key, value in {**CONFIG, **config}.items() if value is not None}
    (path / "tokenizer_config.json").write_text(json.dumps(kept), "utf-8")
    return path


def load(path: Path) -> Any:
    return AutoTokenizer.from_pretrained(path, local_files_only=True)


def on_disk(added: list[tuple[int, str]], config: dict[str, Any]) -> tuple[Any, Model, Tokenizer]:
    """The tokenizer of transformers, ours, and that of the library for the file alone."""
    with tempfile.TemporaryDirectory() as work:
        path = folder(Path(work) / "m", added, config)
        return load(path), model_of(path), Tokenizer.from_file(str(path / "tokenizer.json"))


@st.composite
def lists(draw: st.DrawFn) -> list[tuple[int, str]]:
    """A list of added tokens with gaps, repeats, ids of pieces and ids out of order."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=6))
    return [(draw(st.sampled_from((256, 260, 261, 262, 263, 264, 270))), name) for name in names]


@SLOW
@given(lists())
def test_declared_ids_are_those_of_the_library_or_something_is_said(added: list[tuple[int, str]]) -> None:
    with tempfile.TemporaryDirectory() as work:
        path = folder(Path(work) / "m", added, {"added_tokens_decoder": None})
        library, ours = Tokenizer.from_file(str(path / "tokenizer.json")), model_of(path)
    wrong = {(row.text, given) for row, given in renumbered(ours) if row.file == "tokenizer.json"}
    assert wrong == {(text, library.token_to_id(text)) for i, text in added if library.token_to_id(text) != i}
    told = (added_token_content_duplicate, added_token_id_duplicate, added_token_ids_not_contiguous)
    said = [check for check in told if any(check.find(ours))]
    assert said or not wrong
    assert (added_token_content_duplicate in said) == (len({text for _, text in added}) < len(added))


@SLOW
@given(st.lists(st.sampled_from(NAMES), unique=True), st.lists(st.sampled_from(NAMES), unique=True), st.data())
def test_a_token_is_dropped_where_we_say_so(own: list[str], other: list[str], data: st.DataObject) -> None:
    roles = {
        "eos_token": data.draw(st.sampled_from(NAMES)),
        "pad_token": "<|endoftext|>",
        "fim_token": data.draw(st.sampled_from((None, "<new>"))),
    }
    more = data.draw(st.sampled_from((None, ["<think>"], ["<|im_start|>", "<new>"])))
    decoder = {str(260 + i): token(content) for i, content in enumerate(other)}
    added = [(260 + i, content) for i, content in enumerate(own)]
    real, ours, _ = on_disk(added, {"added_tokens_decoder": decoder, "additional_special_tokens": more, **roles})
    said = {
        place.pointer
        for seen in added_token_dropped_on_v5.find(ours)
        for place in seen.places
        if "/added_tokens/" in place.pointer
    }
    dropped = [f"/added_tokens/{i}" for i, content in enumerate(own) if real.tokenize(content) != [content]]
    assert said == set(dropped[:3])


@SLOW
@given(st.permutations(NAMES[:4]), st.permutations(NAMES[:4]))
def test_a_token_has_two_ids_where_we_say_so(own: list[str], other: list[str]) -> None:
    decoder = {str(260 + i): token(content) for i, content in enumerate(other)}
    real, ours, library = on_disk([(260 + i, content) for i, content in enumerate(own)], {"added_tokens_decoder": decoder})
    said = any(seen.severity == "error" for seen in added_token_id_mismatch.find(ours))
    assert said == any(library.token_to_id(text) != real.convert_tokens_to_ids(text) for text in own)
    assert all(rebuilt_id(ours, text) == real.convert_tokens_to_ids(text) for text in own)


PLAIN = {"content": "<think>"}
OBJECTS: dict[str, dict[str, Any]] = {
    "a role": {"eos_token": PLAIN},
    "a role that is not used": {"mask_token": PLAIN},
    "an empty object": {"eos_token": {}},
    "another type": {"eos_token": {**PLAIN, "__type": "Token"}},
    "the type": {"eos_token": {**PLAIN, "__type": "AddedToken"}},
    "another name": {"image_token": PLAIN},
    "a string": {"eos_token": "<think>"},
    "in additional_special_tokens": {"additional_special_tokens": ["<think>", PLAIN]},
    "typed in additional_special_tokens": {"additional_special_tokens": [{**PLAIN, "__type": "AddedToken"}]},
    "in extra_special_tokens": {"extra_special_tokens": [PLAIN]},
    "in a mapping": {"extra_special_tokens": {"image_token": PLAIN}},
    "typed in a mapping": {"extra_special_tokens": {"image_token": {**PLAIN, "__type": "AddedToken"}}},
    "in a list that another replaces": {"additional_special_tokens": [PLAIN], "extra_special_tokens": ["<think>"]},
    "in a list beside an empty one": {"additional_special_tokens": [PLAIN], "extra_special_tokens": []},
    "in a list beside an empty mapping": {"additional_special_tokens": [PLAIN], "extra_special_tokens": {}},
}


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize(
    "special", [None, {"eos_token": "<|im_end|>"}, {"eos_token": PLAIN}], ids=["no map", "a map", "an object in the map"]
)
@pytest.mark.parametrize("decoder", [True, False], ids=["decoder", "no decoder"])
def test_the_tokenizer_does_not_load_where_we_say_so(name: str, special: Any, *, decoder: bool, tmp_path: Path) -> None:
    own = [(row["id"], row["content"]) for row in FILE["added_tokens"]]
    keep = {} if decoder else {"added_tokens_decoder": None}
    path = folder(tmp_path / "m", own, {**keep, **OBJECTS[name]}, special)
    said = any(seen.severity == "error" for seen in special_token_object_untyped.find(model_of(path)))
    try:
        load(path)
    except TypeError:
        assert said
    else:
        assert not said


@pytest.mark.parametrize(
    "slot", [{}, {"pad_token": "<|im_start|>"}, {"image_token": "<|im_start|>"}, {"additional_special_tokens": ["<|im_start|>"]}]
)
@pytest.mark.parametrize("cls", ["Qwen2Tokenizer", "CohereTokenizer", "GPT2Tokenizer", "PreTrainedTokenizerFast"])
@pytest.mark.parametrize("where", ["tokenizer.json", "tokenizer_config.json", "both"])
def test_a_token_is_shown_where_we_say_that_its_flag_is_lost(slot: dict[str, Any], cls: str, where: str, tmp_path: Path) -> None:
    base = write(tmp_path / "base", "chatml", {"tokenizer_config.json": {"tokenizer_class": cls}})
    config = {"tokenizer_class": cls, **slot}
    if where != "tokenizer.json":
        config["added_tokens_decoder"] = {"261": {"special": False}}
    changes: dict[str, Any] = {"tokenizer_config.json": config}
    if where != "tokenizer_config.json":
        rows = [{**row, "special": row["special"] and row["id"] != 261} for row in FILE["added_tokens"]]
        changes["tokenizer.json"] = {"added_tokens": rows}
    head = write(tmp_path / "head", "chatml", changes)
    assert load(base).decode([261], skip_special_tokens=True) == ""
    shown = load(head).decode([261], skip_special_tokens=True) != ""
    said = list(special_flag_lost.find_in_change(model_of(base, "base"), model_of(head)))
    assert any(seen.engines != ("transformers < 5",) for seen in said) == shown


@pytest.mark.parametrize(
    "special",
    [{"eos_token": "<think>"}, {"eos_token": {"content": "<|im_end|>"}}, {"pad_token": None}, {"bos_token": "<think>"}, {}],
)
@pytest.mark.parametrize("decoder", [True, False], ids=["decoder", "no decoder"])
def test_the_map_changes_a_role_where_we_say_so(special: dict[str, Any], *, decoder: bool, tmp_path: Path) -> None:
    change: dict[str, Any] = {} if decoder else {"added_tokens_decoder": "<absent>"}
    without = load(write(tmp_path / "without", "chatml", {"tokenizer_config.json": change}))
    path = write(tmp_path / "with", "chatml", {"tokenizer_config.json": change})
    (path / "special_tokens_map.json").write_text(json.dumps(special), "utf-8")
    after = load(path)
    changed = {name for name in ("bos_token", "eos_token", "pad_token") if getattr(without, name) != getattr(after, name)}
    assert {seen.key for seen in special_tokens_map_differs.find(model_of(path))} == changed


def test_a_piece_is_one_token_where_we_say_that_text_becomes_it() -> None:
    pieces = {"[INST]": 260, "ther": 261, "the": 262}
    merges = [*FILE["model"]["merges"], ["th", "e"]]
    content = json.dumps(
        {**FILE, "model": {**FILE["model"], "vocab": {**FILE["model"]["vocab"], **pieces}, "merges": merges}, "added_tokens": []}
    )
    library, ours = Tokenizer.from_str(content), model({"tokenizer.json": content})
    texts = [*(piece for piece in library.get_vocab() if piece.isascii() and len(piece) > 1), "<|im_end|>", "a", "Z"]
    assert {text for text in texts if spelled(ours, text)} == {text for text in texts if len(library.encode(text).ids) == 1}


@pytest.mark.needs("shared")
def test_every_real_list_is_declared_as_the_library_reads_it(shared: Path) -> None:
    for path in sorted(shared.glob("corpus/*/tokenizer.json")):
        rows = of_table(model_of(path.parent), "added_tokens")
        if rows:
            real = json.loads(path.read_text("utf-8"))["added_tokens"]
            assert [(row.text, row.id, dict(row.flags)) for row in rows] == [
                (entry["content"], entry["id"], {flag: entry[flag] for flag in row.flags})
                for row, entry in zip(rows, real, strict=True)
            ]
