"""Collect the hexadecimal words of a text, any of which may name a commit, and which of them stand by the name of a model on the Hub."""

import re

LONGEST_TEXT = 1 << 20  # characters that are looked at
MOST_WORDS = 500
NEAR = 300  # characters before a revision in which the repository is named

# A word ends where ASCII letters, digits and underscores end; a dash binds pieces of four and more hex digits, as in a UUID.
WORD = re.compile(
    r"(?<![0-9A-Za-z_])(?<![0-9A-Fa-f]{4}-)[0-9A-Fa-f]{7,40}+(?![0-9A-Za-z_])(?!-[0-9A-Fa-f]{4})",
    re.ASCII,
)

NAME = r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}"
LINK = re.compile(
    rf"\b(?:huggingface\.co|hf\.co)/({NAME})/(?:commits?|tree|blob|raw|resolve)/([0-9A-Fa-f]{{7,40}})(?![0-9A-Za-z_])", re.ASCII
)
REVISION = re.compile(
    r"(?<!code_)(?<!code-)\brevision[\s\"']{0,9}[=:\s][\s\"']{0,9}([0-9A-Fa-f]{7,40})(?![0-9A-Za-z_])", re.ASCII
)
NAMED = re.compile(rf"(?<![\w./-])({NAME})(?![\w/])", re.ASCII)


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


def named(text: str) -> tuple[tuple[str, str], ...]:
    """Return repository and word of links to the Hub, and of `load("owner/name", revision="...")`; each once, at most MOST_WORDS.

    The name is the last one that stands shortly before the revision. Which of them are claims is decided elsewhere.
    """
    text = text[:LONGEST_TEXT]
    found: dict[tuple[str, str], None] = {}
    for match in LINK.finditer(text):
        found[match[1], match[2].lower()] = None
        if len(found) == MOST_WORDS:
            return tuple(found)
    for match in REVISION.finditer(text):
        names = NAMED.findall(text, max(0, match.start() - NEAR), match.start())
        if names:
            found[names[-1], match[1].lower()] = None
        if len(found) == MOST_WORDS:
            break
    return tuple(found)
