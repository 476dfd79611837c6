"""architectures names another class than in base."""

from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.config import Holder, text_holders
from bot.analyze.model.folder import Model
from bot.analyze.wording import listed, value

CHECK = Check(
    title="architectures names another class",
    says="changes which model class readers pick",
    sees="the list architectures of config.json, and that of text_config or the like in it, in base and in head",
    why="vLLM and sglang pick the model class by it; without the key vLLM takes a class without a head (vllm 0.33.0, run), and sglang raises TypeError (0.5.23, run). Converters to GGUF read it as well.",
    fix="Name the class that the weights were saved from.",
    wrong_when="only the order of the names changed and the first is the same, or base had none",
    severity="note",
    engines=("vllm", "sglang", "llama.cpp"),
    weighed="A difference and no fault by itself, so a note; the one pair of the corpus where it changes renames the model type as well.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare the lists, those of nested configurations where both sides have the configuration."""
    old = {holder.path: _classes(holder) for holder in text_holders(base)}
    for holder in text_holders(head):
        before, after = old.get(holder.path, []), _classes(holder)
        if not before or (set(before) == set(after) and before[0] == after[0]):
            continue
        new = f"is {listed(map(value, after))}" if after else "is gone"
        yield Seen(
            key=holder.dotted("architectures"),
            title=f"{value(holder.dotted('architectures'))} {new}, it was {listed(map(value, before))}",
            places=(holder.place(head, "architectures"),),
        )


def _classes(holder: Holder) -> list[str]:
    names: Any = holder.values.get("architectures")
    rows = cast("list[Any]", names) if isinstance(names, list) else [names]
    return [name for name in rows if isinstance(name, str)]
