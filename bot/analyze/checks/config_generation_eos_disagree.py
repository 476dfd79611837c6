"""config.json's EOS ids lack some of generation_config.json's."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.eos import stated
from bot.analyze.model.folder import Model
from bot.analyze.model.further_stops import with_stops
from bot.analyze.model.tokens import texts_of
from bot.analyze.records import Finding
from bot.analyze.wording import ids, value
from bot.answer import Known

CHECK = Check(
    title="config.json and generation_config.json name different EOS ids",
    says="leaves the files disagreeing on which token ends a reply",
    sees="an id of generation_config.json's eos_token_id that config.json's eos_token_id lacks",
    why="Engines that read `config.json` only do not stop there.",
    fix="Give both files the same `eos_token_id`.",
    wrong_when="one of the files states no id, or config.json has all of them and more",
    severity="warning",
    weighed="A warning where the lists have nothing in common, a note where config.json states a part of the other: that is so in 20 of 27 real folders, and they work.",
)


def find(model: Model) -> Iterator[Seen]:
    """Compare the two lists: a note when config.json has a part of the ids, a warning when it has none of them."""
    config, generation = stated(model, "config.json"), stated(model, "generation_config.json")
    if not isinstance(config, Known) or not isinstance(generation, Known):
        return
    if not config.value or set(generation.value) <= set(config.value):  # an empty list states nothing
        return
    texts = texts_of(model)
    lacking = [i for i in generation.value if i not in config.value]
    disjoint = set(config.value).isdisjoint(generation.value)
    what = "nothing of the" if disjoint else "lacks"
    yield Seen(
        key="config.json",
        title=f"{value('config.json')} says {ids(config.value, texts)} and {what} {ids(lacking, texts)} of {value('generation_config.json')}",
        places=(*config.places, *generation.places),
        severity="warning" if disjoint else "note",
    )


def patch(base: Model, head: Model, finding: Finding) -> str:
    """Add what config.json lacks, where it states a part; of two lists that have nothing in common either may be wrong."""
    del finding  # there is one at most
    config, generation = stated(head, "config.json"), stated(head, "generation_config.json")
    if not isinstance(config, Known) or not isinstance(generation, Known) or set(config.value).isdisjoint(generation.value):
        return ""
    return with_stops(base, head, [i for i in generation.value if i not in config.value], "config.json")
