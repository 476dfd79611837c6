"""The padding token became the EOS token."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import role
from bot.analyze.wording import value
from bot.answer import Known, Unknown

CHECK = Check(
    title="The padding token is now the EOS token",
    says="pads with the token that ends a reply",
    sees="a pad_token that is the eos_token in head, and another one or none in base",
    why="Inference does not mind. Training that masks padding by its id masks the EOS token as well, and the model never learns to stop.",
    fix="Pad with a token of its own, such as `<|pad|>` or a reserved one.",
    wrong_when="pad_token did not change, also when eos_token became the same token, or no file states it",
    severity="note",
    engines=("transformers",),
    weighed="A note: many good repositories pad with EOS, so only the change to it is told; the run over real repositories met none.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Look at pad_token, then whether it is what changed."""
    pad, eos, before = role(head, "pad_token"), role(head, "eos_token"), role(base, "pad_token")
    if not isinstance(pad, Known) or not isinstance(eos, Known) or isinstance(before, Unknown) or pad.value != eos.value:
        return
    stated = not pad.places[0].pointer.endswith("/tokenizer_class")  # a class default is nobody's statement
    was = before.value if isinstance(before, Known) else None
    if stated and was != pad.value:
        yield Seen(
            key="pad_token",
            title=f"{value('pad_token')} is now {value(pad.value)}, which is the EOS token; it was {'not set' if was is None else value(was)}",
            places=pad.places,
        )
