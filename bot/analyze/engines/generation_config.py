"""What GenerationConfig of transformers makes of generation_config.json: what it refuses to load, and what it refuses to save.

Sources: generation/configuration_utils.py of transformers 5.24.0 (run) and of 4.57.6 (run).
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

import msgspec

from bot.analyze.model.config import shown
from bot.analyze.wording import value

# configuration_utils.py:47-58 and :686 of 5.24.0; 4.57.6 (:46-57) knows dynamic_full and lacks paged.
_CACHES = (
    "static",
    "offloaded_static",
    "sliding_window",
    "hybrid",
    "hybrid_chunked",
    "offloaded_hybrid",
    "offloaded_hybrid_chunked",
    "dynamic",
    "offloaded",
    "quantized",
    "paged",
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
_NOT_IN_4 = ("assistant_ensemble_weight", "suppress_tokens")  # keys that 4.57.6 does not look at


class Refusal(msgspec.Struct, frozen=True):
    """A key whose value makes loading raise, and why, as a clause about it. `everywhere` says that 4.57.6 raises as well."""

    key: str
    why: str
    everywhere: bool = True


def refusals(content: Any) -> Iterator[Refusal]:
    """Every value that GenerationConfig.from_pretrained of 5.24.0 raises for. `content` is the JSON value of the whole file."""
    if not isinstance(content, dict):
        yield Refusal("", "is no JSON object")
        return
    values = cast("dict[str, Any]", content)
    for key, why in (*_alone(values), *_together(values)):
        everywhere = key not in _NOT_IN_4 and not (key == "cache_implementation" and values[key] == "dynamic_full")
        yield Refusal(key, why, everywhere)
    if not values.get("_from_model_config"):  # such a file's further keys are not looked at (configuration_utils.py:501)
        for key in _ARGUMENTS:
            if key in values:
                yield Refusal(key, f"{value(key)} is an argument of `generate()` and no setting")


def _alone(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Keys whose value is refused whatever the others say (configuration_utils.py:665-708 of 5.24.0)."""
    stopping = values.get("early_stopping")
    if isinstance(stopping, list | dict) or stopping not in (None, True, False, "never"):
        yield "early_stopping", f"{_stated(values, 'early_stopping')} must be a truth value or `never`"
    for key in ("max_new_tokens", "pad_token_id"):
        if values.get(key) is not None and not isinstance(values[key], int | float):
            yield key, f"{_stated(values, key)} is no number"
    tokens = values.get("max_new_tokens")
    if isinstance(tokens, int | float) and tokens <= 0:
        yield "max_new_tokens", f"{_stated(values, 'max_new_tokens')} must be greater than 0"
    weight = values.get("assistant_ensemble_weight")
    if weight is not None and not (isinstance(weight, int | float) and 0.0 < weight < 1.0):
        yield "assistant_ensemble_weight", f"{_stated(values, 'assistant_ensemble_weight')} must lie between 0 and 1"
    if values.get("cache_implementation") is not None and values["cache_implementation"] not in _CACHES:
        yield "cache_implementation", f"{_stated(values, 'cache_implementation')} is none that exists"
    if values.get("compile_config") is not None:
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


def _together(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Values that do not go together (configuration_utils.py:790-845 of 5.24.0)."""
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
