"""Whether sglang's own start-up gets through with a folder: the object that holds the model's settings, and the processor of models that take more than text.

Source: sglang 0.5.23, configs/model_config.py:567-920, utils/hf_transformers/processor.py:256-420 (run).
"""

from typing import Any, cast

from bot.analyze.model.config import FILE, whole
from bot.analyze.model.folder import Model
from bot.analyze.model.names import is_processed
from bot.analyze.rules.sglang.releases import NEWEST, Release
from bot.analyze.rules.sglang.types import reading
from bot.answer import Answer, Known, Unknown

# Images are switched off for these unless an operator asks for them (configs/model_config.py:667).
_TEXT_ONLY = (
    "Gemma3ForConditionalGeneration",
    "Llama4ForConditionalGeneration",
    "Step3VLForConditionalGeneration",
    "InklingForConditionalGeneration",
)
_SIZES = ("hidden_size", "num_attention_heads", "num_hidden_layers", "vocab_size")
_OF_PROCESSORS = (
    "preprocessor_config.json",
    "processor_config.json",
    "video_preprocessor_config.json",
    "feature_extractor_config.json",
)


def starts(model: Model, release: Release, stopped: Answer[bool], method: Answer[str | None]) -> Answer[bool]:
    """Whether ModelConfig is made. `stopped`: generation_config.json hinders it; `method`: the quantization, "" for one that hinders it."""
    place = (model.place(FILE),)
    if isinstance(stopped, Known) and stopped.value:
        return Known(value=False, places=stopped.places)
    if isinstance(method, Known) and method.value == "":
        return Known(value=False, places=method.places)
    document = model.document(FILE)
    if isinstance(document, Unknown):
        return Unknown(f"{FILE} {document.reason}", document.places)
    names: Any = model.mapping(FILE).get("architectures")
    if not names:
        return Known(value=False, places=place)  # the first is looked at
    if release.name != NEWEST:
        return Unknown("it was read at 0.5.23 only", place)
    read = reading(model, release.name)
    if isinstance(read, str) or not read.row.starts or not isinstance(names, list):
        return Unknown("what the class of the model type needs is not known", place)
    sizes = [read.inner[key] for key in _SIZES if key in read.inner]
    if not all((size := whole(value)) is not None and size > 0 for value in sizes):
        return Unknown("config.json gives a size that is no number", place)
    unknown = next((step for step in (stopped, method) if isinstance(step, Unknown)), None)
    return unknown if unknown is not None else Known(value=True, places=place)


def processor_loads(model: Model, release: Release, error: Answer[str | None]) -> Answer[bool] | None:
    """Whether the processor of a model that takes more than text loads; None for a model without one, and where `error` ends the reading of config.json."""
    read = reading(model, release.name)
    config = model.mapping(FILE)
    if isinstance(error, Known) and error.value is not None:
        return None
    kind, names = config.get("model_type"), config.get("architectures")
    first = cast("list[Any]", names)[0] if isinstance(names, list) and names else None
    if isinstance(read, str) or first in _TEXT_ONLY or config.get("language_model_only"):
        return None if not isinstance(read, str) else Unknown("whether it has a processor is not known")
    there = next((name for name in _OF_PROCESSORS if model.has(name)), "")
    if not read.nested:
        return Unknown("whether it has a processor is not known") if there and is_processed(kind) else None
    if there or not is_processed(kind) or release.name != NEWEST:
        return Unknown("whether the processor loads is not known")
    return Known(value=False, places=(model.place(FILE),))
