"""The BOS and the EOS token changed places."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import role
from bot.analyze.wording import value
from bot.answer import Known

CHECK = Check(
    title="BOS and EOS changed places",
    says="makes the BOS token the EOS token, and the other way round",
    sees="bos_token and eos_token that are in head what the other one was in base",
    why="Every text then begins with what ended it, and a reply ends where one begins.",
    fix="Put the two strings back, unless base had them the wrong way round.",
    wrong_when="the family has always had them so, or only one of the two changed",
    severity="note",
    confidence="likely",
    weighed="A note, since the change may as well repair base; the run met no exchange in real repositories.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare the strings that hold the two roles."""
    bos, eos = role(head, "bos_token"), role(head, "eos_token")
    old_bos, old_eos = role(base, "bos_token"), role(base, "eos_token")
    if not (isinstance(bos, Known) and isinstance(eos, Known) and isinstance(old_bos, Known) and isinstance(old_eos, Known)):
        return
    if bos.value != eos.value and (bos.value, eos.value) == (old_eos.value, old_bos.value):
        yield Seen(
            key="bos_token eos_token",
            title=f"{value(bos.value)} and {value(eos.value)} changed places: BOS is now {value(bos.value)}, EOS {value(eos.value)}",
            places=(*bos.places, *eos.places),
        )
