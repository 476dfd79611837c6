"""The page about an audit: how much was judged, what is wrong how often, where most of it is, and what could not be read."""

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from bot.analyze.records import SEVERITIES
from bot.audit.records import Line
from bot.publish.escape import cell, code, markup, prose
from bot.publish.words import ICONS, plural, short

WORST = 25
NAMED = 50  # that could not be judged, or not wholly
LONGEST = 300  # letters of a reason

Row = tuple[tuple[int, ...], int, Line]


@dataclass
class Tally:
    """What all lines come to. It grows with the number of checks, not with that of the lines."""

    lines: int = 0
    judged: int = 0
    alone: int = 0
    clean: int = 0
    empty: int = 0
    unread: int = 0
    gaps: int = 0
    found: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    at: Counter[str] = field(default_factory=Counter[str])
    severities: Counter[str] = field(default_factory=Counter[str])
    worst: list[Row] = field(default_factory=list[Row])
    unread_named: list[Line] = field(default_factory=list[Line])
    gaps_named: list[Line] = field(default_factory=list[Line])


def tally(lines: Iterable[Line]) -> Tally:
    """Count all lines, looking at each once."""
    whole = Tally()
    for line in lines:
        whole.lines += 1
        if line.verdict is None:
            if line.error:
                whole.unread += 1
                _name(whole.unread_named, line)
            else:
                whole.alone += 1
            continue
        _judged(whole, line)
    return whole


def _judged(whole: Tally, line: Line) -> None:
    assert line.verdict is not None  # noqa: S101 - the caller looked
    new = line.verdict.new
    counts = {"error": new.error, "warning": new.warning, "note": new.note}
    whole.judged += 1
    whole.severities.update(counts)
    for finding in line.findings:
        whole.found[finding.check, finding.severity] += 1
    whole.at.update({finding.check for finding in line.findings})
    if line.verdict.unchecked:
        whole.gaps += 1
        _name(whole.gaps_named, line)
    if new.error or new.warning:
        row = ((new.error, new.warning, new.note), -whole.lines, line)
        heapq.heappush(whole.worst, row)
        if len(whole.worst) > WORST:
            heapq.heappop(whole.worst)
    elif not new.note and not line.verdict.unchecked:
        whole.clean += bool(line.folders)
        whole.empty += not line.folders


def _name(named: list[Line], line: Line) -> None:
    if len(named) < NAMED:  # of a gap only the first reason is shown
        named.append(line)


def page(whole: Tally, *, histories: bool, endpoint: str, unlisted: Sequence[str] = ()) -> str:
    """The page as markdown. `histories` says that pairs were compared, `unlisted` what could not even be listed, a sentence each."""
    thing = "pair of commits" if histories else "repository"
    parts = [f"# Audit\n\n{opening(whole, histories=histories, unlisted=unlisted)}"]
    if whole.found:
        parts.append(_by_check(whole, "Pairs" if histories else "Repositories"))
    if whole.worst:
        parts.append(_worst(whole, thing.capitalize(), endpoint))
    if whole.unread or unlisted:
        rows = [f"- {prose(said, LONGEST)}" for said in unlisted[:NAMED]]
        rows += [f"- {_called(line, endpoint)}: {prose(line.error, LONGEST)}" for line in whole.unread_named]
        parts.append(_list("Not judged", rows, whole.unread + len(unlisted)))
    if whole.gaps:
        rows = [f"- {_called(line, endpoint)}: {_gap(line)}" for line in whole.gaps_named]
        parts.append(_list("Not wholly judged", rows, whole.gaps))
    return "\n\n".join(parts) + "\n"


def opening(whole: Tally, *, histories: bool, unlisted: Sequence[str] = ()) -> str:
    """What was judged and how much was found, in a line without anything from elsewhere."""
    what = plural(whole.judged, "pair") if histories else _repositories(whole.judged)
    verb = "was" if whole.judged == 1 else "were"
    parts = [f"{what} {verb} {'compared' if histories else 'judged'}"]
    if whole.clean:
        parts.append(f"{whole.clean} without a finding")
    if whole.empty:
        parts.append(f"{whole.empty} {'that change no model' if histories else 'without a model folder'}")
    if whole.gaps:
        parts.append(f"{whole.gaps} not wholly")
    if whole.unread:
        parts.append(f"{whole.unread} not judged")
    if unlisted:
        parts.append(f"{len(unlisted)} could not be listed")
    if whole.alone:
        parts.append(f"{_repositories(whole.alone)} with one commit only")
    counts = ", ".join(plural(whole.severities[each], each) for each in SEVERITIES if whole.severities[each])
    found = f"{counts or 'nothing'} new" if histories else counts or "no finding"
    return f"{' · '.join(parts)}: {found}"


def _repositories(count: int) -> str:
    return "1 repository" if count == 1 else f"{count} repositories"


def _by_check(whole: Tally, where: str) -> str:
    checks = sorted(whole.at, key=lambda check: (*(-whole.found[check, severity] for severity in SEVERITIES), check))
    rows = [
        f"| {cell(code(check))} | {' | '.join(str(whole.found[check, severity] or '') for severity in SEVERITIES)} | {whole.at[check]} |"
        for check in checks
    ]
    return f"## By check\n\n| Check | Errors | Warnings | Notes | {where} |\n| --- | ---: | ---: | ---: | ---: |\n" + "\n".join(
        rows
    )


def _worst(whole: Tally, thing: str, endpoint: str) -> str:
    rows = [
        f"| {cell(_called(line, endpoint))} | {' | '.join(str(count or '') for count in counts)} | {cell(_first(line))} |"
        for counts, _, line in sorted(whole.worst, key=lambda row: row[:2], reverse=True)
    ]
    return f"## Worst\n\n| {thing} | Errors | Warnings | Notes | The worst |\n| --- | ---: | ---: | ---: | --- |\n" + "\n".join(
        rows
    )


def _first(line: Line) -> str:
    if not line.findings:
        return ""
    worst = line.findings[0]
    return f"{ICONS[worst.severity]} {markup(worst.title, LONGEST)}"


def _gap(line: Line) -> str:
    count = line.verdict.unchecked if line.verdict else 0
    if not line.unchecked:
        return plural(count, "gap")
    first = line.unchecked[0]
    more = f" (and {count - 1} more)" if count > 1 else ""
    return f"{code(first.id)} {prose(first.reason, LONGEST)}{more}"


def _list(title: str, rows: list[str], count: int) -> str:
    more = f"\n- and {count - len(rows)} more, see the lines" if count > len(rows) else ""
    return f"## {title}\n\n" + "\n".join(rows) + more


def _called(line: Line, endpoint: str) -> str:
    """A repository by name, and what of it, with a link to it."""
    repository = line.repo.partition("@")[0]
    if line.base and line.head:
        name, path = f"{repository} {short(line.base)}..{short(line.head)}", f"commit/{line.head}"
    else:
        name, path = line.repo, f"tree/{line.head}"
    return (
        f"[{code(name)}]({endpoint}/{repository}/{path})" if line.head and _is_plain(f"{endpoint}/{repository}") else code(name)
    )


def _is_plain(address: str) -> bool:
    """Whether an address is made of letters that markdown leaves alone."""
    return address.isascii() and all(letter.isalnum() or letter in ":/._-" for letter in address)
