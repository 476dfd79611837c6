"""What the ways of building a tokenizer share: a tokenizer.json taken apart, and the tokens that are put around a text."""

from functools import cache
from typing import Any

import msgspec

from bot.analyze.model.folder import Model
from bot.analyze.rules.backend import Backend
from bot.analyze.rules.loaded import Loaded
from bot.answer import Known, Unknown


class NotKnownError(Exception):
    """What decides about the ids is not known, and why."""


class File(msgspec.Struct, frozen=True):
    """A tokenizer.json, its parts as text."""

    model: msgspec.Raw
    normalizer: msgspec.Raw = msgspec.Raw(b"null")
    pre_tokenizer: msgspec.Raw = msgspec.Raw(b"null")
    post_processor: msgspec.Raw = msgspec.Raw(b"null")
    truncation: msgspec.Raw = msgspec.Raw(b"null")
    padding: msgspec.Raw = msgspec.Raw(b"null")


def file_of(model: Model, largest: int) -> File:
    """The tokenizer.json of a folder. Raises NotKnownError for one that cannot be read or has more than `largest` bytes."""
    if why := too_large(model, largest):
        raise NotKnownError(why)
    content = model.content("tokenizer.json")
    if not isinstance(content, Known):
        raise NotKnownError(f"tokenizer.json {content.reason if isinstance(content, Unknown) else 'is not there'}")
    if len(content.value) > largest:
        raise NotKnownError(_limit(largest))
    try:
        return msgspec.json.decode(content.value, type=File)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise NotKnownError(f"tokenizer.json cannot be taken apart: {error}") from None


def too_large(model: Model, largest: int) -> str:
    """Why the tokenizer.json of a folder is left alone by its size, "" where it is not."""
    file = model.files.get("tokenizer.json")
    return _limit(largest) if file is not None and file.size is not None and file.size > largest else ""


def _limit(largest: int) -> str:
    return f"tokenizer.json is larger than {largest / 1e6:.1f} MB, and turning texts into ids takes too long with it"


def as_it_stands(file: File) -> Backend:
    """The tokenizer of a file, without its added tokens."""
    return Backend(bytes(file.model), bytes(file.normalizer), bytes(file.pre_tokenizer), bytes(file.post_processor))


def flagged(*, bos: bool, eos: bool) -> list[str | None]:
    """What flags put around a text, by role; None stands for the text."""
    return [*(["bos_token"] if bos else []), None, *(["eos_token"] if eos else [])]


def with_ends(made: Backend, ends: list[str | None], tokenizer: Loaded) -> Backend:
    """A post-processor that puts the tokens of roles around a text, None standing for the text."""
    strings: dict[str, int] = {}
    single: list[Any] = []
    for role in ends:
        if role is None:
            single.append({"Sequence": {"id": "A", "type_id": 0}})
            continue
        string, number = tokenizer.roles.get(role, ("", None))
        if number is None or not string or any(c.isspace() or c == ":" for c in string):
            raise NotKnownError(f"the {role.removesuffix('_token')} token that is put around a text cannot be told")
        strings[string] = number
        single.append({"SpecialToken": {"id": string, "type_id": 0}})
    tokens = {string: {"id": string, "ids": [number], "tokens": [string]} for string, number in strings.items()}
    pair = [{"Sequence": {"id": name, "type_id": 0}} for name in "AB"]
    template = {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens}
    return msgspec.structs.replace(made, post_processor=msgspec.json.encode(template))


@cache
def numbers(version: str) -> tuple[int, ...]:
    """A version for comparisons: (5, 24, 0)."""
    return tuple(int(part) for part in version.split("."))
