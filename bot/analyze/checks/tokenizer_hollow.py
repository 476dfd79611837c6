"""No vocabulary file is left."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.vocabulary import vocabulary_files
from bot.analyze.wording import value
from bot.place import Place

CHECK = Check(
    title="No vocabulary file is left",
    says="leaves the model without a vocabulary",
    sees="tokenizer.json, a *.model or tiktoken file, or vocab.json with merges.txt in base, and none of them in head",
    why="transformers 4 fails to load the tokenizer; transformers 5 loads an empty one without an error, with ids that start at 0.",
    fix="Keep the vocabulary file.",
    wrong_when="another vocabulary file stays or takes its place, also in another model folder, the folder is an adapter, or base had none",
    severity="error",
    weighed="An error, for nothing can be encoded any more. One real pair shows it, and it did lose its vocabulary.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare what is there; a Git LFS pointer is a file whose content is elsewhere, not a missing one."""
    gone = vocabulary_files(base)
    if (
        gone
        and not vocabulary_files(head)
        and not any(name in head.went for name in gone)
        and not head.has("adapter_config.json")
    ):
        place = head.place(gone[0]) if gone[0] in head.files else Place("base", base.path(gone[0]))
        yield Seen(key="vocabulary", title=f"{value(gone[0])} is gone and no vocabulary file is left", places=(place,))
