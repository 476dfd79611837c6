"""The comparison for a terminal, in the order of the comment."""

import io
import re
from collections.abc import Iterable

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bot.analyze.records import Comparison, Finding, Severity
from bot.publish import effects, words
from bot.publish.escape import EMPTY, quoted, segments, visible
from bot.publish.headline import headline

_STYLES: dict[Severity, str] = {"error": "bold red", "warning": "bold yellow", "note": "bold"}
_VALUE = "cyan"


def text(comparison: Comparison, *, color: bool, width: int = 100, verbose: bool = False) -> str:
    """The comparison in lines of at most `width` columns; `verbose` adds diffs and what is not new.

    The last line has the counts. With `color` the text holds ANSI sequences, all of them ours.
    """
    console = Console(
        file=io.StringIO(),
        width=width,
        height=25,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        legacy_windows=False,
        force_jupyter=False,
        markup=False,
        emoji=False,
        highlight=False,
        _environ={},
    )
    with console.capture() as capture:
        for part in _parts(comparison, verbose=verbose):
            console.print(part)
    # The table pads its rows; a terminal's copy and paste is better off without.
    return "".join(f"{_inert(line.rstrip())}\n" for line in capture.get().split("\n")[:-1])


def _inert(line: str) -> str:
    """The line such that the Actions runner, which reads every line that a step prints, finds no command in it."""
    return re.sub(r"^(\s*):(?=:)", r"\1: ", line).replace("##[", "# #[")


def _parts(comparison: Comparison, *, verbose: bool) -> Iterable[RenderableType]:
    news = comparison.new or comparison.predictions or comparison.prompts
    yield _sentence(headline(comparison, "The new revision"), style="bold")
    yield from (_sentence(words.model(model)) for model in comparison.models if words.model(model))
    rows = effects.effects(comparison)
    if rows:
        yield _table(rows, several=len({row.folder for row in rows}) > 1)
    if comparison.prompts and not verbose:
        yield _sentence(
            f"{words.plural(len(comparison.prompts), 'conversation')} rendered differently (the verbose text shows the diffs)"
        )
    for finding in words.severest(comparison.new):
        yield from _finding(finding, verbose=verbose)
    if verbose:
        yield from _details(comparison)
    unread = words.unread(comparison.unchecked)
    if unread:
        yield from _section("not checked", unread, spaced=bool(news))
    if news:
        yield Text("")
    yield _counts(comparison)


def _sentence(said: str, style: str = "") -> Text:
    """A sentence of ours with its values set off, everything without a shape made visible."""
    line = Text(style=style)
    for piece, is_value in segments(said):
        if is_value:
            line.append(visible(piece) or EMPTY, _VALUE)
        else:
            line.append(visible(re.sub(r"[\n\r\t]", " ", piece)))
    return line


def _table(rows: Iterable[effects.Effect], *, several: bool) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    for column in [*(["Model"] if several else []), "Engine", "Before", "After"]:
        table.add_column(column, overflow="fold")
    for row in rows:
        after = _sentence(row.after)
        if row.news:
            after.append(" ").append_text(_sentence(row.news, "bold"))
        cells = [_sentence(row.engines), _sentence(row.before), after]
        table.add_row(*([_sentence(words.folder(row.folder))] if several else []), *cells)
    return table


def _finding(finding: Finding, *, verbose: bool) -> Iterable[RenderableType]:
    yield Text("")
    head = Text.assemble((finding.severity, _STYLES[finding.severity]), " ")
    yield head.append_text(_sentence(finding.title)).append_text(
        _sentence(f" [{words.folder(finding.folder)}]") if finding.folder != "." else Text("")
    )
    for said in filter(None, [finding.detail, words.SURENESS[finding.confidence]]):
        yield _indented(_sentence(said))
    for place in dict.fromkeys(finding.places):
        yield _indented(_sentence(words.place(place)))
    if finding.fix is not None:
        yield _indented(_sentence(f"fix: {finding.fix.description}"))
        if verbose and finding.fix.patch:
            yield _diff(finding.fix.patch)
    hit = words.engines(finding.engines, ())
    yield _indented(_sentence(f"{quoted(finding.check)}{': ' if hit else ''}{hit}", "dim"))


def _details(comparison: Comparison) -> Iterable[RenderableType]:
    for prompt in comparison.prompts:
        yield Text("")
        yield _sentence(f"prompt of {quoted(prompt.probe)} in {words.folder(prompt.folder)}")
        if prompt.diff:
            yield _diff(prompt.diff)
    yield from _section("resolved", map(_line, comparison.resolved))
    yield from _section("there before", map(_line, comparison.unchanged))
    yield from _section("silenced by base", (f"{_line(each)}: {each.reason}" for each in comparison.suppressed))
    yield from _section("commits that texts name", map(words.claim, comparison.claims))
    proof = (f"{each.revision}, {words.folder(each.folder)}, {quoted(each.version)}: {each.detail}" for each in comparison.proof)
    yield from _section("tried by loading", proof)
    yield from _section("judged by", [words.judges(comparison.modelled)])


def _section(name: str, sentences: Iterable[str], *, spaced: bool = True) -> Iterable[RenderableType]:
    listed = list(sentences)
    if listed and spaced:
        yield Text("")
    for sentence in listed:
        yield Text(f"{name}: ", end="", style="dim").append_text(_sentence(sentence))


def _line(finding: Finding) -> str:
    return f"{quoted(finding.check)} {finding.title} ({words.place(finding.places[0])})"


def _indented(line: Text) -> Padding:
    return Padding(line, (0, 0, 0, 2))


def _diff(diff: str) -> Padding:
    shown = Text()
    for line in visible(diff, keep="\n\t").removesuffix("\n").split("\n"):
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        shown.append(f"{line}\n", style)
    shown.rstrip()
    return Padding(shown, (0, 0, 0, 4))


def _counts(comparison: Comparison) -> Text:
    verdict = comparison.verdict
    new = verdict.new
    parts = [
        f"{words.plural(new.error, 'error')}, {words.plural(new.warning, 'warning')}, {words.plural(new.note, 'note')} new",
        f"{verdict.resolved} resolved",
        f"{verdict.unchanged} there before",
        *([f"{verdict.suppressed} silenced"] if verdict.suppressed else []),
        f"{verdict.unchecked} not checked",
    ]
    return Text(" · ".join(parts), style="bold")
