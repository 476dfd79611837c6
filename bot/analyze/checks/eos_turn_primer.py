"""A token that opens a turn is in the stop set."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.eos import listed
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import texts_of, tokens
from bot.analyze.model.turns import turns
from bot.analyze.wording import ids, value
from bot.answer import Known

CHECK = Check(
    title="A token that opens a turn is in the stop set",
    says="lets generation stop where the next turn opens",
    sees="an id of the list that generate() stops on whose token the chat template writes at the start of a turn",
    why="Generation stops when the model starts the next turn by itself. Families such as GLM end their turns exactly so.",
    fix="Nothing, where it is meant; otherwise take the id out of `eos_token_id`.",
    wrong_when="there is no chat template, or no token opens turns",
    severity="note",
    weighed="A note, for GLM ends turns that way on purpose, and the four real folders that show it are GLM's.",
    cause="tokens that open turns are in the stop set",
)


def find(model: Model) -> Iterator[Seen]:
    """Look the openers up in the list."""
    stops, table = listed(model), tokens(model)
    if not isinstance(stops, Known) or not isinstance(table, Known):
        return
    texts = texts_of(model)
    for token in sorted({token for turn in turns(model) for token in turn.openers}):
        number = table.value.id_of(token)
        if number is not None and number in stops.value:
            file = value(stops.places[0].path.rpartition("/")[2])
            yield Seen(key=token, title=f"{file} also stops on {ids([number], texts)}, which opens a turn", places=stops.places)
