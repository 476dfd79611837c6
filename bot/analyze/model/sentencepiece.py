"""The pieces of a SentencePiece model (tokenizer.model), read from the protobuf wire format.

Only what decides ids is read: the place of a piece in the file is its id. What the library refuses to load is refused here as well, because
an application that ignores the refusal has a tokenizer without a single token (web-tokenizers 0.1.6, run).
Source: sentencepiece 0.2, sentencepiece_model.proto (field numbers) and model_interface.cc, InitializePieces.
"""

from collections.abc import Iterator

import msgspec

_ORDINARY, _UNKNOWN, _CONTROL, _USER, _BYTE = 1, 2, 3, 4, 6  # of the enum SentencePiece.Type; the first is the default
_RESERVED = (_UNKNOWN, _CONTROL, _BYTE)  # pieces that text never becomes; they have a name space of their own
_PIECES, _TRAINER = 1, 2  # fields of ModelProto
_PIECE, _TYPE = 1, 3  # fields of SentencePiece
_KIND, _BYTE_FALLBACK = 3, 35  # fields of TrainerSpec
_UNIGRAM = 1  # of the enum TrainerSpec.ModelType
# Fields of TrainerSpec for the id and the piece of a role, with their defaults.
_ROLES = {"unk_token": (40, 0, 45, "<unk>"), "bos_token": (41, 1, 46, "<s>"), "eos_token": (42, 2, 47, "</s>")}
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types; groups (3 and 4) appear in no such file


class Pieces(msgspec.Struct, frozen=True):
    """The pieces of a model in the order of their ids.

    `control` and `user` are the places of control pieces and of user-defined ones; `roles` the strings that the model itself gives to
    unknown text, begin and end. `unigram` says that it was trained as such a model, which is the default.
    """

    texts: tuple[str, ...]
    control: tuple[int, ...] = ()
    user: tuple[int, ...] = ()
    roles: dict[str, str] = {}
    unigram: bool = True


class NotPieces(msgspec.Struct, frozen=True):
    """Why a file is no model that the library loads, in one clause; `foreign` where it is no model at all, and not one with a fault."""

    message: str
    foreign: bool = False


class _BrokenError(Exception):
    """The bytes are no protobuf message."""


def read(content: bytes) -> Pieces | NotPieces:
    """Read a tokenizer.model."""
    texts: list[str] = []
    types: list[int] = []
    byte_fallback, unigram = False, True
    roles = {name: text for name, (_, _, _, text) in _ROLES.items()}
    try:
        for field, value in _fields(content, 0, len(content)):
            if field == _PIECES and isinstance(value, tuple):
                text, kind = _piece(content, *value)
                texts.append(text)
                types.append(kind)
            elif field == _TRAINER and isinstance(value, tuple):
                trainer = dict(_fields(content, *value))  # of a field that stands twice the last counts
                byte_fallback = bool(trainer.get(_BYTE_FALLBACK, byte_fallback))
                unigram = trainer.get(_KIND, _UNIGRAM) == _UNIGRAM
                roles = _roles(content, trainer)
    except _BrokenError:
        return NotPieces("is no SentencePiece model", foreign=True)
    if types.count(_UNKNOWN) != 1:
        return NotPieces("has no piece, or more than one, for unknown text")
    names = {(kind in _RESERVED, text) for text, kind in zip(texts, types, strict=True)}
    if "" in texts or len(names) < len(texts):
        return NotPieces("has an empty piece, or one that stands twice")
    if not any(kind not in _RESERVED for kind in types):
        return NotPieces("has no piece for any text")
    if types.count(_BYTE) != (256 if byte_fallback else 0):
        return NotPieces("does not have the byte pieces that its `byte_fallback` asks for")
    places = {kind: tuple(i for i, each in enumerate(types) if each == kind) for kind in (_CONTROL, _USER)}
    return Pieces(tuple(texts), places[_CONTROL], places[_USER], roles, unigram)


def _roles(content: bytes, trainer: dict[int, int | tuple[int, int]]) -> dict[str, str]:
    """The roles that have an id; a negative one, written as the largest numbers, means that there is none."""
    found: dict[str, str] = {}
    for name, (id_field, number, piece_field, text) in _ROLES.items():
        stated, piece = trainer.get(id_field, number), trainer.get(piece_field)
        if isinstance(stated, int) and stated < 1 << 31:
            found[name] = content[piece[0] : piece[1]].decode("utf-8", "replace") if isinstance(piece, tuple) else text
    return found


def _piece(content: bytes, start: int, end: int) -> tuple[str, int]:
    text, kind = "", _ORDINARY
    for field, value in _fields(content, start, end):
        if field == _PIECE and isinstance(value, tuple):
            text = content[value[0] : value[1]].decode("utf-8", "replace")
        elif field == _TYPE and isinstance(value, int):
            kind = value
    return text, kind


def _fields(content: bytes, at: int, end: int) -> Iterator[tuple[int, int | tuple[int, int]]]:
    """The fields of a message between two offsets: a number for a varint, the offsets of its bytes for anything else."""
    while at < end:
        key, at = _varint(content, at, end)
        kind = key & 7
        if not key >> 3:
            raise _BrokenError
        if kind == _VARINT:
            value, at = _varint(content, at, end)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            size, at = _varint(content, at, end)
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
        else:
            raise _BrokenError
        if size > end - at:
            raise _BrokenError
        yield key >> 3, (at, at + size)
        at += size


def _varint(content: bytes, at: int, end: int) -> tuple[int, int]:
    """A number of at most ten bytes, and the offset behind it."""
    number = 0
    for i in range(10):
        if at + i >= end:
            break
        byte = content[at + i]
        number |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return number, at + i + 1
    raise _BrokenError
