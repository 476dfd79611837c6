"""How many tokens vLLM takes, and in which type it computes.

Source: vllm 0.33.0, config/model.py:2335-2384, 2195-2330 and 2545-2684, transformers_utils/model_arch_config_convertor.py:203-239 and 374-410 (run).
Older releases (read): the length in 0.8.5 config.py:2977, 0.12.0 config/model.py:2118, 0.19.0 config/model.py:2045, 0.28.0 config/model.py:2328,
0.31.0 config/model.py:2471; the type in 0.8.5 config.py:2885 and 0.10.2 config/__init__.py:2641-2727.
"""

from collections.abc import Iterator
from math import inf
from typing import Any, cast

from bot.analyze.model.config import FILE
from bot.analyze.model.folder import Model
from bot.analyze.rules.vllm import config as vllm_config
from bot.analyze.rules.vllm.config import Settings
from bot.analyze.rules.vllm.release import Release
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
SENTENCES = tuple(
    f"sentence_{name}_config.json" for name in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
# Types that a device computes in (platforms/interface.py: bfloat16 first),
_SUPPORTED = ("bfloat16", "float16", "float32")
_NAMES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    **{name: name for name in ("bfloat16", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "int8", "uint8")},
}


def max_model_len(model: Model, release: Release) -> Answer[int]:
    """The length that the server takes where nobody gives another."""
    settings = vllm_config.text(model)
    if not isinstance(settings, Known):
        return settings
    found, place = settings.value, (settings.value.place(model),)
    if vllm_config.model_type(model) in _OWN_RULE or _CAPPED & set(vllm_config.architectures(model) or ()):
        return Unknown("this kind of model has a rule of its own", place)
    if not release.was_run and not _states_all(found):
        return Unknown(f"the lengths that the configuration class of {release.version} adds are not known", place)
    length = _derived(found)
    if length is None:
        return Unknown("config.json gives a length that is no number, or two for one", place)
    if release.since("0.10.2") and model.mapping(FILE).get("position_embedding_type", "") == "absolute":
        limit = model.mapping("tokenizer_config.json").get("model_max_length", length)
        pools = vllm_config.pools(model)
        if not isinstance(pools, Known) or not _number(limit):
            return Unknown("whether the limit of the tokenizer counts cannot be told", place)
        length = min(length, limit) if pools.value else length
    rewritten = vllm_config.model_type(model) in release.names.registered and any(
        kind not in ("default", *_WITHOUT_FACTOR) for kind, _ in _ropes(found)
    )
    if rewritten:
        return Unknown("what the class that vLLM brings makes of these rope settings is not known", place)
    scaled = _scaled(found, _NONE_STATED if length == inf else length, release)
    if scaled is None:
        return Unknown("the rope settings give no number of tokens", place)
    length = _sentences(model, scaled)
    if release.since("0.12.0") and any(kind in ("longrope", "su") for kind, _ in _ropes(found)):
        length = found.values.get("original_max_position_embeddings", found.row.original or length)
    if not _number(length) or not 0 < length < inf:
        return Unknown("the length is no number of tokens", place)
    return Known(int(length), place)


def _states_all(found: Settings) -> bool:
    """Whether config.json states every length that its class would add."""
    stated = {found.row.alias.get(key, key) for key in found.values}
    return all(found.row.alias.get(key, key) in stated for key in found.row.lengths)


def _derived(found: Settings) -> float | None:
    """The smallest of the lengths, unless model_max_length is given; infinite where nothing is, None for what is no number or is given twice."""
    alias, kept = found.row.alias, dict(found.row.lengths)
    read = found.row.lengths if found.flat else (*LENGTHS, *alias.values())  # of the top level a nested class takes what it knows
    stated = [(alias.get(key, key), value) for key, value in found.values.items() if key in read]
    kept |= dict(stated)
    sizes = {key: value for key in LENGTHS if (value := kept.get(alias.get(key, key), kept.get(key))) is not None}
    if not all(map(_number, sizes.values())) or len(dict(stated)) < len(stated):
        return None
    return sizes.get("model_max_length") or min(sizes.values(), default=inf)


def _scaled(found: Settings, length: float, release: Release) -> float | None:
    """The length with what the rope settings make of it; None where they hold no number, or nothing is known of them."""
    sets = list(_ropes(found))
    if not sets or "gemma3" in found.row.kind:
        return length
    if not release.since("0.12.0") and (len(sets) > 1 or not found.values.get("rope_scaling")):
        return None  # only one set was read, and only under its old name
    factor: Any = 1.0
    for kind, values in sets:
        if kind == "yarn" and not release.since("0.31.0"):  # max_position_embeddings was taken for the length without scaling
            length = values.get("original_max_position_embeddings", 0)
            factor = values.get("factor", factor)
        elif kind not in _WITHOUT_FACTOR:
            factor = values.get("factor", factor)
    if factor is None and release.since("0.19.0"):
        factor = 1.0
    return length * cast("float", factor) if _number(factor) and _number(length) and length > 0 else None


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
    for name in SENTENCES:
        stated = model.mapping(name)
        if stated:
            return stated.get("max_seq_length", length)
    return length


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def dtype(model: Model, release: Release) -> Answer[str]:
    """The type of the weights in memory, on a device that has bfloat16."""
    settings, whole = vllm_config.text(model), vllm_config.top(model)
    if not isinstance(settings, Known) or not isinstance(whole, Known):
        return settings if not isinstance(settings, Known) else Unknown("the configuration class is not known")
    place = (settings.value.place(model),)
    inner = [model.mapping(FILE).get(key) for key in ("vision_config", "encoder_config")]
    holders = [
        whole.value.values,
        settings.value.values,
        *(cast("dict[str, Any]", part) for part in inner if isinstance(part, dict)),
    ]
    first = not release.since("0.10.2")
    stated = next((name for holder in holders[first:] if (name := holder.get("dtype") or holder.get("torch_dtype"))), None)
    if stated is None and not first and any(name.endswith(".safetensors") and "/" not in name for name in model.files):
        return Unknown("config.json states no type, and the headers of the weights are not read", place)
    kind = _NAMES.get(stated) if isinstance(stated, str) else "float32" if stated is None else None
    if kind is None or (first and kind not in _SUPPORTED):
        return Unknown("config.json states a type that is not known here", place)
    supported = [name for name in _SUPPORTED if name != "float16" or whole.value.row.kind not in release.names.not_in_float16]
    if kind in supported and kind != "float32":
        return Known(kind, place)
    if first or "float16" not in supported:
        return Known("float16" if first else supported[0], place)
    pools = vllm_config.pools(model)
    return Known("float16" if pools.value else supported[0], place) if isinstance(pools, Known) else pools
