"""Which tokens prompts have before and after a change, as far as that can be told in short time."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec

from bot.analyze.model.folder import Model
from bot.answer import Known

FILE = "tokenizer.json"
# Loading a tokenizer of 20 MB takes about a second, and as much again what is known of it before; turning a million letters into tokens takes two.
BYTES, LETTERS = 64 << 20, 1_000_000
SHOWN = 4 << 20
# Letters of the prompts of one folder, both sides together.
_LONGEST = 150_000
Ids: TypeAlias = Mapping[str, tuple[int, ...]]
"""The ids of prompts by their texts, for those that are known."""


class Room(msgspec.Struct):
    """What may still be spent in one comparison: bytes of tokenizer.json that are loaded, letters of prompts that are turned into tokens, and letters of differences."""

    bytes: int = BYTES
    letters: int = LETTERS
    shown: int = SHOWN


def ids(base: Model, head: Model, texts: Iterable[str], room: Room) -> tuple[Ids, Ids]:
    """The ids of prompts in the tokenizers that the newest transformers makes of base and of head; nothing where they cannot be told.

    A tokenizer is given the prompts of the other side as well: where it is the same on both sides, it is loaded once.
    """
    sizes = {file.content: file.size or 0 for model in (base, head) if (file := model.files.get(FILE)) is not None}
    kept = tuple(_fitting(dict.fromkeys(texts), min(_LONGEST, room.letters)))
    cost = sum(sizes.values())
    if not sizes or not kept or cost > room.bytes:
        return {}, {}
    room.bytes -= cost
    room.letters -= sum(map(len, kept))
    return _of(base, kept), _of(head, kept)


def _fitting(texts: Iterable[str], letters: int) -> Iterable[str]:
    """The texts that have so many letters together, without those that are too long for what is left."""
    for text in texts:
        if len(text) <= letters:
            letters -= len(text)
            yield text


def _of(model: Model, texts: tuple[str, ...]) -> Ids:
    from bot.analyze.engines import transformers  # noqa: PLC0415 - it brings the rules of all versions, and few prompts are counted

    found = transformers.prompt_tokens(model, transformers.VERSIONS[-1], texts)
    return {text: tuple(token.id for token in tokens) for text, tokens in found.value.items()} if isinstance(found, Known) else {}
