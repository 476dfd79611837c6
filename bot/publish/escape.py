"""Text of a repository turned into markdown that can mean nothing but its own letters.

GitHub acts on a comment twice: its markdown parser first, then filters that look for mentions, references, commit
ids, emoji and formulas in what is left outside of code. Markdown is answered with escapes; a word that a filter could
act on is shown as code, which no filter touches, so that a reader sees and copies the true letters.
"""

import re
import unicodedata
from functools import lru_cache

ELLIPSIS = "…"
EMPTY = "(empty)"
BACKTICK_STANDIN = "ˋ"

# Letters without a shape of their own, beyond the categories that `_shown` knows.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u2800\u3164\uffa0")
_HIDDEN_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"))

# What GitHub's filters act on: @mentions and mail, formulas, addresses, #1 and GH-1, advisories, :emoji:, commit ids.
_ACTIVE = re.compile(
    r"@|\$|://|www\.|(?:mailto|xmpp):|\#\d|gh-\d|(?:ghsa|cve)-|:[\w+-]+:|(?<![0-9a-z])[0-9a-f]{7,40}(?![0-9a-z])", re.IGNORECASE
)
_AROUND = "()[]{}.,;!?\"'"
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "`": "&#96;"}
_BLOCK_START = re.compile(r"\A(?:([+\-=])|(\d{1,9})([.)]))")


@lru_cache(maxsize=4096)
def _shown(letter: str) -> str:
    if letter == "\n":
        return "⏎"
    if ord(letter) < 0x20:
        return chr(0x2400 + ord(letter))
    if letter == "\x7f":
        return "␡"
    if letter != " " and (letter in _BLANK or unicodedata.category(letter) in _HIDDEN_CATEGORIES):
        return f"⟨U+{ord(letter):04X}⟩"
    return letter


def visible(text: str, *, keep: str = "") -> str:
    """`text` with every letter that has no shape made visible: ⏎, ␀, ⟨U+202E⟩; those in `keep` stay."""
    if text.isprintable() and _BLANK.isdisjoint(text):
        return text
    return "".join(letter if letter in keep else _shown(letter) for letter in text)


def shorten(text: str, limit: int) -> str:
    """`text`, or its two ends around … where it is longer than `limit` letters."""
    if len(text) <= limit:
        return text
    tail = (limit - 1) // 2
    return f"{text[: limit - 1 - tail]}{ELLIPSIS}{text[len(text) - tail :]}"


def code(text: str, limit: int = 120) -> str:
    """An inline code span that shows `text` on one line, cut in the middle beyond `limit` letters."""
    if not text:
        return EMPTY
    shown = visible(shorten(text, limit))
    if not shown.strip(" "):
        shown = shown.replace(" ", "␠")
    ticks = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    if shown[0] in "` " or shown[-1] in "` ":
        shown = f" {shown} "
    return f"{ticks}{shown}{ticks}"


def segments(text: str) -> list[tuple[str, bool]]:
    """The pieces of a check's sentence with True for those that stood between back-ticks, which are values."""
    return [(piece, index % 2 == 1) for index, piece in enumerate(text.split("`"))]


def plain(text: str) -> str:
    """A check's sentence on one line, without the back-ticks around its values."""
    return " ".join(visible("".join(piece for piece, _ in segments(text)), keep="\n\r\t").split())


def quoted(text: str) -> str:
    """`text` as a value inside a sentence: the counterpart of `segments`."""
    return f"`{text.replace('`', BACKTICK_STANDIN)}`"


def markup(text: str, limit: int = 2000, *, value: int = 90) -> str:
    """A sentence in which back-ticks mark values, as markdown on one line; cut at its end beyond `limit` letters, and a value in its middle beyond `value`."""
    cut = text if len(text) <= limit else f"{text[: limit - 1]}{ELLIPSIS}"
    pieces: list[tuple[str, bool]] = []
    for piece, is_value in segments(cut):
        pieces += [(code(piece, value), True)] if is_value else _prose_pieces(piece)
    return _joined(pieces) or EMPTY


def prose(text: str, limit: int = 2000) -> str:
    """Plain text as markdown on one line, back-ticks included; cut in the middle beyond `limit` letters."""
    return _joined(_prose_pieces(shorten(text, limit))) or EMPTY


def fence(text: str, info: str = "") -> str:
    """A fenced block that shows `text`; `info` is a word of ours, never the repository's."""
    shown = visible(text, keep="\n\t").removesuffix("\n")
    ticks = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", shown)), 3)
    return f"{ticks}{info}\n{shown}\n{ticks}"


def cell(markdown: str) -> str:
    """Finished markdown of one line, fit for a cell of a table."""
    return markdown.replace("|", "\\|")


def _prose_pieces(text: str) -> list[tuple[str, bool]]:
    """`text` in pieces of finished markdown, True for those that had to become code."""
    pieces: list[tuple[str, bool]] = []
    for word in re.split(r"(\s+)", visible(text, keep="\n\r\t")):
        if not word.strip():
            pieces.append((" " if word else "", False))
        elif _ACTIVE.search(word):
            core = word.strip(_AROUND)
            start = word.index(core)
            pieces += [
                (_escaped(word[:start]), False),
                (code(core, len(core)), True),
                (_escaped(word[start + len(core) :]), False),
            ]
        else:
            pieces.append((_escaped(word), False))
    return pieces


def _escaped(word: str) -> str:
    out: list[str] = []
    for index, letter in enumerate(word):
        if letter in _ENTITIES:
            out.append(_ENTITIES[letter])
        elif letter in "\\*[]~#" or (
            letter == "_" and not (word[:index][-1:].isalnum() and word[index + 1 : index + 2].isalnum())
        ):
            out.append("\\" + letter)
        else:
            out.append(letter)
    return "".join(out)


def _joined(pieces: list[tuple[str, bool]]) -> str:
    """The pieces in a row; two code spans never touch, and the row cannot open a list or a heading underline."""
    out: list[str] = []
    after_code = False
    for piece, is_code in pieces:
        if not piece:
            continue
        if is_code and after_code:
            out.append(" ")
        out.append(piece)
        after_code = is_code
    text = "".join(out).strip(" ")
    return _BLOCK_START.sub(lambda found: f"\\{found[1]}" if found[1] else f"{found[2]}\\{found[3]}", text)
