"""One id is declared for two tokens."""

from collections.abc import Iterator
from itertools import islice

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.declared import ADDED, UNREAD, Declared, converters, renumbered, repeated, shared, shared_unread
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import tokens
from bot.analyze.wording import listed, value
from bot.answer import Known

CHECK = Check(
    title="One id is declared for two tokens",
    says="gives two tokens one id",
    sees="an id that tokenizer.json declares for two added tokens, or for an added token and another piece of the vocabulary; "
    "likewise within added_tokens.json",
    why="Which one keeps the id differs: the tokenizers library gives the later entry another one without a word (0.23.3, run), "
    "classes that transformers 5 rebuilds the earlier one (5.24.0, run), and transformers.js lets both have it (read).",
    fix="Give every token an id of its own, the next free one.",
    wrong_when="both entries are the same string (a token that is also a piece of the vocabulary), or the file does not load at all",
    severity="error",
    weighed="Loading renumbers one of the two for certain, so an error; in an added_tokens.json that only converters read a warning, a note where no file makes them do so. The run over real repositories met none.",
)

MOST = 50  # a place in a large file takes time to be found, and nobody reads more


def find(model: Model) -> Iterator[Seen]:
    """Look at the ids that are declared several times, except those of a string that is listed twice."""
    for (file, number), rows in islice(shared(model).items(), MOST):
        texts = list(dict.fromkeys(row.text for row in rows))
        if not repeated(model).keys().isdisjoint(texts):
            continue
        yield Seen(
            key=f"{file}:{' '.join(sorted(texts))}",
            title=f"Id {number} of {value(file)} is declared for {listed(map(value, _strings(model, number, texts)))}{_loaded(model, rows)}",
            places=tuple(row.place(model) for row in rows[:3]),
        )
    for rows in shared_unread(model)[:MOST]:
        found = converters(model)
        yield Seen(
            key=f"{ADDED}:{' '.join(sorted(row.text for row in rows))}",
            title=f"Id {rows[0].id} of {value(ADDED)} is declared for {listed(value(row.text) for row in rows)}",
            places=tuple(row.place(model) for row in rows[:3]),
            severity="warning" if found else "note",
            detail=UNREAD,
            engines=found or ("ollama", "llama.cpp"),
        )


def _strings(model: Model, number: int, texts: list[str]) -> list[str]:
    """The added tokens, and the piece of the vocabulary that has the id where there is but one of them."""
    table = tokens(model)
    if len(texts) > 1 or not isinstance(table, Known):
        return texts
    return [table.value.file.pieces[number], *texts]


def _loaded(model: Model, rows: tuple[Declared, ...]) -> str:
    """What becomes of the one that does not keep the id, and of those behind it."""
    moved = {row.text: given for row, given in renumbered(model) if row.file == rows[0].file}
    first = next((row.text for row in rows if row.text in moved), None)
    if first is None:
        return ""
    more = f" and moves {len(moved) - 1} more" if len(moved) > 1 else ""
    return f"; loading makes {value(first)} {moved[first]}{more}"
