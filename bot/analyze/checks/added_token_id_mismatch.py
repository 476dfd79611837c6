"""Two tables give one token two ids."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.declared import by_text, declared, of_table, renumbered, repeated, shared
from bot.analyze.model.folder import Model
from bot.analyze.model.tokenizer_class import candidates, rebuilds
from bot.analyze.model.tokens import needs_remote_code, rebuilt_id, tokens
from bot.analyze.wording import value
from bot.answer import Known
from bot.place import Place

CHECK = Check(
    title="Two tables give one token two ids",
    says="leaves two tables disagreeing on the id of a token",
    sees="a token whose id in added_tokens_decoder (in added_tokens.json where that key is absent) is not the one that tokenizer.json declares for it",
    why="transformers 4 follows `tokenizer.json` (4.57.6, run); the classes that transformers 5 rebuilds number the tokens in the order of the "
    "other table (5.24.0, run), and tokenizers written in Python take its ids as they are.",
    fix="Write the id of `tokenizer.json` into the other table.",
    wrong_when="added_tokens.json disagrees and tokenizer_config.json has added_tokens_decoder, so that nobody reads it",
    severity="error",
    cause="tables of added tokens disagree",
    weighed="An error where the token really gets two ids by version or by reader; a warning where every known reader derives the same id. The run over real repositories met neither.",
)


def find(model: Model) -> Iterator[Seen]:
    """Compare the tables token by token; what a list that is wrong in itself explains is told by other checks."""
    table = tokens(model)
    if not isinstance(table, Known) or not table.value.complete:
        return
    own = by_text(of_table(model, "added_tokens"))
    explained = {row.text for rows in shared(model).values() for row in rows} | repeated(model).keys()
    explained |= {row.text for row, _ in renumbered(model)}
    others = by_text(row for row in declared(model) if row.table in ("added_tokens_decoder", "added_tokens.json") and row.read)
    for text, rows in others.items():
        number = own[text][0].id if text in own else table.value.file.vocab.get(text)
        if number is None or text in explained or number in {row.id for row in rows}:
            continue
        here = own[text][0].place(model) if text in own else Place(model.revision, model.path("tokenizer.json"))
        severity, what = _consequence(model, text)
        yield Seen(
            key=text,
            title=f"{value(text)} is {number} in {value('tokenizer.json')} and {rows[0].id} in {value(rows[0].file)}{what}",
            places=(rows[0].place(model), here),
            severity="error" if severity else "warning",
        )


def _consequence(model: Model, text: str) -> tuple[bool, str]:
    """Whether the token really gets two ids, and how, in a clause."""
    if needs_remote_code(model):
        return True, ""
    if not any(rebuilds(name) for name in candidates(model)):
        return False, ""
    table, rebuilt = tokens(model), rebuilt_id(model, text)
    four = table.value.id_of(text) if isinstance(table, Known) else None
    differs = None not in (rebuilt, four) and rebuilt != four
    return differs, f": {four} on transformers 4, {rebuilt} on transformers 5" if differs else ""
