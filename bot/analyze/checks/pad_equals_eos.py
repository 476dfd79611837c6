"""The padding token became the EOS token."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model import eos
from bot.analyze.model.folder import Model
from bot.analyze.model.token_ids import TokenId, token_ids
from bot.analyze.model.tokens import role, texts_of
from bot.analyze.wording import ids, value
from bot.answer import Known, Missing, Unknown

CHECK = Check(
    title="The padding token is now the EOS token",
    says="pads with the token that ends a reply",
    sees="a pad_token that is the eos_token in head, and another one or none in base; where the tokenizer names no pad_token, the same of pad_token_id in config.json and generation_config.json",
    why="Inference does not mind. Training that masks padding by its id masks the EOS token as well, and the model never learns to stop.",
    fix="Pad with a token of its own, such as `<|pad|>` or a reserved one.",
    wrong_when="pad_token did not change, also when eos_token became the same token, or no file states it",
    severity="note",
    engines=("transformers",),
    weighed="A note: many good repositories pad with EOS, so only the change to it is told; the run over real repositories met none.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Look at pad_token, then whether it is what changed."""
    pad, end, before = role(head, "pad_token"), role(head, "eos_token"), role(base, "pad_token")
    if isinstance(pad, Missing):
        yield from _by_id(base, head)
    if not isinstance(pad, Known) or not isinstance(end, Known) or isinstance(before, Unknown) or pad.value != end.value:
        return
    stated = not pad.places[0].pointer.endswith("/tokenizer_class")  # a class default is nobody's statement
    was = before.value if isinstance(before, Known) else None
    if stated and was != pad.value:
        yield Seen(
            key="pad_token",
            title=f"{value('pad_token')} is now {value(pad.value)}, which is the EOS token; it was {'not set' if was is None else value(was)}",
            places=pad.places,
        )


def _by_id(base: Model, head: Model) -> Iterator[Seen]:
    """The same of the ids that the model pads with, which are all there is."""
    end, stops, known = eos.of_tokenizer(head), eos.listed(head), {token.id for token in _pads(base)}
    ends = (end.value,) if isinstance(end, Known) else stops.value if isinstance(stops, Known) else ()
    unread = any(base.has(file) and not base.readable(file) for file in ("config.json", "generation_config.json"))
    new = [token for token in _pads(head) if ends == (token.id,) and token.id not in known]
    if new and not unread:
        yield Seen(
            key="pad_token_id",
            title=f"{value('pad_token_id')} is now {ids([new[0].id], texts_of(head))}, which is the EOS token; it was {ids(known, texts_of(base)) if known else 'not set'}",
            places=tuple(token.place for token in new),
        )


def _pads(model: Model) -> list[TokenId]:
    return [token for token in token_ids(model) if token.path == ("pad_token_id",)]
