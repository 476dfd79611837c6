"""The stop ids change in the Hugging Face files, and WebLLM does not read those."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model import eos
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import (
    chats,
    conversation_place,
    ends_turn,
    stop_ids,
    stop_strings,
    stops_by_text,
    token_text,
    tokenizer_eos,
    turn_end,
)
from bot.analyze.wording import ids
from bot.answer import Known, Missing, Unknown
from bot.place import Place

CHECK = Check(
    title="A change of the stop ids does not reach WebLLM",
    says="changes the stop ids in files that WebLLM does not read",
    sees="an EOS id that the list of `generation_config.json` (or of config.json in its place) or the tokenizer newly names, or that no file names any longer, "
    "with the same conv_template in `mlc-chat-config.json` whose `stop_token_ids` still lack it (or still hold it)",
    why="WebLLM reads `mlc-chat-config.json` and the tokenizer file only, so what this repairs stays as it was for its users; a stop string ends a chat by text all the same "
    "(web-llm 0.2.86 lib/index.js:10707 and :12539, run).",
    fix="Make the same change in `conv_template.stop_token_ids`.",
    wrong_when="`mlc-chat-config.json` changes its stop ids as well or already agrees with head, or the new end is a further one beside the end of a turn that WebLLM knows",
    severity="note",
    engines=("webllm",),
    cause="WebLLM reads its own stop ids",
    weighed="Nothing gets worse for anybody, so it is a note; the one pair of the corpus with a `mlc-chat-config.json` changes no stop id.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare what the other files name as ends, each by itself, then look what WebLLM makes of it."""
    stops = stop_ids(head)
    if not chats(head) or not stops or stop_ids(base) != stops or stop_strings(base) != stop_strings(head):
        return
    before, after = _named(base), _named(head)
    if before is None or after is None or not any(after):
        return
    gained = {n: place for had, has in zip(before, after, strict=True) for n, place in has.items() if n not in {*had, *stops}}
    gained = {n: place for n, place in gained.items() if _repairs(head, n)}
    if gained:
        by_text = all(stops_by_text(head, n, token_text(head, n)) for n in gained)
        what = "still stops by its text alone, not by its id, on" if by_text else "still does not stop on"
        yield _seen(head, "gained", gained, f"WebLLM {what} {{}}, which the other files newly name as an end")
        return
    now = {n for has in after for n in has}
    lost = {n: place for had in before for n, place in had.items() if n not in now and n in stops}
    lost = {n: place for n, place in lost.items() if not turn_end(head).startswith(token_text(head, n) or "\0")}
    if lost and not isinstance(eos.listed(head), Missing):  # a list that is gone with its file is no repair
        yield _seen(head, "lost", lost, "WebLLM still stops on {}, which the other files no longer name as an end")


def _seen(model: Model, key: str, found: dict[int, Place], title: str) -> Seen:
    texts = {number: text for number in found if (text := token_text(model, number))}
    places = (conversation_place(model, "stop_token_ids"), next(iter(found.values())))
    return Seen(key=key, title=title.replace("{}", ids(found, texts)), places=places)


def _repairs(model: Model, number: int) -> bool:
    """Whether a new end is one that replies have; a further one beside the end of a turn that WebLLM knows, by id or text, is none."""
    text, own = token_text(model, number), tokenizer_eos(model)
    if not text:
        return False
    wanted = turn_end(model).startswith(text) or (isinstance(own, Known) and own.value[0] == number)
    return wanted or not (ends_turn(model) or stops_by_text(model, number, text))


def _named(model: Model) -> tuple[dict[int, Place], dict[int, Place]] | None:
    """The ids that generate() stops on and the tokenizer's EOS, each with its place; None where one of them cannot be read."""
    own, others = tokenizer_eos(model), eos.listed(model)
    if isinstance(own, Unknown) or isinstance(others, Unknown):
        return None
    stops = dict.fromkeys(others.value, others.places[0]) if isinstance(others, Known) else {}
    return stops, {own.value[0]: own.places[0]} if isinstance(own, Known) else {}
