"""What the files beside the vocabulary say about tokens, as from_pretrained of each version of transformers takes it.

Read and run: 4.57.6 tokenization_utils_base.py:2270-2366 and 886-909; 5.0.0, 5.2.0, 5.15.1 and 5.24.0 tokenization_utils_base.py,
_from_pretrained and __init__ (1795-1960 and 1010-1093 in 5.24.0).
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, cast

import msgspec

from bot.analyze.model.document import Document, NotJson
from bot.analyze.model.folder import Model
from bot.analyze.model.tokenizer_file import AddedToken
from bot.analyze.model.tokens import ROLES
from bot.analyze.tables import parts
from bot.answer import Known


class RefusedError(Exception):
    """The library raises: `error` is the type of its exception, "" where it is not known; `late` says that the vocabulary is read before it does."""

    def __init__(self, reason: str, error: str = "", *, late: bool = False) -> None:
        super().__init__(reason)
        self.error = error
        self.late = late


Value: TypeAlias = AddedToken | str
"""A special token as it is stated: with flags of its own, or as a string alone."""


class Given(msgspec.Struct, frozen=True):
    """The tokens that the files state.

    `declared` are those of added_tokens_decoder by declared id, or without that key those of added_tokens.json and of tokenizer.json's list.
    `named` are those that hold a role or have a name of their own, by it, `more` special tokens without one; both in the order of registration.
    `blank` are roles and other names that hold an empty string, `own` the tokens among `more`, its last ones, that 4.x knows by a name of their own.
    """

    declared: Mapping[int, AddedToken]
    named: Mapping[str, Value]
    more: tuple[Value, ...]
    blank: tuple[str, ...] = ()
    own: Mapping[str, Value] = {}

    @property
    def special(self) -> tuple[str, ...]:
        """The strings of all_special_tokens, in order."""
        return tuple(dict.fromkeys(text(value) for value in (*self.named.values(), *self.more)))


class Stated(msgspec.Struct, frozen=True):
    """What the files hold before a class sees it.

    `values` are those of tokenizer_config.json with special_tokens_map.json over them, `own` the tokens with a name of their own, `declared`
    the tokens by declared id, `by_text` the token that a string stands for.
    """

    values: dict[str, Any]
    own: dict[str, Any]
    declared: dict[int, AddedToken]
    by_text: dict[str, AddedToken]


def text(value: Value) -> str:
    """The string of a token."""
    return value.content if isinstance(value, AddedToken) else value


def json_error(found: NotJson) -> str:
    """The type of the exception that json.load of Python raises for a text that is no JSON."""
    if found.message.startswith("is not UTF-8"):
        return "UnicodeDecodeError"
    if found.message.startswith("is nested"):
        return "RecursionError"
    return "ValueError" if found.message.startswith("is not readable") else "JSONDecodeError"


def stated(model: Model, version: str, listed: tuple[AddedToken, ...]) -> Stated:
    """What the files of a folder state; `listed` are the tokens of tokenizer.json. Raises RefusedError where the library does."""
    at = parts(version)
    values = dict(model.mapping("tokenizer_config.json"))
    own: dict[str, Any] = {}
    if at >= (5, 2):
        _move_additional(values, at)
        own = _own_names(values)
    elif at >= (5,):
        _sort_5_0(values)
    declared: dict[int, AddedToken] = {}
    if "added_tokens_decoder" in values:
        declared = _decoder(values["added_tokens_decoder"], at)
        return Stated(values, own, declared, {token.content: token for token in declared.values()})
    table = _object(model, "special_tokens_map.json")
    last = _lay_map_over(values, table, own, at)
    by_text: dict[str, AddedToken] = {}
    extra = "extra_special_tokens" if at >= (5,) else "additional_special_tokens"
    strings = {each for name in ROLES if (each := _string(values.get(name)))} | {_string(t) for t in _rows(values.get(extra))}
    for content, i in _object(model, "added_tokens.json").items():
        special = content in strings
        token = AddedToken(content, i if isinstance(i, int) else 0, special, normalized=not special)
        # Up to 5.1 the library takes the name of an argument, or of a loop before, for that of the token.
        by_text[last if at < (5, 2) else content] = token
        if not isinstance(i, int):
            raise RefusedError(f"added_tokens.json gives {content} no id")
        declared[i] = token
    declared.update({token.id: token for token in listed})
    by_text.update({token.content: token for token in listed})
    return Stated(values, own, declared, by_text)


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
        token = _value(name, value)
        named[name] = said.by_text.get(text(token), token) if token is not None else None
    found = _of_5(values, said, named) if five else _of_4(values, said, named, parts(version))
    owned = {**values, **said.own, **_objects(values)}
    return msgspec.structs.replace(found, blank=tuple(name for name in owned if name.endswith("_token") and owned[name] == ""))


def _objects(values: Mapping[str, Any]) -> dict[str, Any]:
    """The tokens with a name of their own that stand in an object."""
    stated = (values.get(name) for name in ("extra_special_tokens", "model_specific_special_tokens"))
    return {name: value for each in stated if isinstance(each, dict) for name, value in cast("dict[str, Any]", each).items()}


def _of_4(values: dict[str, Any], said: Stated, named: dict[str, Value | None], at: tuple[int, ...]) -> Given:
    listed = values.get("additional_special_tokens")
    if listed is not None and not isinstance(listed, list):
        raise RefusedError("additional_special_tokens is no list", "AssertionError", late=True)
    more = _kept(_value("additional_special_tokens", row, "AssertionError") for row in _rows(listed))
    own: dict[str, Value] = {}
    if at >= (4, 47):  # earlier versions do not read the key
        extra: Any = values.get("extra_special_tokens", {})
        if not isinstance(extra, dict):
            kind = "NoneType" if extra is None else type(extra).__name__
            raise RefusedError(f"extra_special_tokens: '{kind}' object has no attribute 'keys'", "AttributeError", late=True)
        own = _held({name: _value(name, value) for name, value in cast("dict[str, Any]", extra).items()})
        named.update({name: own.pop(name) for name in ROLES if name in own})
    return Given(said.declared, _held(named), (*more, *own.values()), own=own)


def _of_5(values: dict[str, Any], said: Stated, named: dict[str, Value | None]) -> Given:
    extra: Any = values.get("extra_special_tokens")
    explicit: Any = said.own or values.get("model_specific_special_tokens") or {}
    if not isinstance(explicit, dict):
        raise RefusedError("model_specific_special_tokens is no object", "TypeError", late=True)
    others = {name: v for name, v in values.items() if name.endswith("_token") and name not in ROLES}
    typed = {name: v for name, v in others.items() if isinstance(v, str) or _typed(v)}
    for rows in (extra if isinstance(extra, dict) else {}, typed, explicit):
        named.update({name: _value(name, value) for name, value in cast("dict[str, Any]", rows).items()})
    extra = None if isinstance(extra, dict) else values.get("extra_special_tokens", values.get("additional_special_tokens"))
    if extra is not None and not isinstance(extra, list):
        raise RefusedError("extra_special_tokens is neither a list nor an object", "TypeError", late=True)
    return Given(said.declared, _held(named), _kept([_value("extra_special_tokens", row) for row in _rows(extra)]))


def _object(model: Model, name: str) -> dict[str, Any]:
    """A file that is an object by tables of the library; empty when there is none."""
    document = model.document(name)
    if not isinstance(document, Known):
        return {}
    if isinstance(document.value, Document):
        if isinstance(document.value.value, dict):
            return document.value.mapping
        raise RefusedError(f"{name} holds no JSON object", "AttributeError")
    raise RefusedError(f"{name} {document.value.message}", json_error(document.value))


def _held(values: Mapping[str, Value | None]) -> dict[str, Value]:
    return {name: value for name, value in values.items() if value is not None}


def _kept(values: Iterable[Value | None]) -> tuple[Value, ...]:
    return tuple(value for value in values if value is not None)


def _move_additional(values: dict[str, Any], at: tuple[int, ...]) -> None:
    """additional_special_tokens is the old name of extra_special_tokens; before 5.19 (seen 5.15.1 and 5.19.0) any value of the new one hid it."""
    if "additional_special_tokens" not in values:
        return
    if at >= (5, 19):
        if not values.get("extra_special_tokens"):
            values["extra_special_tokens"] = values.pop("additional_special_tokens")
        return
    additional = values.pop("additional_special_tokens")
    values.setdefault("extra_special_tokens", additional)


def _sort_5_0(values: dict[str, Any]) -> None:
    """5.0.0 and 5.1: an object of extra_special_tokens keeps the old list beside it (5.0.0 tokenization_utils_base.py, _from_pretrained)."""
    if "additional_special_tokens" in values and "extra_special_tokens" not in values:
        values["extra_special_tokens"] = values.pop("additional_special_tokens")
    if isinstance(values.get("extra_special_tokens"), dict):
        values["model_specific_special_tokens"] = values.pop("extra_special_tokens")
        return
    others = [name for name in values if name not in ROLES and name.endswith("_token")]
    own = {name: values.pop(name) for name in others if isinstance(values[name], str)}
    if own:
        listed = isinstance(values.get("extra_special_tokens"), list)
        values["model_specific_special_tokens" if listed else "extra_special_tokens"] = own


def _own_names(values: dict[str, Any]) -> dict[str, Any]:
    """Tokens with a name of their own: other keys that end in _token, an object of extra_special_tokens, model_specific_special_tokens."""
    own: dict[str, Any] = {}
    for name in [name for name in values if name not in ROLES and name.endswith("_token")]:
        if isinstance(values[name], str):
            own[name] = values.pop(name)
    if isinstance(values.get("extra_special_tokens"), dict):
        own.update(values.pop("extra_special_tokens"))
    if own:  # what was collected replaces what the file states
        values.pop("model_specific_special_tokens", None)
    return own


def _lay_map_over(values: dict[str, Any], table: dict[str, Any], own: dict[str, Any], at: tuple[int, ...]) -> str:
    """special_tokens_map.json overrides tokenizer_config.json where that has no added_tokens_decoder. The last token of its list, "None" for none."""
    last = "None"
    listed = "extra_special_tokens" if at >= (5,) else "additional_special_tokens"
    before = values.get("extra_special_tokens")
    for name, value in table.items():
        if isinstance(value, dict) and (name != "extra_special_tokens" or at < (5, 2)):
            entry = cast("dict[str, Any]", value)
            if (5, 2) <= at < (5, 3) and "special" in entry:
                raise RefusedError(f"special_tokens_map.json gives {name} the key special", "TypeError")
            values[name] = _token({**entry, "special": True})
        elif name == listed and isinstance(value, list):
            rows = [_token({**row, "special": True}) if isinstance(row, dict) else row for row in _rows(value)]
            first = _rows(values.get(name))
            values[name] = [*first, *(row for row in rows if row not in first)]
            last = _string(rows[-1]) if rows else last
        else:
            values[name] = value
    if (5,) <= at < (5, 2):
        if "extra_special_tokens" not in table and isinstance(before, list):
            values["extra_special_tokens"] = before
        if isinstance(values.get("extra_special_tokens"), dict):
            values["model_specific_special_tokens"] = values.pop("extra_special_tokens")
    elif at >= (5, 2) and isinstance(values.get("extra_special_tokens"), dict):
        own.update({**(values.pop("model_specific_special_tokens", None) or {}), **values.pop("extra_special_tokens")})
    return last


def _decoder(value: Any, at: tuple[int, ...]) -> dict[int, AddedToken]:
    if not isinstance(value, dict):
        raise RefusedError("added_tokens_decoder is no object", "AttributeError")
    found: dict[int, AddedToken] = {}
    for key, entry in cast("dict[str, Any]", value).items():
        if not isinstance(entry, dict):
            raise RefusedError(
                f"added_tokens_decoder gives {key} no token object", "TypeError" if at >= (4, 57) else "ValueError"
            )
        try:
            i = int(key)
        except ValueError:
            raise RefusedError(f"added_tokens_decoder has the key {key!r}, which is no id", "ValueError") from None
        found[i] = _token(cast("dict[str, Any]", entry), i)
    return found


def _token(entry: dict[str, Any], i: int = 0) -> AddedToken:
    """An AddedToken made of an object's fields, with the library's defaults."""
    fields = {key: value for key, value in entry.items() if key != "__type"}
    content, special = fields.get("content"), fields.get("special", False)
    if not isinstance(content, str):
        raise RefusedError("a token object has no content")
    flags = {name: fields.get(name, False) is True for name in ("single_word", "lstrip", "rstrip")}
    return AddedToken(content, i, special is True, normalized=fields.get("normalized", special is not True) is True, **flags)


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
        return _token(cast("dict[str, Any]", value))
    kind = type(value).__name__
    raise RefusedError(f"{name} has to be a string or an AddedToken, it is of type {kind}", error, late=True)


def _string(value: Any) -> str:
    """The string of a token at a time when the objects of tokenizer_config.json are not tokens yet."""
    return value.content if isinstance(value, AddedToken) else value if isinstance(value, str) else ""


def _rows(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
