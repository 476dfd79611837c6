"""tokenizer_class names a class that transformers does not have and no code brings along."""

from collections.abc import Iterator
from typing import Any

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.names import knows_tokenizer_class
from bot.analyze.model.remote_code import references
from bot.analyze.wording import value

CHECK = Check(
    title="No engine knows the tokenizer class",
    says="names a tokenizer class that nobody has",
    sees="a tokenizer_class (config.json's where tokenizer_config.json has none) that neither transformers 4.57.6 nor 5.24.0 has, without AutoTokenizer in auto_map",
    why="transformers 4 raises `ValueError: Tokenizer class … does not exist or is not currently imported` (4.57.6 tokenization_auto.py:1154, run); transformers 5 takes "
    "tokenizer.json as it stands without a word, and what the class did besides is lost (5.24.0 tokenization_auto.py:982, run).",
    fix="Name a class of transformers, such as `PreTrainedTokenizerFast`, or add the code and an entry AutoTokenizer in auto_map.",
    wrong_when="the class is one of transformers 4 or 5, or auto_map of the same file brings a tokenizer along",
    severity="warning",
    engines=("transformers", "vllm", "sglang"),
    weighed="transformers 4 raises for certain, transformers 5 loads something else, so a warning; silent on all of the corpus.",
)


def find(model: Model) -> Iterator[Seen]:
    """Look the class up."""
    file = "tokenizer_config.json"
    if model.mapping(file).get("tokenizer_class") is None:
        if model.has(file) and not model.readable(file):
            return
        file = "config.json"  # read instead where the other file names no class
    name: Any = model.mapping(file).get("tokenizer_class")
    coded = any(row.auto_class == "AutoTokenizer" for row in references(model) if row.file in (file, "tokenizer_config.json"))
    if isinstance(name, str) and name and not knows_tokenizer_class(name) and not coded:
        yield Seen(
            key="tokenizer_class",
            title=f"{value('tokenizer_class')} {value(name)} is no class of transformers, and {value('auto_map')} brings none",
            places=(model.place(file, "/tokenizer_class"),),
        )
