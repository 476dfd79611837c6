"""The tables that were taken from transformers, against the installed version."""

import json

import transformers

from bot.analyze.tables import TABLE, TYPES, config_eos, knows_type
from tools import model_types, tables


def test_the_committed_table_is_what_the_installed_version_says() -> None:
    assert tables.path().name == f"transformers-{transformers.__version__}.json"
    assert json.loads(tables.path().read_text("utf-8")) == json.loads(tables.text())
    assert tables.path().read_text("utf-8") == tables.text()


def test_the_committed_defaults_are_what_the_installed_version_says() -> None:
    assert model_types.PATH == TYPES
    assert model_types.PATH.read_text("utf-8") == model_types.text()


def test_model_types_are_known_by_release() -> None:
    known = {version: knows_type("qwen3", version) for version in ("4.46.3", "4.57.6", "5.24.0")}
    assert known == {"4.46.3": False, "4.57.6": True, "5.24.0": True}
    assert knows_type("code_llama", "5.5.0")  # gone in 5.6
    assert not knows_type("code_llama", "5.6.2")
    assert not knows_type("no_such_type", "5.24.0")
    assert config_eos("4.57.6")["llama"] == {"top": 2, "text": 2}


def test_the_engines_read_the_table_of_the_installed_version() -> None:
    assert tables.path() == TABLE
    assert len(config_eos()) > 300
