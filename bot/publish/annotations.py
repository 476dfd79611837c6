"""New findings as workflow commands, which the runner shows beside the lines of a pull request."""

from bot.analyze.records import SEVERITIES, Comparison, Finding, Severity
from bot.publish import words
from bot.publish.escape import plain, shorten, visible
from bot.publish.spots import Spots

_COMMANDS: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "notice"}
_TITLE = 250
_MESSAGE = 4_000


def annotations(comparison: Comparison, limit_per_level: int = 10) -> list[str]:
    """One line per new finding, worst first, at most `limit_per_level` of a kind: the runner shows no more.

    Where there are more, the last line of the kind counts them. A place that head's tree does not hold is not named.
    """
    spots = Spots(comparison)
    lines: list[str] = []
    for severity in SEVERITIES:
        found = [finding for finding in words.severest(comparison.new) if finding.severity == severity]
        shown = found if len(found) <= limit_per_level else found[: limit_per_level - 1]
        lines += [_command(finding, spots) for finding in shown]
        if len(found) > len(shown) and limit_per_level > 0:
            lines.append(
                f"::{_COMMANDS[severity]}::{words.plural(len(found) - len(shown), f'more {severity}')}, see the job summary"
            )
    return lines


def _command(finding: Finding, spots: Spots) -> str:
    title = shorten(plain(finding.title), _TITLE)
    fix = f" {plain(finding.fix.description)}" if finding.fix else ""
    message = shorten(f"{plain(finding.detail)}{fix} ({plain(finding.check)})".strip(), _MESSAGE)
    place = spots.of(finding)
    where = f"file={_property(visible(place.path))},line={place.line}," if place else ""
    return f"::{_COMMANDS[finding.severity]} {where}title={_property(title)}::{_message(message)}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
