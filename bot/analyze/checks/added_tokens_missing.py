"""Tokens are gone from the only table that had them."""

import re
from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.declared import ADDED, CONFIG, MAP, Declared, base_vocabulary, declared, has_decoder, named, unread
from bot.analyze.model.folder import Model
from bot.analyze.model.templates import in_force
from bot.analyze.model.vocabulary import vocabulary_files
from bot.analyze.records import Confidence
from bot.analyze.wording import listed, value
from bot.place import Place

CHECK = Check(
    title="Tokens are gone from the only table that had them",
    says="takes away the only statement of some tokens",
    sees="added_tokens.json, added_tokens_decoder or special_tokens_map.json that base had and head has not, or an entry that left one of the first two, and a token of it that stands "
    "neither in the vocabulary nor in another table of head",
    why="The strings are split into pieces from then on, and their ids stand for nothing.",
    fix="Put the table or the entry back, or add the tokens to `tokenizer.json`.",
    wrong_when="an entry got a new name, was a spare slot or left tokenizer.json along with the table, tokenizer.json or another table has the tokens, the file moved to another folder, nothing names the token and the model has no row for its id, or the vocabulary cannot be read or is gone as well",
    severity="error",
    weighed="An error where a role or the chat template of head still names the string, else a warning; likely instead of certain where the vocabulary could not be read. The run over real repositories found a padding token of Llama 2 that no row stood behind, so such a token must be named somewhere to count.",
)

_SPARE = re.compile(r"reserved|unused|placeholder|dummy|extra_id", re.IGNORECASE)
_BYTES = 259  # the control and byte pieces with which a SentencePiece vocabulary begins


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Look the tokens of every table that went, and the entries that left one, up in what is left."""
    if unread(base) or unread(head) or not vocabulary_files(head):
        return
    left = {row.text for row in declared(head) if row.read}
    vocabulary = base_vocabulary(head)
    gone = dict(_gone(base, head))
    for table in (ADDED, MAP, "added_tokens_decoder"):
        rows = [row for row in declared(base) if row.read and row.text and table in (row.file, row.table)]
        if table not in gone:
            rows = _taken_out(base, head, table, rows)
        lost = [row for row in rows if row.text not in left and (_used(head, row.text) or not _outside(base, row))]
        sure = _lacking(head, vocabulary, lost)
        if sure:
            rows, confidence = sure
            texts = list(dict.fromkeys(row.text for row in rows))
            names = listed((value(text) for text in texts), most=5)
            yield Seen(
                key=table,
                title=f"{value(table)} is gone, and nothing else has {names}"
                if table in gone
                else f"{names} {'was' if len(texts) == 1 else 'were'} taken out of {value(table)}, and nothing else has {'it' if len(texts) == 1 else 'them'}",
                places=(gone.get(table) or head.place(rows[0].file), *(row.place(base) for row in rows[:2])),
                severity="error" if any(_used(head, text) for text in texts) else "warning",
                confidence=confidence,
            )


def _taken_out(base: Model, head: Model, table: str, rows: list[Declared]) -> list[Declared]:
    """The entries that left a table which stays and was the only one that had them.

    Not those whose id another string has now, which is a new name, and no spare slots.
    """
    elsewhere = {row.text for row in declared(base) if row.id is not None and row.table != table}
    now = [row for row in declared(head) if row.table == table]
    names, ids = {row.text for row in now}, {row.id for row in now}
    out = [row for row in rows if row.table == table and row.text not in names | elsewhere and row.id not in ids]
    return [row for row in out if _used(head, row.text) or not (_SPARE.search(row.text) or _outside(head, row))]


def _gone(base: Model, head: Model) -> Iterator[tuple[str, Place]]:
    for name in (ADDED, MAP):
        if base.readable(name) and not head.has(name) and name not in head.went and not has_decoder(base):
            yield name, Place("base", base.path(name))
    if base.mapping(CONFIG).get("added_tokens_decoder") and not head.mapping(CONFIG).get("added_tokens_decoder"):
        moved = CONFIG in head.went
        if not moved:
            yield "added_tokens_decoder", head.place(CONFIG) if head.has(CONFIG) else Place("base", base.path(CONFIG))


def _outside(model: Model, row: Declared) -> bool:
    """Whether the model has no row for the token: Llama 2 once had a padding token behind its vocabulary, and lost nothing with it."""
    size = model.mapping("config.json").get("vocab_size")
    return isinstance(size, int) and row.id is not None and row.id >= size > 0


def _used(model: Model, text: str) -> bool:
    """Whether a role or the chat template still names the string."""
    return text in named(model) or any(text in template.text for template in in_force(model))


def _lacking(head: Model, vocabulary: dict[str, int] | None, rows: list[Declared]) -> tuple[list[Declared], Confidence] | None:
    """The tokens that the vocabulary lacks, and how sure that is; None where it lacks none or cannot be read."""
    if vocabulary is not None:
        found, sure = [row for row in rows if row.text not in vocabulary], "certain"
    elif all(name.endswith(("tiktoken.model", ".tiktoken")) for name in vocabulary_files(head)):
        found, sure = rows, "likely"  # such a file holds ranks of bytes, never the name of a token
    else:  # a tokenizer writes into added_tokens.json what its vocabulary lacks, and nothing else
        found, sure = [row for row in rows if row.file == ADDED and (row.id or 0) >= _BYTES], "likely"
    return (found, sure) if found else None
