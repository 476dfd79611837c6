"""What a commit changes, as GitHub's REST API shows it: enough to see the same change under another id."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

MOST_FILES = 100  # of one page, the only one that is asked for
HUNK = re.compile(r"^@@ .*? @@.*$", re.MULTILINE)
SPACE = re.compile(r"[ \t\r\f\v]+")


class Difference(msgspec.Struct, frozen=True):
    """A change: path, former path and what happens there, of each file, without line numbers and white space, as `git patch-id` does.

    `whole` is False where GitHub leaves out a text that is too long, or files.
    """

    files: frozenset[tuple[str, str, str]]
    whole: bool

    def same(self, other: "Difference") -> bool:
        """Whether it is the same change for certain; an empty one equals nothing."""
        return bool(self.files) and self.files == other.files and self.whole and other.whole

    def may_be(self, other: "Difference") -> bool:
        """Whether it could be the same change, if the rest were known."""
        paths = [{path for path, _, _ in each.files} for each in (self, other)]
        return paths[0] == paths[1] and not (self.whole and other.whole)


NOTHING = Difference(frozenset(), whole=True)


def difference(files: Sequence[dict[str, Any]]) -> Difference:
    """Read the `files` of a commit or comparison, a list of diff entries."""
    whole = len(files) < MOST_FILES and all("patch" in file or not file["changes"] for file in files)
    return Difference(frozenset((file["filename"], file.get("previous_filename", ""), _what(file)) for file in files), whole)


def _what(file: dict[str, Any]) -> str:
    """What happens in a file: its hunks, or where it has no text the id of what becomes of it."""
    if "patch" not in file:
        return f"{file['status']} {file['sha']}"
    return SPACE.sub("", HUNK.sub("@@", file["patch"]))
