"""The tokenizer has ids that the model has no row for."""

import re
from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.config import vocab_size
from bot.analyze.model.eos import listed
from bot.analyze.model.folder import Model
from bot.analyze.model.templates import in_force
from bot.analyze.model.token_ids import token_ids
from bot.analyze.model.tokens import Token, TokenTable, token_place, tokens
from bot.analyze.model.turns import role_strings
from bot.analyze.records import Severity
from bot.analyze.wording import ids, value
from bot.answer import Known

CHECK = Check(
    title="The tokenizer has ids at or beyond vocab_size",
    says="leaves tokens without a row in the model",
    sees="the largest id of the loaded tokenizer is not below vocab_size of config.json (of its text_config where that states one)",
    why="The embedding has `vocab_size` rows: such a token raises `IndexError` or a CUDA assertion when it is fed to the model, and the model can never write it. "
    "No engine compares the two when it starts (transformers 5.24.0, vLLM 0.33.0 and sglang 0.5.23, run).",
    fix="Resize the embedding and write its number of rows into `vocab_size`, or take the tokens out.",
    wrong_when="vocab_size is padded beyond the tokenizer, the only tokens beyond it are placeholders of images and sounds that config.json names, or the vocabulary cannot be read",
    severity="error",
    weighed="An error where a role, a stop, a special token, a word of the chat template or an ordinary piece has no row; a warning where the tokens occur only in text that spells them out. "
    "In the real repositories that it was run over each finding is right: a padding token that was added without a row, and markers of thinking that the embedding did not have yet.",
)

_PLACEHOLDER = re.compile(r"image|img|audio|video|vision|soft_token|patch", re.IGNORECASE)


def find(model: Model) -> Iterator[Seen]:
    """Compare the largest id with the size."""
    table, found = tokens(model), vocab_size(model)
    if not isinstance(table, Known) or found is None:
        return
    size, place = found
    added, pieces = _beyond(model, table.value, size)
    if not added and not pieces:
        return
    texts = {**pieces, **{token.id: token.text for token in added}}
    largest = max(texts)
    yield Seen(
        key="vocab_size",
        title=f"The tokenizer has {ids([largest], texts)} and {value('vocab_size')} is {size}: "
        + (f"{len(texts)} tokens have no row in the model" if len(texts) > 1 else "the token has no row in the model"),
        places=(place, token_place(model, texts[largest])),
        severity="error" if pieces else _severity(model, added),
        confidence="certain" if table.value.complete else "likely",
    )


def _beyond(model: Model, table: TokenTable, size: int) -> tuple[list[Token], dict[int, str]]:
    """The added tokens and the pieces of the vocabulary without a row; placeholders that config.json names are of families that give them rows elsewhere."""
    placeholders = {token.id for token in token_ids(model) if not token.role}
    added = [token for token in table.added.values() if token.id >= size and token.id not in placeholders]
    known = {token.id for token in table.added.values()}
    outside = table.file.vocab if table.file.largest >= size else {}
    pieces = {number: text for text, number in outside.items() if number >= size and number not in known}
    return added, pieces


def _severity(model: Model, added: list[Token]) -> Severity:
    roles = set(role_strings(model).values())
    stops = listed(model)
    ends = stops.value if isinstance(stops, Known) else ()
    templates = [template.text for template in in_force(model)]
    for token in added:
        used = token.text in roles or token.id in ends or (token.text and any(token.text in text for text in templates))
        if used or (token.special and not _PLACEHOLDER.search(token.text)):
            return "error"
    return "warning"
