"""A vocabulary file of tiktoken: a line for each piece, its bytes in base64 and its rank (tiktoken 0.14.0, load.py, run)."""

import binascii
from functools import cache

import msgspec


class Ranks(msgspec.Struct, frozen=True):
    """The ranks by piece, a piece written in the letters that byte-level vocabularies have for bytes."""

    pieces: dict[str, int]


class NotRanks(msgspec.Struct, frozen=True):
    """A file that tiktoken does not read; `line` is the first line that it refuses."""

    line: str


def read(content: bytes) -> Ranks | NotRanks:
    """Read a tiktoken.model."""
    letters, found = _letters(), dict[str, int]()
    for line in content.splitlines():
        if not line:
            continue
        try:
            piece, rank = line.split()
            found["".join(letters[byte] for byte in binascii.a2b_base64(piece))] = int(rank)
        except ValueError:
            return NotRanks(line[:60].decode("utf-8", "replace"))
    return Ranks(found)


@cache
def _letters() -> tuple[str, ...]:
    """The letter of each byte in byte-level vocabularies: itself where it is printable, else one from U+0100 on (bytes_to_unicode of GPT-2)."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    found: list[str] = []
    others = 0
    for byte in range(256):
        found.append(chr(byte if byte in printable else 0x100 + others))
        others += byte not in printable
    return tuple(found)
