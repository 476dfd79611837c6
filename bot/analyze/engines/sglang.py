"""sglang: what a chat request and a JSON-mode request stop on.

Source: sglang 0.5.23, srt/configs/model_config.py:2190, srt/managers/schedule_batch.py:1855, srt/constrained/xgrammar_backend.py:233 (run):
config.json (with its class default) and generation_config.json always together, then the tokenizer's EOS and a few named tokens; a
generation_config value that is falsy (0, []) is ignored. The grammar of structured output gets config and generation_config only.
"""

from typing import Any

from bot.analyze.engines.from_transformers import (
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
from bot.analyze.model.tokens import tokens
from bot.answer import Answer, Known, Missing, Unknown

ID = "sglang"
NAME = "sglang"
VERSIONS = ("0.5.23",)

# Tokens that stop a request whenever the tokenizer has them (srt/utils/hf_transformers/common.py:771).
_ALWAYS = ("<|eom_id|>", "<|content_model_end_sampling|>", "<|ifm|im_end|>")


def applies(model: Model) -> bool:
    """A server needs a config.json."""
    return model.has("config.json")


def predict(model: Model, version: str) -> Prediction:
    """Predict `stops` and `stops_in_grammar`; for a tokenizer of remote code what an operator gets who trusts it."""
    fields = {"stops": _stops(model), "stops_in_grammar": _in_grammar(model)}
    return for_trust(ID, version, fields, needed=trusts(model))


def _files(model: Model) -> Answer[Any]:
    """The ids of config.json and generation_config.json together; Known(None) when the server does not start."""
    for step in (config_loads(model), generation_config_loads(model)):
        if not (isinstance(step, Known) and step.value):
            return Known(None, step.places) if isinstance(step, Known) else step
    generation = generation_ids(model)
    # Only a class without the attribute lets the nested text config through (srt/utils/hf_transformers/config.py:258).
    config = config_ids(model, class_default=True, text_config=True)
    for answer in (generation, config):
        if isinstance(answer, Unknown):
            return answer
    raw = model.mapping("generation_config.json").get("eos_token_id")
    listed = generation.value if isinstance(generation, Known) and raw else ()
    ids = {*listed, *(config.value if isinstance(config, Known) else ())}
    return Known(sorted(ids), (*_places(generation), *_places(config)))


def _stops(model: Model) -> Answer[Any]:
    files, primary, loads = _files(model), tokenizer_id(model), tokenizer_loads(model)
    if isinstance(files, Unknown) or (isinstance(files, Known) and files.value is None):
        return files
    if not (isinstance(loads, Known) and loads.value):
        return Known(None, loads.places) if isinstance(loads, Known) else loads
    if isinstance(primary, Unknown):
        return primary
    table = tokens(model)
    named = [table.value.added[t].id for t in _ALWAYS if t in table.value.added] if isinstance(table, Known) else []
    ids = {*(files.value if isinstance(files, Known) else ()), *named, *((primary.value,) if isinstance(primary, Known) else ())}
    return Known(sorted(ids), (*_places(files), *_places(primary)))


def _in_grammar(model: Model) -> Answer[Any]:
    files = _files(model)
    if isinstance(files, Known) and files.value == []:
        return Unknown("no file gives an id: xgrammar then guesses from the tokenizer", files.places)
    return files


def _places(answer: Answer[Any] | None) -> tuple[Any, ...]:
    return () if answer is None or isinstance(answer, Missing) else answer.places
