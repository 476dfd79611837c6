"""No vocabulary file is left."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.wording import value
from bot.place import Place

CHECK = Check(
    title="No vocabulary file is left",
    says="leaves the model without a vocabulary",
    sees="tokenizer.json, a *.model or tiktoken file, or a vocab file in base, and none of them in head",
    why="transformers 4 fails to load the tokenizer; transformers 5 loads an empty one without an error, with ids that start at 0.",
    fix="Keep the vocabulary file.",
    wrong_when="another vocabulary file stays or takes its place, also in another model folder, or base had none",
    severity="error",
)

_SINGLE = (".model", ".tiktoken", "tokenizer.json", "vocab.txt", "vocab.json", "tekken.json", ".gguf")


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare what is there; a Git LFS pointer or a link is a file whose content is elsewhere, not a missing one."""
    gone = [name for name in base.files if name.endswith(_SINGLE) and base.has(name)]
    if gone and not any(name.endswith(_SINGLE) for name in head.files) and not any(name in head.went for name in gone):
        name = min(gone, key=lambda name: (name != "tokenizer.json", name))
        yield Seen(
            key="vocabulary",
            title=f"{value(name)} is gone and no vocabulary file is left",
            places=(Place("base", base.path(name)),),
        )
