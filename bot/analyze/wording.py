"""How checks put values of a repository into sentences: the only markup is a pair of back-ticks around a value."""

from collections.abc import Iterable, Mapping
from typing import Any

LONGEST = 80


def value(text: Any) -> str:
    """A value of the repository inside back-ticks, on one line; a back-tick in it becomes U+02CB so that pairs stay pairs."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text).replace("`", "ˋ")) or " "
    if len(shown) > LONGEST:
        shown = f"{shown[: LONGEST // 2]}…{shown[-LONGEST // 2 :]}"
    return f"`{shown}`"


def ids(numbers: Iterable[int], texts: Mapping[int, str]) -> str:
    """Token ids, each with its text where it is known: "`<|im_end|>` 151645"."""
    return listed(f"{value(texts[n])} {n}" if n in texts else str(n) for n in sorted(numbers)) or "nothing"


def listed(words: Iterable[str], most: int = 6) -> str:
    """Words as people list them: "a", "a and b", "a, b and 3 more"."""
    words = list(words)
    if len(words) > most:
        words = [*words[: most - 1], f"{len(words) - most + 1} more"]
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
