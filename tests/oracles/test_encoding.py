"""What texts become, against transformers itself on made-up folders and against the records of real engines."""

import json
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
import transformers
from transformers import AutoTokenizer

from bot.analyze.model.folder import Model
from bot.analyze.model.picks import OF_SERVERS
from bot.analyze.rules.encoding import encoded, encoded_by_sglang, encoded_by_webllm
from bot.answer import Answer, Known, Unknown
from tests.conftest import SHARED
from tests.models import model, model_of
from tests.oracles.records import folder_of
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
    assert counts["known"] > 0.88 * counts["real"], counts


@pytest.mark.needs("shared")
@pytest.mark.parametrize(
    "engine",
    [f"transformers-{version}" for version in ("4.46.3", "4.57.6", "5.0.0", "5.5.0", "5.15.1", "5.24.0")]
    + ["vllm-0.33.0", "sglang-0.5.23", "webllm-0.2.86"],
)
def test_texts_become_what_a_record_of_a_real_engine_says(engine: str) -> None:
    probes: dict[str, Any] = json.loads((SHARED / "golden/probes.json").read_text("utf-8"))
    texts = tuple(probes["texts"])
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for path in sorted((SHARED / "golden" / engine).glob("*.json")):
        record: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if "encode" not in record:
            continue
        counts["all"] += 1
        answer = answered(engine, model_of(folder_of(path.stem)), texts)
        if isinstance(answer, Known):
            counts["known"] += 1
            wrong += [] if answer.value == record["encode"] else [path.stem]
    assert wrong == []
    assert counts["known"] >= 0.8 * counts["all"], counts


def answered(engine: str, folder: Model, texts: tuple[str, ...]) -> Answer[dict[str, list[int]]]:
    name, _, version = engine.rpartition("-")
    match name:
        case "webllm":
            return encoded_by_webllm(folder, texts)
        case "sglang":
            return encoded_by_sglang(folder, texts)
        case "vllm":
            return encoded(folder, OF_SERVERS, texts)
        case _:
            return encoded(folder, version, texts)


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
