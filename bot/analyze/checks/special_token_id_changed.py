"""A special token has another id than before."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.declared import named
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import Token, tokens
from bot.analyze.wording import listed, value
from bot.answer import Known

CHECK = Check(
    title="Special tokens have other ids than before",
    says="moves special tokens to other ids",
    sees="a special token of base and head that loading gives another id in head",
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
    for text, token in after.value.added.items():
        old = before.value.added.get(text)
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
