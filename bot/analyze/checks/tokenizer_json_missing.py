"""tokenizer.json was deleted while an older vocabulary file stays."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.vocabulary import vocabulary_files
from bot.analyze.wording import listed, value
from bot.place import Place

CHECK = Check(
    title="tokenizer.json was deleted",
    says="takes away the tokenizer file that some engines load",
    sees="a tokenizer.json in base and none in head, with tokenizer.model, a tiktoken file or vocab.json and merges.txt left",
    why="Loaders that know only tokenizer.json (WebLLM, transformers.js, TGI) fail or fall back to a vocabulary without the added tokens.",
    fix="Keep `tokenizer.json`; it can be made from the other file by loading and saving the tokenizer.",
    wrong_when="base had none either, or no vocabulary is left at all",
    severity="warning",
    weighed="A warning, for what is left still loads in Python. One real pair shows it, which is left with a tiktoken file.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare what is there."""
    if not base.has("tokenizer.json") or head.has("tokenizer.json") or "tokenizer.json" in head.went:
        return
    left = vocabulary_files(head)
    if left:
        yield Seen(
            key="tokenizer.json",
            title=f"{value('tokenizer.json')} is gone, {listed(value(name) for name in left)} {'is' if len(left) == 1 else 'are'} left",
            places=(Place("base", base.path("tokenizer.json")),),
        )
