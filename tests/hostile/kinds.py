"""What may come of a template that means harm.

"limits" (it does not finish, and nothing is said about its being right or wrong), "syntax", "declined" (by its own raise_exception), the name of the
exception that rendering ends with, or "= " and the text.
"""

import msgspec


class Hostile(msgspec.Struct, frozen=True):
    """A template; `slow` says that it takes its whole time and more, so that few of them fit into one comparison."""

    text: str
    gives: str
    slow: bool = False


def ends(text: str, gives: str) -> Hostile:
    """One that comes to its end at once."""
    return Hostile(text, gives)


def runs(text: str, gives: str = "limits") -> Hostile:
    """One that takes its time."""
    return Hostile(text, gives, slow=True)
