"""The records of an audit: what is to be judged, and the line that says how that went."""

from typing import Literal

import msgspec

from bot.analyze.records import SEVERITIES, Comparison, Finding, Unchecked, Verdict
from bot.cli_output import one_line

MOST_KEPT = 100
MOST_BYTES = 1 << 20  # of a line: hostile files shall not fill the disk


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A revision that is judged by itself, or a pair of neighbours in a history, which are compared.

    `repo` is the repository as it was asked for, "org/name" or "org/name@revision". `base` and `head` are the commits of a pair, "" where a revision
    is judged; `text` is the message of head. It is the `number`th of `of` pairs, newest first; a history of one commit has a `head` and `of` 0.
    """

    repo: str
    base: str = ""
    head: str = ""
    text: str = ""
    number: int = 1
    of: int = 1


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `audit.jsonl`: a revision that was judged, or a pair of its history that was compared.

    `base` is the commit of the older one of a pair, None where a revision was judged by itself; the pair is the `number`th of `of`, newest first.
    A history of one commit has no pair: `of` is 0. `verdict` is None where nothing was judged; `error` then says why and what to do.
    `folders` are the model folders that were judged, of a pair those that differ: without one, nothing was there to be judged.
    `findings` are the new ones, worst first: all that a revision judged by itself has. Of very many findings and gaps the worst
    are kept, and `verdict` counts them all.
    """

    schema: Literal[1] = 1
    repo: str
    base: str | None = None
    head: str | None = None
    number: int = 1
    of: int = 1
    verdict: Verdict | None = None
    folders: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    error: str = ""


def judged(asked: Asked, comparison: Comparison) -> Line:
    """The line of something that was judged."""
    worst = sorted(comparison.new, key=lambda each: SEVERITIES.index(each.severity))
    line = msgspec.structs.replace(
        _line(asked),
        head=comparison.head.sha,
        verdict=comparison.verdict,
        folders=tuple(dict.fromkeys((*comparison.base.folders, *comparison.head.folders)))[:MOST_KEPT],
        findings=tuple(worst[:MOST_KEPT]),
        unchecked=comparison.unchecked[:MOST_KEPT],
    )
    while len(msgspec.json.encode(line)) > MOST_BYTES:
        found, unread = line.findings, line.unchecked
        line = msgspec.structs.replace(line, findings=found[: len(found) // 2], unchecked=unread[: len(unread) // 2])
    return line


def failed(asked: Asked, fault: Exception) -> Line:
    """The line of something that could not be judged."""
    return msgspec.structs.replace(_line(asked), error=one_line(fault)[: MOST_BYTES // 100])


def alone(asked: Asked) -> Line:
    """The line of a history without a pair."""
    return _line(asked)


def _line(asked: Asked) -> Line:
    return Line(repo=asked.repo, base=asked.base or None, head=asked.head or None, number=asked.number, of=asked.of)
