"""How many tokens of context the engines take from a model folder.

Sources: vLLM 0.33.0, transformers_utils/model_arch_config_convertor.py:374-410 and config/model.py:2545-2684; sglang 0.5.23,
utils/hf_transformers/common.py:668-694; web-llm 0.2.86 takes the window of its own file. Compared with what the engines recorded.
"""

from typing import Any

import msgspec

from bot.analyze.model.config import Holder, text_holders, whole
from bot.analyze.model.folder import Model
from bot.analyze.model.rope import Rope, ropes
from bot.analyze.rules.config_fields import stated_or_default
from bot.analyze.rules.sglang.limits import max_model_len
from bot.analyze.rules.sglang.releases import NEWEST, RELEASES
from bot.answer import Known
from bot.place import Place

MLC = "mlc-chat-config.json"
SENTENCES = "sentence_bert_config.json"
TOKENIZER = "tokenizer_config.json"
UNSET = 10**20  # transformers writes int(1e30) where a tokenizer has no limit (tokenization_utils_base.py:145 in 5.24.0)
_OF_VLLM = (
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
_OF_SGLANG = ("max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings")
_WITHOUT_FACTOR = {"su", "longrope", "llama3", "yarn", "deepseek_yarn", "deepseek_llama_scaling"}


class Context(msgspec.Struct, frozen=True):
    """A number of tokens, and where the value stands that it comes from; `rope` is where rope settings stand that make it another than `stated` there."""

    tokens: int
    place: Place
    stated: int = 0
    rope: Place | None = None


def contexts(model: Model) -> dict[str, Context]:
    """The context of each engine that can be told, by the engine's id."""
    found: dict[str, Context] = {}
    holder = _text(model)
    if holder is not None:
        rope = next((rope for rope in ropes(model) if rope.holder is holder and len(rope.keys) == 1), None)
        told = {"vllm": _vllm(model, holder, rope), "sglang": _sglang(model, holder, rope)}
        found = {engine: context for engine, context in told.items() if context is not None}
    exact = max_model_len(model, RELEASES[NEWEST])  # knows the classes that take another key
    if "sglang" in found and isinstance(exact, Known) and exact.value != found["sglang"].tokens:
        del found["sglang"]
    cut = whole(model.mapping(SENTENCES).get("max_seq_length"))  # overrides what vLLM derives (compared with its records)
    if cut is not None and cut > 0 and "vllm" in found:
        found["vllm"] = Context(cut, model.place(SENTENCES, "/max_seq_length"))
    limit = whole(
        model.mapping(TOKENIZER).get("model_max_length")
    )  # where the tokenizer cuts when it is told to; servers do not look at it
    if limit is not None and 0 < limit < UNSET:
        found["transformers"] = Context(limit, model.place(TOKENIZER, "/model_max_length"))
    for key in ("context_window_size", "sliding_window_size"):
        window = whole(model.mapping(MLC).get(key))
        if window is not None and window > 0:
            found.setdefault("webllm", Context(window, model.place(MLC, f"/{key}")))
    return found


def _text(model: Model) -> Holder | None:
    """The configuration of the language model: the first nested one, or the top level."""
    rows = text_holders(model)
    return next((holder for holder in rows if holder.path), rows[0] if rows else None)


def _vllm(model: Model, holder: Holder, rope: Rope | None) -> Context | None:
    sizes = {key: size for key in _OF_VLLM if (size := _size(model, holder, key)) is not None}
    if not sizes:
        return None
    key = min(sizes, key=lambda key: sizes[key])
    if sizes.get("model_max_length"):
        key = "model_max_length"
    tokens, place = sizes[key], holder.place(model, key)
    if rope is not None and rope.kind == "longrope":
        original = _original(holder, rope)
        return Context(original, place, tokens, rope.place(model)) if original is not None else None
    gemma = "gemma3" in str(holder.values.get("model_type", ""))
    scaled = rope is not None and rope.kind not in _WITHOUT_FACTOR and not gemma
    return _scaled(model, tokens, place, rope if scaled else None)


def _sglang(model: Model, holder: Holder, rope: Rope | None) -> Context | None:
    for key in _OF_SGLANG:
        size = _size(model, holder, key)
        if size is not None:
            # transformers 5 gives yarn, longrope and llama3 an original length where none is stated (modeling_rope_utils.py:836-843 in 5.24.0).
            scaled = rope is not None and _original(holder, rope) is None and rope.kind not in ("llama3", "yarn", "longrope")
            return _scaled(model, size, holder.place(model, key), rope if scaled else None)
    return None


def _scaled(model: Model, size: int, place: Place, rope: Rope | None) -> Context:
    """A length, multiplied by the factor of the rope settings where there is one."""
    factor = _factor(rope)
    if rope is None or factor is None:
        return Context(size, place, size)
    return Context(int(size * factor), place, size, rope.place(model, "factor"))


def _size(model: Model, holder: Holder, key: str) -> int | None:
    size = whole(stated_or_default(model, holder, key))
    return size if size is not None and 0 < size < 1 << 40 else None


def _factor(rope: Rope | None) -> float | None:
    factor: Any = (rope.values or {}).get("factor") if rope is not None else None
    usable = isinstance(factor, int | float) and not isinstance(factor, bool) and 0 < factor < 1 << 20
    return factor if usable else None


def _original(holder: Holder, rope: Rope) -> int | None:
    values = rope.values or {}
    return whole(values.get("original_max_position_embeddings", holder.values.get("original_max_position_embeddings")))
