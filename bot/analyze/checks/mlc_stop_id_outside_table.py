"""A stop id of mlc-chat-config.json is not in the token table that WebLLM gives to JSON mode."""

from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import chats, conversation, conversation_place, numbers, stop_ids, table
from bot.analyze.wording import value
from bot.answer import Known

CHECK = Check(
    title="A stop id is not in the tokenizer that WebLLM loads",
    says="takes a legal end away from the JSON mode of WebLLM",
    sees="an id of conv_template.stop_token_ids in `mlc-chat-config.json` that is not below the number of tokens in the file that WebLLM loads",
    why="JSON mode is given the tokens with ids below their number and takes no stop id beyond them: with none left there is no legal token after a complete value, "
    "and the reply cannot end (web-llm 0.2.86 lib/index.js:11267 and :12216, run).",
    fix="Name the id that the token has in the loaded file, or load the tokenizer file that has the token.",
    wrong_when="the file that is loaded is missing or cannot be read, or the model computes embeddings only",
    severity="error",
    engines=("webllm",),
    weighed="It agrees with the tokens that the real grammar allowed in every recorded run; where another stop id is left in the table, JSON mode still ends and it is a warning.",
)


def find(model: Model) -> Iterator[Seen]:
    """Hold every stop id against the size of the table."""
    tokens = table(model)
    ids = stop_ids(model)
    if not chats(model) or not ids or not isinstance(tokens, Known):
        return
    size, file = tokens.value.size, tokens.value.file
    left = [number for number in ids if 0 <= number < size]
    for number in ids:
        if number in left:
            continue
        text = tokens.value.text(number)
        name = f"Stop id {number}" if text is None else f"Stop id {number} ({value(text)})"
        yield Seen(
            key=f"stop_token_ids:{number}",
            title=f"{name} is not in the table of {size} tokens of {value(file)}: "
            + ("JSON mode loses this end" if left else "JSON mode has no legal end"),
            places=(conversation_place(model, "stop_token_ids", f"/{_row(model, number)}"),),
            severity="warning" if left else "error",
        )


def _row(model: Model, number: int) -> int:
    rows = cast("list[Any]", conversation(model)["stop_token_ids"])
    return next(i for i, row in enumerate(rows) if numbers(row) == (number,))
