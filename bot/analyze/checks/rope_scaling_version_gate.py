"""Rope settings that only newer releases of transformers read."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.rope import Rope, lacking, ropes
from bot.analyze.wording import value

CHECK = Check(
    title="The rope settings need a newer transformers",
    says="asks for a newer transformers than before",
    sees="a rope type that came with transformers 4.43 (yarn, longrope, llama3) in a model type that older releases know as well, the type proportional of 5.5, "
    "or rope_parameters without the rope_scaling and rope_theta that 4.x reads",
    why="Older readers refuse the configuration or ignore the scaling, and then positions beyond the original context are wrong.",
    fix="Say in the model card which release is needed, or keep `rope_scaling` and `rope_theta` beside `rope_parameters`.",
    wrong_when="the model type itself is newer than the rope type, or the settings scale nothing and have the base 10000",
    severity="note",
    engines=("transformers", "vllm", "sglang"),
    weighed="A note: current releases read the settings.",
)

# Model types that 4.42.4 refuses with such a type: _rope_scaling_validation of their configuration_*.py takes linear and dynamic only (phi3: su and yarn).
_REFUSED = {"falcon", "fuyu", "gpt_neox", "llama", "olmo", "persimmon", "phi", "stablelm"}
# Rotary model types that 4.42.4 knows and whose configuration does not read rope_scaling at all.
_IGNORED = {
    "cohere",
    "dbrx",
    "gemma",
    "gemma2",
    "gpt_neox_japanese",
    "jetmoe",
    "mistral",
    "mixtral",
    "qwen2",
    "qwen2_moe",
    "recurrent_gemma",
    "starcoder2",
}
_OF_4_43 = {"yarn", "longrope", "llama3"}


def find(model: Model) -> Iterator[Seen]:
    """Look at the type and at the key of each set of settings; one that no release loads is told elsewhere."""
    names: set[str] = set()
    for rope in ropes(model):
        told = "" if rope.values is None or lacking(rope) else _needs(rope)
        name = rope.holder.dotted(rope.keys[0])  # settings for each type of layer are told together
        if told and name not in names:
            names.add(name)
            yield Seen(key=name, title=f"{value(name)} {told}", places=(rope.place(model),))


def _needs(rope: Rope) -> str:
    model_type = rope.holder.values.get("model_type")
    kind = value(rope.kind)
    if rope.kind == "proportional":  # in ROPE_INIT_FUNCTIONS of 5.5.0, not of 5.4.0
        return f"has the type {kind}, which transformers older than 5.5 do not know"
    if rope.keys[0] == "rope_parameters":
        theta = (rope.values or {}).get("rope_theta", 10000)
        plain = rope.kind == "default" and theta == 10000
        kept = rope.holder.values.get("rope_theta") is not None
        return "" if plain or kept else "is read by transformers 5 alone: 4.x takes the base 10000 without scaling"
    if rope.kind in _OF_4_43 and model_type in _REFUSED:
        return f"has the type {kind}, which transformers older than 4.43 refuse"
    if rope.kind in _OF_4_43 and model_type in _IGNORED:
        return f"has the type {kind}, which transformers older than 4.43 do not read"
    if rope.kind == "longrope" and model_type == "phi3":
        return f"has the type {kind}, which transformers older than 4.43 call `su`"
    return ""
