"""config.json has a model_type that no engine knows, and no code that would bring it along."""

import re
from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.card import library
from bot.analyze.model.config import pointer
from bot.analyze.model.folder import Model
from bot.analyze.model.names import NEWEST, knows_model_type, served_anyway
from bot.analyze.model.remote_code import references
from bot.analyze.rules.config_fields import looked_up
from bot.analyze.wording import value

FILE = "config.json"
CHECK = Check(
    title="No engine knows the model_type",
    says="names a kind of model that no engine knows",
    sees="a model_type of config.json that neither transformers 4.57.6 nor 5.24.0 has and no AutoConfig in auto_map, or a model_type that base had and head has not; "
    "and such a model_type of text_config, vision_config and the like, where the class looks it up (LLaVA does, Qwen2-VL has classes of its own)",
    why="AutoConfig raises `ValueError: … model type … but Transformers does not recognize this architecture` (5.24.0 models/auto/configuration_auto.py:442, run), and with "
    "it vLLM and sglang do not start.",
    fix="Write the model_type of a class that exists, or add the code and an entry AutoConfig in auto_map.",
    wrong_when="vLLM or sglang bring a class of their own, the card names a library other than transformers, or base had no model_type either (timm, diffusers and others need none)",
    severity="error",
    weighed="Loading raises in every run; a config.json that a newer transformers than 5.24.0 wrote may be right there, and a folder below the root may be a part of another project: "
    "both get a warning. The one finding in the corpus is true: the entry AutoConfig went with a rename.",
)

# What config.json of another library has instead: diffusers, timm, speculators (for which vLLM has a class).
_OTHERS = ("_class_name", "_diffusers_version", "pretrained_cfg", "architecture", "speculators_config")
# Libraries of which the card's name means that AutoConfig of transformers, or an engine built on it, is to load the model.
_LIBRARIES = {"", "transformers", "peft", "vllm", "sglang", "sentence-transformers", "unsloth", "trl", "llama-factory", "axolotl"}


def find(model: Model) -> Iterator[Seen]:
    """Look the type up, and those of nested configurations that the class looks up."""
    config = model.mapping(FILE)
    if _has_code(model) or library(model) not in _LIBRARIES:
        return
    newer = _release(config.get("transformers_version")) > NEWEST
    for path, kind in ((("model_type",), config.get("model_type")), *looked_up(config)):
        if not isinstance(kind, str) or knows_model_type(kind) or served_anyway(kind):
            continue
        dotted = ".".join(path)
        yield Seen(
            key=dotted,
            title=f"{value(dotted)} {value(kind)} is unknown to transformers"
            + (f" up to {'.'.join(map(str, NEWEST))}" if newer else f", and {value('auto_map')} names no configuration class"),
            places=(model.place(FILE, pointer(*path)),),
            severity="warning" if newer or model.folder != "." else None,
            confidence="likely" if newer or model.folder != "." else None,
            detail=_NESTED if len(path) > 1 else "",
        )


# configuration_utils.py:223 in 5.24.0, run; 4.57.6 raises KeyError for most such classes (run).
_NESTED = (
    "The class of `model_type` looks this one up as well: `AutoConfig` raises `ValueError: Unrecognized model type for subconfig` (transformers 5.24.0, run), and "
    "with it vLLM and sglang do not start."
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """A type that is gone: without a former one nothing says that there should be any."""
    kind, config = base.mapping(FILE).get("model_type"), head.mapping(FILE)
    if not head.readable(FILE) or config.get("model_type") is not None or _has_code(head):
        return
    other = library(head) not in _LIBRARIES or any(key in config for key in _OTHERS)
    if not other and (knows_model_type(kind) or served_anyway(kind)):
        yield Seen(
            key="model_type",
            title=f"{value('model_type')} {value(kind)} is gone: transformers cannot tell which configuration class to take",
            places=(head.place(FILE), base.place(FILE, "/model_type")),
        )


def _has_code(model: Model) -> bool:
    return any(row.file == FILE and row.auto_class == "AutoConfig" for row in references(model))


def _release(text: object) -> tuple[int, ...]:
    found = re.match(r"(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?", text) if isinstance(text, str) else None
    return tuple(int(part or 0) for part in found.groups()) if found else ()
