"""The type of rope scaling is given by the older key alone."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.config import FILE
from bot.analyze.model.edits import Put, diff
from bot.analyze.model.folder import Model
from bot.analyze.model.rope import ropes
from bot.analyze.records import Finding
from bot.analyze.wording import value

CHECK = Check(
    title="The rope type stands under the older key alone",
    says="hides the rope scaling from readers of the newer key",
    sees="rope_scaling or rope_parameters with type and without rope_type",
    why="transformers 4.43 and newer read both keys. A reader of `rope_type` alone takes the context for not extended: the MLC packager then drops the scaling of a Llama "
    "without a word (mlc-llm 01ced331, python/mlc_llm/model/llama/llama_model.py:47).",
    fix="Write `rope_type` with the same value, and keep `type` for older readers.",
    wrong_when="rope_type is there as well, or the type is default, which scales nothing",
    severity="note",
    engines=("mlc-llm",),
    weighed="A note: transformers, vLLM and sglang read either key, and many repositories from before 2024-07 have the older one.",
)

# The types that are called the same under both keys (modeling_rope_utils.py:932-1080 in 5.24.0).
_SAME = ("linear", "dynamic", "yarn", "longrope", "llama3")


def find(model: Model) -> Iterator[Seen]:
    """Look for the one key without the other."""
    for rope in ropes(model):
        values = rope.values or {}
        if "rope_type" not in values and isinstance(values.get("type"), str) and rope.kind != "default":
            yield Seen(
                key=rope.name,
                title=f"{value(rope.name)} gives its type {value(rope.kind)} as {value('type')} and not as {value('rope_type')}",
                places=(rope.place(model, "type"),),
            )


def patch(base: Model, head: Model, finding: Finding) -> str:
    """Write the newer key beside the older one; names that only the older key knows have another one there."""
    del base
    rope = next(rope for rope in ropes(head) if rope.name == finding.key)
    if rope.kind not in _SAME:
        return ""
    return diff(head, {FILE: [Put(rope.place(head, "rope_type").pointer, rope.kind, beside="type")]})
