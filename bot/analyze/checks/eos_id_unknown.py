"""An EOS id has no token, or lies outside the vocabulary of the model."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.eos import TEXT_CONFIGS, nested, stated
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import tokens
from bot.analyze.wording import value
from bot.answer import Answer, Known
from bot.place import Place

CHECK = Check(
    title="An EOS id that no token has",
    says="names a stop id that no token has",
    sees="an id of eos_token_id that the tokenizer does not have, or that is not below config.json's vocab_size",
    why="Nothing ever stops there, and vLLM refuses every request for structured output when a stop id is outside the vocabulary.",
    fix="Name the id of the token that ends a reply.",
    wrong_when="the vocabulary cannot be read, so that the id may well exist",
    severity="error",
    weighed="An error; silent on every real folder, so that an id without a token is news.",
)


def find(model: Model) -> Iterator[Seen]:
    """Look every stated id up."""
    table = tokens(model)
    known = table.value.texts if isinstance(table, Known) and table.value.complete else None
    size = _vocab_size(model)
    sources: dict[str, Answer[tuple[int, ...]]] = {
        "generation_config.json": stated(model, "generation_config.json"),
        "config.json": stated(model, "config.json"),
        **nested(model),
    }
    for name, answer in sources.items():
        for number in answer.value if isinstance(answer, Known) else ():
            outside = size is not None and not 0 <= number < size
            if outside or (known is not None and number not in known):
                why = f"is outside the vocabulary of {size}" if outside else "has no token in the tokenizer"
                yield Seen(key=f"{name}:{number}", title=f"EOS id {number} of {value(name)} {why}", places=_places(answer))


def _vocab_size(model: Model) -> int | None:
    config = model.mapping("config.json")
    for holder in (config, *(config.get(key) for key in TEXT_CONFIGS)):
        size = holder.get("vocab_size") if isinstance(holder, dict) else None
        if isinstance(size, int) and not isinstance(size, bool):
            return size
    return None


def _places(answer: Answer[tuple[int, ...]]) -> tuple[Place, ...]:
    return answer.places
