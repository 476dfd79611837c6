"""The hidden first line by which a later run knows its own comment and what it said."""

import json
import re

import msgspec

from bot.analyze.records import Finding, Severity

_LINE = re.compile(r"<!-- model-repo-drift (\{.*\}) -->")
_MAX_ID = 100


class Marker(msgspec.Struct, frozen=True, kw_only=True):
    """What a comment says of itself: its id, the head commit it speaks of ("" for none), fingerprint and severity of every new finding.

    `more` counts findings for which there was no room. `gone` are findings that it says are no longer reported, and `at` is the head they were reported for,
    so that another run for the same head says so again.
    """

    v: int = 1
    id: str = "default"
    head: str = ""
    fingerprints: tuple[tuple[str, Severity], ...] = ()
    more: int = 0
    gone: tuple[tuple[str, Severity], ...] = ()
    at: str = ""


def write(marker: Marker, limit: int = 16_000) -> str:
    """The marker as one line of at most `limit` letters: what is gone is left out first, and what then does not fit is counted in `more`.

    Raises ValueError for an id of more than 100 letters or a limit without room for a marker.
    """
    if len(marker.id) > _MAX_ID:
        raise ValueError(f"the comment id has {len(marker.id)} letters, at most {_MAX_ID} are possible")
    line = _line(marker)
    if len(line) > limit:
        marker = msgspec.structs.replace(marker, gone=(), at="")
        line = _line(marker)
    while len(line) > limit:
        kept = len(marker.fingerprints) * limit // len(line) - 1
        if kept < 0:
            raise ValueError(f"no room for a marker in {limit} letters")
        dropped = len(marker.fingerprints) - kept
        marker = msgspec.structs.replace(marker, fingerprints=marker.fingerprints[:kept], more=marker.more + dropped)
        line = _line(marker)
    return line


def read(first_line: str) -> Marker | None:
    """The marker that `first_line` is, or None where it is any other text."""
    found = _LINE.fullmatch(first_line.strip())
    if found is None:
        return None
    try:
        return msgspec.json.decode(found[1], type=Marker)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None


def of(new: tuple[Finding, ...], comment_id: str, head: str) -> Marker:
    """The marker of a comment about these findings, which come worst first."""
    return Marker(id=comment_id, head=head, fingerprints=tuple((finding.fingerprint, finding.severity) for finding in new))


def _line(marker: Marker) -> str:
    fields: dict[str, object] = {"v": marker.v, "id": marker.id, "head": marker.head, "fingerprints": marker.fingerprints}
    if marker.more:
        fields["more"] = marker.more
    if marker.gone:
        fields |= {"gone": marker.gone, "at": marker.at}
    # A comment of HTML ends at the first -->, and some readers forbid -- in it altogether.
    text = json.dumps(fields, separators=(",", ":")).replace("--", "-\\u002d").replace("<", "\\u003c").replace(">", "\\u003e")
    return f"<!-- model-repo-drift {text} -->"
