"""What is said of an engine without having been run names the place of its source where it was read."""

import re
from typing import Any

import pytest

from bot.analyze.engines.prediction import engines
from tests.models import model
from tests.test_engines_borrowing import folder

VERSIONS = [(engine, version) for engine in engines() for version in engine.VERSIONS]
PLACE = re.compile(r"[\w/-]+\.(?:py|go|cpp|ts|js|rs)\b")


@pytest.mark.parametrize(("engine", "version"), VERSIONS, ids=[f"{engine.ID}@{version}" for engine, version in VERSIONS])
def test_a_likely_answer_names_its_source(engine: Any, version: str) -> None:
    for files in ({}, folder(eos="t2"), folder(eos="t2") | {"mlc-chat-config.json": "{}"}):
        prediction = engine.predict(model(files), version)
        assert prediction.confidence in ("certain", "likely")
        if prediction.confidence == "likely":
            assert PLACE.search(prediction.source), prediction.source


def test_an_engine_that_nobody_ran_is_never_certain() -> None:
    for engine, version in VERSIONS:
        if engine.ID in ("ollama", "mlx-lm", "lmdeploy", "tensorrt-llm"):
            prediction = engine.predict(model(folder(eos="t2")), version)
            assert prediction.confidence == "likely"
            assert prediction.name == f"{engine.ID}@{version}"
