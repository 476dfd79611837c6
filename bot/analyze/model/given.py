"""What the files beside the vocabulary say about tokens, as from_pretrained of transformers takes it.

Read and run: 4.57.6 tokenization_utils_base.py:2270-2366 and 886-909; 5.24.0 tokenization_utils_base.py:1795-1960 and 1010-1093.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, cast

import msgspec

from bot.analyze.model.folder import Model
from bot.analyze.model.tokenizer_file import AddedToken
from bot.analyze.model.tokens import ROLES


class RefusedError(Exception):
    """The library raises over what these files say."""


Value: TypeAlias = AddedToken | str
"""A special token as it is stated: with flags of its own, or as a string alone."""


class Given(msgspec.Struct, frozen=True):
    """The tokens that the files state.

    `declared` are those of added_tokens_decoder by declared id, or without that key those of added_tokens.json and of tokenizer.json's list.
    `named` are those that hold a role or have a name of their own, by it, `more` special tokens without one; both in the order of registration.
    """

    declared: Mapping[int, AddedToken]
    named: Mapping[str, Value]
    more: tuple[Value, ...]

    @property
    def special(self) -> tuple[str, ...]:
        """The strings of all_special_tokens, in order."""
        return tuple(dict.fromkeys(text(value) for value in (*self.named.values(), *self.more)))


def text(value: Value) -> str:
    """The string of a token."""
    return value.content if isinstance(value, AddedToken) else value


def given(
    model: Model,
    listed: tuple[AddedToken, ...],
    defaults: Mapping[str, str],
    *,
    five: bool,
    pad: str = "",
    pieces: tuple[AddedToken, ...] = (),
) -> Given:
    """What the files of a folder state; `listed` are the tokens of tokenizer.json, `defaults` the roles of the class, `pad` that of its padding.

    `pieces` are those of a SentencePiece model that 5.x takes for additional special tokens, where the files state none. Raises RefusedError where the library does: a value of a type that it does not take.
    """
    values = dict(model.mapping("tokenizer_config.json"))
    if five:
        _move_additional(values)
    own = _own_names(values) if five else {}
    if pieces:
        values["additional_special_tokens"] = list(pieces)
    declared: dict[int, AddedToken] = {}
    if "added_tokens_decoder" in values:
        declared = _decoder(values["added_tokens_decoder"])
    else:
        _lay_map_over(values, model.mapping("special_tokens_map.json"), own, five=five)
        strings = {text for name in ROLES if (text := _string(values.get(name)))}
        strings |= {
            _string(token) for token in _rows(values.get("extra_special_tokens" if five else "additional_special_tokens"))
        }
        for text, number in model.mapping("added_tokens.json").items():
            if not isinstance(number, int):
                raise RefusedError(f"added_tokens.json gives {text} no id")
            special = text in strings
            declared[number] = AddedToken(text, number, special, normalized=not special)
        declared.update({token.id: token for token in listed})
    return _sorted_out(values, own, declared, defaults, pad=pad, five=five)


def _sorted_out(
    values: dict[str, Any],
    own: dict[str, Any],
    declared: dict[int, AddedToken],
    defaults: Mapping[str, str],
    *,
    pad: str,
    five: bool,
) -> Given:
    by_text = {token.content: token for token in declared.values()}
    named: dict[str, Value | None] = {}
    for name in ROLES:
        value = values[name] if name in values else defaults.get(name) or (pad if name == "pad_token" else None)
        token = _value(name, value)
        named[name] = by_text.get(text(token), token) if token is not None else None
    extra: Any = values.get("extra_special_tokens", None if five else {})
    if not five:
        if not isinstance(extra, dict):
            kind = "NoneType" if extra is None else type(extra).__name__
            raise RefusedError(f"extra_special_tokens: '{kind}' object has no attribute 'keys'")
        rows = _rows(values.get("additional_special_tokens"))
        later = [_value(name, value) for name, value in cast("dict[str, Any]", extra).items()]
        more = [*(_value("additional_special_tokens", row) for row in rows), *later]
        return Given(declared, _held(named), _kept(more))
    named.update({name: _value(name, value) for name, value in own.items()})
    if isinstance(extra, dict):
        named.update({name: _value(name, value) for name, value in cast("dict[str, Any]", extra).items()})
    if isinstance(extra, dict) or "extra_special_tokens" not in values:
        extra = values.get("additional_special_tokens")
    if extra is not None and not isinstance(extra, list):
        raise RefusedError("extra_special_tokens is neither a list nor an object")
    return Given(declared, _held(named), _kept([_value("extra_special_tokens", row) for row in _rows(extra)]))


def _held(values: Mapping[str, Value | None]) -> dict[str, Value]:
    return {name: value for name, value in values.items() if value is not None}


def _kept(values: Iterable[Value | None]) -> tuple[Value, ...]:
    return tuple(value for value in values if value is not None)


def _move_additional(values: dict[str, Any]) -> None:
    """additional_special_tokens is the old name of extra_special_tokens (5.24.0 tokenization_utils_base.py:1843)."""
    if "additional_special_tokens" in values and not values.get("extra_special_tokens"):
        values["extra_special_tokens"] = values.pop("additional_special_tokens")


def _own_names(values: dict[str, Any]) -> dict[str, Any]:
    """Tokens with a name of their own: other keys that end in _token, an object of extra_special_tokens, model_specific_special_tokens."""
    own: dict[str, Any] = {}
    for name in [name for name in values if name not in ROLES and name.endswith("_token")]:
        if isinstance(values[name], str) or _typed(values[name]):
            own[name] = values.pop(name)
    if isinstance(values.get("extra_special_tokens"), dict):
        own.update(values.pop("extra_special_tokens"))
    stated = values.get("model_specific_special_tokens")
    if not own and isinstance(stated, dict):  # what was collected replaces what the file states
        own.update(cast("dict[str, Any]", stated))
    return own


def _lay_map_over(values: dict[str, Any], table: dict[str, Any], own: dict[str, Any], *, five: bool) -> None:
    """special_tokens_map.json overrides tokenizer_config.json where that has no added_tokens_decoder."""
    for name, value in table.items():
        if isinstance(value, dict) and name != "extra_special_tokens":
            values[name] = _token({**cast("dict[str, Any]", value), "special": True})
        elif name == ("extra_special_tokens" if five else "additional_special_tokens") and isinstance(value, list):
            before = _rows(values.get(name))
            rows = [_token({**row, "special": True}) if isinstance(row, dict) else row for row in _rows(value)]
            values[name] = [*before, *(row for row in rows if row not in before)]
        else:
            values[name] = value
    if five:
        if isinstance(values.get("extra_special_tokens"), dict):
            own.update(values.pop("extra_special_tokens"))
        for name in [name for name in values if name not in ROLES and name.endswith("_token")]:
            if isinstance(values[name], str) or _typed(values[name]):
                own[name] = values.pop(name)


def _decoder(value: Any) -> dict[int, AddedToken]:
    if not isinstance(value, dict):
        raise RefusedError("added_tokens_decoder is no object")
    found: dict[int, AddedToken] = {}
    for key, entry in cast("dict[str, Any]", value).items():
        try:
            number = int(key)
        except ValueError:
            raise RefusedError(f"added_tokens_decoder has the key {key!r}, which is no id") from None
        if not isinstance(entry, dict):
            raise RefusedError(f"added_tokens_decoder gives {key} no token object")
        found[number] = _token(cast("dict[str, Any]", entry), number)
    return found


def _token(entry: dict[str, Any], number: int = 0) -> AddedToken:
    """An AddedToken made of an object's fields, with the library's defaults."""
    fields = {key: value for key, value in entry.items() if key != "__type"}
    content, special = fields.get("content"), fields.get("special", False)
    if not isinstance(content, str):
        raise RefusedError("a token object has no content")
    flags = {name: fields.get(name, False) is True for name in ("single_word", "lstrip", "rstrip")}
    return AddedToken(content, number, special is True, normalized=fields.get("normalized", special is not True) is True, **flags)


def _typed(value: Any) -> bool:
    """Whether a value is, or will be made, an AddedToken."""
    return isinstance(value, AddedToken) or (
        isinstance(value, dict) and cast("dict[str, Any]", value).get("__type") == "AddedToken"
    )


def _value(name: str, value: Any) -> Value | None:
    """A special token; None for none."""
    if value is None or value == "":
        return None
    if isinstance(value, AddedToken | str):
        return value
    if _typed(value):
        return _token(cast("dict[str, Any]", value))
    raise RefusedError(f"{name} has to be a string or an AddedToken, it is of type {type(value).__name__}")


def _string(value: Any) -> str:
    """The string of a token at a time when the objects of tokenizer_config.json are not tokens yet."""
    return value.content if isinstance(value, AddedToken) else value if isinstance(value, str) else ""


def _rows(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
