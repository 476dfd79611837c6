"""A file that loaders read holds the text of a Git LFS pointer."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.wording import value

CHECK = Check(
    title="A Git LFS pointer stands where content is read",
    says="leaves a Git LFS pointer where engines read a file",
    sees="metadata, template or tokenizer files whose text is a Git LFS pointer although .gitattributes does not keep them in LFS; where no .gitattributes can be "
    "seen, only files that had real content in base",
    why="Every loader reads the three lines of the pointer instead of the file.",
    fix="Commit the file itself, or track it with Git LFS in `.gitattributes`.",
    wrong_when="the file is kept in LFS by design (weights, large tokenizer files): then its content is only not available here",
    severity="error",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Look at every file that is read."""
    for name, file in sorted(head.files.items()):
        if file.content is None or name.endswith(".md") or not head.is_pointer(name) or base.is_pointer(name):
            continue
        declared = head.lfs_declared(head.path(name))
        if declared is False or (declared is None and base.has(name)):
            yield Seen(
                key=name,
                title=f"{value(name)} holds a Git LFS pointer instead of its content",
                places=(head.place(name),),
            )
