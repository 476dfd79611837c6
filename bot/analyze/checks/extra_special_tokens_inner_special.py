"""An extra special token is given as an object with a flag of its own."""

from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.pointers import pointer
from bot.analyze.wording import value

FILE, KEY = "tokenizer_config.json", "extra_special_tokens"
CHECK = Check(
    title="An extra special token carries a flag of its own",
    says="gives extra special tokens in a form that some versions do not take",
    sees="values of extra_special_tokens in tokenizer_config.json that are objects with the key `special`",
    why="Some releases of transformers 5 were reported to hand the key over twice and to refuse it; 5.24.0 loads an object that also has "
    '`"__type": "AddedToken"`, and refuses one without it (run).',
    fix="Give the tokens as plain text, and their flags in `added_tokens_decoder`.",
    wrong_when="the values are plain text, or objects without the key",
    severity="note",
    confidence="guess",
    weighed="A note, and a guess: the report could not be reproduced. Silent on every real folder.",
    engines=("transformers 5",),
)


def find(model: Model) -> Iterator[Seen]:
    """Look at every value."""
    extra: Any = model.mapping(FILE).get(KEY)
    rows: list[tuple[Any, Any]] = []
    if isinstance(extra, dict):
        rows = list(cast("dict[Any, Any]", extra).items())
    elif isinstance(extra, list):
        rows = list(enumerate(cast("list[Any]", extra)))
    flagged = [(name, row) for name, row in rows if isinstance(row, dict) and "special" in row]
    if flagged:
        name, row = flagged[0]
        text = cast("dict[str, Any]", row).get("content")
        more = f" and {len(flagged) - 1} more" if len(flagged) > 1 else ""
        yield Seen(
            key=KEY,
            title=f"{value(KEY)} gives {value(text if isinstance(text, str) else name)}{more} as an object with the key {value('special')}",
            places=(model.place(FILE, pointer(KEY, name)),),
        )
