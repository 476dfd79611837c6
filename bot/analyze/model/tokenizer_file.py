"""Read what a tokenizer.json says about ids, without building the tokenizer."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, cast

import msgspec


class AddedToken(msgspec.Struct, frozen=True):
    """An entry of added_tokens. `id` is what the file declares, which the library does not use."""

    content: str
    id: Annotated[int, msgspec.Meta(ge=0, lt=2**32)]
    special: bool


class _Model(msgspec.Struct):
    vocab: dict[str, int] | list[tuple[str, float]] = {}


class _File(msgspec.Struct, forbid_unknown_fields=True):
    """The keys that the library knows; any other makes it refuse the file (facts/transformers.md section 3.2)."""

    model: _Model
    added_tokens: list[AddedToken] | None = None
    version: msgspec.Raw = msgspec.Raw()
    truncation: msgspec.Raw = msgspec.Raw()
    padding: msgspec.Raw = msgspec.Raw()
    normalizer: msgspec.Raw = msgspec.Raw()
    pre_tokenizer: msgspec.Raw = msgspec.Raw()
    post_processor: msgspec.Raw = msgspec.Raw()
    decoder: msgspec.Raw = msgspec.Raw()


@dataclass(frozen=True, eq=False)
class TokenizerFile:
    """The tokens of a tokenizer.json: `vocab` maps pieces to ids, `added` are the added tokens in file order."""

    vocab: dict[str, int]
    added: tuple[AddedToken, ...]

    @cached_property
    def pieces(self) -> dict[int, str]:
        """The piece of every id of the vocabulary."""
        return {number: piece for piece, number in self.vocab.items()}


@dataclass(frozen=True)
class NotTokenizer:
    """Why a file called tokenizer.json does not hold a tokenizer of the `tokenizers` library."""

    message: str


def read(content: bytes) -> TokenizerFile | NotTokenizer:
    """Read a tokenizer.json.

    A vocabulary is an object (BPE, WordPiece, WordLevel) or, for Unigram, a list of [piece, score] whose place is the id.
    What msgspec refuses although Python's json takes it (NaN, lone surrogates) is read again by the slower library.
    """
    try:
        parsed = msgspec.json.decode(content, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            values = json.loads(content)
            kept = {key: value if key in ("model", "added_tokens") else msgspec.Raw() for key, value in dict(values).items()}
            parsed = msgspec.convert(kept, type=_File)
        except (ValueError, TypeError, RecursionError, msgspec.ValidationError) as error:
            return NotTokenizer(f"is no tokenizer that the tokenizers library loads: {error}")
    vocab = parsed.model.vocab
    if isinstance(vocab, list):
        vocab = {piece: number for number, (piece, _) in enumerate(vocab)}
    return TokenizerFile(vocab, tuple(parsed.added_tokens or ()))


class _Merges(msgspec.Struct):
    merges: list[str | tuple[str, str]] | None = None
    continuing_subword_prefix: str | None = None
    vocab: dict[str, int] = {}


class _MergesFile(msgspec.Struct):
    model: _Merges


def stray_piece(content: bytes) -> str | None:
    """A piece that a merge needs and the vocabulary lacks: the library refuses such a file (section 3.2). None when there is none.

    Apart from `read`, since it takes as long again and an unchanged file need not be proved.
    """
    try:
        model = msgspec.json.decode(content, type=_MergesFile).model
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None  # no byte-pair model, or a file that only the slower library reads
    if model.continuing_subword_prefix:
        return None
    vocab = model.vocab
    for merge in model.merges or ():
        left, right = merge if isinstance(merge, tuple) else merge.partition(" ")[::2]
        if left not in vocab or right not in vocab or left + right not in vocab:
            return next(piece for piece in (left, right, left + right) if piece not in vocab)
    return None


def number(vocab: dict[str, int], added: tuple[AddedToken, ...], taken: dict[str, int] | None = None) -> dict[str, int]:
    """Ids of added tokens as the `tokenizers` library assigns them, in order; `taken` are those assigned before.

    A content that is a piece of the vocabulary keeps that id; any other gets the next id, which is the number of pieces or one
    more than the highest added id so far, whichever is larger. Declared ids are ignored, an empty content is skipped
    (measured with tokenizers 0.20.3, 0.22.2 and 0.23.3).
    """
    ids = dict(taken or {})
    highest = max(ids.values(), default=-1)
    for token in added:
        if not token.content or token.content in ids:
            continue
        ids[token.content] = vocab.get(token.content, max(len(vocab), highest + 1))
        highest = max(highest, ids[token.content])
    return ids


def is_tokenizer(value: Any) -> bool:
    """Whether a parsed tokenizer.json has the shape of the `tokenizers` library (a Keras export has not)."""
    return isinstance(value, dict) and isinstance(cast("dict[str, Any]", value).get("model"), dict)
