"""Rope settings lack a field that their type needs."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.config import shown
from bot.analyze.model.folder import Model
from bot.analyze.model.rope import Rope, conflict, lacking, ropes
from bot.analyze.rules.config_fields import refused, unread
from bot.analyze.rules.from_transformers import config_needs_remote_code
from bot.analyze.tables import config_eos
from bot.analyze.wording import listed, value

CHECK = Check(
    title="Rope settings lack a mandatory field",
    says="keeps engines from loading the model",
    sees="rope_scaling or rope_parameters of a type without the fields that it needs (factor; short_factor and long_factor for longrope; low_freq_factor and "
    "high_freq_factor for llama3), at any level of config.json; or, for a class that is not known, a value that is no object; and rope_type and type that contradict each other",
    why="`AutoConfig` raises `KeyError: Missing required keys` on transformers 4.57.6 and 5.24.0 (run), and so do vLLM and sglang, which load it; "
    "on transformers 5 the tokenizer does not load either.",
    fix="Add the fields, or take the rope settings out when the context is not extended.",
    wrong_when="the class of model_type does not read the configuration that holds them (llm_config in a Llama), the type is default, or one that transformers does not know and only the model's own code reads (mrope, su), or the two keys name one type by its older and its newer name",
    severity="error",
    engines=("transformers", "vllm", "sglang"),
    weighed="An error, and certain for classes of transformers, where the rule is compared with the real classes; likely for code of the repository. "
    "No real repository that it was run over has the fault.",
)


def find(model: Model) -> Iterator[Seen]:
    """Look at every set of settings."""
    config = model.mapping("config.json")
    model_type = config.get("model_type")
    certain = isinstance(model_type, str) and model_type in config_eos()
    told_elsewhere = {fault.path for fault in refused(config)}
    for rope in ropes(model):
        if unread(config, rope.holder.path) and not config_needs_remote_code(model):
            continue
        if rope.values is None:
            if (*rope.holder.path, *rope.keys) not in told_elsewhere:  # as a field of the wrong type
                shape = shown(rope.holder.values[rope.keys[0]])
                yield _seen(model, rope, f"{value(rope.name)} is {value(shape)} and no object", certain=False)
        elif fields := lacking(rope):
            told = f"{value(rope.name)} of type {value(rope.kind)} has no {listed(map(value, fields))}"
            yield _seen(model, rope, told, certain=certain)
        elif types := conflict(rope):
            yield Seen(
                key=rope.name,
                title=f"{value(rope.name)} has {value('rope_type')} {value(types[0])} and {value('type')} {value(types[1])}: vLLM does not load it",
                places=(rope.place(model, "rope_type"), rope.place(model, "type")),
                detail="vLLM raises ValueError for a conflict between the keys (0.33.0, run); transformers and sglang take `rope_type`.",
                engines=("vllm",),
                fix="Write the same type in both keys, or leave `type` out.",
            )
        elif _only_for_4(rope):
            yield Seen(
                key=rope.name,
                title=f"{value(rope.name)} of type {value(rope.kind)} has no {value('original_max_position_embeddings')}: transformers 4 does not load it",
                places=(rope.place(model),),
                detail="`AutoConfig` of transformers 4 raises `KeyError: Missing required keys` (4.57.6 modeling_rope_utils.py:713, run); "
                "transformers 5 takes `max_position_embeddings` in its place, which is no scaling.",
                engines=("transformers 4", "vllm < 0.24", "sglang < 0.5.10"),
            )


def _only_for_4(rope: Rope) -> bool:
    """Whether the original context is missing, which 4.x needs for llama3. It does not look at rope_parameters."""
    return (
        rope.kind == "llama3" and rope.keys[0] == "rope_scaling" and "original_max_position_embeddings" not in (rope.values or {})
    )


def _seen(model: Model, rope: Rope, told: str, *, certain: bool) -> Seen:
    return Seen(
        key=rope.name,
        title=f"{told}: the configuration does not load",
        places=(rope.place(model),),
        confidence="certain" if certain else "likely",
    )
