"""The page that comment and job summary share: heading, effects, findings, background, footer."""

from dataclasses import dataclass

from bot.analyze.records import Comparison
from bot.publish import blocks, effects, prompted, sections, words
from bot.publish.compose import Fold, Group, Item
from bot.publish.escape import cell, markup
from bot.publish.headline import headline
from bot.publish.links import Links

_ROWS = 8
_BLOCKS = 5


@dataclass(frozen=True)
class View:
    """How much a page shows: `whole` leaves nothing folded away for its number, `limits` bound one block.

    `elsewhere` says where to find what has no room, `gone` what an earlier page reported ("" for nothing).
    """

    whole: bool
    limits: blocks.Limits
    elsewhere: str
    gone: str = ""


def opening(comparison: Comparison) -> str:
    """The heading and the line of counts."""
    verdict = comparison.verdict
    numbers = {"error": verdict.new.error, "warning": verdict.new.warning, "note": verdict.new.note}
    new = ", ".join(words.plural(count, severity) for severity, count in numbers.items() if count)
    number = sum(numbers.values())
    parts = [f"**{new} {'is' if number == 1 else 'are'} new**" if new else "**No new findings**"]
    if verdict.resolved:
        parts.append(f"{verdict.resolved} resolved")
    if verdict.unchanged:
        parts.append(f"{verdict.unchanged} {'was' if verdict.unchanged == 1 else 'were'} there before")
    if verdict.suppressed:
        parts.append(f"{verdict.suppressed} silenced by settings")
    if verdict.unchecked:
        parts.append(f"{verdict.unchecked} not checked")
    wrong = [proof for proof in comparison.proof if not proof.agrees]
    doubt = (
        f"\n\n**Loading with the real library disagrees with {words.plural(len(wrong), 'prediction')}**, see below."
        if wrong
        else ""
    )
    changed = comparison.settings_changed
    settings = f"\n\n{markup(words.settings_change(changed, 'This pull request'), 500)}" if changed else ""
    return f"### {markup(headline(comparison), 300)}\n\n{' · '.join(parts)}{doubt}{settings}"


def body(comparison: Comparison, links: Links, view: View) -> list[Group | Fold]:
    """What stands between heading and footer, most important first."""
    rows = effects.effects(comparison)
    changed = {row.folder for row in rows if not row.on_new}
    added = {model.folder for model in comparison.models if model.change == "added"}
    several = len((changed | {finding.folder for finding in comparison.new}) - added) > 1
    tail = f"and {{n}} more, {view.elsewhere}"
    open_rows = len(rows) if view.whole else min(_ROWS, sum(not row.on_new for row in rows))
    found = blocks.blocks(comparison, links, several=several, limits=view.limits, whole=view.whole)
    told = {finding.folder for finding in comparison.new} & added
    models = tuple(Item(markup(words.model(each))) for each in comparison.models if words.model(each) and each.folder not in told)
    calm = len(found) <= 2
    return [
        Group(models, tail=tail, share=0.2),
        _table(rows[:open_rows], several=several, tail=f"and {{n}} more prediction{{s}}, {view.elsewhere}"),
        Group(tuple(Item(markup(said)) for said in prompted.cosmetic(comparison)), tail=tail, share=0.1),
        sections.prompts(comparison, tail=tail, limit=view.limits.diff, is_open=calm or view.whole, whole=view.whole, share=0.25),
        Group(
            found,
            tail=f"**and {{n}} more finding{{s}}**, {view.elsewhere}",
            unfolded=len(found) if view.whole else _BLOCKS,
            fold="{n} more new finding{s}",
        ),
        Fold("More predictions per engine", (_table(rows[open_rows:], several=True, tail=tail),) if rows[open_rows:] else ()),
        sections.background(comparison, links, tail=tail, gone=view.gone),
    ]


def footer(comparison: Comparison, links: Links, extra: str = "") -> str:
    """The small line at the end: which revisions, how many judges, what was left out, whose report it is."""
    base = f"base {markup(words.side(comparison.base))}"
    engines = len({each.partition("@")[0] for each in comparison.modelled.engines})
    judged = f"{words.plural(len(comparison.modelled.checks), 'check')}, {words.plural(engines, 'engine')}"
    unchecked = f" · {comparison.verdict.unchecked} not checked{extra}" if comparison.verdict.unchecked else ""
    left = f" · {words.left_out(comparison.head.left_out)}" if comparison.head.left_out else ""
    proved = " · proved by loading" if comparison.proof and all(proof.agrees for proof in comparison.proof) else ""
    reported = f" · {links.report_of()}" if links.report_of() else ""
    return f"<sub>{base} → head {markup(words.side(comparison.head))} · {judged}{unchecked}{left}{proved}{reported}</sub>"


def _table(rows: tuple[effects.Effect, ...], *, several: bool, tail: str) -> Group:
    model = "| Model " if several else ""
    head = f"{model}| Engine | Before | After |\n{'| --- ' if several else ''}| --- | --- | --- |\n"
    return Group(tuple(Item(_row(row, several=several)) for row in rows), tail=tail, opening=head, joint="\n", share=0.4)


def _row(row: effects.Effect, *, several: bool) -> str:
    news = f" **{markup(row.news, 600)}**" if row.news else ""
    cells = [markup(row.engines, 600), markup(row.before, 600), markup(row.after, 600) + news]
    return f"| {' | '.join(cell(text) for text in [*([markup(row.model)] if several else []), *cells])} |"
