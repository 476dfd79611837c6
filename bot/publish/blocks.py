"""New findings as blocks of markdown: one per cause, one per added model, worst first."""

from collections.abc import Sequence
from dataclasses import dataclass

from bot.analyze.records import Comparison, Finding
from bot.publish import prompted, words
from bot.publish.compose import Item
from bot.publish.escape import fence, markup
from bot.publish.links import Links

_LISTED = 5
MOST = 1 << 20
"""Letters of blocks, as many as the largest page has: those behind them are only counted."""


@dataclass(frozen=True)
class Limits:
    """How many letters one block, and one diff in it, may take."""

    block: int
    diff: int


def blocks(comparison: Comparison, links: Links, *, several: bool, limits: Limits, whole: bool) -> tuple[Item, ...]:
    """Every new finding in a block, worst first; none for what the prompts beside them show.

    With `several` model folders each block stands under the heading of its folder. An added model is one block,
    or with `whole` one heading over a block per finding. Behind `MOST` letters blocks are empty.
    """
    added = {model.folder for model in comparison.models if model.change == "added"}
    groups: dict[tuple[str, str], list[Finding]] = {}
    seen = prompted.shown(comparison)
    for finding in words.severest(each for each in comparison.new if each.fingerprint not in seen):
        cause = "" if finding.folder in added and not whole else finding.cause or finding.fingerprint
        groups.setdefault((finding.folder, cause), []).append(finding)
    items: list[Item] = []
    moved = words.homes(comparison.models)
    written = 0
    for (folder, _), findings in groups.items():
        if written > MOST:
            items.append(Item("", count=len(findings)))
            continue
        is_added = folder in added
        heading = (
            f"### {'Adds a model in' if is_added else 'In'} {markup(words.folder(folder, moved))}" if several or is_added else ""
        )
        if is_added and not whole:
            items.append(Item(f"{heading}\n\n{_listed(findings, links, limits.block)}", count=len(findings)))
        else:
            items.append(Item(_block(findings, links, limits), heading, len(findings)))
        written += len(items[-1].text)
    return tuple(items)


def line(finding: Finding, links: Links, *, icon: bool = True) -> str:
    """A finding in one line: its title and its first place."""
    start = f"{words.ICONS[finding.severity]} " if icon else ""
    return f"{start}{markup(finding.title, 300)} ({links.place(finding.places[0], key=False)})"


def _block(findings: Sequence[Finding], links: Links, limits: Limits) -> str:
    first, others = findings[0], findings[1:]
    title = f"#### {words.ICONS[first.severity]} {markup(first.title, 300)}"
    said = " ".join(filter(None, [markup(first.detail, 1200) if first.detail else "", words.SURENESS[first.confidence]]))
    places = dict.fromkeys(place for finding in findings for place in finding.places)
    paragraphs = [
        title,
        said,
        "\n".join(f"- {line(finding, links)}" for finding in others[:_LISTED]),
        f"and {len(others) - _LISTED} more of the same cause, see the JSON report" if len(others) > _LISTED else "",
        links.places(tuple(places)),
        _fixes(findings, limits.diff),
    ]
    block = "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
    # Text that grows when it is made visible must not push its own finding out of the page.
    return block if len(block) <= limits.block else f"{title}\n\n{links.place(first.places[0])} · too long to be shown here"


def _fixes(findings: Sequence[Finding], diff_limit: int) -> str:
    """How to repair it: sentences in sight, diffs behind a click. Which check says so stands in the background."""
    fixes = list(dict.fromkeys(finding.fix for finding in findings if finding.fix is not None))
    said = list(dict.fromkeys(markup(fix.description, 1500) for fix in fixes))
    paragraphs = [f"**Fix:** {said[0]}" if said else "", *said[1:_LISTED]]
    if len(said) > _LISTED:
        paragraphs.append(f"and {len(said) - _LISTED} more")
    diffs = [_diff(fix.patch, diff_limit) for fix in fixes if fix.patch][:_LISTED]
    if diffs:
        paragraphs.append("<details><summary>Diff of the fix</summary>\n\n" + "\n\n".join(diffs) + "\n\n</details>")
    return "\n\n".join(filter(None, paragraphs))


def _diff(patch: str, limit: int) -> str:
    diff = fence(patch, "diff") if len(patch) <= limit else ""
    return diff if diff and len(diff) <= 2 * limit else "The diff is too long to be shown here."


def _listed(findings: Sequence[Finding], links: Links, limit: int) -> str:
    alarms = [finding for finding in findings if finding.severity != "note"]
    notes = len(findings) - len(alarms)
    shown = [f"- {line(finding, links)}" for finding in alarms[:_LISTED]]
    while len("\n".join(shown)) > limit:
        shown.pop()
    more = _rest(len(alarms) - len(shown), notes, links.elsewhere)
    return "\n\n".join(filter(None, ["\n".join(shown), more]))


def _rest(alarms: int, notes: int, elsewhere: str) -> str:
    parts = [*([f"{alarms} more"] if alarms else []), *([words.plural(notes, "note")] if notes else [])]
    return f"and {words.listing(parts)}, {elsewhere}" if parts else ""
