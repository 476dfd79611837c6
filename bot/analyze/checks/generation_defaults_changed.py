"""The sampling defaults that servers take from generation_config.json differ from base."""

from collections.abc import Iterator, Mapping
from typing import Any

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.config import pointer, shown
from bot.analyze.model.folder import Model
from bot.analyze.wording import listed, value

FILE = "generation_config.json"
CHECK = Check(
    title="Sampling defaults of servers changed",
    says="changes how replies are sampled where a request does not say",
    sees="temperature, top_k, top_p, min_p, the penalties, max_new_tokens or skip_special_tokens of generation_config.json differ from base; "
    "an absent key counts as the value that switches it off",
    why="vLLM takes these values for every request that leaves them out (0.33.0 config/model.py:1859-1917), sglang takes temperature, top_k, top_p, min_p and "
    "repetition_penalty (0.5.23 configs/model_config.py:2210-2238), and both ignore `do_sample`.",
    fix="Nothing, if the other sampling is meant; say so in the model card.",
    wrong_when="only do_sample or another key that servers do not read changed, a value that switches nothing on was written out, or the whole file was deleted",
    severity="note",
    engines=("vllm", "sglang"),
    weighed="A note: new defaults are often the purpose of a change, and nothing breaks.",
)

# What each key does when it is absent: the value that changes no logits. Absent and null are the same (run with vLLM 0.33.0 and sglang 0.5.23).
_OFF: Mapping[str, Any] = {
    "temperature": 1.0,
    "top_p": 1.0,
    "top_k": None,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "max_new_tokens": None,
    "skip_special_tokens": True,
}
_OF_SGLANG = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare the effective values. A base without the file has none of them set."""
    if not head.readable(FILE) or not (base.readable(FILE) or not base.has(FILE)):
        return
    before, after = _effective(base), _effective(head)
    changed = [key for key in _OFF if before[key] != after[key] and repr(before[key]) != repr(after[key])]  # NaN is not itself
    if changed:
        stated = head.mapping(FILE)
        yield Seen(
            key=FILE,
            title=listed(f"{value(key)} {_told(base, key)} is now {_told(head, key)}" for key in changed),
            places=tuple(head.place(FILE, pointer(key) if key in stated else "") for key in changed),
            engines=("vllm", "sglang") if any(key in _OF_SGLANG for key in changed) else ("vllm",),
        )


def _effective(model: Model) -> dict[str, Any]:
    """The values as servers apply them. transformers 5 keeps an explicit top_k 50, which 4.x took for its own default and dropped (run)."""
    stated = model.mapping(FILE)
    found = {key: off if stated.get(key) is None else stated[key] for key, off in _OFF.items()}
    return {**found, "top_k": None if found["top_k"] in (0, -1) else found["top_k"]}


def _told(model: Model, key: str) -> str:
    stated = model.mapping(FILE).get(key)
    return value(shown(stated)) if stated is not None else "(not set)"
