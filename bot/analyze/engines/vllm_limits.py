"""How many tokens vLLM takes, and in which type it computes.

Source: vllm 0.33.0, config/model.py:2335-2384, 2195-2330 and 2545-2684, transformers_utils/model_arch_config_convertor.py:203-239 and 374-410 (run).
"""

from collections.abc import Iterator
from math import inf
from typing import Any, cast

from bot.analyze.engines import vllm_config
from bot.analyze.engines.vllm_config import Settings
from bot.analyze.model.config import FILE
from bot.analyze.model.folder import Model
from bot.answer import Answer, Known, Unknown

LENGTHS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
    "max_target_positions",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
)
_NONE_STATED = 2048
# Types of scaling whose factor max_position_embeddings already contains; "su" is read as "longrope".
_WITHOUT_FACTOR = ("su", "longrope", "llama3", "yarn", "deepseek_yarn", "deepseek_llama_scaling")
_OWN_RULE = {"moss_audio"}  # its converter reads another configuration
_CAPPED = {"EmbeddingGemma2Model"}  # model_executor/models/config.py:389
_SENTENCES = tuple(
    f"sentence_{name}_config.json" for name in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
# Types that a device computes in (platforms/interface.py: bfloat16 first), and models that do not work in float16.
_SUPPORTED = ("bfloat16", "float16", "float32")
_NOT_IN_FLOAT16 = ("gemma2", "gemma3", "gemma3_text", "glm4")
_NAMES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    **{name: name for name in ("bfloat16", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "int8", "uint8")},
}


def max_model_len(model: Model) -> Answer[int]:
    """The length that the server takes where nobody gives another."""
    settings = vllm_config.text(model)
    if not isinstance(settings, Known):
        return settings
    found, place = settings.value, (settings.value.place(model),)
    if model.mapping(FILE).get("model_type") in _OWN_RULE or _CAPPED & set(vllm_config.architectures(model) or ()):
        return Unknown("this kind of model has a rule of its own", place)
    length = _derived(found)
    if length is None:
        return Unknown("config.json gives a length that is no number", place)
    if model.mapping(FILE).get("position_embedding_type", "") == "absolute":
        limit = model.mapping("tokenizer_config.json").get("model_max_length", length)
        pools = vllm_config.pools(model)
        if not isinstance(pools, Known) or not _number(limit):
            return Unknown("whether the limit of the tokenizer counts cannot be told", place)
        length = min(length, limit) if pools.value else length
    length = _NONE_STATED if length == inf else length
    kinds = list(_ropes(found))
    if kinds and "gemma3" not in found.row.kind:
        factor: Any = 1.0
        for kind, values in kinds:
            factor = values.get("factor", factor) if kind not in _WITHOUT_FACTOR else factor
        if factor is not None and not _number(factor):
            return Unknown("the factor of the rope settings is no number", place)
        length *= 1.0 if factor is None else factor
    length = _sentences(model, length)
    if any(kind in ("longrope", "su") for kind, _ in kinds):
        length = found.values.get("original_max_position_embeddings", found.row.original or length)
    if not _number(length) or not 0 < length < inf:
        return Unknown("the length is no number of tokens", place)
    return Known(int(length), place)


def _derived(found: Settings) -> float | None:
    """The smallest of the lengths, unless model_max_length is given; infinite where nothing is, None for what is no number."""
    alias, kept = found.row.alias, dict(found.row.lengths)
    kept |= {alias.get(key, key): value for key, value in found.values.items() if key in LENGTHS or key in alias.values()}
    sizes = {key: value for key in LENGTHS if (value := kept.get(alias.get(key, key), kept.get(key))) is not None}
    if not all(map(_number, sizes.values())):
        return None
    return sizes.get("model_max_length") or min(sizes.values(), default=inf)


def _ropes(found: Settings) -> Iterator[tuple[str, dict[str, Any]]]:
    """The type and the settings of each set of rope settings, by kind of layer where they are given so."""
    stated: Any = found.values.get("rope_scaling") or found.values.get("rope_parameters")
    if not isinstance(stated, dict):
        return
    whole = cast("dict[str, Any]", stated)
    nested = [cast("dict[str, Any]", inner) for inner in whole.values() if isinstance(inner, dict)]
    for values in nested or [whole]:
        yield str(values.get("rope_type", values.get("type", "default"))), values


def _sentences(model: Model, length: float) -> Any:
    """The length that Sentence Transformers writes down overrides what config.json says (transformers_utils/config.py:1110-1165)."""
    for name in _SENTENCES:
        stated = model.mapping(name)
        if stated:
            return stated.get("max_seq_length", length)
    return length


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def dtype(model: Model) -> Answer[str]:
    """The type of the weights in memory, on a device that has bfloat16."""
    settings, whole = vllm_config.text(model), vllm_config.top(model)
    if not isinstance(settings, Known) or not isinstance(whole, Known):
        return settings if not isinstance(settings, Known) else Unknown("the configuration class is not known")
    place = (settings.value.place(model),)
    inner = (model.mapping(FILE).get("vision_config"), model.mapping(FILE).get("encoder_config"))
    holders = [
        whole.value.values,
        settings.value.values,
        *(cast("dict[str, Any]", part) for part in inner if isinstance(part, dict)),
    ]
    stated = next((name for holder in holders if (name := holder.get("dtype") or holder.get("torch_dtype"))), None)
    if stated is None and any(name.endswith(".safetensors") and "/" not in name for name in model.files):
        return Unknown("config.json states no type, and the headers of the weights are not read", place)
    kind = _NAMES.get(stated) if isinstance(stated, str) else "float32" if stated is None else None
    if kind is None:
        return Unknown("config.json states a type that is not known here", place)
    supported = [name for name in _SUPPORTED if name != "float16" or whole.value.row.kind not in _NOT_IN_FLOAT16]
    if kind in supported and kind != "float32":
        return Known(kind, place)
    pools = vllm_config.pools(model)
    if not isinstance(pools, Known):
        return pools
    preferred = "float16" if pools.value and "float16" in supported else supported[0]
    return Known(preferred, place)
