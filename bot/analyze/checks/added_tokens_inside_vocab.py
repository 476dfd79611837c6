"""added_tokens.json lists ids of the vocabulary itself."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.declared import ADDED, base_vocabulary, of_table
from bot.analyze.model.folder import Model
from bot.analyze.wording import listed, value

CHECK = Check(
    title="added_tokens.json lists ids of the vocabulary itself",
    says="lists tokens of the vocabulary as added ones",
    sees="an id in added_tokens.json that the vocabulary file (tokenizer.json without its added tokens, vocab.json or tokenizer.model) gives to a piece",
    why="Old releases of transformers refuse it (`Non-consecutive added token`), and so do older vocabulary readers of the GGUF converters, "
    "which expect the added ids behind the vocabulary.",
    fix="List only tokens whose ids follow the vocabulary, or delete the file where `tokenizer.json` has them all.",
    wrong_when="the vocabulary file cannot be read, or the ids begin where it ends",
    severity="note",
    engines=("transformers < 4.34", "llama.cpp"),
    weighed="A note: no current loader minds, and the run over real repositories met none.",
)


def find(model: Model) -> Iterator[Seen]:
    """Look every id up in the vocabulary without added tokens."""
    rows = of_table(model, "added_tokens.json")
    vocabulary = base_vocabulary(model) if rows else None
    if vocabulary is None:
        return
    ids = set(vocabulary.values())
    inside = [row for row in rows if row.id in ids]
    if inside:
        yield Seen(
            key=ADDED,
            title=f"{value(ADDED)} lists ids of the vocabulary itself: {listed((f'{value(row.text)} {row.id}' for row in inside), most=4)}",
            places=tuple(row.place(model) for row in inside[:3]),
        )
