"""The files that a tokenizer takes its vocabulary from."""

import re

from bot.analyze.model.folder import Model

# transformers 5 scans for tokenizer.model* and tiktoken.model (tokenization_utils_base.py:1710 in 5.24.0); GGUF brings its own vocabulary.
_ALONE = re.compile(r"tokenizer\.json|.+\.model(\.v\d+\w*)?|.+\.tiktoken|vocab\.txt|tekken\.json|.+\.gguf")


def vocabulary_files(model: Model) -> tuple[str, ...]:
    """The vocabulary files of a folder, tokenizer.json first; vocab.json counts with merges.txt beside it, a dangling link does not."""
    names = [name for name in model.files if _ALONE.fullmatch(name) and model.has(name)]
    if model.has("vocab.json") and model.has("merges.txt"):
        names.append("vocab.json")
    return tuple(sorted(names, key=lambda name: (name != "tokenizer.json", name)))
