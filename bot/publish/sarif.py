"""A comparison as SARIF 2.1.0, the format that code scanning and editors read.

Facts about GitHub: of a run it shows 5,000 results and takes 25,000, and 10 MB in gzip (its docs, "SARIF results exceed one or more limits" and
"SARIF results file is too large"). It refuses a whole file for one result without a file, "locationFromSarifResult: expected at least one location"
(github/codeql-action issue 1738), or for a uri with a scheme (issue 754). It takes every result for an open alert, silenced or not (issue 1230).
"""

import gzip
import re
from collections.abc import Iterator, Sequence
from urllib.parse import quote

import msgspec

from bot import __version__
from bot.analyze.records import Comparison, Confidence, Finding, Suppressed
from bot.place import Place
from bot.publish import hunks, words
from bot.publish import sarif_records as sarif
from bot.publish.escape import plain, shorten, visible
from bot.publish.spots import Spots

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MOST_RESULTS = 5_000
MOST_BYTES = 10_000_000
"""Of the file in gzip."""
# The upload action adds primaryLocationLineHash, GitHub's own key, from the line's text. One of ours under that key would cost a warning
# for each result (github/codeql-action 4.36.3, src/fingerprints.ts:168), so ours has a name of its own.
FINGERPRINT = "modelRepoDrift/v1"

_ROOT = "%SRCROOT%"
_MESSAGE, _TITLE = 4_000, 900
_PLACES = 10
_NOTIFICATIONS = 200
_PRECISION: dict[Confidence, sarif.Precision] = {"certain": "very-high", "likely": "medium", "guess": "low"}
_URL = re.compile(r"https?://[A-Za-z0-9.:_-]+/[A-Za-z0-9._/-]+")
Told = tuple[Finding, sarif.BaselineState]


def encode(
    comparison: Comparison,
    *,
    repository_url: str = "",
    for_upload: bool = False,
    most_results: int = MOST_RESULTS,
    most_bytes: int = MOST_BYTES,
) -> bytes:
    """The comparison as JSON in the SARIF format. What is over the limits (`most_bytes` in gzip) is left out, the worst kept, and a notification counts it.

    `repository_url` is the address of the repository ("" where it has none). With `for_upload` resolved and silenced findings are left out, for
    GitHub would open alerts for them.
    """
    told = _told(comparison, for_upload=for_upload)
    kept = min(len(told), most_results)
    while True:
        content = msgspec.json.encode(_log(comparison, told[:kept], len(told) - kept, repository_url))
        size = len(content) if len(content) <= most_bytes else len(gzip.compress(content, 6))
        if size <= most_bytes or not kept:
            return content
        kept = min(kept - 1, int(kept * 0.95 * most_bytes / size))


def _told(comparison: Comparison, *, for_upload: bool) -> list[Told]:
    """The findings, the news first and of those the worst."""
    here = [*_as("new", comparison.new), *_as("unchanged", comparison.unchanged)]
    # Each result needs a state once one has it (§3.27.24). Whether base has a silenced finding is not told; who silences one knows it.
    return here if for_upload else [*here, *_as("absent", comparison.resolved), *_as("unchanged", comparison.suppressed)]


def _as(state: sarif.BaselineState, findings: Sequence[Finding]) -> Iterator[Told]:
    return ((finding, state) for finding in words.severest(findings))


def _log(comparison: Comparison, told: Sequence[Told], left_out: int, repository_url: str) -> sarif.Log:
    by_check: dict[str, list[Finding]] = {}
    for finding, _ in told:
        by_check.setdefault(finding.check, []).append(finding)
    index = {check: number for number, check in enumerate(by_check)}
    rules = tuple(_rule(check, findings, comparison.modelled.checks.get(check, "")) for check, findings in by_check.items())
    spots = Spots(comparison)
    notifications = tuple(_notifications(comparison, left_out))
    run = sarif.Run(
        tool=sarif.Tool(driver=sarif.Driver(name="Model Repo Drift", semantic_version=__version__, rules=rules)),
        # The run did its work: what it could not look at is told, and is no fault of the run.
        invocations=(sarif.Invocation(execution_successful=True, tool_execution_notifications=notifications),),
        version_control_provenance=_provenance(comparison, repository_url),
        results=tuple(_result(finding, state, index[finding.check], spots) for finding, state in told),
    )
    return sarif.Log(schema=SCHEMA, version="2.1.0", runs=(run,))


def _rule(check: str, findings: Sequence[Finding], clause: str) -> sarif.Rule:
    """A check that speaks, as bad and as sure as the worst of its findings; `clause` is what it means to people, "" where that is not known."""
    worst = words.severest(findings)[0]
    title = f"{clause[:1].upper()}{clause[1:]}" if clause else check.replace("-", " ")
    fix = f"{worst.fix.description} " if worst.fix else ""
    more = f"`model-repo-drift explain {check}` says what the check sees, why it matters and when it is wrong."
    return sarif.Rule(
        id=visible(check),
        short_description=_message(title, _TITLE),
        full_description=_message(f"{title}.", _TITLE),
        help=_message(f"{fix}{more}"),
        default_configuration=sarif.Configuration(level=worst.severity),
        properties=sarif.RuleProperties(
            precision=_PRECISION[worst.confidence], severity="recommendation" if worst.severity == "note" else worst.severity
        ),
    )


def _shown(finding: Finding, state: sarif.BaselineState, spots: Spots) -> Place:
    """Where a result stands: its spot; what is absent where base had it; else any file; and else the text that it is about."""
    files = [place for place in finding.places if place.in_tree]
    before = next((place for place in files if place.revision == "base"), None)
    spot = before if state == "absent" else spots.of(finding)
    return spot or spots.stored(next(iter(files), finding.places[0]))


def _result(finding: Finding, state: sarif.BaselineState, rule: int, spots: Spots) -> sarif.Result:
    shown = _shown(finding, state, spots)
    said = [
        f"{finding.title.rstrip('.')}.",
        finding.detail,
        words.SURENESS[finding.confidence],
        f"Fix: {finding.fix.description}" if finding.fix else "",
    ]
    others = enumerate(spots.others(finding, shown), 1)
    related = [_location(place, number) for number, place in others if number <= _PLACES]
    return sarif.Result(
        rule_id=visible(finding.check),
        rule_index=rule,
        level=finding.severity,
        message=_message(" ".join(filter(None, said))),
        baseline_state=state,
        locations=(_location(shown),),
        related_locations=tuple(related),
        partial_fingerprints={FINGERPRINT: visible(finding.fingerprint)},
        suppressions=(sarif.Suppression(kind="external", justification=_text(finding.reason, _MESSAGE)),)
        if isinstance(finding, Suppressed)
        else (),
        fixes=() if state == "absent" else tuple(_fixes(finding, spots)),
        properties=sarif.ResultProperties(
            confidence=finding.confidence,
            folder=visible(finding.folder),
            engines=tuple(map(visible, finding.engines)),
            cause=visible(finding.cause),
        ),
    )


def _fixes(finding: Finding, spots: Spots) -> Iterator[sarif.Fix]:
    if finding.fix is None or (edit := hunks.edit(finding.fix.patch)) is None or not edit.lines:
        return  # lines that only go would leave an empty one: a region of whole lines does not hold their last line end
    if spots.is_pointer(edit.path):
        return
    replacement = sarif.Replacement(
        deleted_region=sarif.Region(start_line=edit.first, end_line=edit.last),
        inserted_content=sarif.Message(text="\n".join(edit.lines)),
    )
    change = sarif.ArtifactChange(artifact_location=_file(edit.path), replacements=(replacement,))
    yield sarif.Fix(description=_message(finding.fix.description), artifact_changes=(change,))


def _location(place: Place, number: int = -1) -> sarif.Location:
    named = (sarif.Logical(fully_qualified_name=visible(place.pointer), kind="member"),) if place.pointer else ()
    if not place.in_tree:
        named = (sarif.Logical(fully_qualified_name=visible(place.path)),)
    # Only related locations show their message, as the text of a link to them.
    message = _message(words.place(place), _TITLE) if number > 0 else None
    physical = sarif.Physical(artifact_location=_artifact(place), region=sarif.Region(start_line=max(place.line, 1)))
    return sarif.Location(physical_location=physical, id=number, logical_locations=named, message=message)


def _artifact(place: Place) -> sarif.Artifact:
    """The file of a place. Text that no file holds gets a name like a path, `pull-request/body`: with its colon it would be a uri with a scheme."""
    return _file(place.path) if place.in_tree else sarif.Artifact(uri=_quoted(place.path.replace(":", "/", 1)))


def _file(path: str) -> sarif.Artifact:
    return sarif.Artifact(uri=_quoted(path), uri_base_id=_ROOT)


def _quoted(path: str) -> str:
    """A path as a uri that cannot leave the repository: an empty step could begin a host, and ".." climbs."""
    climbs = {"", ".", ".."} & set(path.split("/"))
    return quote(path.encode("utf-8", "surrogatepass"), safe="" if climbs else "/")


def _notifications(comparison: Comparison, left_out: int) -> Iterator[sarif.Notification]:
    if left_out:
        number = words.plural(left_out, "finding")
        said = (
            f"{number} had no room here: a run shows {MOST_RESULTS:,} and an upload takes 10 MB. The JSON report has all of them."
        )
        yield sarif.Notification(level="warning", message=_message(said))
    unread = words.unread(comparison.unchecked)
    for said in unread[:_NOTIFICATIONS]:
        yield sarif.Notification(level="warning", message=_message(f"Not checked: {said}"))
    if len(unread) > _NOTIFICATIONS:
        yield sarif.Notification(
            level="warning", message=_message(f"Not checked: {len(unread) - _NOTIFICATIONS} more, see the JSON report.")
        )


def _provenance(comparison: Comparison, repository_url: str) -> tuple[sarif.VersionControl, ...]:
    if comparison.head.sha is None or not _URL.fullmatch(repository_url):
        return ()
    root = sarif.Artifact(uri_base_id=_ROOT)
    return (sarif.VersionControl(repository_uri=repository_url, revision_id=visible(comparison.head.sha), mapped_to=root),)


def _message(sentence: str, limit: int = _MESSAGE) -> sarif.Message:
    """A sentence of ours with values in it as a plain message.

    In messages of SARIF `{` and `}` stand for placeholders and are written twice (§3.11.5); `[text](address)` is a link even in plain text (§3.11.6),
    which a space takes apart for every reader, whether it knows the escapes or not.
    """
    text = _text(sentence, limit).replace("](", "] (")
    return sarif.Message(text=text.replace("{", "{{").replace("}", "}}"))


def _text(sentence: str, limit: int) -> str:
    return shorten(plain(sentence), limit) or "(empty)"
