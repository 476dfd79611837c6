"""The stored dtype differs from base."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.config import FILE
from bot.analyze.model.dtype import stated
from bot.analyze.model.folder import Model
from bot.analyze.wording import value

CHECK = Check(
    title="The dtype that the weights are loaded in changed",
    says="loads the weights in another type",
    sees="the dtype (or torch_dtype) of config.json, or that of its text_config where the top level states none, differs from base or is gone",
    why="Memory and precision follow it. Where nothing states a type, sglang 0.5.23 takes float16 (bfloat16 for Gemma), vLLM 0.33.0 that of the tensors, "
    "and transformers 4 float32.",
    fix="Nothing, if the weights are stored in that type; otherwise write the type that they have.",
    wrong_when="torch_dtype was renamed to dtype with the same value, or the value only moved between the top level and text_config",
    severity="note",
    engines=("transformers", "vllm", "sglang"),
    weighed="A note: a new type is usually meant and goes with new weights.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare what counts."""
    if not base.readable(FILE) or not head.readable(FILE):
        return
    before, after = stated(base), stated(head)
    if before == after or (before is not None and after is not None and before[0] == after[0]):
        return
    told = [value(side[0]) if side else "(not set)" for side in (before, after)]
    yield Seen(
        key="dtype",
        title=f"The stored dtype was {told[0]} and is now {told[1]}",
        places=((after[1] if after else head.place(FILE)), *((before[1],) if before else ())),
    )
