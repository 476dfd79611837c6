"""The comparison for a terminal, in the order of the comment."""

from collections.abc import Iterable, Mapping

from rich import box
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bot.analyze.records import Comparison, Finding, Severity, Suppressed
from bot.publish import effects, prompted, words
from bot.publish.console import rendered, sentence
from bot.publish.escape import quoted, visible
from bot.publish.headline import headline

_ONE_SIDED = 5
_STYLES: dict[Severity, str] = {"error": "bold red", "warning": "bold yellow", "note": "bold"}


def text(comparison: Comparison, *, color: bool, width: int = 100, verbose: bool = False) -> str:
    """The comparison in lines of at most `width` columns; `verbose` adds diffs and what is not new.

    The last line has the counts. With `color` the text holds ANSI sequences, all of them ours.
    """
    return rendered(_parts(comparison, verbose=verbose), color=color, width=width)


def judged(comparison: Comparison, *, color: bool, width: int = 100, verbose: bool = False) -> str:
    """What is wrong with one revision, which was judged by itself."""
    return rendered(_alone(comparison, verbose=verbose), color=color, width=width)


def _parts(comparison: Comparison, *, verbose: bool) -> Iterable[RenderableType]:
    news = comparison.new or comparison.predictions or comparison.prompts
    yield sentence(headline(comparison, "The new revision"), style="bold")
    yield from (sentence(words.model(model)) for model in comparison.models if words.model(model))
    if comparison.settings_changed is not None:
        yield sentence(words.settings_change(comparison.settings_changed, "The new revision"))
    for proof in comparison.proof:
        if not proof.agrees:
            where = f"{proof.revision} of {words.folder(proof.folder)} with {quoted(proof.version)}"
            yield sentence(f"Loading {where} shows a fault of ours, please report it: {proof.detail}", "bold red")
    rows = effects.effects(comparison)
    if rows:
        yield _table(rows, several=len({row.folder for row in rows}) > 1)
    yield from map(sentence, prompted.cosmetic(comparison))
    if comparison.prompts:
        yield from _prompts(comparison, verbose=verbose)
    seen = prompted.shown(comparison)
    moved = words.homes(comparison.models)
    for finding in words.severest(each for each in comparison.new if each.fingerprint not in seen):
        yield from _finding(finding, moved, verbose=verbose)
    if verbose:
        yield from _details(comparison)
    proved = {proof.version for proof in comparison.proof if proof.agrees}
    if proved and not verbose:
        yield from _section("tried by loading", [f"{words.listing(sorted(proved))} did what was predicted"], spaced=bool(news))
    if words.days_old(comparison.modelled.date) > words.OLD_DAYS and not verbose:
        yield from _section("judged by", [words.facts(comparison.modelled.date)], spaced=bool(news))
    unread = words.unread(comparison.unchecked)
    if unread:
        yield from _section("not checked", unread, spaced=bool(news))
    if news:
        yield Text("")
    yield _counts(comparison)


def _alone(comparison: Comparison, *, verbose: bool) -> Iterable[RenderableType]:
    new = comparison.verdict.new
    found = [(new.error, "error"), (new.warning, "warning"), (new.note, "note")]
    numbers = words.listing([words.plural(number, name) for number, name in found if number])
    folders = words.plural(len(comparison.head.folders), "model folder")
    if not comparison.head.folders:
        among = "among those that the settings name" if comparison.head.left_out else "in this revision"
        yield sentence(f"There is no model folder {among}", style="bold")
    else:
        yield sentence(f"{folders} with {numbers}" if numbers else f"Nothing is wrong with {folders}", style="bold")
    for finding in words.severest(comparison.new):
        if verbose or finding.severity != "note":
            yield from _finding(finding, {}, verbose=verbose)
    if new.note and not verbose:
        yield Text("")
        yield sentence(f"{words.plural(new.note, 'note')} (the verbose text shows them)")
    if verbose:
        yield from _section("silenced by settings", map(_silenced, comparison.suppressed))
        yield from _section("judged by", [words.judges(comparison.modelled)])
    yield from _section("not checked", words.unread(comparison.unchecked))
    yield Text("")
    counts = ", ".join(words.plural(number, name) for number, name in found)
    yield Text(" · ".join([counts, *_apart(comparison)]), style="bold")


def _table(rows: Iterable[effects.Effect], *, several: bool) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    for column in [*(["Model"] if several else []), "Engine", "Before", "After"]:
        table.add_column(column, overflow="fold")
    for row in rows:
        after = sentence(row.after)
        if row.news:
            after.append(" ").append_text(sentence(row.news, "bold"))
        cells = [sentence(row.engines), sentence(row.before), after]
        table.add_row(*([sentence(row.model)] if several else []), *cells)
    return table


def _prompts(comparison: Comparison, *, verbose: bool) -> Iterable[RenderableType]:
    """How many prompts differ and, where no diff shows them, which conversations fail now or no longer do."""
    number, told = prompted.summary(comparison)
    shown = "" if verbose else " (the verbose text shows the diffs)"
    yield sentence(f"{number} rendered differently{f': {told}' if told else ''}{shown}")
    one_sided = [block.said for block in prompted.blocks(comparison) if block.fails or block.works]
    if not verbose:
        yield from (_indented(sentence(said)) for said in one_sided[:_ONE_SIDED])
        if len(one_sided) > _ONE_SIDED:
            yield _indented(sentence(f"and {len(one_sided) - _ONE_SIDED} more"))


def _finding(finding: Finding, moved: Mapping[str, str], *, verbose: bool) -> Iterable[RenderableType]:
    yield Text("")
    head = Text.assemble((finding.severity, _STYLES[finding.severity]), " ")
    yield head.append_text(sentence(finding.title)).append_text(
        sentence(f" [{words.folder(finding.folder, moved)}]") if finding.folder != "." or "." in moved else Text("")
    )
    for said in filter(None, [finding.detail, words.SURENESS[finding.confidence]]):
        yield _indented(sentence(said))
    for place in dict.fromkeys(finding.places):
        yield _indented(sentence(words.place(place)))
    if finding.fix is not None:
        yield _indented(sentence(f"fix: {finding.fix.description}"))
        if verbose and finding.fix.patch:
            yield _diff(finding.fix.patch)
    hit = words.engines(finding.engines, ())
    yield _indented(sentence(f"{quoted(finding.check)}{': ' if hit else ''}{hit}", "dim"))


def _details(comparison: Comparison) -> Iterable[RenderableType]:
    for block in prompted.blocks(comparison):
        yield Text("")
        yield sentence(f"prompt of {block.said}")
        if block.diff:
            yield _diff(block.diff)
    yield from _section("resolved", map(_line, comparison.resolved))
    yield from _section("there before", map(_line, comparison.unchanged))
    yield from _section("silenced by base", map(_silenced, comparison.suppressed))
    yield from _section("commits that texts name", map(words.claim, comparison.claims))
    proof = (f"{each.revision}, {words.folder(each.folder)}, {quoted(each.version)}: {each.detail}" for each in comparison.proof)
    yield from _section("tried by loading", proof)
    yield from _section("judged by", [words.judges(comparison.modelled)])


def _section(name: str, sentences: Iterable[str], *, spaced: bool = True) -> Iterable[RenderableType]:
    listed = list(sentences)
    if listed and spaced:
        yield Text("")
    for said in listed:
        yield Text(f"{name}: ", end="", style="dim").append_text(sentence(said))


def _line(finding: Finding) -> str:
    return f"{quoted(finding.check)} {finding.title} ({words.place(finding.places[0])})"


def _silenced(finding: Suppressed) -> str:
    return f"{_line(finding)}: {finding.reason}"


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
        *_apart(comparison),
    ]
    return Text(" · ".join(parts), style="bold")


def _apart(comparison: Comparison) -> list[str]:
    """The counts of what was not judged, or does not count."""
    verdict = comparison.verdict
    silenced = [f"{verdict.suppressed} silenced"] if verdict.suppressed else []
    return list(filter(None, [*silenced, f"{verdict.unchecked} not checked", words.left_out(comparison.head.left_out)]))
