"""One model folder of one revision: its files, and what they hold."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import msgspec

from bot.analyze.model.document import Document, Lines, NotJson, parse
from bot.analyze.model.reader import LONGEST_POINTER, Reader, pointed
from bot.answer import Answer, Known, Missing, Unknown
from bot.place import Place, Revision
from bot.snapshot import File

T = TypeVar("T")
LARGE = 1 << 20


class Model(msgspec.Struct, frozen=True, eq=False):
    """One model folder of a snapshot.

    `folder` is its path in this revision, `name` the base-side path that fingerprints use ("." for the root).
    `files` maps names relative to the folder ("additional_chat_templates/rag.jinja") to entries of the tree.
    `lfs_declared` tells whether a repository path is declared as Git LFS by .gitattributes, None when that cannot be seen.
    `went` maps the name of a file that base has here and head has not to the path of a new file of that name in another model folder of head.
    `settled` are the files that hold the same in the other revision: whether they load at all is then no news.
    `literal` says that engines are given the folder as it stands: a Git LFS pointer in it is then a file that says nothing useful, and none
    whose content is elsewhere.
    """

    revision: Revision
    folder: str
    name: str
    files: Mapping[str, File]
    reader: Reader
    lfs_declared: Callable[[str], bool | None] = lambda _: None
    went: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    settled: frozenset[str] = frozenset()
    literal: bool = False
    _facts: dict[Any, Any] = msgspec.field(default_factory=dict[Any, Any])

    def path(self, name: str) -> str:
        """The repository path of a file of this folder."""
        return name if self.folder == "." else f"{self.folder}/{name}"

    def has(self, name: str) -> bool:
        """Whether the file is there and leads somewhere: a dangling link is no file to any engine, one out of the tree is a file that cannot be read here."""
        file = self.files.get(name)
        return file is not None and not file.dangling

    def content(self, name: str) -> Answer[bytes]:
        """The bytes of a file; Unknown for a Git LFS pointer, a link out of the tree or a file that was not taken."""
        file = self.files.get(name)
        place = (Place(self.revision, self.path(name)),)
        if file is None:
            return Missing(place)
        stands_in = self._unavailable(file)
        return Unknown(stands_in, place) if stands_in else Known(self.reader.raw(cast("str", file.content)), place)

    def is_pointer(self, name: str) -> bool:
        """Whether the file holds a Git LFS pointer."""
        file = self.files.get(name)
        return file is not None and bool(self._pointed(file))

    def parsed(self, name: str, reader: Callable[[bytes], T]) -> Answer[T]:
        """What `reader` makes of a file's bytes, worked out once per content."""
        file = self.files.get(name)
        place = (Place(self.revision, self.path(name)),)
        if file is None:
            return Missing(place)
        stands_in = self._unavailable(file)
        return Unknown(stands_in, place) if stands_in else Known(self.reader.parsed(cast("str", file.content), reader), place)

    def _unavailable(self, file: File) -> str:
        """Why the content of a file cannot be read, "" when it can."""
        if file.content is None:
            return file.unread or "its content was not taken"
        size = self._pointed(file)
        why = f": {file.unread}" if file.unread else ""
        return f"is a Git LFS pointer{size}, its content is not available here{why}" if size else ""

    def _pointed(self, file: File) -> str:
        """What `pointed` says of a file, without reading one that is too large for a pointer."""
        small = not self.literal and file.content is not None and (file.size is None or file.size < LONGEST_POINTER)
        return self.reader.parsed(cast("str", file.content), pointed) if small else ""

    def document(self, name: str) -> Answer[Document | NotJson]:
        """A JSON file, or why it is none."""
        return self.parsed(name, parse)

    def mapping(self, name: str) -> dict[str, Any]:
        """The object in a JSON file; empty when there is none to be read. For readers that take a broken file for an absent one."""
        document = self.document(name)
        return document.value.mapping if isinstance(document, Known) and isinstance(document.value, Document) else {}

    def readable(self, name: str) -> bool:
        """Whether the file is a JSON object that could be read."""
        document = self.document(name)
        return isinstance(document, Known) and isinstance(document.value, Document) and isinstance(document.value.value, dict)

    def text(self, name: str) -> Answer[str]:
        """A text file, decoded as UTF-8; Unknown when it is not."""
        content = self.content(name)
        if not isinstance(content, Known):
            return content
        try:
            return Known(content.value.decode("utf-8"), content.places)
        except UnicodeDecodeError as error:
            return Unknown(f"is not UTF-8 text ({error.reason})", content.places)

    def place(self, name: str, pointer: str = "") -> Place:
        """Where a value stands, with its line when the file can be read."""
        file = self.files.get(name)
        if file is not None and file.size is not None and file.size > LARGE and name == "tokenizer.json":
            large = self.parsed(name, Lines)  # it is read by a reader of its own, which takes a fifth of the time
            return Place(self.revision, self.path(name), pointer, large.value.line(pointer) if isinstance(large, Known) else 1)
        document = self.document(name) if name.endswith(".json") else None
        line = 1
        if isinstance(document, Known):
            line = document.value.line(pointer) if isinstance(document.value, Document) else document.value.line
        return Place(self.revision, self.path(name), pointer, line)

    def recall(self, fact: Callable[["Model"], T]) -> T:
        """What a function says of this model, worked out once."""
        if fact not in self._facts:
            self._facts[fact] = fact(self)
        return cast("T", self._facts[fact])


def fact(function: Callable[[Model], T]) -> Callable[[Model], T]:
    """Make a function of a model work once per model."""

    def once(model: Model) -> T:
        return model.recall(function)

    once.__doc__ = function.__doc__
    once.__name__ = function.__name__
    return once
