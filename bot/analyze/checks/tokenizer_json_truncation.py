"""tokenizer.json cuts texts off."""

from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.edits import Put, diff
from bot.analyze.model.folder import Model
from bot.analyze.model.pipeline import pipeline
from bot.analyze.model.tokens import tokens
from bot.analyze.records import Finding
from bot.analyze.wording import value
from bot.answer import Known

# Keys of config.json that say how many positions a model has, the most common first.
_LENGTHS = ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length")

CHECK = Check(
    title="tokenizer.json cuts every text",
    says="makes some readers cut every text off",
    sees="a truncation block in tokenizer.json",
    why="Whoever loads the file with the `tokenizers` library alone loses the rest of a longer text without a word (0.23.3, run); "
    "transformers resets it on each call that asks for no truncation (4.46.3 to 5.24.0, run).",
    fix="Save the file without truncation: `tokenizer.no_truncation()`, or `truncation` null.",
    wrong_when="truncation is null; a note where no more is cut off than the model cannot take anyway",
    severity="warning",
    engines=("tokenizers", "text-embeddings-inference", "webllm"),
    weighed="A warning, since direct users of the library lose text silently; the one real repository that had the block, a sentence encoder, had it on both sides.",
)


def find(model: Model) -> Iterator[Seen]:
    """Look at the block, and whether it leaves all that the model can take."""
    found = pipeline(model)
    if found is None or not isinstance(found.truncation, dict):
        return
    most: Any = cast("dict[str, Any]", found.truncation).get("max_length")
    counted = isinstance(most, int) and not isinstance(most, bool)
    length = _length(model)
    yield Seen(
        key="truncation",
        title=f"{value('tokenizer.json')} cuts every text" + (f" after {value(most)} tokens" if counted else ""),
        places=(model.place("tokenizer.json", "/truncation"),),
        severity="note" if counted and length is not None and most >= length else None,
    )


def _length(model: Model) -> int | None:
    """How many tokens the model takes, None when config.json does not say."""
    config = model.mapping("config.json")
    stated = (config.get(key) for key in _LENGTHS)
    return next((n for n in stated if isinstance(n, int) and not isinstance(n, bool) and n > 0), None)


def patch(base: Model, head: Model, finding: Finding) -> str:
    """Write null, if the file loads: one that does not may hide more."""
    del base, finding
    loads = isinstance(tokens(head), Known)
    return diff(head, {"tokenizer.json": [Put("/truncation", None)]}) if loads else ""
