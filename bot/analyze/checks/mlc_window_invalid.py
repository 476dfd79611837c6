"""context_window_size and sliding_window_size of mlc-chat-config.json exclude or leave out each other."""

from collections.abc import Iterator
from typing import Any

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import CONFIG, config
from bot.analyze.wording import value

CHECK = Check(
    title="Not exactly one of context_window_size and sliding_window_size is set",
    says="keeps WebLLM from loading the model",
    sees="a `mlc-chat-config.json` in which both windows are set, neither is, one of them is not positive, or a sliding window has no attention_sink_size",
    why="WebLLM takes exactly one window, and compares with -1: a key that is absent counts as set. Loading raises "
    "(web-llm 0.2.86 lib/index.js:11880-11901, run).",
    fix="Set one of `context_window_size` and `sliding_window_size` to the length, the other to -1, and keep both keys; "
    "a sliding window needs an `attention_sink_size` of 0 or more.",
    wrong_when="one window is positive and the other is -1; an application that overrides them loads the model all the same",
    severity="error",
    confidence="likely",
    engines=("webllm",),
    weighed="The real pipeline refuses every such file, also the real ones of 2023, but an application may override the windows.",
)

KEYS = ("context_window_size", "sliding_window_size")


def find(model: Model) -> Iterator[Seen]:
    """Judge the two windows as JavaScript does."""
    settings = config(model)
    if not settings:
        return
    first, second = (_stated(settings, key) for key in KEYS)
    fault = _fault(settings)
    if fault:
        keys = [key for key in (*KEYS, "attention_sink_size") if key in settings]
        places = tuple(model.place(CONFIG, f"/{key}") for key in keys) or (model.place(CONFIG),)
        yield Seen(key="window", title=f"{first} and {second}: {fault}, and WebLLM does not load", places=places)


def _stated(settings: dict[str, Any], key: str) -> str:
    return f"{value(key)} is {value(settings[key])}" if key in settings else f"{value(key)} is absent"


def _fault(settings: dict[str, Any]) -> str:
    """What is wrong with the windows, "" for nothing. -1.0 is -1 to JavaScript; null and a text are not."""
    context, sliding = (_number(settings.get(key)) for key in KEYS)
    if context != -1 and sliding != -1:
        return "only one may be set" if all(key in settings for key in KEYS) else "an absent key counts as set"
    if context == sliding == -1:
        return "one must be set"
    if "context_window_size" not in settings:
        return "one must be set"
    window = context if sliding == -1 else sliding
    if window is None or window <= 0:
        return "a window must be positive"
    sink = settings.get("attention_sink_size", -1)
    if sliding != -1 and sink is not None and (_number(sink) or 0) < 0:  # null >= 0 is true in JavaScript
        return f"a sliding window needs an {value('attention_sink_size')} of 0 or more"
    return ""


def _number(item: Any) -> float | None:
    return item if isinstance(item, int | float) and not isinstance(item, bool) else None
