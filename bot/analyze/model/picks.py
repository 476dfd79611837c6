"""Which tokenizer class each version of transformers 5 picks for a folder.

The rules were read and run: models/auto/tokenization_auto.py of 5.0.0 to 5.24.0 (841-914 in 5.24.0); the classes of model types are taken from the
versions of the table (tools/tokenizers_5x.py).
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from bot.analyze import data
from bot.analyze.model.folder import Model, fact
from bot.analyze.model.tokenizer_classes import FILE, release
from bot.analyze.tables import parts
from bot.answer import Known

_AS_IT_STANDS = {"PreTrainedTokenizer", "PreTrainedTokenizerFast", "PythonBackend", FILE}
_GENERIC = {*_AS_IT_STANDS, "MistralCommonBackend"}
# The version that vLLM 0.33.0 and sglang 0.5.23 were run with.
OF_SERVERS = "5.19.0"


class BuiltPipeline(msgspec.Struct, frozen=True):
    """What a class puts around the vocabulary when it builds its own backend, and the type of its model."""

    model: str
    normalizer: Any
    pre_tokenizer: Any


class _Tables(msgspec.Struct):
    """By model type, the versions from which on a value holds."""

    incorrect: dict[str, dict[str, bool]]
    mapping: dict[str, dict[str, str]]
    pipelines: dict[str, BuiltPipeline]
    versions: dict[str, bool]


_TABLES = msgspec.json.decode(data.content("transformers-5-tokenizers.json"), type=_Tables)
VERSIONS = tuple(_TABLES.versions)


def built(name: str) -> BuiltPipeline | None:
    """What a class builds; None for one that takes tokenizer.json as it stands, or of which nothing is known."""
    return _TABLES.pipelines.get(name) if name != FILE else None


def registered(model_type: str, version: str = VERSIONS[-1]) -> str:
    """The class of a model type where every optional package is installed; "" for none."""
    return _since(_TABLES.mapping.get(model_type, {}), version, "")


def picks(model: Model) -> dict[str, str]:
    """The class by version, FILE for one that takes tokenizer.json as it stands. Empty for a tokenizer of the repository's own code."""
    tokenizer, config = model.mapping("tokenizer_config.json"), model.mapping("config.json")
    if tokenizer.get("auto_map"):
        return {}
    declared, other = _name(tokenizer.get("tokenizer_class")), _name(config.get("tokenizer_class"))
    kind: Any = config.get("model_type")
    model_type = kind if isinstance(kind, str) else ""
    byte_level = "LlamaTokenizer" in (declared or other) and is_byte_level(model)
    return {version: pick(version, declared, other, model_type, byte_level=byte_level) for version in VERSIONS}


def ranges(versions: Iterable[str]) -> Iterator[str]:
    """Versions as people write them: "5.3", "5.7 - 5.21"."""
    numbers = sorted(VERSIONS.index(version) for version in versions)
    starts = [n for n in numbers if n - 1 not in numbers]
    ends = [n for n in numbers if n + 1 not in numbers]
    for start, end in zip(starts, ends, strict=True):
        first, last = (VERSIONS[n].rpartition(".")[0] for n in (start, end))
        yield first if first == last else f"{first} - {last}"


def pick(version: str, declared: str, other: str, model_type: str, *, byte_level: bool = False) -> str:
    """The class for the names of tokenizer_config.json and config.json, both without Fast, and a model type whose configuration loads.

    `byte_level` says that tokenizer.json is one that LlamaTokenizer would spoil.
    """
    at = parts(version)
    mapped = registered(model_type, version)
    incorrect = is_incorrect(model_type, version)
    named = declared or (other if at >= (5, 10) else "")
    if (
        at >= (5, 22)
        and byte_level
        and (declared or other) == "LlamaTokenizer"
        and mapped != "MistralCommonBackend"
        and not (incorrect and at >= (5, 24))  # seen 5.22.2 and 5.24.0
    ):
        return FILE
    if at < (5, 3) and declared and model_type and not mapped:
        return FILE
    if named and mapped and mapped != named:
        if at < (5, 6) or (at >= (5, 7) and mapped in _GENERIC):
            return FILE
        return known(mapped if at >= (5, 7) and incorrect else named, version)
    return known(declared or other or release(version).by_config.get(model_type, ""), version)


def is_incorrect(model_type: str, version: str) -> bool:
    """Whether the class of a model type wins over a declared one, from 5.3 on."""
    return _since(_TABLES.incorrect.get(model_type, {}), version, nothing=False)


def known(name: str, version: str) -> str:
    """The class of a name, FILE for one that is not known."""
    return FILE if name in _AS_IT_STANDS else release(version).named(name) or FILE


def _since(runs: dict[str, Any], version: str, nothing: Any) -> Any:
    """The value that holds at a version."""
    return next((value for since, value in reversed(runs.items()) if parts(since) <= parts(version)), nothing)


@fact
def is_byte_level(model: Model) -> bool:
    """Whether tokenizer.json speaks of ByteLevel anywhere (tokenization_utils_tokenizers.py:1416-1451 in 5.24.0)."""
    content = model.content("tokenizer.json")
    return isinstance(content, Known) and b'"ByteLevel"' in content.value


def _name(value: Any) -> str:
    return value.removesuffix("Fast") if isinstance(value, str) else ""
