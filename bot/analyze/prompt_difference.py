"""In which way two prompts of one conversation differ, apart from what is said in it: conversations that differ in the same way are told together."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

import msgspec

from bot.probe import Probe

# Letters of a prompt and pairs of equal words that are looked at: comparing takes time by the square.
_LONGEST, _MOST_PAIRS = 20_000, 200_000
_MOST_SAID = 64
_WORD = re.compile(r"<[^<>\s]{1,80}>|\w+|\s+|[^\w\s]")
_SAID = "\N{REPLACEMENT CHARACTER}"


def way(before: str, after: str, probe: Probe) -> str:
    """A name for the way in which two prompts differ, "" where that takes too long.

    It is made of what is taken away and put in, each with the word in front of it: the same change after several turns counts once. What the
    messages say stands for any text.
    """
    if max(len(before), len(after)) > _LONGEST:
        return ""
    said = _said(probe)
    old, new = (_WORD.findall(said.sub(_SAID, text) if said else text) for text in (before, after))
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    front, old, new = old[:start], old[start : len(old) - end], new[start : len(new) - end]
    if _pairs(old, new) > _MOST_PAIRS:
        return ""
    parts = sorted(set(_parts(front, old, new)))
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]


def _parts(front: list[str], old: list[str], new: list[str]) -> Iterator[tuple[str, str, str]]:
    """The word in front, what is taken away and what is put in instead."""
    for kind, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield _last(old[:i]) or _last(front), "".join(old[i:j]), "".join(new[k:m])


def _last(words: list[str]) -> str:
    return next((word for word in reversed(words) if not word.isspace()), "")


def _common(old: list[str], new: list[str]) -> int:
    """How many words both begin with."""
    return next((i for i, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), min(len(old), len(new)))


def _pairs(old: list[str], new: list[str]) -> int:
    counts: dict[str, int] = {}
    for word in new:
        counts[word] = counts.get(word, 0) + 1
    return sum(counts.get(word, 0) for word in old)


def _said(probe: Probe) -> re.Pattern[str] | None:
    """What finds the texts of the messages in a prompt."""
    texts = {text.strip() for message in probe.messages for text in _texts(message)}
    found = sorted((text for text in texts if 1 < len(text) <= _LONGEST), key=lambda text: (-len(text), text))[:_MOST_SAID]
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, found))})(?!\w)") if found else None


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    for name in ("content", "reasoning_content"):
        parts = message.get(name)
        for part in parts if isinstance(parts, list) else [parts]:
            text = part.get("text") if isinstance(part, dict) else part
            if isinstance(text, str):
                yield text
