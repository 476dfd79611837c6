"""The ids that a file declares for added tokens are not those that loading gives."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.declared import Declared, renumbered, repeated, shared
from bot.analyze.model.folder import Model
from bot.analyze.wording import listed, value

CHECK = Check(
    title="Loading gives added tokens other ids than the file declares",
    says="declares ids of added tokens that loading does not give",
    sees="an added token whose declared id is not the next free one at its place in the list of tokenizer.json, "
    "or in the tables beside it for a token that tokenizer.json lacks",
    why="The tokenizers library counts on from the vocabulary and ignores the declared ids (0.23.3, run), "
    "so whatever names such an id means another token or none; transformers.js honours the declared ids, so engines disagree.",
    fix="List the tokens in the order of their ids and without a gap, or put fillers into the gap.",
    wrong_when="the token is also a piece of the vocabulary with that id, one token or one id stands there twice, which is told on its own, "
    "or there is no tokenizer.json, so that a tokenizer written in Python honours the declared ids",
    severity="error",
    weighed="The file states ids that no engine built on the library uses, so an error; the run over real repositories met none but an empty placeholder, which is left out.",
)


def find(model: Model) -> Iterator[Seen]:
    """Compare the declared ids with those of the library; all that one file gets wrong are one fault."""
    if repeated(model) or shared(model):  # the renumbering is their consequence
        return
    files: dict[str, list[tuple[Declared, int]]] = {}
    for row, given in renumbered(model):
        files.setdefault(row.file, []).append((row, given))
    for file, rows in files.items():
        if file != "tokenizer.json" and "tokenizer.json" in files:
            continue  # those behind it shift with it
        pairs = listed((f"{value(row.text)} {row.id} becomes {given}" for row, given in rows), most=4)
        yield Seen(
            key=file,
            title=f"{value(file)} declares ids that loading does not give: {pairs}",
            places=tuple(row.place(model) for row, _ in rows[:3]),
        )
