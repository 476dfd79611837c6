"""extra_special_tokens is not a mapping."""

from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.declared import content_of, untyped
from bot.analyze.model.edits import Rename, Take, diff
from bot.analyze.model.folder import Model
from bot.analyze.records import Finding
from bot.analyze.wording import value

CHECK = Check(
    title="extra_special_tokens is a list, which transformers 4.47 to 4.57 cannot load",
    says="keeps some engines from loading the model",
    sees="the key extra_special_tokens of tokenizer_config.json with a list, a string or null",
    why="The tokenizer does not load with transformers 4.47 to 4.57: `AttributeError: 'list' object has no attribute 'keys'` "
    "(4.57.6 tokenization_utils_base.py:1210, run). 4.46 and older ignore the key, 5.0 and newer accept a list.",
    fix="Write a mapping of names to tokens, or name the tokens in `additional_special_tokens`.",
    wrong_when="the value is an object, also an empty one",
    severity="error",
    weighed="An error, for transformers 4.47 to 4.57 raises while loading; the four real folders that show it are proved by records of 4.57.6.",
    engines=("transformers 4.47 - 4.57", "vllm < 0.24", "sglang < 0.5.10"),
    cause="needs transformers 5",
)


def find(model: Model) -> Iterator[Seen]:
    """Look at the shape of the value."""
    config = model.mapping("tokenizer_config.json")
    shape = config.get("extra_special_tokens", {})
    if not isinstance(shape, dict):
        kind = {list: "a list", str: "a string", type(None): "null"}.get(type(shape), "no object")
        yield Seen(
            key="extra_special_tokens",
            title=f"{value('extra_special_tokens')} is {kind}: {_who(shape)} cannot load the tokenizer",
            engines=("transformers >= 4.47", "vllm", "sglang") if isinstance(shape, str) else None,
            places=(model.place("tokenizer_config.json", "/extra_special_tokens"),),
        )


def _who(shape: object) -> str:
    """A string is refused by transformers 5 as well (TypeError, run with 5.0.0 and 5.24.0)."""
    return "transformers 4.47 and newer" if isinstance(shape, str) else "transformers 4.47 to 4.57"


def patch(base: Model, head: Model, finding: Finding) -> str:
    """Give the list the name that every version reads, or take out a key that says nothing; a string may mean either."""
    del base, finding
    config = head.mapping("tokenizer_config.json")
    tokens = config.get("extra_special_tokens")
    if not tokens and not isinstance(tokens, str):
        return diff(head, {"tokenizer_config.json": [Take("/extra_special_tokens")]})
    if not isinstance(tokens, list) or "additional_special_tokens" in config:
        return ""
    if any(content_of(token) is None or untyped(token) for token in cast("list[Any]", tokens)):
        return ""
    return diff(head, {"tokenizer_config.json": [Rename("/extra_special_tokens", "additional_special_tokens")]})
