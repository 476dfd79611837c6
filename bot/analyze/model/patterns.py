"""Patterns of a tokenizer.json: what the regular expressions of the `tokenizers` library (Oniguruma) refuse."""

import re
import warnings

from bot.analyze import data

LONGEST = 5000
# The names in \p{...} that tokenizers 0.23.3 takes, lower case and without separators; each was tried (run).
# Read while the module is imported: afterwards no file may be within reach.
_PROPERTIES = frozenset(data.content("properties.txt").decode("ascii").split())
_UNPAIRED = ("missing ), unterminated subpattern", "unbalanced parenthesis", "unterminated character set")
_ESCAPE = re.compile(r"\\(?:[pP]\{(\^?[^{}\\]*)\}|.)", re.DOTALL)
# Where a backslash may mean something else: comments, extended syntax, control and meta characters.
_OTHERWISE = re.compile(r"\(\?#|\(\?[a-zA-Z-]*x|\\[cCM]")


def fault(regex: str) -> str:
    """What is wrong with a pattern, in a clause; "" for faults that are not judged.

    A parenthesis or bracket without its partner, which every dialect refuses, or a property of characters with an unknown name.
    """
    if len(regex) > LONGEST:
        return ""
    stray = "" if _OTHERWISE.search(regex) else next(filter(_unknown, _ESCAPE.finditer(regex)), None)
    if stray:
        return f"pattern with the unknown property {stray[0]}"
    if "[[" in regex or "&&" in regex:
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # sets that a later Python may read otherwise
            re.compile(re.sub(r"\\[pP]\{\^?\w+\}", r"\\d", regex))
    except re.error as error:
        return f"pattern with {error.msg}" if error.msg in _UNPAIRED else ""
    except (OverflowError, RecursionError):
        return ""
    return ""


def _unknown(escape: re.Match[str]) -> bool:
    """Whether an escape names a property that the library does not know; it skips spaces, hyphens, underscores and case."""
    name = escape[1]
    return name is not None and re.sub("[ _-]", "", name.removeprefix("^")).lower() not in _PROPERTIES
