"""Widespread beliefs about engines that running them showed to be wrong: what we say stays on the side of the runs."""

import json
import re
from pathlib import Path
from typing import Any

from bot.analyze.checks.check import checks
from bot.analyze.engines.choice import choose
from bot.analyze.engines.prediction import engines
from tests.changes import write
from tests.conftest import ROOT
from tests.models import model_of


def predicted(folder: Path, chosen: str) -> dict[str, Any]:
    """What one version is predicted to do with a folder."""
    (version,) = choose([chosen])
    return version.engine.predict(model_of(folder), version.version).record()


def test_two_servers_stop_on_both_ids_of_kimi(tmp_path: Path) -> None:
    folder = write(
        tmp_path, "kimi", {"generation_config.json": {"eos_token_id": 163586}, "tokenizer_config.json": {"eos_token": "[EOS]"}}
    )
    for chosen in ("vllm@0.33.0", "sglang@0.5.23"):
        assert predicted(folder, chosen)["with_remote_code"]["stops"] == [163585, 163586]
    assert predicted(folder, "transformers@5.24.0")["stops"] == [163586]


def test_a_list_of_extra_special_tokens_stops_only_some_releases(tmp_path: Path) -> None:
    folder = write(tmp_path, "chatml", {"tokenizer_config.json": {"extra_special_tokens": ["<|im_end|>"]}})
    loads = {
        version: predicted(folder, f"transformers@{version}")["loads"]["tokenizer"] for version in ("4.46.3", "4.57.6", "5.0.0")
    }
    assert loads == {"4.46.3": True, "4.57.6": False, "5.0.0": True}
    assert predicted(folder, "transformers@4.57.6")["errors"]["tokenizer"]["type"] == "AttributeError"


def test_an_unknown_class_is_a_value_error(tmp_path: Path) -> None:
    folder = write(tmp_path, "chatml", {"tokenizer_config.json": {"tokenizer_class": "TokenizersBackend"}})
    for version in ("4.46.3", "4.57.6"):
        assert predicted(folder, f"transformers@{version}")["errors"]["tokenizer"]["type"] == "ValueError"


def test_nothing_says_that_the_variables_of_a_request_are_refused() -> None:
    # vLLM drops those that the template does not name, sglang hands all of them on (vllm 0.33.0 renderers/hf.py:803-836; sglang 0.5.23
    # entrypoints/openai/serving_chat.py:2163-2167): only a template of the request's own is refused.
    said = [getattr(loaded.check, name) for loaded in checks() for name in ("title", "sees", "why", "fix", "wrong_when", "says")]
    said += [engine.__doc__ or "" for engine in engines()] + [(ROOT / "README.md").read_text("utf-8")]
    assert [text for text in said if re.search(r"kwargs", text) and re.search(r"refus|reject", text)] == []


def test_config_json_does_not_fill_in_for_generation_config_json(tmp_path: Path) -> None:
    folder = write(
        tmp_path, "chatml", {"generation_config.json": json.dumps({"temperature": 0.5}), "config.json": {"eos_token_id": 262}}
    )
    assert predicted(folder, "transformers@4.57.6")["stops"] is None
    assert predicted(folder, "transformers@5.24.0")["stops"] is None
    assert 262 in predicted(folder, "sglang@0.5.23")["stops"], "it takes config.json as well"


def test_webllm_goes_by_its_list_and_not_by_the_files(tmp_path: Path) -> None:
    listed = {"mlc-chat-config.json": {"tokenizer_files": ["tokenizer.json"]}}
    folder = write(tmp_path, "mlc", {**listed, "tokenizer.json": False})
    assert predicted(folder, "webllm")["tokenizer_file"] == "tokenizer.json"
    assert predicted(folder, "webllm")["loads"]["tokenizer"] is False
