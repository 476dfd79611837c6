"""How many tokens of context the engines take from a model folder, and what of the files makes that another number.

The servers' rules are those of rules/vllm/limits.py and rules/sglang/limits.py; web-llm 0.2.86 takes the window of its own file.
"""

from collections.abc import Iterator

from bot.analyze.model.config import text_holders, whole
from bot.analyze.model.folder import Model
from bot.analyze.model.rope import ropes
from bot.analyze.rules.sglang import limits as sglang
from bot.analyze.rules.sglang.releases import NEWEST, RELEASES
from bot.analyze.rules.vllm import limits as vllm
from bot.analyze.rules.vllm.release import TRANSFORMERS, release
from bot.answer import Known
from bot.place import Place

MLC = "mlc-chat-config.json"
TOKENIZER = "tokenizer_config.json"
UNSET = 10**20  # transformers writes int(1e30) where a tokenizer has no limit (tokenization_utils_base.py:145 in 5.24.0)


def contexts(model: Model) -> dict[str, Known[int]]:
    """The context of each engine that can be told, in tokens, by the engine's id."""
    answers = {
        "vllm": vllm.max_model_len(model, release([*TRANSFORMERS][-1])),
        "sglang": sglang.max_model_len(model, RELEASES[NEWEST]),
    }
    stated = model.has("config.json")  # without one the servers do not start
    found = {engine: answer for engine, answer in answers.items() if stated and isinstance(answer, Known)}
    limit = whole(model.mapping(TOKENIZER).get("model_max_length"))  # where the tokenizer cuts when it is told to
    if limit is not None and 0 < limit < UNSET:
        found["transformers"] = Known(limit, (model.place(TOKENIZER, "/model_max_length"),))
    for key in ("context_window_size", "sliding_window_size"):
        window = whole(model.mapping(MLC).get(key))
        if window is not None and window > 0:
            found.setdefault("webllm", Known(window, (model.place(MLC, f"/{key}"),)))
    return found


def causes(model: Model, other: Model) -> Iterator[Place]:
    """What of a model's config.json and the files beside it, as far as the length follows from it, is not so in another model."""
    before = {(rope.holder.path, rope.keys): rope.values or {} for rope in ropes(other)}
    for rope in ropes(model):
        values, old = rope.values or {}, before.get((rope.holder.path, rope.keys), {})
        if values != old:
            yield rope.place(model, "factor") if values.get("factor") != old.get("factor") else rope.place(model)
    holders = {holder.path: holder.values for holder in text_holders(other)}
    for holder in text_holders(model):
        for key in vllm.LENGTHS:
            if key in holder.values and holder.values[key] != holders.get(holder.path, {}).get(key):
                yield holder.place(model, key)
    for name in vllm.SENTENCES:
        key = "max_seq_length"
        if key in model.mapping(name) and model.mapping(name)[key] != other.mapping(name).get(key):
            yield model.place(name, f"/{key}")
