"""What stands behind a click: prompts, what else is known of the comparison, what could not be checked, who judged."""

from collections.abc import Iterable, Sequence

from bot.analyze.records import Comparison, Finding, PromptChange, Proof
from bot.publish import blocks, words
from bot.publish.compose import Fold, Group, Item
from bot.publish.escape import code, fence, markup, quoted
from bot.publish.links import Links

_SHORT_DIFF = 16


def prompts(comparison: Comparison, *, tail: str, limit: int, is_open: bool, share: float) -> Fold:
    """The changed prompts, equal changes of several conversations together; diffs longer than `limit` letters are cut."""
    by_change: dict[tuple[str, str, str], list[PromptChange]] = {}
    for change in comparison.prompts:
        by_change.setdefault((change.folder, change.template, change.diff), []).append(change)
    several = len({change.folder for change in comparison.prompts}) > 1
    items = tuple(Item(_prompt(changes, limit, several=several)) for changes in by_change.values())
    number = words.plural(len(comparison.prompts), "conversation")
    short = len(items) == 1 and comparison.prompts[0].diff.count("\n") <= _SHORT_DIFF
    group = Group(items, tail=tail, share=share)
    return Fold(f"The change in {number}, as the model sees it", (group,), is_open=is_open and short)


def background(comparison: Comparison, links: Links, *, tail: str, gone: str) -> Fold:
    """Everything that is not new, `gone` included, and what judged."""
    silenced = tuple(
        Item(f"- {code(each.check, 60)} {blocks.line(each, links, icon=False)}: {markup(each.reason, 300)}")
        for each in comparison.suppressed
    )
    claims = tuple(
        Item(f"- {markup(words.claim(each), 400)}{f' ({links.places(each.places, 3)})' if each.places else ''}")
        for each in comparison.claims
    )
    proof = tuple(Item(f"- {_proof(each)}") for each in comparison.proof)
    named = [
        ("Not checked", _items(words.unread(comparison.unchecked))),
        ("Resolved", _findings(comparison.resolved, links)),
        ("No longer reported", (Item(gone),) if gone else ()),
        ("There before", _findings(comparison.unchanged, links)),
        ("Silenced by the settings of base", silenced),
        ("Commits that texts name", claims),
        ("Tried by loading", proof),
        ("Checks that found it", _items(_checks(comparison.new))),
        ("Judged by", _items([words.judges(comparison.modelled)])),
    ]
    shown = [(name, items) for name, items in named if items]
    groups = tuple(Group(items, tail=tail, opening=f"**{name}**\n\n", joint="\n", share=0.5) for name, items in shown)
    summary = " · ".join(name if index == 0 else name[0].lower() + name[1:] for index, (name, _) in enumerate(shown))
    return Fold(summary, groups)


def _checks(new: Sequence[Finding]) -> Iterable[str]:
    """The checks behind the new findings, and the engines that are hit."""
    for check in dict.fromkeys(finding.check for finding in words.severest(new)):
        own = [finding for finding in new if finding.check == check]
        hit = words.engines(dict.fromkeys(engine for finding in own for engine in finding.engines), ())
        yield f"{quoted(check)}, {words.counts(finding.severity for finding in own)}{': ' if hit else ''}{hit}"


def _proof(proof: Proof) -> str:
    answer = "agrees" if proof.agrees else "**disagrees with the prediction**"
    where = f"{proof.revision}, {markup(words.folder(proof.folder))}, {markup(proof.version, 60)}"
    return f"{where}: {answer}{f' ({markup(proof.detail, 400)})' if proof.detail else ''}"


def _items(sentences: Iterable[str]) -> tuple[Item, ...]:
    return tuple(Item(f"- {markup(sentence, 1200)}") for sentence in sentences)


def _findings(findings: Iterable[Finding], links: Links) -> tuple[Item, ...]:
    return tuple(Item(f"- {code(each.check, 60)} {blocks.line(each, links, icon=False)}") for each in words.severest(findings))


def _prompt(changes: Sequence[PromptChange], limit: int, *, several: bool) -> str:
    first = changes[0]
    names = words.listing(
        [*(code(each.probe, 40) for each in changes[:8]), *([f"{len(changes) - 8} more"] if len(changes) > 8 else [])]
    )
    where = f" in {markup(words.folder(first.folder))}" if several else ""
    template = f", template {code(first.template, 60)}" if first.template and first.template != "default" else ""
    if first.before_sha256 is None or first.after_sha256 is None:
        side, other = ("before", "now") if first.before_sha256 is None else ("now", "before")
        return f"{names}{where}{template}: no prompt {side}, one {other}." + (
            f"\n\n{_diff(first.diff, limit)}" if first.diff else ""
        )
    return (
        f"{names}{where}{template}\n\n{_diff(first.diff, limit)}"
        if first.diff
        else f"{names}{where}{template}: the prompt differs."
    )


def _diff(diff: str, limit: int) -> str:
    if len(diff) <= limit:
        return fence(diff, "diff")
    cut = diff[:limit].rpartition("\n")[0] or diff[:limit]
    lines = diff.count("\n") - cut.count("\n")
    return f"{fence(cut, 'diff')}\n\nand {words.plural(lines, 'more line')}"
