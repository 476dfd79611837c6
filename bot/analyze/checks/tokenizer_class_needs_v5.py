"""tokenizer_class names a backend that exists only in transformers 5."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.wording import value

CHECK = Check(
    title="tokenizer_class exists only in transformers 5",
    says="shuts out users of transformers 4",
    sees="tokenizer_class (config.json's where tokenizer_config.json has none) TokenizersBackend, PythonBackend, SentencePieceBackend or MistralCommonBackend",
    why="transformers 4 does not load the tokenizer: `ValueError: Tokenizer class … does not exist or is not currently imported` "
    "(tokenization_auto.py:918 in 4.46.3, :1154 in 4.57.6, run).",
    fix="Write the class that transformers 4 knows as well, such as `PreTrainedTokenizerFast`.",
    wrong_when="the class is of both, such as PreTrainedTokenizerFast or Qwen2Tokenizer",
    severity="error",
    weighed="An error, for transformers 4 raises while loading. One real folder shows it.",
    engines=("transformers < 5", "vllm < 0.24", "sglang < 0.5.10"),
    cause="needs transformers 5",
)

# Backend classes of transformers 5.0.0 - 5.24.0 that no 4.x release has.
NAMES = {"TokenizersBackend", "PythonBackend", "SentencePieceBackend", "MistralCommonBackend"}


def find(model: Model) -> Iterator[Seen]:
    """Look at the name."""
    file = "tokenizer_config.json"
    if model.mapping(file).get("tokenizer_class") is None:
        file = "config.json"  # read instead where the other file names no class (transformers 4, tokenization_auto.py)
    name = model.mapping(file).get("tokenizer_class")
    if isinstance(name, str) and name in NAMES:
        yield Seen(
            key="tokenizer_class",
            title=f"{value('tokenizer_class')} {value(name)} exists only in transformers 5: older versions cannot load the tokenizer",
            places=(model.place(file, "/tokenizer_class"),),
        )
