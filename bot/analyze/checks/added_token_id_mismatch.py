"""Two tables give one token two ids."""

from collections.abc import Iterable, Iterator

import msgspec

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.declared import (
    UNREAD,
    Declared,
    by_text,
    converters,
    declared,
    of_table,
    renumbered,
    repeated,
    shared,
    shared_unread,
)
from bot.analyze.model.folder import Model, fact
from bot.analyze.model.tokenizer_class import candidates, rebuilds
from bot.analyze.model.tokens import needs_remote_code, rebuilt_id, tokens
from bot.analyze.wording import value
from bot.answer import Known
from bot.place import Place

CHECK = Check(
    title="Two tables give one token two ids",
    says="leaves two tables disagreeing on the id of a token",
    sees="a token whose id in added_tokens_decoder or added_tokens.json is not the one that tokenizer.json declares for it",
    why="transformers 4 follows `tokenizer.json` (4.57.6, run); the classes that transformers 5 rebuilds number the tokens in the order of the "
    "other table (5.24.0, run), and tokenizers written in Python take its ids as they are.",
    fix="Write the id of `tokenizer.json` into the other table.",
    wrong_when="only one of the tables has the token, or tokenizer.json is wrong in itself, which is told on its own",
    severity="error",
    weighed="An error where the token really gets two ids by version or by reader; a warning where every version derives the same id or only converters read the table, a note where no file makes converters read it. The run over real repositories met neither.",
)

_MOST = 50  # tokens for which both ids are worked out; each takes a walk over all of them


class _Two(msgspec.Struct, frozen=True):
    """A token with two ids: `number` in tokenizer.json (`own` is its entry there, None for a piece), another one in the row `other`."""

    number: int
    own: Declared | None
    other: Declared


def find(model: Model) -> Iterator[Seen]:
    """All tokens of two tables that disagree are one fault: tables that are shifted disagree on every token."""
    for rows in (_disagreeing(model), _stale(model)):
        if rows:
            yield _seen(model, rows[0].other.file, rows)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """What head disagrees on beyond what base disagreed on already."""
    for of in (_disagreeing, _stale):
        known = {row.other.text for row in of(base)}
        rows = tuple(row for row in of(head) if row.other.text not in known)
        if known and rows:
            yield _seen(head, f"{rows[0].other.file}: more", rows)


@fact
def _disagreeing(model: Model) -> tuple[_Two, ...]:
    """Compare the tables that transformers reads."""
    return _compared(
        model, (row for row in declared(model) if row.table in ("added_tokens_decoder", "added_tokens.json") and row.read)
    )


@fact
def _stale(model: Model) -> tuple[_Two, ...]:
    """Compare an added_tokens.json that only converters read."""
    told = {row.other.text for row in _disagreeing(model)} | {row.text for rows in shared_unread(model) for row in rows}
    rows = (row for row in of_table(model, "added_tokens.json") if not row.read and row.text not in told)
    return _compared(model, rows)


def _compared(model: Model, tables: Iterable[Declared]) -> tuple[_Two, ...]:
    """Compare token by token; what a list that is wrong in itself explains is told by other checks."""
    table = tokens(model)
    if not isinstance(table, Known) or not table.value.complete:
        return ()
    own = by_text(of_table(model, "added_tokens"))
    explained = {row.text for rows in shared(model).values() for row in rows} | repeated(model).keys()
    explained |= {row.text for row, _ in renumbered(model)}
    others = by_text(tables)
    found: list[_Two] = []
    for text, rows in others.items():
        entry = own[text][0] if text in own else None
        number = entry.id if entry else table.value.file.vocab.get(text)
        if number is not None and text not in explained and number not in {row.id for row in rows}:
            found.append(_Two(number, entry, rows[0]))
    return tuple(found)


def _seen(model: Model, key: str, rows: tuple[_Two, ...]) -> Seen:
    """One finding for all of them, with those first that really get two ids."""
    stale, found = not rows[0].other.read, converters(model)
    two = {} if stale else {row.other.text: ids for row in rows[:_MOST] if (ids := _ids(model, row.other.text))}
    rows = tuple(sorted(rows, key=lambda row: row.other.text not in two))
    first = rows[0]
    text, file = first.other.text, first.other.file
    more = f"; {len(rows) - 1} more {'differs' if len(rows) == 2 else 'differ'}" if len(rows) > 1 else ""
    how = two.get(text)
    loads = f": {how[0]} on transformers 4, {how[1]} on transformers 5" if how else ""
    places = [row.other.place(model) for row in rows[:2]]
    places += [row.own.place(model) if row.own else Place(model.revision, model.path("tokenizer.json")) for row in rows[:2]]
    return Seen(
        key=key,
        title=f"{value(text)} is {first.number} in {value('tokenizer.json')} and {first.other.id} in {value(file)}{loads}{more}",
        places=tuple(dict.fromkeys(places)),
        severity=("warning" if found else "note") if stale else "error" if two or needs_remote_code(model) else "warning",
        detail=UNREAD if stale else "",
        engines=(found or ("ollama", "llama.cpp")) if stale else None,
    )


def _ids(model: Model, text: str) -> tuple[int, int] | None:
    """The ids that a token gets on transformers 4 and 5, where they differ."""
    table, rebuilt = tokens(model), rebuilt_id(model, text)
    four = table.value.id_of(text) if isinstance(table, Known) else None
    differs = any(rebuilds(name) for name in candidates(model)) and four is not None and rebuilt not in (None, four)
    return (four, rebuilt) if differs and four is not None and rebuilt is not None else None
