"""What GenerationConfig of transformers makes of generation_config.json: what it refuses to load, and what it refuses to save.

Source: generation/configuration_utils.py of transformers 4.46.3 to 5.24.0 (run).
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from bot.analyze.model.config import shown
from bot.analyze.tables import NEWEST, parts
from bot.analyze.wording import value

# What cache_implementation may be: generation/configuration_utils.py:47-76 of 4.46.3 with torch (read), :46-57 of 4.57.6, :47-58 and :686 of 5.24.0.
_HYBRID = ("sliding_window", "hybrid", "hybrid_chunked", "offloaded_hybrid", "offloaded_hybrid_chunked")
_CACHES = (
    ((5, 15), ("static", "offloaded_static", *_HYBRID, "dynamic", "offloaded", "quantized", "paged")),
    ((5,), ("static", "offloaded_static", *_HYBRID, "dynamic", "dynamic_full", "offloaded", "quantized", "paged")),
    ((4, 57), ("static", "offloaded_static", *_HYBRID, "dynamic", "dynamic_full", "offloaded", "quantized")),
    ((4,), ("static", "offloaded_static", "sliding_window", "hybrid", "mamba", "quantized")),
)
# Arguments of generate() that are no settings (configuration_utils.py:850-865 of 5.24.0).
_ARGUMENTS = (
    "logits_processor",
    "stopping_criteria",
    "prefix_allowed_tokens_fn",
    "synced_gpus",
    "assistant_model",
    "streamer",
    "negative_prompt_ids",
    "negative_prompt_attention_mask",
)
_WATERMARK = ("greenlist_ratio", "bias", "hashing_key", "seeding_scheme", "context_width")
# The first version that looks at a key (between 5.12.1 and 5.15.1, 5.15.1 and 5.19.0, 4.46.3 and 4.57.6; run).
_WEIGHT, _SUPPRESSED, _COMPILED = (5, 15), (5, 19), (4, 57)


class Refusal(msgspec.Struct, frozen=True):
    """A key whose value makes loading raise, and why, as a clause about it. `everywhere` says that 4.57.6 raises as well."""

    key: str
    why: str
    everywhere: bool = True


def refusals(content: Any, version: str = NEWEST) -> Iterator[Refusal]:
    """Every value that GenerationConfig.from_pretrained of a version of transformers raises for. `content` is the JSON value of the whole file."""
    if not isinstance(content, dict):
        yield Refusal("", "is no JSON object")
        return
    values, at = cast("dict[str, Any]", content), parts(version)
    older = set(_keys(values, (4, 57))) if at >= (5,) else set[str]()
    for key, why in _all(values, at):
        yield Refusal(key, why, everywhere=at < (5,) or key in older)


def _keys(values: Mapping[str, Any], at: tuple[int, ...]) -> Iterator[str]:
    return (key for key, _ in _all(values, at))


def _all(values: Mapping[str, Any], at: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    yield from _alone(values, at)
    yield from _returned(values) if at >= (5,) else _returned_4(values, at)
    if at >= _SUPPRESSED:
        yield from _suppressed(values)
    if at < _COMPILED:
        yield from _only_4_46(values)
    if not values.get("_from_model_config"):  # such a file's further keys are not looked at (configuration_utils.py:501)
        for key in (*_ARGUMENTS, "use_model_defaults") if (4, 57) <= at < (5,) else _ARGUMENTS:
            if key in values:
                yield key, f"{value(key)} is an argument of `generate()` and no setting"


def _alone(values: Mapping[str, Any], at: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    """Keys whose value is refused whatever the others say (configuration_utils.py:665-708 of 5.24.0, :542-569 of 4.57.6)."""
    stopping = values.get("early_stopping", False)
    odd = isinstance(stopping, list | dict) or stopping not in (None, True, False, "never")
    if odd or (stopping is None and at < (5,)):
        yield "early_stopping", f"{_stated(values, 'early_stopping')} must be a truth value or `never`"
    for key in ("max_new_tokens", "pad_token_id"):
        if values.get(key) is not None and not isinstance(values[key], int | float):
            yield key, f"{_stated(values, key)} is no number"
    tokens = values.get("max_new_tokens")
    if isinstance(tokens, int | float) and tokens <= 0:
        yield "max_new_tokens", f"{_stated(values, 'max_new_tokens')} must be greater than 0"
    weight = values.get("assistant_ensemble_weight")
    if at >= _WEIGHT and weight is not None and not (isinstance(weight, int | float) and 0.0 < weight < 1.0):
        yield "assistant_ensemble_weight", f"{_stated(values, 'assistant_ensemble_weight')} must lie between 0 and 1"
    caches = next(names for since, names in _CACHES if at >= since)
    if values.get("cache_implementation") is not None and values["cache_implementation"] not in caches:
        yield "cache_implementation", f"{_stated(values, 'cache_implementation')} is none that exists"
    if values.get("compile_config") is not None and at >= _COMPILED:
        yield "compile_config", f"{value('compile_config')} cannot be set in a file"
    if values.get("watermarking_config") is not None and _bad_watermark(values["watermarking_config"]):
        yield "watermarking_config", f"{value('watermarking_config')} has settings that do not exist or lie out of range"


def _bad_watermark(settings: Any) -> bool:
    """Whether WatermarkingConfig refuses (configuration_utils.py:1481-1527 of 5.24.0)."""
    if not isinstance(settings, dict):
        return True
    given = cast("dict[str, Any]", settings)
    ratio, width = given.get("greenlist_ratio", 0.25), given.get("context_width", 1)
    return (
        any(key not in _WATERMARK for key in given)
        or given.get("seeding_scheme", "lefthash") not in ("selfhash", "lefthash")
        or not (isinstance(ratio, int | float) and 0.0 <= ratio <= 1.0)
        or not (isinstance(width, int | float) and width >= 1)
    )


def _returned(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """More return sequences than transformers 5 can make (configuration_utils.py:790-805 of 5.24.0)."""
    sequences, beams = values.get("num_return_sequences"), values.get("num_beams")
    if sequences is not None and not isinstance(sequences, int | float):
        yield "num_return_sequences", f"{_stated(values, 'num_return_sequences')} is no number"
    elif sequences is not None and sequences > 1:
        told = _stated(values, "num_return_sequences")
        if beams is None or beams == 1:
            if not values.get("do_sample"):
                yield "num_return_sequences", f"{told} needs sampling or several beams"
        elif not isinstance(beams, int | float) or sequences > beams:
            yield "num_return_sequences", f"{told} is more than {_stated(values, 'num_beams')}"


def _returned_4(values: Mapping[str, Any], at: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    """Another number of return sequences than transformers 4 can make (configuration_utils.py:608-620 of 4.57.6, :707-720 of 4.46.3)."""
    sequences, beams = values.get("num_return_sequences", 1), values.get("num_beams", 1)
    beams = 1 if beams is None and at < (4, 57) else beams
    if sequences == 1:
        return
    told = _stated(values, "num_return_sequences")
    if beams == 1:
        if values.get("do_sample", False) is False:
            yield "num_return_sequences", f"{told} needs sampling or several beams"
    elif not isinstance(beams, int | float) or not isinstance(sequences, int | float):
        yield "num_return_sequences", f"{told} or {value('num_beams')} is no number"
    elif sequences > beams:
        yield "num_return_sequences", f"{told} is more than {_stated(values, 'num_beams')}"


def _suppressed(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Tokens that are forced and suppressed at once (configuration_utils.py:808-845 of 5.24.0)."""
    suppressed = values.get("suppress_tokens")
    if suppressed is None:
        return
    if not _hashable_items(suppressed):
        yield "suppress_tokens", f"{value('suppress_tokens')} is no list of token ids"
        return
    for key in ("forced_bos_token_id", "forced_eos_token_id"):
        forced = values.get(key)
        if forced is None:
            continue
        forced = [forced] if isinstance(forced, int) else forced
        if not _hashable_items(forced):
            yield "suppress_tokens", f"{_stated(values, key)} is no token id"
        elif set(forced) and set(forced) <= set(suppressed):
            yield "suppress_tokens", f"{_stated(values, key)} is forced and stands in {value('suppress_tokens')} as well"


def _only_4_46(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Beams in groups and under constraints, and settings of a cache (configuration_utils.py:661-692 and 722-740 of 4.46.3)."""
    if values.get("cache_config") is not None and values.get("cache_implementation") not in ("quantized", "static"):
        yield "cache_config", f"{value('cache_config')} belongs to no cache"
    beams, samples = values.get("num_beams", 1), values.get("do_sample", False) is True
    if beams is None or beams == 1:
        return
    groups, penalty = values.get("num_beam_groups", 1), values.get("diversity_penalty", 0.0)
    constrained = values.get("constraints") is not None or values.get("force_words_ids") is not None
    if constrained and (samples or (groups is not None and groups != 1)):
        yield "constraints", "beams under constraints go with neither sampling nor groups"
    if penalty != 0.0 or groups != 1:
        numbers = isinstance(beams, int | float) and isinstance(groups, int | float) and groups != 0
        if samples or penalty == 0.0 or not numbers or cast("float", beams) % cast("float", groups) != 0:
            yield (
                "num_beam_groups",
                f"{value('num_beam_groups')} or {value('diversity_penalty')} does not go with the other settings",
            )


def _hashable_items(items: Any) -> bool:
    """Whether Python makes a set of it."""
    if isinstance(items, list):
        return not any(isinstance(item, list | dict) for item in cast("list[Any]", items))
    return isinstance(items, str | dict)


def unsavable(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys for which save_pretrained of 4.57.6 raises ValueError, in the order of its checks (configuration_utils.py:547-656).

    4.46.3 and 5.0.0 were run on those that need sampling, on pad_token_id and on length_penalty.
    """
    found = ["pad_token_id"] if isinstance(values.get("pad_token_id"), int | float) and values["pad_token_id"] < 0 else []
    if values.get("do_sample", False) is False:
        without: dict[str, Any] = {
            "temperature": 1.0,
            "top_p": 1.0,
            "min_p": None,
            "typical_p": 1.0,
            "top_k": 50,
            "epsilon_cutoff": 0.0,
            "eta_cutoff": 0.0,
        }
        found += [key for key, unset in without.items() if values.get(key) is not None and values[key] != unset]
    if values.get("num_beams", 1) == 1:
        found += ["early_stopping"] if values.get("early_stopping", False) is not False else []
        found += ["length_penalty"] if values.get("length_penalty") is not None and values["length_penalty"] != 1.0 else []
    if values.get("use_cache", True) is False:
        caches = ("cache_implementation", "cache_config", "return_legacy_cache")
        found += [key for key in caches if values.get(key) is not None]
    if values.get("return_dict_in_generate", False) is not True:
        outputs = ("output_attentions", "output_hidden_states", "output_scores", "output_logits")
        found += [key for key in outputs if values.get(key) is True]
    return tuple(found)


def _stated(values: Mapping[str, Any], key: str) -> str:
    return f"{value(key)} {value(shown(values[key]))}"
