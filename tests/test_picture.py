"""The README's picture shows the comment that the program writes today."""

import struct
import zlib
from pathlib import Path

import pytest

from tools import picture

WHITE = b"\xff\xff\xff"
BORDER = bytes.fromhex("d1d9e0")
MARGIN = 16
"""Pixels around the comment."""


def size(png: bytes) -> tuple[int, int]:
    """Width and height in pixels, of the header."""
    signature, kind = png[:8], png[12:16]
    assert (signature, kind) == (b"\x89PNG\r\n\x1a\n", b"IHDR")
    return struct.unpack(">II", png[16:24])


def rows(png: bytes) -> list[bytes]:
    """The rows of a picture of three bytes a pixel, without its filters (PNG specification, section 9)."""
    width, _ = size(png)
    assert png[24:29] == bytes((8, 2, 0, 0, 0))
    packed, at = b"", 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        packed += png[at + 8 : at + 8 + length] if png[at + 4 : at + 8] == b"IDAT" else b""
        at += length + 12
    raw, row = zlib.decompress(packed), bytearray(3 * width)
    found: list[bytes] = []
    for start in range(0, len(raw), 3 * width + 1):
        above, row = row, bytearray(raw[start + 1 : start + 1 + 3 * width])
        for index, value in enumerate(row):
            left, up, corner = (row[index - 3], above[index], above[index - 3]) if index > 2 else (0, above[index], 0)
            row[index] = (value + predicted(raw[start], left, up, corner)) & 255
        found.append(bytes(row))
    return found


def predicted(kind: int, left: int, up: int, corner: int) -> int:
    if kind == 4:
        return min((left, up, corner), key=lambda each: abs(left + up - corner - each))
    return (0, left, up, (left + up) // 2)[kind]


def test_the_picture_is_of_what_the_program_prints_today() -> None:
    assert picture.HASH.read_text("utf-8").strip() == picture.digest(picture.example()), "the comment changed: run `make picture`"


def test_the_stored_picture_is_wide_enough_to_read_and_light_enough_to_load() -> None:
    stored = picture.PICTURE.read_bytes()
    assert size(stored)[0] == 2 * picture.WIDTH
    assert len(stored) < 400_000


@pytest.mark.needs("chromium")
def test_drawn_again_the_picture_is_about_the_same(tmp_path: Path) -> None:
    """Not the same to the byte: another machine has other fonts."""
    picture.draw(picture.example(), tmp_path / "again.png")
    stored, again = picture.PICTURE.read_bytes(), (tmp_path / "again.png").read_bytes()
    (width, height), (same_width, other_height) = size(stored), size(again)
    assert same_width == width
    assert 0.8 < other_height / height < 1.25
    assert 0.5 < len(again) / len(stored) < 2


@pytest.mark.needs("chromium")
@pytest.mark.parametrize("lines", [1, 40])
def test_a_picture_ends_where_the_comment_ends(lines: int, tmp_path: Path) -> None:
    picture.draw("- word\n" * lines, tmp_path / "comment.png")
    middle = [row[3 * picture.WIDTH :][:3] for row in rows((tmp_path / "comment.png").read_bytes())]
    edges = [number for number, pixel in enumerate(middle) if pixel == BORDER]
    above, below = edges[0], len(middle) - 1 - edges[-1]
    assert above == MARGIN
    assert MARGIN <= below <= MARGIN + 2  # a page is as high as whole pixels of CSS
    assert set(middle[:above] + middle[-below:]) == {WHITE}
    assert len(middle) > 2 * 20 * lines


@pytest.mark.needs("chromium")
def test_a_fold_is_drawn_closed(tmp_path: Path) -> None:
    for name, inside in (("short", "word"), ("long", "word\n\n" * 50)):
        picture.draw(f"<details><summary>More</summary>\n\n{inside}\n\n</details>", tmp_path / f"{name}.png")
    assert (tmp_path / "short.png").read_bytes() == (tmp_path / "long.png").read_bytes()


def test_without_a_browser_the_cure_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="apt-get install chromium"):
        picture.draw("word", tmp_path / "comment.png")
