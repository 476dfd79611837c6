"""Collect the hexadecimal words of a text, any of which may name a commit."""

import re

LONGEST_TEXT = 1 << 20  # characters that are looked at
MOST_WORDS = 500

# A word ends where ASCII letters, digits and underscores end; a dash binds pieces of four and more hex digits, as in a UUID.
WORD = re.compile(
    r"(?<![0-9A-Za-z_])(?<![0-9A-Fa-f]{4}-)[0-9A-Fa-f]{7,40}+(?![0-9A-Za-z_])(?!-[0-9A-Fa-f]{4})",
    re.ASCII,
)


def words(text: str) -> tuple[str, ...]:
    """Return the words of 7 to 40 hexadecimal digits, lower-cased, each once, in order, at most MOST_WORDS."""
    found: dict[str, None] = {}
    for match in WORD.finditer(text[:LONGEST_TEXT]):
        if match.end() == LONGEST_TEXT < len(text):
            break  # the cut went through it
        found[match[0].lower()] = None
        if len(found) == MOST_WORDS:
            break
    return tuple(found)
