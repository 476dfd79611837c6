"""What msgspec says of a value that does not fit its type, in words that name the value."""

import re

import msgspec

_NAMES = {
    "int": "an integer",
    "str": "a string",
    "float": "a number",
    "bool": "a boolean",
    "object": "an object",
    "array": "an array",
}


def words(error: msgspec.DecodeError, whole: str = "") -> str:
    """A refusal as a clause; `whole` is what the value as a whole is called, nothing for the file itself."""
    text, _, path = str(error).partition(" - at `$")
    inner = path.rstrip("`").lstrip(".").replace("[...]", "")
    inner = f"entry {inner}" if inner.startswith("[") else inner
    name = " of ".join(filter(None, (inner, whole))) or "the file"
    if found := re.fullmatch(r"Expected `(.+)`, got `(\w+)`", text):
        needed = " or ".join(_NAMES.get(kind, kind) for kind in found[1].split(" | "))
        return f"{name} is {_NAMES.get(found[2], found[2])} where {needed} is needed"
    if found := re.fullmatch(r"Object missing required field `(.+)`", text):
        return f"{name} has no '{found[1]}'"
    if found := re.fullmatch(r"Object contains unknown field `(.+)`", text, re.DOTALL):
        return f"{name} has the unknown key '{found[1]}'"
    if found := re.fullmatch(r"Invalid enum value (.+)", text, re.DOTALL):
        return f"{name} is {found[1]}, which the library does not know"
    if found := re.fullmatch(r"Expected `\w+` (<=|>=|<|>) (.+)", text):
        return f"{name} is {'below' if '>' in found[1] else 'above'} {found[2]}"
    if found := re.fullmatch(r"Expected `\w+` of length (?:<=|>=)? ?(\d+)", text):
        return f"{name} has not the length {found[1]}"
    return f"{name} cannot be read: {text}"


def pointer(error: msgspec.DecodeError) -> str:
    """The JSON pointer of the value; of the object around it where msgspec names no key."""
    path = str(error).partition(" - at `$")[2].rstrip("`").partition("[...]")[0]
    return re.sub(r"\[(\d+)\]|\.(\w+)", lambda found: f"/{found[1] or found[2]}", path)
