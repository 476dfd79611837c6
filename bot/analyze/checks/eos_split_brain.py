"""The tokenizer's EOS token is not among the ids that generation stops on."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.engines.prediction import predicted
from bot.analyze.model.eos import listed, of_tokenizer
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import texts_of
from bot.analyze.wording import ids, value
from bot.answer import Known
from bot.place import Place

CHECK = Check(
    title="The files disagree on which token ends a reply",
    says="leaves the files disagreeing on which token ends a reply",
    sees="the tokenizer's EOS id and the ids of generation_config.json (config.json's where that file is absent) have nothing in common",
    why="Tools that read one file only, and engines that let one source replace the other, stop on different tokens.",
    fix="Name the token that ends a turn in all of them, or list both ids in `generation_config.json`.",
    wrong_when="the tokenizer's EOS is one of several ids in the list (Gemma, GLM, Llama 3), or no list states any id",
    severity="error",
    weighed="An error. All eight real folders that show it are Kimi K2 before its repair, and each is proved by the recorded stop ids.",
)


def find(model: Model) -> Iterator[Seen]:
    """Compare the tokenizer's EOS with the list that counts."""
    tokenizer, stops = of_tokenizer(model), listed(model)
    if not isinstance(tokenizer, Known) or not isinstance(stops, Known) or not stops.value or tokenizer.value in stops.value:
        return
    texts = texts_of(model)
    file = stops.places[0].path.rpartition("/")[2]
    yield Seen(
        key="eos_token",
        detail=f"{CHECK.why}{_in_grammar(model, tokenizer.value)}",
        title=f"{value(file)} stops on {ids(stops.value, texts)}, {_who(tokenizer.places[0])} {ids([tokenizer.value], texts)}",
        places=(*tokenizer.places, *stops.places),
    )


def _who(place: Place) -> str:
    """Who gives the tokenizer its EOS: a file, or the class for lack of any."""
    name = value(place.path.rpartition("/")[2])
    return f"the class that {name} names has" if place.pointer.endswith("/tokenizer_class") else f"{name} says"


def _in_grammar(model: Model, eos: int) -> str:
    """What becomes of structured output on sglang, which hands its grammar the ids of the files only."""
    answer = predicted(model, "sglang", "stops_in_grammar")
    if not isinstance(answer, Known) or not answer.value or eos in answer.value:
        return ""
    texts = texts_of(model)
    return f" On sglang a JSON answer may end only with {ids(answer.value, texts)}: one that ends with {ids([eos], texts)} never ends."
