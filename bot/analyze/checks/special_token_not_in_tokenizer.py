"""A role (EOS, BOS, PAD) is given to a string that the tokenizer does not have."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import role, tokens
from bot.analyze.wording import value
from bot.answer import Known

CHECK = Check(
    title="A role is given to a string that is no token",
    says="names a special token that the tokenizer does not have",
    sees="eos_token, bos_token or pad_token that stands neither in the vocabulary nor among the added tokens",
    why="Loading appends it behind the last token, with an id that the model has never seen and may have no row for.",
    fix="Name a token of `tokenizer.json`, or add the token there.",
    wrong_when="there is no tokenizer.json that could be read, or the role is a class default that no file states",
    severity="error",
    weighed="An error, for the appended id has no row in the model; silent on every real folder.",
)


def find(model: Model) -> Iterator[Seen]:
    """Look the string of each role up."""
    table = tokens(model)
    if not isinstance(table, Known) or not table.value.complete:
        return
    for name in ("eos_token", "bos_token", "pad_token"):
        string = role(model, name)
        if not isinstance(string, Known) or string.places[0].pointer.endswith("/tokenizer_class"):
            continue  # a class default is nobody's statement
        if string.value and table.value.id_of(string.value) is None:  # the library skips an empty string
            yield Seen(
                key=name,
                title=f"{value(name)} {value(string.value)} is not in {value('tokenizer.json')}",
                places=string.places,
            )
