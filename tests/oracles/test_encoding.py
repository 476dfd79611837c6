"""What texts become, against transformers itself on made-up folders and against the records of real engines."""

import json
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import transformers
from transformers import AutoTokenizer

from bot.analyze.rules.encoding import encoded
from bot.answer import Known, Unknown
from tests.models import model
from tests.oracles.tokenizer_folders import TEXTS, folder
from tools import tokenizer_backends

FOLDERS = 300


def real_ids(files: dict[str, str]) -> dict[str, list[int]] | None:
    """What the installed transformers makes of the texts; None where it does not load the folder or fails with a text."""
    with tempfile.TemporaryDirectory() as path:
        for name, content in files.items():
            (Path(path) / name).write_text(content, "utf-8")
        try:
            tokenizer: Any = AutoTokenizer.from_pretrained(path)
            return {text: tokenizer(text)["input_ids"] for text in TEXTS}
        except Exception:  # noqa: BLE001 - whatever it raises, there are no ids
            return None


def test_texts_become_what_transformers_makes_of_them() -> None:
    counts: Counter[str] = Counter()
    wrong: list[int] = []
    for seed in range(FOLDERS):
        files = folder(Random(seed))
        real, ours = real_ids(files), encoded(model(files), transformers.__version__, TEXTS)
        counts["real"] += real is not None
        if isinstance(ours, Known):
            counts["known"] += 1
            wrong += [] if ours.value == real else [seed]
    assert wrong == []
    assert counts["real"] > 0.7 * FOLDERS
    assert counts["known"] > 0.8 * counts["real"], counts


def test_the_table_of_what_classes_build_is_that_of_the_installed_version() -> None:
    table: dict[str, Any] = json.loads(tokenizer_backends.PATH.read_text("utf-8"))
    made = tokenizer_backends.entered(table, transformers.__version__, tokenizer_backends.rows())
    assert made == table
    assert tokenizer_backends.text(table) == tokenizer_backends.PATH.read_text("utf-8")


def test_a_large_file_is_left_alone_unless_it_is_asked_for() -> None:
    made = (folder(Random(seed)) for seed in range(FOLDERS))
    files = next(
        each
        for each in made
        if "tokenizer.json" in each and isinstance(encoded(model(each), transformers.__version__, TEXTS), Known)
    )
    files["tokenizer.json"] += " " * 300_000
    given = model(files)
    assert isinstance(encoded(given, transformers.__version__, TEXTS), Unknown)
    answer = encoded(given, transformers.__version__, TEXTS, largest=1_000_000)
    assert isinstance(answer, Known)
    assert answer.value == real_ids(files)
