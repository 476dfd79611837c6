"""The sampling defaults that engines take from generation_config.json, config.json or mlc-chat-config.json differ from base."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model import mlc
from bot.analyze.model.config import FILE as CONFIG
from bot.analyze.model.config import pointer, shown
from bot.analyze.model.folder import Model
from bot.analyze.wording import listed, value

FILE = "generation_config.json"
CHECK = Check(
    title="Sampling defaults changed",
    says="changes how replies are sampled where a request does not say",
    sees="temperature, top_k, top_p, min_p, the penalties, max_new_tokens or skip_special_tokens of generation_config.json differ from base; the keys of these that "
    "generate() reads from config.json where there is no generation_config.json, and those that WebLLM reads from mlc-chat-config.json; an absent key counts as the value that switches it off",
    why="vLLM takes these values for every request that leaves them out (0.33.0 config/model.py:1859-1917), sglang takes temperature, top_k, top_p, min_p and "
    "repetition_penalty (0.5.23 configs/model_config.py:2210-2238), and both ignore `do_sample`.",
    fix="Nothing, if the other sampling is meant; say so in the model card.",
    wrong_when="only do_sample or another key that the engine does not read changed, a value that switches nothing on was written out, or the whole file was added or deleted "
    "beside a config.json with such keys",
    severity="note",
    engines=("vllm", "sglang", "webllm", "transformers"),
    weighed="A note: new defaults are often the purpose of a change, and nothing breaks.",
)

_NEUTRAL: Mapping[str, Any] = {
    "temperature": 1.0,
    "top_p": 1.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}
_SAMPLED = ("temperature", "top_p", "top_k", "min_p")
_OF_SGLANG = (*_SAMPLED, "repetition_penalty")


class _Source(msgspec.Struct, frozen=True):
    """A file, and what each key does when it is absent: the value that changes no logits. Absent and null are the same (run)."""

    file: str
    absent: Mapping[str, Any]
    detail: str = ""
    engines: tuple[str, ...] = ()


_SERVED = _Source(FILE, _NEUTRAL | {"top_k": None, "min_p": 0.0, "max_new_tokens": None, "skip_special_tokens": True})
# generation/utils.py:574-582 in 5.24.0; the values that it makes were run with 4.57.6 and 5.24.0. vLLM asks the configuration, from which 5.24.0 takes them away.
_GENERATED = _Source(
    CONFIG,
    {
        "do_sample": False,
        "temperature": 1.0,
        "top_k": 50,
        "top_p": 1.0,
        "min_p": None,
        "repetition_penalty": 1.0,
        "max_new_tokens": None,
    },
    "Without a `generation_config.json`, `generate()` takes these values from `config.json` (transformers 4.57.6 and 5.24.0, run).",
    ("transformers",),
)
# web-llm 0.2.86, lib/index.js:13569-13625 (read).
_WEB = _Source(
    mlc.CONFIG,
    _NEUTRAL,
    "WebLLM 0.2.86 takes these values for every request that leaves them out, and without a `temperature` or a `repetition_penalty` in either it raises `MinValueError`.",
    ("webllm",),
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare the effective values. A base without generation_config.json has none of them set there."""
    if head.readable(FILE) and (base.readable(FILE) or not base.has(FILE)):
        yield from _compared(_SERVED, base, head)
    if all(model.readable(CONFIG) and not model.has(FILE) for model in (base, head)):
        yield from _compared(_GENERATED, base, head)
    if mlc.chats(base) and mlc.chats(head):
        yield from _compared(_WEB, base, head)


def _compared(source: _Source, base: Model, head: Model) -> Iterator[Seen]:
    before, after = _effective(source, base), _effective(source, head)
    greedy = before.get("do_sample") is False and after.get("do_sample") is False  # generate() then takes the likeliest token
    keys = [key for key in source.absent if not (greedy and key in _SAMPLED)]
    changed = [key for key in keys if before[key] != after[key] and repr(before[key]) != repr(after[key])]  # NaN is not itself
    if changed:
        stated = head.mapping(source.file)
        servers = ("vllm", "sglang") if any(key in _OF_SGLANG for key in changed) else ("vllm",)
        yield Seen(
            key=source.file,
            title=listed(f"{value(key)} {_told(source, base, key)} is now {_told(source, head, key)}" for key in changed),
            places=tuple(head.place(source.file, pointer(key) if key in stated else "") for key in changed),
            detail=source.detail,
            engines=source.engines or servers,
        )


def _effective(source: _Source, model: Model) -> dict[str, Any]:
    """The values as they are applied. transformers 5 keeps an explicit top_k 50, which 4.x took for its own default and dropped (run)."""
    stated = model.mapping(source.file)
    found = {key: off if stated.get(key) is None else stated[key] for key, off in source.absent.items()}
    if found.get("top_k") in (0, -1):
        found["top_k"] = None
    return found


def _told(source: _Source, model: Model, key: str) -> str:
    stated = model.mapping(source.file).get(key)
    return value(shown(stated)) if stated is not None else "(not set)"
