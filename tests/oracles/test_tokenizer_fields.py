"""What we say of a loaded tokenizer, field by field, against the records of real loads; and the tables that it rests on, made again."""

import json
from pathlib import Path

import msgspec
import transformers

from bot.analyze.model.folder import Model
from bot.analyze.model.tokenizer_classes import VERSIONS, ClassRow, release
from bot.analyze.rules.tokenizer_fields import tokenizer_fields
from bot.answer import Known, shown
from tests.models import model, model_of
from tools import tokenizer_classes

FIELDS = (
    "tokenizer_class",
    "eos_token",
    "eos_token_id",
    "bos_token",
    "bos_token_id",
    "pad_token",
    "pad_token_id",
    "all_special_ids",
    "added_tokens",
    "len_tokenizer",
)
RECORDED = ("4.46.3", "4.57.6", "5.0.0", "5.5.0", "5.15.1", "5.24.0")
CONFIG = json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "extra_special_tokens": ["<x>"], "eos_token": "a"})
FILE = json.dumps({"version": "1.0", "added_tokens": [], "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}})


def literal(folder: Path) -> Model:
    """A folder as the records were made of it: a Git LFS pointer in it is a file."""
    return msgspec.structs.replace(model_of(folder), literal=True)


def test_the_rows_of_the_installed_release_are_those_of_the_table() -> None:
    # The table was made where sentencepiece is installed; without it some classes in Python are absent, and one is another class.
    tables = release(transformers.__version__)
    for name, row in tokenizer_classes.rows().items():
        if row["kind"] != "absent" and name != "CpmTokenizerFast":
            assert msgspec.convert(row, ClassRow, strict=False) == tables.classes[name], name
    named, lent = tokenizer_classes.by_config()
    assert {kind: name for kind, name in named.items() if name} == {k: v for k, v in tables.by_config.items() if named[k]}
    assert frozenset(lent) == tables.lent
    assert set(tokenizer_classes.spelled()) == set(tables.spelled)


def test_every_class_that_a_name_stands_for_has_a_row() -> None:
    for version in VERSIONS:
        tables = release(version)
        bases = {"PreTrainedTokenizer", "PythonBackend", "PreTrainedTokenizerBase"}
        assert set(tables.spelled.values()) - set(tables.classes) <= bases


def test_a_list_of_extra_special_tokens_stops_4_57_alone() -> None:
    there = model({"tokenizer_config.json": CONFIG, "tokenizer.json": FILE})
    loads = {version: shown(tokenizer_fields(there, version)["loads.tokenizer"]) for version in VERSIONS}
    assert [version for version, found in loads.items() if not found] == ["4.57.6"]
    assert shown(tokenizer_fields(there, "4.57.6")["errors.tokenizer.type"]) == "AttributeError"


def test_a_class_that_4_lacks_is_a_value_error_and_5_takes_the_file() -> None:
    there = model({"tokenizer_config.json": '{"tokenizer_class": "TokenizersBackend"}', "tokenizer.json": FILE})
    types = {version: shown(tokenizer_fields(there, version).get("errors.tokenizer.type", Known(None))) for version in VERSIONS}
    assert {version for version, error in types.items() if error} == {"4.46.3", "4.57.6"}
    assert types["4.57.6"] == "ValueError"


def test_code_of_the_repository_stops_an_operator_who_does_not_trust_it() -> None:
    config = json.dumps({"tokenizer_class": "OwnTokenizer", "auto_map": {"AutoTokenizer": ["own.OwnTokenizer", None]}})
    alone = {"tokenizer_config.json": config, "tokenizer.json": FILE}
    for version in VERSIONS:
        assert shown(tokenizer_fields(model(alone), version)["errors.tokenizer.type"]) == "ValueError"
    beside = model({**alone, "config.json": '{"model_type": "qwen3"}'})
    assert shown(tokenizer_fields(beside, "5.24.0")["tokenizer_class"]) == "TokenizersBackend"
    assert shown(tokenizer_fields(beside, "4.57.6")["errors.tokenizer.type"]) == "ValueError"


def test_nothing_to_load_is_null_and_no_failure() -> None:
    fields = tokenizer_fields(model({"adapter_config.json": "{}"}), "5.24.0")
    assert shown(fields["loads.tokenizer"]) is None
    assert shown(fields["errors.tokenizer.type"]) == "ValueError"
