"""What stands behind a click: prompts, what else is known of the comparison, what could not be checked, who judged."""

from collections.abc import Iterable, Mapping, Sequence

from bot.analyze.records import Comparison, Finding, Proof
from bot.publish import blocks, prompted, words
from bot.publish.compose import Fold, Group, Item
from bot.publish.escape import code, fence, markup, quoted
from bot.publish.links import Links
from bot.publish.prompted import Block

_SHORT_DIFF = 16
_DIFFS = 2
_IN_SIGHT = 3


def prompts(comparison: Comparison, *, tail: str, limit: int, is_open: bool, whole: bool, share: float) -> Fold:
    """The changed prompts, equal changes of several conversations together; diffs longer than `limit` letters are cut.

    What fails on one side is told in words, and with `whole` its prompt is shown as well.
    """
    found = prompted.blocks(comparison)
    items = tuple(Item(_prompt(block, limit, whole=whole), count=block.count) for block in found)
    number, told = prompted.summary(comparison)
    diffs = [block.diff for block in found if not (block.fails or block.works)]
    short = len(diffs) <= 1 and len(found) <= _IN_SIGHT and sum(diff.count("\n") for diff in diffs) <= _SHORT_DIFF
    group = Group(
        items,
        tail=tail,
        unfolded=len(items) if whole else len(found) - len(diffs) + _DIFFS,
        fold="{n} more conversation{s}",
        share=share,
    )
    summary = f"The change in {number}, as the model sees it{f': {told}' if told else ''}"
    return Fold(summary, (group,), is_open=is_open and short)


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
    moved = words.homes(comparison.models)
    proof = tuple(Item(f"- {_proof(each, moved)}") for each in comparison.proof)
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
    found: dict[str, list[Finding]] = {}
    for finding in words.severest(new):
        found.setdefault(finding.check, []).append(finding)
    for check, own in found.items():
        hit = words.engines(dict.fromkeys(engine for finding in own for engine in finding.engines), ())
        yield f"{quoted(check)}, {words.counts(finding.severity for finding in own)}{': ' if hit else ''}{hit}"


def _proof(proof: Proof, moved: Mapping[str, str]) -> str:
    answer = "agrees" if proof.agrees else "**disagrees with the prediction**"
    folder = moved.get(proof.folder, proof.folder) if proof.revision == "head" else proof.folder
    where = f"{proof.revision}, {markup(words.folder(folder))}, {markup(proof.version, 60)}"
    return f"{where}: {answer}{f' ({markup(proof.detail, 400)})' if proof.detail else ''}"


def _items(sentences: Iterable[str]) -> tuple[Item, ...]:
    return tuple(Item(f"- {markup(sentence, 1200)}") for sentence in sentences)


def _findings(findings: Iterable[Finding], links: Links) -> tuple[Item, ...]:
    return tuple(Item(f"- {code(each.check, 60)} {blocks.line(each, links, icon=False)}") for each in words.severest(findings))


def _prompt(block: Block, limit: int, *, whole: bool) -> str:
    said = markup(block.said[:1].upper() + block.said[1:], 1200, value=prompted.ERROR)
    in_words = (block.fails or block.works) and not whole
    return f"{said}\n\n{_diff(block.diff, limit)}" if block.diff and not in_words else f"{said}."


def _diff(diff: str, limit: int) -> str:
    if len(diff) <= limit:
        return fence(diff, "diff")
    cut = diff[:limit].rpartition("\n")[0] or diff[:limit]
    lines = diff.count("\n") - cut.count("\n")
    return f"{fence(cut, 'diff')}\n\nand {words.plural(lines, 'more line')}"
