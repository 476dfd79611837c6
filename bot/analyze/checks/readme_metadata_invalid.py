"""The metadata of the model card is not what the Hub takes."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.card import NAME, card
from bot.analyze.model.card_rules import refusals
from bot.analyze.model.folder import Model
from bot.analyze.wording import value
from bot.place import Place

CHECK = Check(
    title="The metadata of the model card is not valid",
    says="breaks the metadata of the model card",
    sees="the YAML block at the head of README.md: whether it can be read, keys that stand twice, null entries, and fields of a kind or with a value that the Hub refuses",
    why="The Hub refuses a push with such a card: `Invalid metadata in README.md` (huggingface_hub 2.4.0 hf_api.py:11703-11719), and ignores the metadata that is already there.",
    fix="Mend the field that is named.",
    wrong_when="there is no such block, the value is one that YAML 1.2 reads as a text (such as no or on), or the block is longer than 128 KiB",
    severity="note",
    confidence="likely",
    weighed="The rules of the Hub are known from its refusals alone and may change, hence a note that is likely; silent on all 46 cards of the corpus.",
)


def find(model: Model) -> Iterator[Seen]:
    """One finding for each field."""
    read = None if NAME in model.settled else card(model)
    if read is None:
        return
    if read.fault is not None:
        place = Place(model.revision, model.path(NAME), "", read.fault.line)
        sure = "certain" if read.fault.subject == "syntax" else "likely"
        quoted = f": {value(read.fault.quoted)}" if read.fault.quoted else ""
        yield Seen(read.fault.subject, f"The metadata of {value(NAME)} {read.fault.message}{quoted}", (place,), confidence=sure)
    said: set[str] = set()
    for refusal in refusals(read.fields):
        if refusal.field not in said:
            said.add(refusal.field)
            yield Seen(refusal.field, f"{refusal.message}: the Hub refuses the card", (read.place(model, *refusal.path),))
