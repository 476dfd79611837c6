"""The page of `inspect` for a terminal: what a model folder says, question by question."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bot.analyze.inspection import Declaration, Inspection, Load, Page, Said, TokenRow, Turn
from bot.publish import words
from bot.publish.console import rendered, sentence
from bot.publish.escape import quoted, shorten

MOST = 40  # rows of a list of tokens; with `verbose` all are shown


def inspected(inspection: Inspection, *, color: bool, width: int = 120, verbose: bool = False) -> str:
    """The page in lines of at most `width` columns."""
    return rendered(_parts(inspection, verbose=verbose), color=color, width=width)


def _parts(inspection: Inspection, *, verbose: bool) -> Iterator[RenderableType]:
    if not inspection.models:
        yield sentence("There is no model folder in this revision", "bold")
    for page in inspection.models:
        yield sentence(f"{words.folder(page.folder)} of {quoted(inspection.label)}", "bold")
        yield from _page(page, verbose=verbose)
        yield Text("")
    for said in words.unread(inspection.unchecked):
        yield Text("not checked: ", end="", style="dim").append_text(sentence(said))


def _page(page: Page, *, verbose: bool) -> Iterator[RenderableType]:
    yield from _section("Tokenizer", map(_load, page.loads))
    yield from _section("Class by version", map(_said, page.classes if len(page.classes) > 1 else ()))
    yield from _tokens(page.tokens, verbose=verbose)
    doubled = [f"{quoted(text)}: {', '.join(map(str, ids))}" for text, ids in page.collisions.items()]
    yield from _section("More than one id", _first(doubled, verbose=verbose))
    markers = _first(list(map(quoted, page.plain_markers)), verbose=verbose)
    yield from _section("Markers that are not special", [", ".join(markers)] if markers else [])
    yield from _section("Turns", map(_turn, page.turns))
    yield from _section("EOS", map(_said, page.eos))
    yield from _section("Files disagree", map(_said, page.disagreements))
    yield from _section("Chat templates", map(_said, page.templates))
    yield from _section("Quantization and types", map(_said, page.quantization))
    yield from _section("Remote code", map(_said, page.remote_code))
    yield from _section("Needed beyond the files", map(_said, page.needs))


def _section(title: str, lines: Iterable[str]) -> Iterator[RenderableType]:
    shown = list(lines)
    if shown:
        yield Text("")
        yield Text(title, style="bold")
        for line in shown:
            yield Padding(sentence(line), (0, 0, 0, 2))


def _load(load: Load) -> str:
    name = f"transformers {load.version}: "
    if load.loads is None:
        return f"{name}could not be told: {load.reason}" if not load.version.endswith("older") else f"{name}{load.reason}"
    if not load.loads:
        return f"{name}does not load: {load.reason}"
    extra = f" ({load.reason})" if load.reason else ""
    return f"{name}{quoted(load.cls)}, {load.size} tokens{extra}; {load.numbering}"


def _tokens(rows: tuple[TokenRow, ...], *, verbose: bool) -> Iterator[RenderableType]:
    if not rows:
        return
    shown = rows if verbose else rows[:MOST]
    readers = list(dict.fromkeys(reader for row in rows for reader in row.ids))
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    for column in ("Token", *readers, "Stated by"):
        table.add_column(column, overflow="fold")
    for row in shown:
        cells = [_reader(row, reader) for reader in readers]
        table.add_row(
            sentence(quoted(shorten(row.text, 60))),
            *cells,
            sentence(", ".join(map(_declared, row.declared)) or "a class default"),
        )
    yield Text("")
    yield Text("Added and special tokens (* is special)", style="bold")
    yield Padding(table, (0, 0, 0, 2))
    if len(rows) > len(shown):
        yield Padding(sentence(f"and {len(rows) - len(shown)} more (the verbose text shows all)"), (0, 0, 0, 2))


def _reader(row: TokenRow, reader: str) -> str:
    if reader not in row.ids:
        return ""
    return f"{row.ids[reader]}{'*' if row.special.get(reader) else ''}"


def _declared(said: Declaration) -> str:
    where = f"{said.file}:{said.place.line}"
    what = [said.slot, f"id {said.id}" if said.id is not None else "", "special" if said.special else ""]
    told = " ".join(filter(None, what))
    return f"{where}{f' ({told})' if told else ''}{'' if said.read else ', not read'}"


def _first(lines: list[str], *, verbose: bool) -> list[str]:
    """The first of many lines, and how many there are beyond them."""
    return (
        lines if verbose or len(lines) <= MOST else [*lines[:MOST], f"and {len(lines) - MOST} more (the verbose text shows all)"]
    )


def _turn(turn: Turn) -> str:
    if turn.reason:
        return f"{quoted(turn.template)}: {turn.reason}"
    ends = ", ".join(map(quoted, turn.ends)) or "no single token"
    opens = ", ".join(map(quoted, turn.opens)) or "no single token"
    how = " (by the role that comes next)" if turn.by_role else ""
    return f"{quoted(turn.template)}: a reply ends with {ends}{how}; turns open with {opens}"


def _said(said: Said) -> str:
    if said.state == "unknown":
        return f"{said.about}: could not be told: {said.reason}"
    if said.state == "missing":
        return f"{said.about}: not stated"
    where = f" ({words.place(said.places[0])})" if said.places else ""
    return f"{said.about}: {_value(said.value)}{where}"


def _value(value: Any) -> str:
    if isinstance(value, str):
        return quoted(shorten(value, 200))
    if isinstance(value, dict) and value:
        return ", ".join(f"{key} {_value(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_value(inner) for inner in value[:20]) or "nothing"
    return quoted(shorten(json.dumps(value), 200))
