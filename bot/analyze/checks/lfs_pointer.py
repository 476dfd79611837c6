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
    weighed="An error only where the content is read and base or .gitattributes say that it should be there: checkouts without Git LFS are common, and every one of them is silent.",
)


def find(model: Model) -> Iterator[Seen]:
    """Where .gitattributes can be seen, every pointer that it does not explain."""
    for name in _pointers(model):
        if model.lfs_declared(model.path(name)) is False:
            yield _seen(model, name)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Where it cannot be seen, pointers in the place of what was content before."""
    for name in _pointers(head):
        if head.lfs_declared(head.path(name)) is None and base.has(name) and not base.is_pointer(name):
            yield _seen(head, name)


def _pointers(model: Model) -> list[str]:
    """The files of a model that hold a pointer; what only people read does not count."""
    return [name for name in sorted(model.files) if not name.endswith(".md") and model.is_pointer(name)]


def _seen(model: Model, name: str) -> Seen:
    return Seen(key=name, title=f"{value(name)} holds a Git LFS pointer instead of its content", places=(model.place(name),))
