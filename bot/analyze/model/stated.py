"""What the files beside the vocabulary state about tokens, before a class of tokenizer sees it.

Read and run: 4.57.6 tokenization_utils_base.py:2270-2366; 5.0.0, 5.2.0, 5.15.1 and 5.24.0 tokenization_utils_base.py, _from_pretrained
(1795-1960 in 5.24.0).
"""

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
    last = _lay_map_over(values, table, own, at) if model.has("special_tokens_map.json") else "None"
    by_text: dict[str, AddedToken] = {}
    extra = "extra_special_tokens" if at >= (5,) else "additional_special_tokens"
    strings = {each for name in ROLES if (each := _string(values.get(name)))} | {_string(t) for t in rows_of(values.get(extra))}
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
        if name == "extra_special_tokens" and at < (4, 47):
            values[name] = value  # a key like any other
        elif isinstance(value, dict) and (name != "extra_special_tokens" or at < (5, 2)):
            entry = cast("dict[str, Any]", value)
            if (5, 2) <= at < (5, 3) and "special" in entry:
                raise RefusedError(f"special_tokens_map.json gives {name} the key special", "TypeError")
            values[name] = token_of({**entry, "special": True})
        elif name == listed and isinstance(value, list):
            rows = [token_of({**row, "special": True}) if isinstance(row, dict) else row for row in rows_of(value)]
            if at >= (5,) and any(isinstance(row, dict) and "special" in row for row in rows_of(value)):
                raise RefusedError(
                    f"special_tokens_map.json gives {name} the key special", "TypeError" if at >= (5, 2) else "KeyError"
                )
            first = rows_of(values.get(name))
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
        found[i] = token_of(cast("dict[str, Any]", entry), i)
    return found


def token_of(entry: dict[str, Any], i: int = 0) -> AddedToken:
    """An AddedToken made of an object's fields, with the library's defaults."""
    fields = {key: value for key, value in entry.items() if key != "__type"}
    content, special = fields.get("content"), fields.get("special", False)
    if not isinstance(content, str):
        raise RefusedError("a token object has no content")
    flags = {name: fields.get(name, False) is True for name in ("single_word", "lstrip", "rstrip")}
    return AddedToken(content, i, special is True, normalized=fields.get("normalized", special is not True) is True, **flags)


def _string(value: Any) -> str:
    """The string of a token at a time when the objects of tokenizer_config.json are not tokens yet."""
    return value.content if isinstance(value, AddedToken) else value if isinstance(value, str) else ""


def rows_of(value: Any) -> list[Any]:
    """The entries of a list; none of any other value."""
    return cast("list[Any]", value) if isinstance(value, list) else []
