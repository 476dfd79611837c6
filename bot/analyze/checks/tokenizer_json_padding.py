"""tokenizer.json fills texts up."""

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

CHECK = Check(
    title="tokenizer.json pads every text",
    says="makes some readers pad every text",
    sees="a padding block in tokenizer.json",
    why="Whoever loads the file with the `tokenizers` library alone gets pad tokens behind or in front of every text (0.23.3, run); "
    "transformers resets it on each call that asks for no padding (4.46.3 to 5.24.0, run).",
    fix="Save the file without padding: `tokenizer.no_padding()`, or `padding` null.",
    wrong_when="padding is null",
    severity="note",
    engines=("tokenizers", "text-embeddings-inference", "webllm"),
    weighed="A note, since only direct users of the library are hit; the one real repository that had the block, a sentence encoder, had it on purpose.",
)


def find(model: Model) -> Iterator[Seen]:
    """Look at the block."""
    found = pipeline(model)
    if found is not None and isinstance(found.padding, dict):
        strategy: Any = cast("dict[str, Any]", found.padding).get("strategy")
        fixed = cast("dict[str, Any]", strategy).get("Fixed") if isinstance(strategy, dict) else None
        to = f"to {value(fixed)} tokens" if isinstance(fixed, int) else "to the longest one of a batch"
        yield Seen(
            key="padding",
            title=f"{value('tokenizer.json')} pads every text {to}",
            places=(model.place("tokenizer.json", "/padding"),),
        )


def patch(base: Model, head: Model, finding: Finding) -> str:
    """Write null, if the file loads: one that does not may hide more."""
    del base, finding
    loads = isinstance(tokens(head), Known)
    return diff(head, {"tokenizer.json": [Put("/padding", None)]}) if loads else ""
