"""The tables that were taken from transformers, against the installed version."""

import json

import transformers

from bot.analyze.tables import TABLE, config_eos
from tools import tables


def test_the_committed_table_is_what_the_installed_version_says() -> None:
    assert tables.path().name == f"transformers-{transformers.__version__}.json"
    assert json.loads(tables.path().read_text("utf-8")) == json.loads(tables.text())
    assert tables.path().read_text("utf-8") == tables.text()


def test_the_engines_read_the_table_of_the_installed_version() -> None:
    assert tables.path() == TABLE
    assert len(config_eos()) > 300
