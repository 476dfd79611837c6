"""A metadata file is not valid JSON."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.document import NotJson
from bot.analyze.model.folder import Model
from bot.analyze.model.tokenizer_file import NotTokenizer, TokenizerFile
from bot.analyze.model.tokens import tokenizer_file
from bot.analyze.wording import value
from bot.answer import Answer, Known
from bot.place import Place

CHECK = Check(
    title="A metadata file is not valid JSON",
    says="leaves a file that no engine can parse",
    sees="config.json, generation_config.json, a tokenizer, template, processor, adapter, index or MLC file that does not parse as UTF-8 JSON",
    why="Whoever reads the file fails to load the model; generation_config.json is taken for absent without a word.",
    fix="Repair the file at the line named.",
    wrong_when="the file is a Git LFS pointer, or holds NaN, which Python's reader accepts",
    severity="error",
    weighed="An error, for no reader gets past it. Only folders that were made ugly on purpose show it.",
)

# A tsconfig.json, which may have comments, is none of them.
_ENDINGS = ("_config.json", "-config.json", ".index.json")
_NAMES = {"tokenizer.json", "special_tokens_map.json", "added_tokens.json", "chat_template.json", "vocab.json", "tekken.json"}


def _is_read(file: Answer[TokenizerFile | NotTokenizer]) -> bool:
    return isinstance(file, Known) and isinstance(file.value, TokenizerFile)


def find(model: Model) -> Iterator[Seen]:
    """Parse each of them."""
    for name in sorted(model.files):
        if name in _NAMES or name == "config.json" or name.endswith(_ENDINGS):
            if name == "tokenizer.json" and _is_read(tokenizer_file(model)):
                continue  # large, and it has been read already
            document = model.document(name)
            if isinstance(document, Known) and isinstance(document.value, NotJson):
                yield Seen(
                    key=name,
                    title=f"{value(name)} {document.value.message} (line {document.value.line}, column {document.value.column})",
                    detail="transformers, vLLM and sglang take the file for absent, without a word."
                    if name == "generation_config.json"
                    else "Whoever reads the file fails to load the model.",
                    places=(Place(model.revision, model.path(name), line=document.value.line),),
                )
