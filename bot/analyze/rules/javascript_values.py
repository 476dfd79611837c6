"""What JavaScript makes of JSON values where it expects texts: String(value), +, ||, and String.prototype.replace.

Source: ECMA-262, 7.1.17 (ToString), 13.15.3 (+), 22.1.3.19 (replace) and 22.1.3.19.1 (GetSubstitution); the outcomes were compared with Node 20.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from bot.analyze.render import LONGEST

_LARGEST_EXACT = 2**53
_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]")


class _Undefined:
    """The value of a key that is not there."""


UNDEFINED: Final = _Undefined()


class ThrownError(Exception):
    """JavaScript throws: `kind` is the name of the error."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class UntoldError(Exception):
    """What JavaScript does here is not modelled, for this reason."""


class TooLongError(Exception):
    """The text is longer than LONGEST."""


def get(value: Any, key: str) -> Any:
    """value[key] for a key that is no index and no method. Throws for null and undefined."""
    if value is None or value is UNDEFINED:
        raise ThrownError("TypeError", f"Cannot read properties of {text(value)} (reading '{key}')")
    if not isinstance(value, Mapping):
        return UNDEFINED
    found: Any = cast("Mapping[str, Any]", value).get(key, UNDEFINED)
    return found


def truthy(value: Any) -> bool:
    """Boolean(value): lists and objects are true even when they are empty."""
    return isinstance(value, list | dict) or (value is not UNDEFINED and bool(value))


def text(value: Any) -> str:
    """String(value)."""
    if isinstance(value, str):
        return value
    if value is UNDEFINED:
        return "undefined"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        if not abs(value) < _LARGEST_EXACT or value != int(value):
            raise UntoldError("a number stands where a text belongs")
        return str(int(value))
    if isinstance(value, list):
        items = cast("list[Any]", value)
        if any(isinstance(item, list) for item in items):
            raise UntoldError("a list of lists stands where a text belongs")
        return ",".join("" if item is None or item is UNDEFINED else text(item) for item in items)
    if "toString" in value or "__proto__" in value:
        raise UntoldError("an object with a text of its own stands where a text belongs")
    return "[object Object]"


def plus(left: Any, right: Any) -> str:
    """What + makes of the two, where one of them is a text or anything but a number."""
    if all(item is UNDEFINED or item is None or isinstance(item, bool | int | float) for item in (left, right)):
        raise UntoldError("two values are added that are no texts")
    return text(left) + text(right)


def replaced(template: str, found: str, replacement: Any) -> str:
    """template.replace(found, replacement): only the first, and in the replacement $$, $&, $` and $' are special.

    The last two stand for all that comes before and after, so a text made of them grows with the square of its size: raises TooLongError.
    """
    new = text(replacement)
    before, matched, after = template.partition(found)
    if not matched:
        return template
    meant = {"$$": "$", "$&": matched, "$`": before, "$'": after}
    grows = sum(new.count(pattern) * len(value) for pattern, value in meant.items())
    if len(template) + len(new) + grows > LONGEST:
        raise TooLongError
    return before + re.sub(r"\$[$&`']", lambda match: meant[match[0]], new) + after


def written(value: str) -> str:
    """A text as it leaves JavaScript for UTF-8: the halves of a character that stand side by side are one, one that stands alone is U+FFFD."""
    return _HALVES.sub(lambda match: _joined(*match[0]) if len(match[0]) == 2 else "\ufffd", value)


def _joined(high: str, low: str) -> str:
    return chr(0x10000 + ((ord(high) - 0xD800) << 10) + ord(low) - 0xDC00)
