"""Where a value stands."""

from typing import Literal

import msgspec

Revision = Literal["base", "head"]


class Place(msgspec.Struct, frozen=True, order=True):
    """A spot in one of the two revisions.

    `pointer` is an RFC 6901 JSON pointer ("" for the whole file), `line` is 1-based.
    A deleted file is placed at revision "base", pointer "", line 1. Text of a pull request has the
    path `pull-request:title`, `pull-request:body` or `commit:<sha>`, with the line inside that text.
    """

    revision: Revision
    path: str
    pointer: str = ""
    line: int = 1

    @property
    def in_tree(self) -> bool:
        """False for text of a pull request or of a commit message, which no file holds."""
        return not self.path.startswith(("pull-request:", "commit:"))
