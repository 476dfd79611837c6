"""The stop ids change in the Hugging Face files, and WebLLM does not read those."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model import eos
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import chats, conversation_place, stop_ids, stop_strings, stops_by_text, turn_end
from bot.analyze.model.tokens import texts_of
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
    wrong_when="`mlc-chat-config.json` changes its stop ids as well, or already agrees with head",
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
    texts = texts_of(head)
    gained = [n for n in after if n not in before and n not in stops and n in texts and not stops_by_text(head, n, texts[n])]
    lost = [n for n in before if n not in after and n in stops and not turn_end(head).startswith(texts.get(n) or "\0")]
    for key, numbers, what in (("gained", gained, "does not stop on"), ("lost", lost, "still stops on")):
        if numbers:
            changed = after if key == "gained" else before
            verb = "newly name" if key == "gained" else "no longer name"
            place = changed[numbers[0]]
            yield Seen(
                key=key,
                title=f"The other files {verb} {ids(numbers, texts)} as an end, and WebLLM {what} it",
                places=(conversation_place(head, "stop_token_ids"), place),
            )


def _named(model: Model) -> dict[int, Place] | None:
    """The ids that the Hugging Face files name as ends, each with its place; None where one of them cannot be read."""
    found: dict[int, Place] = {}
    own, others = eos.of_tokenizer(model), eos.listed(model)
    if isinstance(others, Known):
        found.update(dict.fromkeys(others.value, others.places[0]))
    elif not isinstance(others, Missing):
        return None
    if isinstance(own, Known):
        found.setdefault(own.value, own.places[0])
    elif not isinstance(own, Missing):
        return None
    return found
