"""Where a symbolic link leads, looked up in the list of entries alone, so that nothing outside the tree is touched."""

from collections.abc import Iterable, Mapping
from posixpath import dirname

from bot.fetch.source import UnreadError
from bot.snapshot import File

MOST_STEPS = 40  # as many links as Linux follows before it calls them a loop
MOST_PARTS = 2_000  # path parts looked at for one link, so that a hostile tree costs no more than a large one
SHOWN = 200  # characters of a target in a reason


class NowhereError(UnreadError):
    """A symbolic link leads to no file, whatever lies outside of the tree."""


class Tree:
    """The entries of one revision by path, with the folders that they imply."""

    def __init__(self, entries: Iterable[File]) -> None:
        self.files: Mapping[str, File] = {entry.path: entry for entry in entries}
        self._folders: set[str] | None = None

    def follow(self, link: File) -> File:
        """Return the file that a symbolic link leads to. Raises UnreadError saying why it leads to none in the tree, NowhereError to none at all."""
        steps = parts = 0
        done: list[str] = []
        ahead = [*_parts(link, link), *dirname(link.path).split("/")[::-1]]
        while ahead:
            part = ahead.pop()
            parts += 1
            if parts > MOST_PARTS:
                raise UnreadError(reason(link, "which takes too many steps to follow"))
            if part in ("", "."):
                continue
            if part == "..":
                if not done:
                    raise UnreadError(reason(link, "which leads out of the tree"))
                done.pop()
                continue
            path = "/".join([*done, part])
            entry = self.files.get(path)
            if entry is None or entry.kind == "file":
                if path not in self.folders and (entry is None or ahead):
                    raise NowhereError(reason(link, "which is not in the tree"))
                done.append(part)
            elif entry.kind == "submodule":
                raise UnreadError(reason(link, "which is in a submodule"))
            else:
                steps += 1
                if steps > MOST_STEPS:
                    raise NowhereError(reason(link, "which leads in a circle"))
                ahead += _parts(entry, link)
        found = self.files.get("/".join(done))
        if found is None:
            raise NowhereError(reason(link, "which is a folder"))
        return found

    @property
    def folders(self) -> set[str]:
        """Every folder that holds an entry, at any depth; the root is not named."""
        if self._folders is None:
            self._folders = set()
            for path in self.files:
                parent = dirname(path)
                while parent and parent not in self._folders:
                    self._folders.add(parent)
                    parent = dirname(parent)
        return self._folders


def _parts(link: File, asked: File) -> list[str]:
    """Split a link's target, last part first."""
    if link.unread:
        raise UnreadError(link.unread)
    if link.target.startswith("/"):
        raise UnreadError(reason(asked, "which leads out of the tree"))
    return link.target.split("/")[::-1]


def reason(link: File, clause: str) -> str:
    """Word why a symbolic link has no content."""
    target = link.target if len(link.target) <= SHOWN else link.target[:SHOWN] + "..."
    return f"symbolic link to {target or 'nothing'}, {clause}"
