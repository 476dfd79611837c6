"""config.json states no EOS id, so the default of its class counts for some engines."""

from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.config import FILE, text_holders
from bot.analyze.model.eos import nested, of_tokenizer, stated
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import texts_of, tokens
from bot.analyze.records import Severity
from bot.analyze.tables import config_eos
from bot.analyze.wording import ids, value
from bot.answer import Known, Missing, Unknown

GENERATION = "generation_config.json"
CHECK = Check(
    title="The default of a class decides where a reply ends",
    says="leaves it to the version of an engine where a reply ends",
    sees="no eos_token_id in config.json (nor in its text_config) of a model type whose class has a default, such as 2 for llama, and no generation_config.json; "
    "or one that does not list the default",
    why="Without `generation_config.json` the default counts on transformers 4 and on vLLM, while `generate()` of transformers 5 has no EOS at all and runs to the limit "
    "(4.57.6 and 5.24.0, run).",
    fix="Write `eos_token_id` into `config.json`, and into `generation_config.json`.",
    wrong_when="a file states the key, even as null, the class has no default, the model does not generate, or generation_config.json and the tokenizer name the default anyway",
    severity="warning",
    engines=("transformers", "vllm", "sglang"),
    weighed="A warning where no file states an id, or sglang would stop at an ordinary piece of text; a note where generation_config.json states ids and only sglang adds a special token. "
    "No real repository that it was run over has the fault.",
)

_GENERATES = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel", "ForSeq2SeqLM")


def find(model: Model) -> Iterator[Seen]:
    """Look for a default that nothing replaces."""
    default = _default(model)
    generation = stated(model, GENERATION)
    if not default or isinstance(generation, Unknown):
        return
    texts = texts_of(model)
    kept = model.readable(GENERATION)  # a file that is no JSON is taken for an absent one
    places = (model.place(FILE), model.place(FILE, "/model_type"))
    if not kept:
        yield Seen(
            key="eos_token_id",
            title=f"{value(FILE)} states no {value('eos_token_id')}: its class takes {ids(default, texts)}, and {value('generate()')} of transformers 5 none",
            places=places,
        )
        return
    tokenizer = of_tokenizer(model)
    known = {
        *(generation.value if isinstance(generation, Known) else ()),
        *([tokenizer.value] if isinstance(tokenizer, Known) else []),
    }
    added = [number for number in default if number not in known]
    if added and known:
        yield Seen(
            key="eos_token_id",
            title=f"{value(FILE)} states no {value('eos_token_id')}: sglang stops on {ids(added, texts)} of its class as well",
            places=places,
            severity=_severity(model, added),
            engines=("sglang",),
            detail="sglang adds the ids of the loaded configuration to those of the other files, class default included (0.5.23 configs/model_config.py:2190-2206, run).",
        )


def _default(model: Model) -> list[int]:
    """The ids of the class where config.json says nothing of EOS; none when the class is unknown or the model does not generate."""
    config = model.mapping(FILE)
    silent = not any("eos_token_id" in holder.values for holder in text_holders(model)) and not nested(model)
    model_type = config.get("model_type")
    if not silent or not isinstance(model_type, str) or not isinstance(stated(model, FILE), Missing) or not _generates(config):
        return []
    row = config_eos().get(model_type, {})
    default: Any = row.get("top", row.get("text"))
    return cast("list[int]", default) if isinstance(default, list) else [default] if isinstance(default, int) else []


def _generates(config: dict[str, Any]) -> bool:
    named: Any = config.get("architectures")
    names = cast("list[Any]", named) if isinstance(named, list) else []
    return not names or any(isinstance(name, str) and name.endswith(_GENERATES) for name in names)


def _severity(model: Model, numbers: list[int]) -> Severity:
    """An id that stands for ordinary text ends replies in the middle."""
    table = tokens(model)
    if not isinstance(table, Known) or not table.value.complete:
        return "note"
    added = {token.id for token in table.value.added.values()}
    return "warning" if any(number in table.value.file.pieces and number not in added for number in numbers) else "note"
