"""vLLM: what a chat request and a JSON-mode request stop on.

Source: vllm 0.33.0, v1/engine/input_processor.py:64 and :489, sampling_params.py:775 (run): the tokenizer's
EOS together with the ids of generation_config.json; config.json, its text_config and the class default count only
where generation_config.json is absent or not JSON. The grammar of structured output gets the same ids.
"""

from typing import Any

from bot.analyze.engines.from_transformers import (
    config_fault,
    config_ids,
    config_loads,
    generation_config_loads,
    generation_ids,
    tokenizer_id,
    tokenizer_loads,
    trusts,
)
from bot.analyze.engines.prediction import Prediction, for_trust
from bot.analyze.model.folder import Model
from bot.answer import Answer, Known, Missing, Unknown

ID = "vllm"
NAME = "vLLM"
VERSIONS = ("0.33.0",)


def applies(model: Model) -> bool:
    """A server needs a config.json."""
    return model.has("config.json")


def predict(model: Model, version: str) -> Prediction:
    """Predict `stops` and `stops_in_grammar`; for a tokenizer of remote code what an operator gets who trusts it."""
    stops = _stops(model)
    return for_trust(ID, version, {"stops": stops, "stops_in_grammar": stops}, needed=trusts(model))


def _stops(model: Model) -> Answer[Any]:
    listed = generation_ids(model)
    config = config_loads(model)
    readable = model.readable("config.json") or not model.has("config.json")
    if listed is not None and isinstance(config, Known) and readable and config_fault(model) is None:
        config = Known(value=True)  # a config without a known type stops the server elsewhere, not the reading of stop ids
    for step in (tokenizer_loads(model), generation_config_loads(model), config):
        if not (isinstance(step, Known) and step.value):
            return Known(None, step.places) if isinstance(step, Known) else step
    if listed is None:
        listed = config_ids(model, class_default=True, text_config=True)
    primary = tokenizer_id(model)
    for answer in (listed, primary):
        if isinstance(answer, Unknown):
            return answer
    ids = {*(listed.value if isinstance(listed, Known) else ()), *((primary.value,) if isinstance(primary, Known) else ())}
    return Known(sorted(ids), (*_places(listed), *_places(primary)))


def _places(answer: Answer[Any]) -> tuple[Any, ...]:
    return () if isinstance(answer, Missing) else answer.places
