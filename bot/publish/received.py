"""A report that another run wrote, which may be anybody's: read, held to its schema, and counted again.

The file comes from a job that ran for a stranger's pull request. Nothing in it is believed that can be worked out here:
counts, fingerprints and the words for checks are our own, and the views escape the rest as they escape everything.
"""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from bot.analyze.records import SEVERITIES, Comparison, Finding, NewCounts, PullRequest, Verdict
from bot.errors import UsageError
from bot.publish import stored

LARGEST = 16 << 20
"""Bytes of a report."""
DEEPEST = 64
"""Brackets inside each other in a report; ours have fewer than twenty."""
_SHA = re.compile(r"[0-9a-f]{40}")

F = TypeVar("F", bound=Finding)


def receive(workspace: Path, asked: str, clauses: Mapping[str, str]) -> tuple[Comparison, PullRequest]:
    """The report in the file `asked` below the workspace, and the pull request that it says it is about.

    `clauses` are our words for the checks that there are; those of the file are not used. Raises UsageError for a file that is
    not there, is too large, is no report of this version, or is about no pull request.
    """
    path = stored.inside(workspace, "publish", asked)
    content = _content(path, asked)
    if _depth(content) > DEEPEST:
        raise UsageError(f"publish = {asked!r} is nested deeper than any report")
    try:
        read = msgspec.json.decode(content, type=Comparison)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise UsageError(f"publish = {asked!r} is no report of this version: {' '.join(str(error).split())[:300]}") from None
    about = read.pull_request
    if about is None:
        raise UsageError(f"publish = {asked!r} is about no pull request")
    if not _SHA.fullmatch(about.head) or read.head.sha != about.head:
        raise UsageError(f"publish = {asked!r} does not name the commit that it judged")
    return _ours(read, clauses), about


def _content(path: Path, asked: str) -> bytes:
    """The bytes of a plain file: no link that the archive brought, no pipe, no more than a report can have."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise UsageError(f"publish = {asked!r} cannot be read: {error.strerror}") from None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise UsageError(f"publish = {asked!r} is not a plain file")
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise UsageError(f"publish = {asked!r} has more than {LARGEST >> 20} MiB; no report is that large")
    return content


def _depth(content: bytes) -> int:
    """How deep brackets stand inside each other."""
    deepest = depth = 0
    for bracket in re.finditer(rb'"(?:[^"\\]|\\.)*+"|([\[{])|([\]}])', content, re.DOTALL):
        depth += (bracket[1] is not None) - (bracket[2] is not None)
        deepest = max(deepest, depth)
    return deepest


def _ours(read: Comparison, clauses: Mapping[str, str]) -> Comparison:
    """The comparison with everything worked out that need not be believed."""
    new, resolved, unchanged = (
        tuple(_fingerprinted(each) for each in found) for found in (read.new, read.resolved, read.unchanged)
    )
    suppressed = tuple(_fingerprinted(each) for each in read.suppressed)
    severities = [each.severity for each in new]
    verdict = Verdict(
        new=NewCounts(**{severity: severities.count(severity) for severity in SEVERITIES}),
        resolved=len(resolved),
        unchanged=len(unchanged),
        suppressed=len(suppressed),
        unchecked=len(read.unchecked),
    )
    known = {check: clauses[check] for check in read.modelled.checks if check in clauses}
    return msgspec.structs.replace(
        read,
        new=new,
        resolved=resolved,
        unchanged=unchanged,
        suppressed=suppressed,
        modelled=msgspec.structs.replace(read.modelled, checks=known),
        verdict=verdict,
    )


def _fingerprinted(finding: F) -> F:
    return msgspec.structs.replace(finding, fingerprint="")
