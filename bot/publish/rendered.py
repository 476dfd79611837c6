"""The page of `render` for a terminal: every prompt letter by letter, engines that write the same one together.

Each line of a prompt stands behind a bar, and what has no shape is made visible: a line ends where ⏎ stands, and a line too long for the page goes on
behind a broken bar. Where tokens are shown, ▏ stands between two of them.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from rich import box
from rich.cells import cell_len
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bot.analyze.renderings import Rendering, Renderings, Token
from bot.probe import Probe
from bot.publish import words
from bot.publish.console import rendered, sentence
from bot.publish.escape import quoted, shorten, visible

BAR, BROKEN, BETWEEN = "  │ ", "  ┊ ", "▏"
# Lines of prompts on one page, and tokens of one prompt in a list; a page is for people.
MOST_LINES, MOST_TOKENS = 20_000, 5_000
_NAME = 60
"""Letters of a conversation's name that are shown."""
_REST = "and so on (the JSON has all of it)"
_SPECIAL, _DIM = "bold magenta", "dim"
_SPACE = "␠"
Piece = tuple[str, str]
"""Letters as they are shown, and their style."""


class _Room(msgspec.Struct):
    """The lines of prompts that are left for a page."""

    lines: int


def renderings(found: Renderings, *, color: bool, width: int = 120, verbose: bool = False) -> str:
    """The page in lines of at most `width` columns; `verbose` adds the conversations, and tokens one by one."""
    return rendered(_parts(found, width=width, verbose=verbose), color=color, width=width)


def _parts(found: Renderings, *, width: int, verbose: bool) -> Iterator[RenderableType]:
    if not found.rows:
        yield sentence("There is no model folder in this revision", "bold")
    every, room = [row.engine for row in found.rows if row.engine], _Room(MOST_LINES)
    for folder in dict.fromkeys(row.folder for row in found.rows):
        yield sentence(words.folder(folder.rstrip("/") or "."), "bold")
        for probe in found.probes:
            yield from _of_probe(probe, _same(found.rows, folder, probe.name), every, room, width=width, verbose=verbose)
        yield Text("")
    for said in words.unread(found.unchecked):
        yield Text("not checked: ", end="", style=_DIM).append_text(sentence(said))
    yield sentence(words.facts(found.date), _DIM)


def _same(rows: Iterable[Rendering], folder: str, probe: str) -> list[list[Rendering]]:
    """The rows of one conversation, those that say the same together."""
    groups: dict[Rendering, list[Rendering]] = {}
    for row in rows:
        if (row.folder, row.probe) == (folder, probe):
            groups.setdefault(msgspec.structs.replace(row, engine=""), []).append(row)
    return sorted(groups.values(), key=lambda same: min(map(_rank, same)))


def _rank(row: Rendering) -> int:
    return words.engine_rank(row.engine)


def _of_probe(
    probe: Probe, groups: list[list[Rendering]], every: Sequence[str], room: _Room, *, width: int, verbose: bool
) -> Iterator[RenderableType]:
    name = quoted(shorten(probe.name, _NAME))
    if verbose:
        said = msgspec.json.encode({"messages": probe.messages, **probe.variables}).decode()
        yield Padding(sentence(f"{name}: {quoted(said)}", _DIM), (1, 0, 0, 2))
    for same in groups:
        first = same[0]
        names = [row.engine for row in same if row.engine]
        by = words.engines(names, every) if names else "the chat template by itself"
        yield Padding(sentence(f"{name}, {by}", "bold"), (1, 0, 0, 0))
        yield from _outcome(first, room, width=width, verbose=verbose)


def _outcome(row: Rendering, room: _Room, *, width: int, verbose: bool) -> Iterator[RenderableType]:
    """A prompt, or what came of it instead."""
    if row.text is None:
        yield Padding(_why(row), (0, 0, 0, 2))
        return
    yield from _prompt(row.text, row, room, width)
    yield Padding(sentence(_summary(row), _DIM), (0, 0, 0, 2))
    if row.tokens:
        ids = [str(token.id) for token in row.tokens[:MOST_TOKENS]]
        yield Padding(Text(" ".join(["ids", *ids, *([_REST] if len(row.tokens) > MOST_TOKENS else [])])), (0, 0, 0, 2))
        if verbose:
            yield Padding(_table(row.text, row.tokens[:MOST_TOKENS]), (0, 0, 0, 2))


def _prompt(text: str, row: Rendering, room: _Room, width: int) -> Iterator[RenderableType]:
    for line in lines(_of_tokens(text, row.tokens) if row.tokens else _of_text(text, row.special), width):
        if not room.lines:
            yield Padding(sentence(_REST, _DIM), (0, 0, 0, 2))
            return
        room.lines -= 1
        yield line


def _why(row: Rendering) -> Text:
    """Why there is no prompt. The words of an error are shown as they are, back-ticks too."""
    if row.outcome == "error":
        words_of_it = Text(f": {visible(row.reason)}" if row.reason else "", "red")
        return sentence(f"fails: {row.type}", "red").append_text(words_of_it)
    return sentence(f"makes no prompt: {row.reason}" if row.outcome == "none" else f"cannot be told: {row.reason}")


def _summary(row: Rendering) -> str:
    text = row.text or ""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    said = [words.plural(len(text), "letter")]
    said += [words.plural(len(row.tokens), "token")] if row.tokens is not None else []
    said += [f"no tokens: {row.untold}"] if row.untold else []
    said += (
        ["depends on the clock, which stands at the second of January 2026"]
        if row.dated
        else [f"sha256 {quoted(words.short(digest))}"]
    )
    return ", ".join(said)


def _of_text(text: str, special: Sequence[str]) -> Iterator[Piece]:
    """A prompt in pieces, special tokens set off; a piece ends where a line does."""
    pattern = "|".join(re.escape(each) for each in sorted(special, key=len, reverse=True))
    parts = re.split(f"({pattern})", text) if pattern else [text]
    for at, part in enumerate(parts):
        yield from ((line, _SPECIAL if at % 2 else "") for line in re.findall(r"[^\n]*\n|[^\n]+", part))


def _of_tokens(text: str, tokens: Sequence[Token]) -> Iterator[Piece]:
    """A prompt in pieces, a token each. Tokens that share a letter are one piece, and what is in no token stands in brackets."""
    at, begun = 0, True
    for group in _sharing(tokens):
        start, end = group[0].start, max(token.end for token in group)
        if start > at:
            yield f"⟨{text[at:start]}⟩", _DIM
        if start > at or not begun:
            yield BETWEEN, _DIM
        special = _SPECIAL if all(token.special for token in group) else ""
        yield text[start:end] if end > start else f"⟨{''.join(token.piece for token in group)}⟩", special
        if len(group) > 1 and end > start:
            yield f"⟨{len(group)} tokens⟩", _DIM
        at, begun = max(at, end), len(group) == 1 and text[start:end].endswith("\n")
    if at < len(text):
        yield f"⟨{text[at:]}⟩", _DIM


def _sharing(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Tokens in groups: those that stand for letters which another one stands for as well are together."""
    group: list[Token] = []
    end = 0
    for token in tokens:
        if group and token.start >= end:
            yield group
            group = []
        end = max(end, token.end) if group else token.end
        group.append(token)
    if group:
        yield group


def lines(pieces: Iterable[Piece], width: int) -> Iterator[Text]:
    """Pieces in lines of `width` columns at most. A line ends behind a piece that ends with a line feed, or where the page does."""
    line, free, begun = _begun(BAR), width - len(BAR), False
    for raw, style in pieces:
        shown, at = visible(raw), 0
        while at < len(shown):
            upto = _fitting(shown, at, free)
            line.append(shown[at:upto], style)
            free -= cell_len(shown[at:upto])
            at, begun = upto, True
            if at < len(shown):
                yield _ended(line)
                line, free = _begun(BROKEN), width - len(BROKEN)
        if raw.endswith("\n"):
            yield _ended(line)
            line, free, begun = _begun(BAR), width - len(BAR), False
    if begun:
        yield _ended(line)


def _fitting(text: str, start: int, cells: int) -> int:
    """Up to where the letters of a text from `start` on stand in so many columns."""
    for at in range(start, len(text)):
        cells -= cell_len(text[at])
        if cells < 0:
            return at
    return len(text)


def _begun(bar: str) -> Text:
    return Text(bar, style="", no_wrap=True, overflow="ignore", end="\n")


def _ended(line: Text) -> Text:
    """A line whose spaces at the end can be seen: none is left that a terminal or an editor takes away."""
    shown = line.plain[len(BAR) :]  # the other bar is as long
    spaces = len(shown) - len(shown.rstrip(" "))
    if not spaces:
        return line
    kept = line[: len(line.plain) - spaces]
    kept.append(_SPACE * spaces, _DIM)
    kept.no_wrap, kept.overflow = True, "ignore"
    return kept


def _table(text: str, tokens: Sequence[Token]) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    for column in ("Id", "In the vocabulary", "Letters"):
        table.add_column(column, overflow="fold")
    for token in tokens:
        style = _SPECIAL if token.special else ""
        table.add_row(str(token.id), Text(visible(token.piece), style), Text(visible(text[token.start : token.end]), style))
    return table
