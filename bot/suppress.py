"""Take the findings that are known and accepted out of a comparison, each with the reason."""

import datetime as dt
from collections.abc import Sequence

import msgspec

from bot.analyze import records
from bot.analyze.records import Comparison, Finding, Suppressed
from bot.fetch.globs import fits
from bot.policy import Suppression


def suppress(comparison: Comparison, entries: Sequence[Suppression], today: dt.date) -> Comparison:
    """The comparison in which what `entries` silence of head stands among the suppressed, and in no other list and count.

    An entry holds through the day on which it expires. A finding that only an expired one names stays where it is, and says so.
    """
    if not entries:
        return comparison
    silenced: list[Suppressed] = []
    new = _heard(comparison.new, entries, today, silenced)
    unchanged = _heard(comparison.unchanged, entries, today, silenced)
    suppressed = (*comparison.suppressed, *silenced)
    verdict = msgspec.structs.replace(
        comparison.verdict,
        new=records.NewCounts(**{severity: sum(each.severity == severity for each in new) for severity in records.SEVERITIES}),
        unchanged=len(unchanged),
        suppressed=len(suppressed),
    )
    return msgspec.structs.replace(comparison, new=new, unchanged=unchanged, suppressed=suppressed, verdict=verdict)


def _heard(
    findings: tuple[Finding, ...], entries: Sequence[Suppression], today: dt.date, silenced: list[Suppressed]
) -> tuple[Finding, ...]:
    """The findings that no entry silences; the others go to `silenced`."""
    heard: list[Finding] = []
    for finding in findings:
        named = [entry for entry in entries if _names(entry, finding)]
        lasting = next((entry for entry in named if entry.expires is None or entry.expires >= today), None)
        if lasting is not None:
            fields = {field: getattr(finding, field) for field in Finding.__struct_fields__}
            silenced.append(Suppressed(**fields, reason=lasting.reason))
        else:
            heard.append(_overdue(finding, named))
    return tuple(heard)


def _names(entry: Suppression, finding: Finding) -> bool:
    return (
        entry.check in ("", finding.check)
        and entry.key in ("", finding.key)
        and entry.fingerprint in ("", finding.fingerprint)
        and (not entry.folder or fits(finding.folder, entry.folder))
    )


def _overdue(finding: Finding, expired: list[Suppression]) -> Finding:
    """The finding, with the day until which it was silenced, where it was."""
    last = max(((entry.expires, entry.reason) for entry in expired if entry.expires is not None), default=None)
    if last is None:
        return finding
    said = f"Silenced until {last[0].isoformat()}: {last[1].strip()}"
    if finding.detail.endswith(said):
        return finding
    return msgspec.structs.replace(finding, detail=f"{finding.detail} {said}".strip())
