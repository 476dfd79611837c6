"""tokenizer.json lists one added token twice."""

from collections.abc import Iterator
from itertools import islice

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.declared import repeated
from bot.analyze.model.folder import Model
from bot.analyze.wording import listed, value

CHECK = Check(
    title="One added token is listed twice",
    says="lists one token twice, so that loaders disagree on its id",
    sees="a string that stands in two entries of added_tokens in tokenizer.json",
    why="The tokenizers library keeps the place of the first entry (0.23.3, run) and transformers.js the declared id of the last; "
    "the MLC packager refuses the file: `ValueError: Duplicated vocab in tokenizer.json`.",
    fix="Keep one entry: the one whose id the model was trained with.",
    wrong_when="the strings differ in a space or a letter, or the second statement stands in tokenizer_config.json",
    severity="error",
    weighed="An error with two ids; a warning where the entries repeat one id, since then only the MLC packager minds. The run over real repositories met neither.",
)

MOST = 50  # a place in a large file takes time to be found, and nobody reads more


def find(model: Model) -> Iterator[Seen]:
    """Look at the strings that are listed several times."""
    for text, rows in islice(repeated(model).items(), MOST):
        # transformers.js writes one entry after the other into a map (tokenizers.js, src/core/Tokenizer.ts, read).
        # The MLC packager compares the strings alone (mlc-llm a2bcc5c, python/mlc_llm/interface/gen_config.py:242-260, read).
        numbers = list(dict.fromkeys(row.id for row in rows))
        same = len(numbers) == 1
        times = "twice" if len(rows) == 2 else f"{len(rows)} times"
        yield Seen(
            key=text,
            title=f"{value(text)} is listed {times} in {value('tokenizer.json')}, "
            + (f"each time as {numbers[0]}" if same else f"as {listed(map(str, numbers))}"),
            detail="The MLC packager refuses the file: `ValueError: Duplicated vocab in tokenizer.json`." if same else "",
            places=tuple(row.place(model) for row in rows[:3]),
            severity="warning" if same else "error",
            engines=("mlc",) if same else ("mlc", "transformers.js"),
        )
