"""The ids of texts, by the `tokenizers` library itself: it is given a tokenizer that was put together here.

The library is imported when it is first asked for; `warm` does that before the files of packages are out of reach.
"""

import hashlib
import importlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from bot.analyze.model.tokenizer_file import AddedToken
from bot.analyze.renderings import Token
from bot.analyze.rules.growth import outgrows, pads
from bot.analyze.watch import WATCH

T = TypeVar("T")
Texts = Mapping[str, tuple[int, ...]]
LONGEST = 200_000
"""Letters of all prompts together that are turned into tokens at once."""


class Backend(msgspec.Struct, frozen=True):
    """A tokenizer of the library, as JSON texts of its parts; `added` are its added tokens with the ids that they are to have, by id.

    `ends` says whether the post-processor puts tokens around a text; `truncation` and `padding` are null where callers reset them.
    """

    model: bytes
    normalizer: bytes = b"null"
    pre_tokenizer: bytes = b"null"
    post_processor: bytes = b"null"
    added: tuple[tuple[int, AddedToken], ...] = ()
    ends: bool = True
    truncation: bytes = b"null"
    padding: bytes = b"null"

    def text(self) -> str:
        """The tokenizer.json of this tokenizer."""
        added = [{**msgspec.structs.asdict(token), "id": number} for number, token in self.added]
        parts = {
            "truncation": self.truncation,
            "padding": self.padding,
            "added_tokens": msgspec.json.encode(added),
            "normalizer": self.normalizer,
            "pre_tokenizer": self.pre_tokenizer,
            "post_processor": self.post_processor,
            "decoder": b"null",
            "model": self.model,
        }
        return msgspec.json.encode({"version": "1.0", **{key: msgspec.Raw(part) for key, part in parts.items()}}).decode()


class Failed(msgspec.Struct, frozen=True):
    """Why the library gives no ids, as a clause."""

    reason: str


def warm() -> None:
    """Import the library and let it work once: afterwards its files may be out of reach."""
    piece = b'{"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}'
    encode(Backend(piece, pre_tokenizer=b'{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true}'), ("a",))


@lru_cache(maxsize=16)
def encode(backend: Backend, texts: tuple[str, ...]) -> Texts | Failed:
    """The ids of each text.

    Failed where the library refuses the tokenizer or a text, where it numbers added tokens otherwise than they are said to be numbered, where
    chance decides (dropout), and for a tokenizer that is made to take all memory or, as the process above learned, all time.
    """

    def ids(made: Any) -> Texts:
        return {text: tuple(made.encode(text, add_special_tokens=backend.ends).ids) for text in texts}

    return _built(backend, ids)


@lru_cache(maxsize=4)
def tokens(backend: Backend, texts: tuple[str, ...]) -> Mapping[str, tuple[Token, ...]] | Failed:
    """The tokens of each text, nothing put around it. Failed as in `encode`, and for more than LONGEST letters of text."""
    letters = sum(map(len, texts))
    if letters > LONGEST:
        return Failed(f"they have more than {LONGEST} letters, and turning them into ids takes too long")

    def told(made: Any) -> Mapping[str, tuple[Token, ...]]:
        special = {number for number, token in backend.added if token.special}
        found = {text: made.encode(text, add_special_tokens=False) for text in texts}
        made.post_processor = None  # it may cut the spaces off what a token stands for
        return {
            text: _spread(made, encoded, made.encode(text, add_special_tokens=False), special) for text, encoded in found.items()
        }

    return _built(backend, told, letters)


def _spread(made: Any, encoded: Any, plain: Any, special: set[int]) -> tuple[Token, ...]:
    """What the library gives, token by token; `plain` is the same without a post-processor."""
    ids = list(encoded.ids)
    offsets = plain.offsets if list(plain.ids) == ids else encoded.offsets
    rows = zip(ids, offsets, strict=True)
    return tuple(Token(number, made.id_to_token(number) or "", start, end, number in special) for number, (start, end) in rows)


def _built(backend: Backend, work: Callable[[Any], T], letters: int = 0) -> T | Failed:
    """What `work` makes of the library's tokenizer, given a text of so many letters (0: a short one); why there is no such tokenizer else."""
    if len({number for number, _ in backend.added}) < len(backend.added):
        return Failed("two of its added tokens have one id")
    try:
        if outgrows(backend.normalizer, backend.pre_tokenizer, backend.post_processor, letters=letters) or pads(backend.padding):
            return Failed("its steps may make a text too long")
        whole = backend.text()
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return Failed(f"it cannot be put together: {error}")
    digest = hashlib.sha256(whole.encode()).hexdigest()
    if digest in WATCH.refused:
        return Failed("turning texts into ids with it did not end within limits")
    WATCH.note(digest)
    try:
        return _worked(whole, backend, work)
    finally:
        WATCH.note("")


def _worked(whole: str, backend: Backend, work: Callable[[Any], T]) -> T | Failed:
    library: Any = importlib.import_module("tokenizers")
    try:
        made = library.Tokenizer.from_str(whole)
        if any(made.token_to_id(token.content) != number for number, token in backend.added):
            return Failed("the library of another version numbers its added tokens differently")
        if getattr(made.model, "dropout", None):
            return Failed("its model drops merges by chance")
        return work(made)
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of the library is no Exception
        return Failed(f"the tokenizers library fails with it: {str(error)[:200]}")
