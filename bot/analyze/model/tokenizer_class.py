"""Which tokenizer class transformers 5 picks for a folder, and what that class brings along.

Source: transformers 5.24.0, models/auto/tokenization_auto.py:841-914 (run). The ByteLevel guard is new in 5.22; vLLM 0.33
and sglang 0.5.23 run 5.19, which has none. Where the guard decides, both answers are given.
"""

from typing import Any

from bot.analyze.model.folder import Model, fact
from bot.analyze.tables import tables
from bot.answer import Known

# Class names that load tokenizer.json as it stands.
FILE = "TokenizersBackend"
# These make every special token of a role or a list special at the end (models/qwen2/tokenization_qwen2.py:98 and _post_init, which
# models/cohere calls, in 5.24.0, run); Gemma, GPT2, GPTNeoX and CodeLlama do not (run).
REGISTER_AGAIN = {"Qwen2Tokenizer", "CohereTokenizer"}
_GENERIC = {"PreTrainedTokenizer", "PreTrainedTokenizerFast", "PythonBackend", FILE, "MistralCommonBackend"}


@fact
def candidates(model: Model) -> tuple[str, ...]:
    """The class that transformers 5.16 to 5.24 picks, or two where it depends on the version.

    Empty for a tokenizer of the repository's own code, of which nothing is known.
    """
    config = model.mapping("tokenizer_config.json")
    if config.get("auto_map"):
        return ()
    model_type = _text(model.mapping("config.json").get("model_type"))
    declared = _text(config.get("tokenizer_class")) or _text(model.mapping("config.json").get("tokenizer_class"))
    registered = tables()["tokenizer_mapping"].get(model_type, "").removesuffix("Fast")
    picked = _picked(declared, registered, model_type)
    guarded = declared == "LlamaTokenizer" and registered != "MistralCommonBackend" and model_type not in _incorrect()
    return tuple(dict.fromkeys((picked, FILE))) if guarded and _is_byte_level(model) else (picked,)


def _picked(declared: str, registered: str, model_type: str) -> str:
    if not declared:
        return _known(registered)
    if registered and registered != declared:
        if registered in _GENERIC:
            return FILE
        return _known(registered if model_type in _incorrect() else declared)
    return _known(declared)


def rebuilds(name: str) -> bool:
    """Whether a class throws the added tokens and the pipeline of tokenizer.json away and builds its own (tokenization_utils_tokenizers.py:105 in 5.24.0)."""
    return name != FILE and bool(row(name).get("rebuilds"))


def roles(name: str) -> dict[str, str]:
    """The role strings that a class gives where no file states them."""
    return row(name).get("roles", {})


def row(name: str) -> dict[str, Any]:
    """What is known of a class of 5.24.0 (see tools/tables.py); empty for one that is not registered."""
    return tables()["tokenizer_classes"].get(name, {})


def _known(name: str) -> str:
    return name if name not in _GENERIC and name in tables()["tokenizer_classes"] else FILE


def _incorrect() -> list[str]:
    return tables()["incorrect_hub_class"]


def _is_byte_level(model: Model) -> bool:
    content = model.content("tokenizer.json")
    return isinstance(content, Known) and b'"ByteLevel"' in content.value


def _text(value: Any) -> str:
    return value.removesuffix("Fast") if isinstance(value, str) else ""
