"""The comment on a pull request: what this change newly does to people, readable in twenty seconds."""

from bot.analyze.records import Comparison
from bot.publish import effects, marker, words
from bot.publish.blocks import Limits
from bot.publish.compose import characters, compose
from bot.publish.escape import code, markup
from bot.publish.headline import headline
from bot.publish.links import Links
from bot.publish.marker import Marker
from bot.publish.page import View, body, footer, opening

MIN_LIMIT = 6_000


def should_create(comparison: Comparison) -> bool:
    """Whether a pull request without a comment of ours gets one.

    Yes for a new error or warning, for a model that behaves or is prompted differently, and for a changed
    file that could not be read. Notes and repairs alone are not worth a comment.
    """
    alarms = any(finding.severity != "note" for finding in comparison.new)
    return alarms or effects.changes_behaviour(comparison) or bool(effects.unread_changes(comparison))


def comment(
    comparison: Comparison,
    *,
    links: Links,
    comment_id: str = "default",
    limit: int = 65_000,
    previous: Marker | None = None,
) -> str:
    """The comment as GitHub markdown, its first line the marker; `previous` is the marker of the comment it replaces.

    The text has at most `limit` code points: what does not fit is counted, the worst kept first.
    Raises ValueError for a limit below 6,000.
    """
    if limit < MIN_LIMIT:
        raise ValueError(f"a comment needs a limit of at least {MIN_LIMIT} letters, not {limit}")
    mark = _mark(comparison, comment_id, limit)
    if not comparison.new and not should_create(comparison):
        return nothing_new(comparison, links=links, comment_id=comment_id, previous=previous)
    start = f"{mark}\n{opening(comparison)}"
    view = View(whole=False, limits=Limits(block=16_000, diff=6_000), elsewhere=links.elsewhere, gone=gone(comparison, previous))
    return compose(start, body(comparison, links, view), footer(comparison, links), limit=limit, measure=characters)


def nothing_new(comparison: Comparison, *, links: Links, comment_id: str = "default", previous: Marker | None = None) -> str:
    """The comment when all is well again: two lines, with what the earlier comment reported and this run does not."""
    resolved = words.counts(each.severity for each in comparison.resolved)
    said = gone(comparison, previous) or (f"It resolves {resolved} of base." if resolved else "")
    before = len(comparison.unchanged)
    there = f"{words.plural(before, 'finding')} {'was' if before == 1 else 'were'} there before." if before else ""
    line = " ".join(filter(None, [said, there])) or "No new finding, and no changed prediction or prompt."
    unread = words.unread(comparison.unchecked)
    extra = f" ({markup(unread[0], 200)})" if len(unread) == 1 else ""
    start = f"{_mark(comparison, comment_id, MIN_LIMIT)}\n### {markup(headline(comparison))}"
    return f"{start}\n\n{line}\n\n{footer(comparison, links, extra)}\n"


def gone(comparison: Comparison, previous: Marker | None) -> str:
    """What the earlier comment reported and this run does not, and what is known of why; "" for nothing."""
    if previous is None:
        return ""
    now = {finding.fingerprint for finding in comparison.new}
    left = {fingerprint: severity for fingerprint, severity in previous.fingerprints if fingerprint not in now}
    if not left:
        return ""
    number = words.listing(words.counts(left.values()).split(", "))
    if previous.more:
        number = f"{number} and others"
    reported = f"The {number} reported for {code(words.short(previous.head) or 'an earlier head', 60)}"
    are = "is" if len(left) == 1 and not previous.more else "are"
    reasons = {
        "fixed": comparison.resolved,
        "in base as well by now": comparison.unchanged,
        "silenced by base": comparison.suppressed,
    }
    known = {said: len(left.keys() & {each.fingerprint for each in found}) for said, found in reasons.items()}
    why = ", ".join(f"{count} {said}" for said, count in known.items() if count)
    return f"{reported} {are} no longer reported for {code(words.short(comparison.head.sha) or comparison.head.label, 60)}{f' ({why})' if why else ''}."


def _mark(comparison: Comparison, comment_id: str, limit: int) -> str:
    found = tuple(words.severest(comparison.new))
    return marker.write(marker.of(found, comment_id, comparison.head.sha or ""), limit // 4)
