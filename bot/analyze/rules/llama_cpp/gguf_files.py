"""Read a folder as the converter of llama.cpp does, in Python: its exceptions by the names of their types."""

from collections.abc import Iterable
from typing import Any, cast

from bot.analyze.model.document import Document, NotJson
from bot.analyze.model.folder import Model
from bot.analyze.model.tokenizer_file import TokenizerFile
from bot.analyze.model.tokens import tokenizer_file
from bot.answer import Known, Unknown

TOKENIZER = "tokenizer.json"
_LONGEST_PATH = 4096


class StopError(Exception):
    """The converter raises an exception of the type `error` over `file`."""

    def __init__(self, error: str, file: str) -> None:
        super().__init__(error)
        self.error = error
        self.file = file


class UnreadError(Exception):
    """A file could not be read here, which says nothing about the converter."""

    def __init__(self, answer: Unknown) -> None:
        super().__init__(answer.reason)
        self.answer = answer


def get(holder: Any, key: str, file: str, default: Any = None) -> Any:
    """A key of an object. Raises StopError for anything else, which has no method `get`."""
    if not isinstance(holder, dict):
        raise StopError("AttributeError", file)
    return cast("dict[str, Any]", holder).get(key, default)


def iterated(value: Any, file: str) -> Iterable[Any]:
    """The items of a value. Raises StopError for one that has none."""
    try:
        return iter(value)
    except TypeError:
        raise StopError("TypeError", file) from None


def json_file(model: Model, name: str) -> Any:
    """The value of a JSON file. Raises StopError where json.load raises, UnreadError where the content is not at hand."""
    document = model.document(name)
    if isinstance(document, Known) and isinstance(document.value, Document):
        return document.value.value
    if isinstance(document, Known) and isinstance(document.value, NotJson):
        if _is_link(model, name):
            raise UnreadError(
                Unknown(f"{name} holds nothing but a path, as a link does that was checked out as text", document.places)
            )
        raise StopError(_error(document.value.message), name)
    raise UnreadError(Unknown(f"{name} {getattr(document, 'reason', 'cannot be read')}", document.places))


def tokenizer_json(model: Model) -> Any:
    """tokenizer.json, which is there, as far as it is asked. A file that the tokenizers library reads is not parsed once more."""
    known = tokenizer_file(model)
    if isinstance(known, Known) and isinstance(known.value, TokenizerFile):
        added = [{"content": token.content, "id": token.id} for token in known.value.added]
        return {"added_tokens": added, "post_processor": known.value.parts.post_processor}
    return json_file(model, TOKENIZER)


def text_file(model: Model, name: str) -> str:
    """A text as Python opens one: every kind of line end is a line feed. Raises StopError where it is not UTF-8."""
    content = model.content(name)
    if not isinstance(content, Known):
        raise UnreadError(Unknown(f"{name} {getattr(content, 'reason', 'is not there')}", content.places))
    try:
        text = content.value.decode("utf-8")
    except UnicodeDecodeError:
        raise StopError("UnicodeDecodeError", name) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _is_link(model: Model, name: str) -> bool:
    """Whether a file holds the target of a link instead of its content, which is what git writes where links are not supported."""
    content = model.content(name)
    raw = content.value if isinstance(content, Known) else b""
    return 0 < len(raw) < _LONGEST_PATH and b"\n" not in raw and raw.rsplit(b"/", 1)[-1] == name.encode()


def _error(message: str) -> str:
    """The exception of json.load, by what our own reading with the same function said."""
    kinds = {"is not UTF-8": "UnicodeDecodeError", "is nested": "RecursionError", "is not readable": "ValueError"}
    return next((kind for beginning, kind in kinds.items() if message.startswith(beginning)), "JSONDecodeError")
