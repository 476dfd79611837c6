"""The model or its tokenizer cannot be loaded without the repository's own code."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.names import knows_model_type, knows_tokenizer_class
from bot.analyze.model.remote_code import place, references
from bot.analyze.wording import listed, value
from bot.place import Place

CHECK = Check(
    title="Loading needs code of the repository",
    says="makes the model load only for those who run its own code",
    sees="`auto_map` with a configuration class or a tokenizer while transformers knows no such `model_type` or `tokenizer_class`",
    why="Without trust_remote_code transformers refuses: `ValueError: … contains custom code which must be executed …` (5.24.0 "
    "dynamic_module_utils.py:778, run), or takes another tokenizer class.",
    fix="Nothing, when the code is meant to be needed; say so in the model card.",
    wrong_when="transformers has classes of its own, which are then taken without trust",
    severity="note",
    engines=("transformers",),
    weighed="A fact and no fault; vLLM and sglang have classes of their own for many of these models, so that only transformers is named.",
)


def find(model: Model) -> Iterator[Seen]:
    """Look for entries without which nothing loads; one finding for the folder."""
    kind = model.mapping("config.json").get("model_type")
    wanted = model.mapping("tokenizer_config.json").get("tokenizer_class")
    known = knows_tokenizer_class(wanted) or (wanted is None and knows_model_type(kind))
    needed: dict[str, Place] = {}
    for row in references(model):
        if row.file == "config.json" and row.auto_class == "AutoConfig" and not knows_model_type(kind):
            needed.setdefault(_name("model_type", kind), place(model, row))
        elif row.file == "tokenizer_config.json" and row.auto_class == "AutoTokenizer" and not known:
            needed.setdefault(_name("tokenizer_class", wanted), place(model, row))
    if needed:
        yield Seen(
            key="auto_map",
            title=f"Loading needs code that {value('auto_map')} names: transformers has nothing for {listed(needed)}",
            places=tuple(needed.values()),
        )


def _name(key: str, name: object) -> str:
    return f"a model without {value(key)}" if name is None else f"{value(key)} {value(name)}"
