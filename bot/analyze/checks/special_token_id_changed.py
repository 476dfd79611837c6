"""A special token has another id than before."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.declared import declared, named
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import ROLES, Token, TokenTable, tokens
from bot.analyze.rules.loaded import V5, Loaded, loaded
from bot.analyze.wording import listed, value
from bot.answer import Known

CHECK = Check(
    title="Special tokens have other ids than before",
    says="moves special tokens to other ids",
    sees="a special token of base and head that loading gives another id in head, be it only because a list of special tokens still names what the tables lost",
    why="Whatever names ids instead of strings must follow: configurations, adapters, compiled models and the rows of the embedding.",
    fix="Append new tokens behind the old ones, or check that the weights and every list of ids moved along.",
    wrong_when="the ids are only declared differently and loading gives the same, or leave a hole, which is told on its own",
    severity="note",
    weighed="A note: a new vocabulary moves ids on purpose, and what still names an old id is reported where it stands. The run over real repositories met none.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare the ids of loading; all that moved are one change."""
    before, after = tokens(base), tokens(head)
    if not isinstance(before, Known) or not isinstance(after, Known) or before.value.declared != after.value.declared:
        return
    roles = named(base) | named(head)
    moved: list[tuple[Token, int]] = []
    held = {**_appended(base, before.value), **before.value.added}
    for text, token in {**_appended(head, after.value), **after.value.added}.items():
        old = held.get(text)
        if old is not None and old.id != token.id and (old.special or token.special or text in roles):
            moved.append((token, old.id))
    if not moved:
        return
    if after.value.complete and max(after.value.texts) >= len(after.value.texts):
        return  # a hole in the ids is a fault of its own
    pairs = listed((f"{value(token.text)} from {old} to {token.id}" for token, old in moved), most=4)
    yield Seen(
        key="special tokens",
        title=f"{'A special token has another id' if len(moved) == 1 else 'Special tokens have other ids'}: {pairs}",
        places=tuple(head.place(*token.place) for token, _ in moved[:3]),
    )


def _appended(model: Model, table: TokenTable) -> dict[str, Token]:
    """What no table has and a list of special tokens or a name makes a token: it gets the next free id at load; roles are told on their own."""
    rows = {row.text: row for row in declared(model) if row.read and row.table in ("extra", "roles") and row.slot not in ROLES}
    new = {text: row for text, row in rows.items() if text and table.id_of(text) is None}
    answer = loaded(model, V5) if new else None
    if not isinstance(answer, Known) or not isinstance(answer.value, Loaded):
        return {}
    ids = {token.text: token.id for token in answer.value.added}
    return {text: Token(text, ids[text], special=True, place=(row.file, row.pointer)) for text, row in new.items() if text in ids}
