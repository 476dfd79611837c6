"""The tokenizer's EOS token is not among the ids that generation stops on."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.engines.prediction import predicted
from bot.analyze.model.declared import CONFIG, MAP, content_of
from bot.analyze.model.edits import Put, diff
from bot.analyze.model.eos import listed, of_tokenizer
from bot.analyze.model.folder import Model
from bot.analyze.model.further_stops import with_stops
from bot.analyze.model.mlc import chats, stop_ids
from bot.analyze.model.templates import in_force
from bot.analyze.model.tokens import role, role_sources, texts_of, tokens
from bot.analyze.model.turns import turns
from bot.analyze.records import Finding
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
    return f" On sglang a JSON answer may end only with {ids(answer.value, texts)}: a model that ends it with {ids([eos], texts)} is not stopped."


def patch(base: Model, head: Model, finding: Finding) -> str:
    """Make the one token that ends turns the tokenizer's EOS, or list both ids where lists are in use."""
    del finding  # there is one at most
    tokenizer, stops = of_tokenizer(head), listed(head)
    if not isinstance(tokenizer, Known) or not isinstance(stops, Known):
        return ""
    end = _end_of_turns(head, stops.value)
    return _renamed(head, end) if end else with_stops(base, head, [tokenizer.value])


def _end_of_turns(model: Model, stops: tuple[int, ...]) -> str:
    """The one token with which every template ends a turn, if generation stops on it, WebLLM as well, and no prompt is made of the tokenizer's EOS."""
    seen, table = turns(model), tokens(model)
    ends = {end for turn in seen for end in turn.ends}
    if len(ends) != 1 or not isinstance(table, Known) or any(turn.unknown or not turn.ends or turn.by_role for turn in seen):
        return ""
    end = next(iter(ends))
    token, pad = table.value.added.get(end), role(model, "pad_token")
    padding = isinstance(pad, Known) and pad.value == end
    written = any("eos_token" in template.text for template in in_force(model))
    if token is None or not token.special or token.id not in stops or padding or written:
        return ""
    return "" if chats(model) and token.id not in (stop_ids(model) or ()) else end


def _renamed(model: Model, end: str) -> str:
    """The diff that names it in every file that counts and states the role; "" where only the class gives it."""
    stating = [name for name in (CONFIG, MAP) if name in role_sources(model) and content_of(model.mapping(name).get("eos_token"))]
    changes = {name: [Put("/eos_token" + _content(model.mapping(name)["eos_token"]), end)] for name in stating}
    return diff(model, changes)


def _content(token: object) -> str:
    return "/content" if isinstance(token, dict) else ""
