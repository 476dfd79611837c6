"""The configuration of the processor is gone while the model still takes images or sounds."""

import re
from collections.abc import Iterator
from typing import Any

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.names import is_processed
from bot.analyze.wording import listed, value

PREPROCESSOR, PROCESSOR, VIDEO = "preprocessor_config.json", "processor_config.json", "video_preprocessor_config.json"
CHECK = Check(
    title="The processor's configuration is gone",
    says="takes away what turns images and sounds into input",
    sees="a model with a part for images or sounds whose preprocessor_config.json (or processor_config.json) was in base, while head has nothing in its place",
    why="AutoProcessor raises OSError or gives a tokenizer alone (transformers 5.24.0, run), and vLLM does not start: it asks for `preprocessor_config.json` before "
    "it builds the model (0.33.0, run).",
    fix="Put the files back; with transformers 5 `processor_config.json` alone will do when it holds the image_processor or feature_extractor.",
    wrong_when="head has no such part any more, the settings moved into processor_config.json, the file went to another model folder, or base had no such file either",
    severity="error",
    engines=("transformers", "vllm", "sglang"),
    weighed="Judged by the loss alone, as many text-only copies of multimodal models have no processor; with the part still in config.json the loss is certain. No pair of the corpus loses one.",
)

# Keys of config.json that hold a part for images or sounds: an object of settings, or the name of another model.
_PART = re.compile(
    r"(?:.*_)?(vision|visual|vit|image|img|audio|speech|sound|video|thinker)(?:_(config|tower|encoder|model|processor|backbone|cfg).*)?"
)
_LONGEST = 80  # characters of such a key
# Keys of processor_config.json that hold what preprocessor_config.json held (transformers 5).
_INSIDE = ("image_processor", "feature_extractor", "audio_processor", "video_processor")


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare what there is."""
    if not head.readable("config.json") or not _takes_more(head):
        return
    gone = [name for name in (PREPROCESSOR, PROCESSOR, VIDEO) if base.has(name) and not head.has(name) and name not in head.went]
    if not gone or head.has(PREPROCESSOR):
        return
    left = head.mapping(PROCESSOR)
    if head.has(PROCESSOR) and (not head.readable(PROCESSOR) or any(key in left for key in _INSIDE)):
        return
    if PREPROCESSOR in gone or PROCESSOR in gone:
        yield Seen(
            key="processor",
            title=f"{listed(map(value, gone))} {'is' if len(gone) == 1 else 'are'} gone, and {value('config.json')} still describes {_what(head)}",
            places=tuple(base.place(name) for name in gone),
        )


def _takes_more(model: Model) -> bool:
    return bool(_part(model)) or is_processed(model.mapping("config.json").get("model_type"))


def _part(model: Model) -> str:
    config = model.mapping("config.json")
    return next(
        (
            key
            for key, held in config.items()
            if held and isinstance(held, dict | str) and len(key) < _LONGEST and _PART.fullmatch(key)
        ),
        "",
    )


def _what(model: Model) -> str:
    part = _part(model)
    kind: Any = model.mapping("config.json").get("model_type")
    return f"a model with {value(part)}" if part else f"a model of the kind {value(kind)}"
