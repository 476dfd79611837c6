"""Patterns of a tokenizer.json: what the regular expressions of the `tokenizers` library (Oniguruma) refuse."""

import importlib
import re
from functools import cache, lru_cache
from typing import Any

LONGEST = 5000
# Oniguruma follows calls of groups without a bound while it compiles: a short chain of them takes it hours (tokenizers 0.23.3, run).
_CALLS = re.compile(r"\\g|\(\?(?:R|&|P>|[+-]?\d)")


@cache
def _library() -> Any:
    """The library, None where its files are not within reach."""
    try:
        return importlib.import_module("tokenizers")
    except (ImportError, OSError):
        return None


def warm() -> None:
    """Import the library: afterwards its files may be out of reach, and no pattern would be judged."""
    _ = _library()


def doubt(regex: str) -> str:
    """Why a pattern is not judged, in a clause; "" for one that is."""
    if len(regex) > LONGEST:
        return f"a pattern of more than {LONGEST} characters is not judged"
    if _CALLS.search(regex):
        return "a pattern that calls a group is not judged"
    return "" if _library() else "the tokenizers library is not at hand to judge a pattern"


@lru_cache(maxsize=256)
def fault(regex: str) -> str:
    """What is wrong with a pattern, in a clause; "" for one that compiles and for one in doubt.

    The library compiles it, as it does while it reads a file; nothing is searched with it.
    """
    if doubt(regex):
        return ""
    try:
        _library().Regex(regex)
    except UnicodeEncodeError:  # half of a surrogate pair, which no JSON text gives the library
        return ""
    except Exception as error:  # noqa: BLE001 - the library raises nothing narrower
        return f"bad pattern, {str(error).removeprefix('Oniguruma error: ')}"
    return ""
