"""The language model's own configuration inside config.json names another EOS than the top level."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.eos import nested, stated
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import texts_of
from bot.analyze.wording import ids, value
from bot.answer import Known

CHECK = Check(
    title="text_config names another EOS than config.json's top level",
    says="leaves the files disagreeing on which token ends a reply",
    sees="eos_token_id at the top of config.json and in text_config (llm_config, language_config, thinker_config), both stated and different",
    why="Loaders of the language model alone take the inner value, everybody else the outer one.",
    fix="Give both levels the same `eos_token_id`.",
    wrong_when="only one of the levels states it",
    severity="warning",
    weighed="A warning, for it depends on the reader which of the two counts; silent on every real folder.",
)


def find(model: Model) -> Iterator[Seen]:
    """Compare the levels: a note when the inner ids are a part of the outer ones."""
    top = stated(model, "config.json")
    if not isinstance(top, Known) or not top.value:  # an empty list states nothing
        return
    texts = texts_of(model)
    for key, inner in nested(model).items():
        if isinstance(inner, Known) and inner.value and set(inner.value) != set(top.value):
            yield Seen(
                key=f"{key}.eos_token_id",
                title=f"{value(key)} says {ids(inner.value, texts)}, the top level of {value('config.json')} {ids(top.value, texts)}",
                places=(*inner.places, *top.places),
                severity="note" if set(inner.value) < set(top.value) else "warning",
            )
