"""A field of config.json has a type that its configuration class refuses."""

from collections.abc import Iterator
from typing import Any

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.config import FILE, pointer, shown
from bot.analyze.model.folder import Model
from bot.analyze.rules.config_fields import refused
from bot.analyze.rules.from_transformers import config_needs_remote_code
from bot.analyze.wording import value

CHECK = Check(
    title="A field of config.json has a type that its class refuses",
    says="keeps the model from loading with current releases",
    sees="a field that the strict configuration class of model_type refuses: a string or float for an integer, an integer for a float, null or a list where none is "
    "taken, also in nested configurations; a quantization_config or id2label that is no object, a head_dim that is no number; a hidden_size that its heads do not divide, and layer_types that do not exist or do not match the number of layers",
    why="transformers 5.4 and newer raise an error, mostly `StrictDataclassFieldValidationError`, for the configuration and for the tokenizer beside it (5.24.0, run), "
    "and so vLLM 0.24 and sglang 0.5.12 and newer do not start.",
    fix="Write the value in the type that the class takes.",
    wrong_when="the class is of the repository's own code or checks nothing, the field is not one of the class, or older releases alone would refuse it",
    severity="error",
    engines=("transformers >= 5.4", "vllm >= 0.24", "sglang >= 0.5.12"),
    weighed="An error, and certain: the table is taken from the real classes and what follows from it is compared with them on generated files of every model type; "
    "likely where the repository's own class may take the place of the known one. No real repository that it was run over has such a field.",
)


def find(model: Model) -> Iterator[Seen]:
    """Hold config.json against the table."""
    config = model.mapping(FILE)
    own = config_needs_remote_code(model)
    for fault in refused(config):
        found: Any = config
        for key in fault.path:
            found = found[key]
        dotted = ".".join(fault.path)
        yield Seen(
            key=dotted,
            title=f"{value(dotted)} is {_told(found)}, {fault.why}",
            places=(model.place(FILE, pointer(*fault.path)),),
            confidence="likely" if own else "certain",
        )


def _told(found: Any) -> str:
    """A value with its type in words."""
    kinds = {
        bool: "the truth value",
        int: "the integer",
        float: "the float",
        str: "the string",
        list: "the list",
        dict: "the object",
    }
    kind = kinds.get(type(found), "")
    return f"{kind} {value(shown(found))}" if kind else value(shown(found))
