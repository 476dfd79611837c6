"""TensorRT-LLM: what a request of its LLM API and server stops on, and which template it goes by.

Source: tensorrt_llm/sampling_params.py, `_setup` (read in the copies that the versions below name; nothing was run). The EOS is always the loaded
tokenizer's. What generation_config.json adds came in three steps: nothing; the id in place of the tokenizer's for Kimi K2 alone (NVIDIA/TensorRT-LLM#7120);
every id beside the tokenizer's (#10389, which took the rule about Kimi out). Between the last two there was a rule for Qwen3-Next (#9331) that only a
request with stop strings met. config.json is never asked.
"""

from typing import Any

from bot.analyze.engines.prediction import Prediction
from bot.analyze.model import templates
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import CONFIG as MLC
from bot.analyze.model.tokens import needs_remote_code
from bot.analyze.rules import borrowed
from bot.analyze.rules.borrowed import Fields
from bot.analyze.rules.from_transformers import generation_config_loads, generation_ids
from bot.answer import Answer, Known, Missing, Unknown

ID = "tensorrt-llm"
NAME = "TensorRT-LLM"
# Named for what was read, as no source of a release could be had: 000a01d is 1.0.0rc4 by its tensorrt_llm/version.py; a98a906 has #7120 (2025-08) and
# not #9331 (2025-11); #10389 is of 2026-01, and copies of mid-2026 (138362f) still have its rule.
OLD, KIMI, ALL = "1.0.0rc4", "2025-10", "2026-01"
VERSIONS = (OLD, KIMI, ALL)
ALIASES = {"000a01d": OLD, "a98a906": KIMI, "138362f": ALL}

# transformers is pinned: 4.56.0 at a98a906 (requirements.txt), 4.57.1 at 000867d of January 2026. Both load tokenizers as 4.57.6 does.
_TRANSFORMERS = ("4.57.6",)
_SOURCES = {
    OLD: "NVIDIA/TensorRT-LLM 000a01d, sampling_params.py, SamplingParams._setup",
    KIMI: "NVIDIA/TensorRT-LLM a98a906, sampling_params.py, SamplingParams._setup",
    ALL: "NVIDIA/TensorRT-LLM#10389 as copied at 138362f, sampling_params.py, SamplingParams._setup",
}


def applies(model: Model) -> bool:
    """TensorRT-LLM reads config.json first; a folder that MLC-LLM compiled is none of its."""
    return model.has("config.json") and not model.has(MLC)


def predict(model: Model, version: str) -> Prediction:
    """Predict loads, ids of roles, `stops` and the template."""
    template = _template(model)
    fields = borrowed.with_template(borrowed.tokenizer(model, _TRANSFORMERS), template)
    fields["stops"] = _stops(model, fields, version)
    trusted: Fields = {}
    if needs_remote_code(model):
        trusted = borrowed.with_template(borrowed.of_remote_code(model), template)
        trusted["stops"] = _stops(model, trusted, version)
    return Prediction(ID, version, fields, trusted, confidence="likely", source=_SOURCES[version])


def _stops(model: Model, tokenizer: Fields, version: str) -> Answer[list[int] | None]:
    """The ids; None where the tokenizer does not load, because a request needs its EOS."""
    listed, eos = _generation(model), borrowed.eos(tokenizer)
    if version == OLD:
        return borrowed.stops(tokenizer, eos)
    if version == KIMI:
        return borrowed.stops(tokenizer, _of_kimi(model, listed) or eos)
    return borrowed.stops(tokenizer, eos, listed)


def _generation(model: Model) -> Answer[tuple[int, ...]]:
    """The ids of generation_config.json; a file that transformers does not load counts as none (llmapi/llm_utils.py, load_hf_generation_config)."""
    loads = generation_config_loads(model, five=False)
    listed = generation_ids(model)
    return Missing() if listed is None or (isinstance(loads, Known) and not loads.value) else listed


def _of_kimi(model: Model, listed: Answer[tuple[int, ...]]) -> Answer[Any] | None:
    """For model type kimi_k2 a single id of generation_config.json takes the place of the tokenizer's EOS."""
    if model.mapping("config.json").get("model_type") != "kimi_k2" or isinstance(listed, Missing):
        return None
    single = isinstance(model.mapping("generation_config.json").get("eos_token_id"), int)
    return listed if single or isinstance(listed, Unknown) else None


def _template(model: Model) -> Answer[str | None]:
    """The tokenizer's; without tools that of the processor comes first, which differs only without chat_template.jinja (inputs/utils.py)."""
    found = borrowed.template(model)
    multimodal = any(model.has(name) for name in ("preprocessor_config.json", "processor_config.json"))
    if multimodal and not model.has(templates.FILE):
        return Unknown("it is the processor's, if the model is served with images", (model.place("processor_config.json"),))
    return found
