"""Ids below the largest one of tokenizer.json belong to no token."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import chats, numbered, table
from bot.analyze.model.tokenizer_file import TokenizerFile, number
from bot.analyze.model.tokens import tokenizer_file, tokens
from bot.analyze.wording import listed, value
from bot.answer import Known
from bot.place import Place

CHECK = Check(
    title="Ids below the largest token id are unused",
    says="leaves holes in the token ids",
    sees="a tokenizer.json in which some id below the largest has no token",
    why="WebLLM reads its table for as many ids as there are tokens, so a hole cuts off as many tokens at the end, which are mostly the special ones "
    "(web-llm 0.2.86 lib/index.js:11267, run). Ollama writes the tokens of `tokenizer.json` one after another, so that every id behind a hole moves "
    "(convert/tokenizer.go:256, read).",
    fix="Number the tokens without holes, or fill them with placeholder tokens.",
    wrong_when="tokenizer.json cannot be read or is refused by the tokenizers library; an embedding width larger than the ids is no hole",
    severity="error",
    engines=("webllm", "ollama"),
    weighed="It is an error only where WebLLM loads the file and so loses tokens, a note elsewhere; of 41 real files one, a toy for tests, has holes.",
)


def find(model: Model) -> Iterator[Seen]:
    """Compare the number of ids in use with the largest."""
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
    what = (
        f"Of the ids up to {highest} {unused} {'are' if unused > 1 else 'is'} unused, {'the first ' if unused > 1 else ''}{first}"
    )
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
