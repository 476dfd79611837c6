"""The comment on a pull request: what this change newly does to people, readable in twenty seconds."""

import msgspec

from bot.analyze.records import Comparison, Severity
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
    mark = _mark(comparison, comment_id, limit, previous)
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
    start = f"{_mark(comparison, comment_id, MIN_LIMIT, previous)}\n### {markup(headline(comparison))}"
    return f"{start}\n\n{line}\n\n{footer(comparison, links, extra)}\n"


def gone(comparison: Comparison, previous: Marker | None) -> str:
    """What the earlier comment reported and this run does not, and what is known of why; "" for nothing."""
    at, left = _left(comparison, previous)
    if previous is None or not left:
        return ""
    number = words.listing(words.counts(left.values()).split(", "))
    if previous.more:
        number = f"{number} and others"
    reported = f"The {number} reported for {code(words.short(at) or 'an earlier head', 60)}"
    are = "is" if len(left) == 1 and not previous.more else "are"
    reasons = {
        "fixed": comparison.resolved,
        "in base as well by now": comparison.unchanged,
        "silenced by base": comparison.suppressed,
    }
    known = {said: len(left.keys() & {each.fingerprint for each in found}) for said, found in reasons.items()}
    why = ", ".join(f"{count} {said}" for said, count in known.items() if count)
    head = words.short(comparison.head.sha) or comparison.head.label
    since = "" if comparison.head.sha == at else f" for {code(head, 60)}"  # of one head, what it refers to changed
    return f"{reported} {are} no longer reported{since}{f' ({why})' if why else ''}."


def _left(comparison: Comparison, previous: Marker | None) -> tuple[str, dict[str, Severity]]:
    """The head that the earlier comment spoke of, and what was reported for it and is no longer; a run for the same head finds what the last one found gone."""
    if previous is None:
        return "", {}
    again = previous.gone if previous.head == comparison.head.sha else ()
    now = {finding.fingerprint for finding in comparison.new}
    reported = (*previous.fingerprints, *again)
    left: dict[str, Severity] = {fingerprint: severity for fingerprint, severity in reported if fingerprint not in now}
    return previous.at if again else previous.head, left


def _mark(comparison: Comparison, comment_id: str, limit: int, previous: Marker | None) -> str:
    found = marker.of(tuple(words.severest(comparison.new)), comment_id, comparison.head.sha or "")
    at, left = _left(comparison, previous)
    return marker.write(msgspec.structs.replace(found, gone=tuple(left.items()), at=at), limit // 4)
