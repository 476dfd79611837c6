"""dtype and torch_dtype of one configuration name different types."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.config import holders
from bot.analyze.model.dtype import named
from bot.analyze.model.folder import Model
from bot.analyze.wording import value

CHECK = Check(
    title="dtype and torch_dtype name different types",
    says="loads the weights in another type than some versions do",
    sees="dtype and torch_dtype in the same object of config.json with different values",
    why="transformers 4.56 and newer, vLLM and sglang take `dtype` (4.57.6 and 5.24.0, run); transformers 4.46.3 knows `torch_dtype` only, "
    "so the same repository is loaded in two types, at another memory cost and precision.",
    fix="Write the same type in both keys, or leave one of them out.",
    wrong_when="both name the same type, one of them is null, or they stand in different objects",
    severity="warning",
    engines=("transformers", "vllm", "sglang"),
    weighed="A warning: every version loads the model, but not in the same type; no real repository that it was run over has the fault.",
)


def find(model: Model) -> Iterator[Seen]:
    """Compare the keys of each object."""
    for holder in holders(model):
        new, old = named(holder.values.get("dtype")), named(holder.values.get("torch_dtype"))
        if new and old and new != old:
            where = f" of {value(holder.name)}" if holder.name else ""
            yield Seen(
                key=holder.dotted("dtype"),
                title=f"{value('dtype')}{where} is {value(new)}, {value('torch_dtype')} is {value(old)}",
                places=(holder.place(model, "dtype"), holder.place(model, "torch_dtype")),
            )
