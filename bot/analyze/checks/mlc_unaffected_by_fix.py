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
from bot.answer import Known, Missing
from bot.place import Place

CHECK = Check(
    title="A change of the stop ids does not reach WebLLM",
    says="changes the stop ids in files that WebLLM does not read",
    sees="an EOS id that `generation_config.json`, config.json or the tokenizer newly names (or no longer names), with the same conv_template in "
    "`mlc-chat-config.json` that still does not stop on it (or still does)",
    why="WebLLM reads `mlc-chat-config.json` and the tokenizer file only, so what this repairs stays as it was for its users "
    "(web-llm 0.2.86 lib/index.js:10707 and :12539, run).",
    fix="Make the same change in `conv_template.stop_token_ids`.",
    wrong_when="`mlc-chat-config.json` changes its stop ids as well or already agrees with head, or the new end is a further one beside the end of a turn that WebLLM knows",
    severity="note",
    engines=("webllm",),
    cause="WebLLM reads its own stop ids",
    weighed="Nothing gets worse for anybody, so it is a note.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare what the other files name as ends, then look what WebLLM makes of it."""
    stops = stop_ids(head)
    if not chats(head) or not stops or stop_ids(base) != stops or stop_strings(base) != stop_strings(head):
        return
    before, after = _named(base), _named(head)
    if before is None or after is None or not after:
        return
    gained = [number for number in after if number not in before and number not in stops and _repairs(head, number)]
    lost = [n for n in before if n not in after and n in stops and not turn_end(head).startswith(token_text(head, n) or "\0")]
    if isinstance(eos.listed(head), Missing):
        lost = []  # a list that is gone with its file is no repair
    for key, numbers, verb, what in (
        ("gained", gained, "newly name", "does not stop on it"),
        ("lost", lost, "no longer name", "still stops on it"),
    ):
        if numbers:
            place = (after if key == "gained" else before)[numbers[0]]
            texts = {number: text for number in numbers if (text := token_text(head, number))}
            yield Seen(
                key=key,
                title=f"The other files {verb} {ids(numbers, texts)} as an end, and WebLLM {what}",
                places=(conversation_place(head, "stop_token_ids"), place),
            )


def _repairs(model: Model, number: int) -> bool:
    """Whether a new end is one that replies have and WebLLM runs past; a further one beside the end of a turn that it knows is none."""
    text, own = token_text(model, number), tokenizer_eos(model)
    if not text or stops_by_text(model, number, text):
        return False
    wanted = turn_end(model).startswith(text) or (isinstance(own, Known) and own.value[0] == number)
    return wanted or not ends_turn(model)


def _named(model: Model) -> dict[int, Place] | None:
    """The ids that the Hugging Face files name as ends, each with its place; None where one of them cannot be read."""
    found: dict[int, Place] = {}
    own, others = tokenizer_eos(model), eos.listed(model)
    if isinstance(others, Known):
        found.update(dict.fromkeys(others.value, others.places[0]))
    elif not isinstance(others, Missing):
        return None
    if isinstance(own, Known):
        found.setdefault(own.value[0], own.places[0])
    elif not isinstance(own, Missing):
        return None
    return found
