"""What we predict of the installed transformers, and what it does: folders put together by chance, every field."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import msgspec
import pytest
import transformers

from bot.analyze.engines import transformers as engine
from bot.analyze.outcome import outcome
from tests.models import model
from tests.random_repositories import repository

COUNT = int(os.environ.get("RANDOM_REPOSITORIES", "500"))
KNOWN = 0.95
TEXTS = ("ab ba", "<|im_end|>x")


def real(folder: Path, files: dict[str, str]) -> dict[str, Any]:
    """What the installed transformers does with the files, by the keys of a prediction."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    with chdir(folder):
        answers, failed = outcome()
    return answers | {f"errors.{step}.type": kind for step, kind in failed.items() if step != "generation_config"}


def compared(files: dict[str, str], actual: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Every field that the prediction has as well: its name, what was predicted, what happened. An unknown one is predicted as None of ours."""
    folder = msgspec.structs.replace(model(files), literal=True)
    predicted = engine.predict(folder, transformers.__version__).record()
    for field, value in actual.items():
        found: Any = predicted
        for part in field.split("."):
            found = found.get(part, {"unknown": "no such field"}) if isinstance(found, dict) else found
        if field.startswith("loads.") and not isinstance(found, dict):
            found = bool(found)  # null stands for a file that is not there, which does not load
        yield field, found, value


@pytest.mark.filterwarnings("ignore")
def test_predictions_hold_for_folders_of_chance(tmp_path: Path, record_property: Any) -> None:
    transformers.logging.set_verbosity(50)
    known, asked = Counter[str](), Counter[str]()
    wrong: list[str] = []
    for number in range(COUNT):
        files = repository(number)
        folder = tmp_path / str(number)
        folder.mkdir()
        for field, predicted, actual in compared(files, real(folder, files)):
            asked[field] += 1
            if isinstance(predicted, dict) and "unknown" in predicted:
                continue
            known[field] += 1
            if predicted != actual:
                wrong.append(
                    f"{number}: {field}: predicted {json.dumps(predicted)[:300]}, {transformers.__version__} {json.dumps(actual)[:300]}"
                )
    table = [f"{field}: {known[field]} of {asked[field]} known" for field in asked]
    print("\n".join(table))
    record_property("fields", table)
    assert wrong == []
    assert known.total() >= KNOWN * asked.total()
