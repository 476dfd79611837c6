"""An id that ends generation stands for another token than before."""

import re
from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.eos import listed, of_tokenizer
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import role, texts_of, token_place
from bot.analyze.model.turns import turns
from bot.analyze.wording import value
from bot.answer import Known

CHECK = Check(
    title="A stop id stands for another token",
    says="changes which token the stop id stands for",
    sees="an id in the stop set of base and of head whose token string is another one in head, and that string ended nothing in base",
    why="Generation stops where nothing ends, and runs on where a turn ends.",
    fix="Name the id that the ending token has now, or give the new token an id of its own.",
    wrong_when="all ids shifted together and the stop set is the same strings under new ids, the old one was a reserved slot, the new string is an end marker by its name while the old one was none, or the new string is the one that head's tokenizer or template ends with",
    severity="error",
    weighed="An error, for a stop id then ends replies at another place; silent on every real pair.",
)

# Names of slots that later tokens are given; one ends nothing unless the template or the tokenizer of base says so.
_SLOT = re.compile(r"reserved|unused", re.IGNORECASE)
# Names of tokens that end a text, a message or a turn and nothing within one (a call, a thought, an image).
_ENDING = re.compile(
    r"(?<![a-z])(eos|eot|eom|eod|im_end|end[_▁ ]?of[_▁ ]?(text|turn|sentence|sequence|message|document)|(turn|message)_end)(?![a-z])|^</s>$|^<\|end\|>$",
    re.IGNORECASE,
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare the strings of the ids that both stop sets have."""
    before, after = _stops(base), _stops(head)
    ended, meant = _meant(base), _meant(head)
    for number in sorted(before.keys() & after.keys()):
        old, new = before[number], after[number]
        if old is None or new is None or (_SLOT.search(old) and old not in ended):
            continue
        if _ENDING.search(new) and old not in ended and not _ENDING.search(old):
            continue  # a repair: the id ends replies in head where it did not in base
        if old != new and new not in before.values() and new not in meant:
            yield Seen(
                key=old,
                title=f"Stop id {number} was {value(old)} and is now {value(new)}",
                places=(token_place(head, new), token_place(base, old)),
            )


def _meant(model: Model) -> set[str]:
    """The strings that the tokenizer or the template ends with."""
    own = role(model, "eos_token")
    return {end for turn in turns(model) for end in turn.ends} | ({own.value} if isinstance(own, Known) else set())


def _stops(model: Model) -> dict[int, str | None]:
    ids = listed(model)
    own = of_tokenizer(model)
    numbers = [*(ids.value if isinstance(ids, Known) else ()), *((own.value,) if isinstance(own, Known) else ())]
    texts = texts_of(model)
    return {number: texts.get(number) for number in numbers}
