"""transformers: what generate() stops on.

Source: transformers 4.57.6 and 5.24.0, run with a one-layer model:
generation_config.json alone counts when it is a JSON object; otherwise 4.x builds one from the loaded config class (class defaults count),
5.x reads the raw config.json (generation/utils.py:418 in 5.0.0, :578 in 5.24.0).
"""

from typing import Any

from bot.analyze.engines.from_transformers import (
    config_ids,
    config_loads,
    config_needs_remote_code,
    generation_config_loads,
    generation_config_refused,
    generation_ids,
    raw_config_ids,
)
from bot.analyze.engines.prediction import Prediction, for_trust
from bot.analyze.model.folder import Model
from bot.answer import Answer, Known, Missing

ID = "transformers"
NAME = "transformers generate()"
VERSIONS = ("4.57.6", "5.24.0")


def applies(model: Model) -> bool:
    """A folder without any configuration is loaded by nobody's generate()."""
    return model.has("config.json") or model.has("generation_config.json")


def predict(model: Model, version: str) -> Prediction:
    """Predict `stops`: the ids, or None when generate() has no stop token or the model does not load."""
    stops = _stops(model, major=int(version.partition(".")[0]))
    trusted = generation_ids(model) is None and config_needs_remote_code(model)
    return for_trust(ID, version, {"stops": stops}, needed=trusted)


def _stops(model: Model, major: int) -> Answer[Any]:
    loads = generation_config_loads(model, five=major >= 5)
    if isinstance(loads, Known) and not loads.value:
        return Known(None, loads.places)
    listed = generation_ids(model)
    if listed is None:
        listed = _from_config(model, major)
    if isinstance(listed, Missing) or (isinstance(listed, Known) and not listed.value):
        return Known(None, listed.places)
    return Known(sorted(listed.value), listed.places) if isinstance(listed, Known) else listed


def _from_config(model: Model, major: int) -> Answer[Any]:
    """The ids of config.json, which counts only without a generation_config.json; Known(()) when the model does not load."""
    loads = config_loads(model, five=major >= 5)
    if not (isinstance(loads, Known) and loads.value):
        return Known((), loads.places) if isinstance(loads, Known) else loads
    if major < 5:
        return config_ids(model, class_default=True, text_config=True)
    if generation_config_refused(
        model.mapping("config.json")
    ):  # its generation settings are checked as those of the file would be
        return Known((), (model.place("config.json"),))
    return raw_config_ids(model)
