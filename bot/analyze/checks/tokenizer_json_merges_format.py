"""The merges of tokenizer.json are written in another shape."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.pipeline import tokens_of
from bot.analyze.model.tokenizer_parts import merge_shape
from bot.analyze.wording import value
from bot.answer import Known

_FILE = "tokenizer.json"
_EXAMPLES = {"strings": '"a b"', "pairs": '["a", "b"]'}
CHECK = Check(
    title="The merges of tokenizer.json are written in another shape",
    says="writes the merges in a shape that some readers do not know",
    sees='merges that were strings ("a b") in base and are pairs (["a", "b"]) in head, or the other way round',
    why="tokenizers 0.19 and older refuse pairs: `data did not match any variant of untagged enum ModelWrapper` (0.19.1, run; 0.20.0 and newer write them), "
    "and so do transformers 4.44 and older, which pin it, and other readers of that time.",
    fix="Keep strings where old readers count; a piece that contains a space can only stand in a pair.",
    wrong_when="one of the two files cannot be read, has no merges, or mixes both shapes",
    severity="note",
    weighed="A note: the ids are the same, and tokenizers 0.20.0 to 0.23.3 read both shapes; no pair of real revisions changed them.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare the shapes."""
    if _FILE in head.settled or tokens_of(base) is None or tokens_of(head) is None:
        return
    before, after = _shape(base), _shape(head)
    if before in _EXAMPLES and after in _EXAMPLES and before != after:
        away = after == "strings"
        yield Seen(
            key=f"merges as {after}",
            title=f"The merges of {value(_FILE)} were {before} ({value(_EXAMPLES[before])}) and are {after} ({value(_EXAMPLES[after])})",
            places=(head.place(_FILE, "/model/merges"),),
            engines=() if away else ("tokenizers < 0.20", "transformers < 4.45"),
            detail="Every reader takes strings, but readers that were made for pairs alone do not, and a piece that contains a space cannot be told apart."
            if away
            else "",
        )


def _shape(model: Model) -> str:
    answer = model.parsed(_FILE, merge_shape)
    return answer.value if isinstance(answer, Known) else ""
