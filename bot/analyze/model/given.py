"""Which tokens a class of tokenizer takes of what the files state, as __init__ of each version of transformers does.

Read and run: 4.57.6 tokenization_utils_base.py:886-909; 5.0.0, 5.2.0, 5.15.1 and 5.24.0 tokenization_utils_base.py, __init__ (1010-1093 in 5.24.0).
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from bot.analyze.model.stated import RefusedError, Stated, Value, rows_of, text, token_of
from bot.analyze.model.tokenizer_file import AddedToken
from bot.analyze.model.tokens import ROLES
from bot.analyze.tables import parts


class Given(msgspec.Struct, frozen=True):
    """The tokens that the files state.

    `declared` are those of added_tokens_decoder by declared id, or without that key those of added_tokens.json and of tokenizer.json's list.
    `named` are those that hold a role or have a name of their own, by it, `more` special tokens without one; both in the order of registration.
    `blank` are roles and other names that hold an empty string, `own` the tokens among `more`, its last ones, that 4.x knows by a name of their own.
    `listed` are the strings of the list of additional (5.x: extra) special tokens, empty ones included.
    """

    declared: Mapping[int, AddedToken]
    named: Mapping[str, Value]
    more: tuple[Value, ...]
    blank: tuple[str, ...] = ()
    own: Mapping[str, Value] = {}
    listed: tuple[str, ...] = ()

    @property
    def special(self) -> tuple[str, ...]:
        """The strings of all_special_tokens, in order."""
        return tuple(dict.fromkeys(text(value) for value in (*self.named.values(), *self.more)))


def given(
    said: Stated, version: str, defaults: Mapping[str, str], *, pad: str = "", pieces: tuple[AddedToken, ...] = ()
) -> Given:
    """The tokens that a class takes; `defaults` are its roles, `pad` that of a padding block.

    `pieces` are those of a SentencePiece model that 5.x takes for additional special tokens, where the files state none. Raises RefusedError where the library does: a value of a type that it does not take.
    """
    five = parts(version) >= (5,)
    values = dict(said.values)
    if pieces:
        values["additional_special_tokens"] = list(pieces)
    named: dict[str, Value | None] = {}
    for name in ROLES:
        value = values[name] if name in values else defaults.get(name) or (pad if name == "pad_token" else None)
        token = said.by_text.get("") if value == "" and name in values else _value(name, value)
        named[name] = said.by_text.get(text(token), token) if token is not None else None
    found = _of_5(values, said, named) if five else _of_4(values, said, named, parts(version))
    stated = {name: value for name, value in values.items() if name.endswith("_token")}
    owned = {**stated, **said.own, **_objects(values)}
    return msgspec.structs.replace(
        found, blank=tuple(name for name, value in owned.items() if value == "" and name not in found.named)
    )


def _objects(values: Mapping[str, Any]) -> dict[str, Any]:
    """The tokens with a name of their own that stand in an object."""
    stated = (values.get(name) for name in ("extra_special_tokens", "model_specific_special_tokens"))
    return {name: value for each in stated if isinstance(each, dict) for name, value in cast("dict[str, Any]", each).items()}


def _of_4(values: dict[str, Any], said: Stated, named: dict[str, Value | None], at: tuple[int, ...]) -> Given:
    listed = values.get("additional_special_tokens")
    if listed is not None and not isinstance(listed, list):
        raise RefusedError("additional_special_tokens is no list", "AssertionError", late=True)
    rows = _tokens("additional_special_tokens", rows_of(listed), "AssertionError")
    own: dict[str, Value] = {}
    if at >= (4, 47):  # earlier versions do not read the key
        extra: Any = values.get("extra_special_tokens", {})
        if not isinstance(extra, dict):
            kind = "NoneType" if extra is None else type(extra).__name__
            raise RefusedError(f"extra_special_tokens: '{kind}' object has no attribute 'keys'", "AttributeError", late=True)
        every = _by_name(cast("dict[str, Any]", extra))
        named.update({name: every.pop(name) for name in ROLES if name in every})
        own = _held(every)
    return Given(said.declared, _held(named), (*_kept(rows), *own.values()), own=own, listed=tuple(map(text, rows)))


def _of_5(values: dict[str, Any], said: Stated, named: dict[str, Value | None]) -> Given:
    extra: Any = values.get("extra_special_tokens")
    explicit: Any = said.own or values.get("model_specific_special_tokens") or {}
    if not isinstance(explicit, dict):
        raise RefusedError("model_specific_special_tokens is no object", "TypeError", late=True)
    others = {name: v for name, v in values.items() if name.endswith("_token") and name not in ROLES}
    typed = {name: v for name, v in others.items() if isinstance(v, str) or _typed(v)}
    for rows in (extra if isinstance(extra, dict) else {}, typed, explicit):
        named.update(_by_name(cast("dict[str, Any]", rows)))
    extra = None if isinstance(extra, dict) else values.get("extra_special_tokens", values.get("additional_special_tokens"))
    if extra is not None and not isinstance(extra, list):
        raise RefusedError("extra_special_tokens is neither a list nor an object", "TypeError", late=True)
    rows = _tokens("extra_special_tokens", rows_of(extra), "TypeError")
    return Given(said.declared, _held(named), _kept(rows), listed=tuple(map(text, rows)))


def _held(values: Mapping[str, Value | None]) -> dict[str, Value]:
    return {name: value for name, value in values.items() if value is not None}


def _kept(values: Iterable[Value]) -> tuple[Value, ...]:
    return tuple(value for value in values if value != "")


def _by_name(rows: Mapping[str, Any]) -> dict[str, Value | None]:
    """The tokens of an object, none of which may be null."""
    null = next((name for name, value in rows.items() if value is None), None)
    if null is not None:
        raise RefusedError(f"{null} is null", "TypeError", late=True)
    return {name: _value(name, value) for name, value in rows.items()}


def _tokens(name: str, rows: Iterable[Any], error: str) -> list[Value]:
    """The entries of a list of special tokens, none of which may be null."""
    found: list[Value] = []
    for row in rows:
        if row is None:
            raise RefusedError(f"an entry of {name} is null", error, late=True)
        found.append(_value(name, row, error) or "")
    return found


def _typed(value: Any) -> bool:
    """Whether a value is, or will be made, an AddedToken."""
    return isinstance(value, AddedToken) or (
        isinstance(value, dict) and cast("dict[str, Any]", value).get("__type") == "AddedToken"
    )


def _value(name: str, value: Any, error: str = "TypeError") -> Value | None:
    """A special token; None for none."""
    if value is None or value == "":
        return None
    if isinstance(value, AddedToken | str):
        return value
    if _typed(value):
        return token_of(cast("dict[str, Any]", value))
    kind = type(value).__name__
    raise RefusedError(f"{name} has to be a string or an AddedToken, it is of type {kind}", error, late=True)
