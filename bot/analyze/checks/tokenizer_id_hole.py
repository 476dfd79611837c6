"""Ids below the largest one of tokenizer.json belong to no token."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import chats, numbered, table
from bot.analyze.model.tokenizer_file import TokenizerFile, number
from bot.analyze.model.tokens import needs_remote_code, tokenizer_file, tokens
from bot.analyze.wording import listed, value
from bot.answer import Known
from bot.place import Place

CHECK = Check(
    title="Ids below the largest token id are unused",
    says="leaves holes in the token ids",
    sees="a tokenizer.json, or without one a vocab.json with merges, in which some id below the largest has no token",
    why="WebLLM reads its table for as many ids as there are tokens, so a hole cuts off as many tokens at the end, which are mostly the special ones "
    "(web-llm 0.2.86 lib/index.js:11267, run). Ollama writes the tokens of `tokenizer.json` one after another, so that every id behind a hole moves "
    "(convert/tokenizer.go:256, read).",
    fix="Number the tokens without holes, or fill them with placeholder tokens.",
    wrong_when="tokenizer.json cannot be read or is refused by the tokenizers library; an embedding width larger than the ids is no hole",
    severity="error",
    engines=("webllm", "ollama"),
    weighed="It is an error only where WebLLM loads the file and so loses tokens, a note elsewhere; of 41 real files one, a toy for tests, has holes. A note for a vocab.json, which few loaders still read.",
)


def find(model: Model) -> Iterator[Seen]:
    """Compare the number of ids in use with the largest."""
    if not model.has("tokenizer.json"):
        yield from _of_words(model)
        return
    file, known = tokenizer_file(model), tokens(model)
    if not isinstance(file, Known) or not isinstance(file.value, TokenizerFile) or not isinstance(known, Known):
        return
    loaded = table(model)
    browser = isinstance(loaded, Known) and loaded.value.file == "tokenizer.json"
    added = numbered(file.value) if browser else number(file.value, file.value.added)
    behind = {i for i in added.values() if i not in file.value.ids}
    highest = max(file.value.largest, *behind) if behind else file.value.largest
    unused = highest + 1 - len(file.value.ids) - len(behind)
    if not unused:
        return
    used = file.value.ids | behind
    first = next(i for i in range(len(used) + 1) if i not in used)
    what = _words(first, unused, highest)
    severity = "note"
    if isinstance(loaded, Known) and browser and chats(model) and highest >= loaded.value.size:
        lost = sorted((i, text) for i, text in loaded.value.items() if i >= loaded.value.size)
        what += f": WebLLM loses {listed((value(text) for _, text in lost), 4)}"
        severity = "error"
    yield Seen(
        key="tokenizer.json",
        title=what,
        places=(Place(model.revision, model.path("tokenizer.json")),),
        severity=severity,
        engines=None if severity == "error" else ("ollama",),
    )


def _of_words(model: Model) -> Iterator[Seen]:
    """The same in a vocab.json with merges, which is all that transformers has without a tokenizer.json."""
    vocab = model.mapping("vocab.json")
    numbers = {i for i in vocab.values() if isinstance(i, int) and not isinstance(i, bool) and i >= 0}
    if not model.has("merges.txt") or len(numbers) != len(vocab) or needs_remote_code(model):
        return
    known = tokens(model)
    declared = {token.id for token in known.value.added.values()} if isinstance(known, Known) else set[int]()
    highest = max(numbers, default=-1)
    missing = highest + 1 - len(numbers | {i for i in declared if i < highest})
    if missing > 0:
        used = numbers | declared
        yield Seen(
            key="vocab.json",
            title=_words(next(i for i in range(highest) if i not in used), missing, highest, " of `vocab.json`"),
            detail="Added tokens are numbered from the count of the pieces on, so that the first of them gets the id of a piece and the others move "
            "(transformers 4.57.6 and 5.24.0, run).",
            places=(Place(model.revision, model.path("vocab.json")),),
            severity="note",
            engines=("transformers",),
        )


def _words(first: int, unused: int, highest: int, where: str = "") -> str:
    """How many ids are unused, and which."""
    if unused == 1:
        return f"Id {first} is unused, the largest{where} is {highest}"
    return f"{unused} ids are unused (the first {first}), the largest{where} is {highest}"
