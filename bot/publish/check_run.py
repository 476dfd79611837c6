"""A check run on the head commit: the verdict as a mark, with every new finding beside its line.

Facts about GitHub, of its REST description (npm @octokit/openapi 23.0.2, checks/create and checks/update): 50 annotations a request, which later
requests add to and none takes away; levels notice, warning and failure; 65,535 letters of summary, 255 of an annotation's title, 64 KB of its
message. Only an app may write check runs, which the token of a job is.
"""

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import msgspec
from github.CheckRun import CheckRun
from github.GithubException import GithubException, RateLimitExceededException
from github.Repository import Repository

from bot.analyze.records import Comparison, Finding, Severity
from bot.api import FAULTS, why
from bot.publish import words
from bot.publish.blocks import Limits
from bot.publish.compose import compose, utf8_bytes
from bot.publish.escape import plain, shorten
from bot.publish.github import Posted
from bot.publish.headline import headline
from bot.publish.links import Links
from bot.publish.page import View, body, footer, opening
from bot.publish.spots import Spots

Conclusion: TypeAlias = Literal["failure", "neutral", "success"]
MOST_ANNOTATIONS = 1_000
AT_ONCE = 50
_LEVELS: dict[Severity, str] = {"error": "failure", "warning": "warning", "note": "notice"}
# The limit is 65,535; bytes are counted to be on the safe side of what GitHub calls a letter.
_SUMMARY, _TITLE, _MESSAGE = 65_000, 250, 4_000


class Annotation(msgspec.Struct, frozen=True):
    """A finding beside its line, with the names and limits of GitHub's API."""

    path: str
    start_line: int
    end_line: int
    annotation_level: str
    title: str
    message: str


@dataclass(frozen=True)
class Target:
    """Where the check run goes: the repository, the full id of the commit that was judged, the name that people see, and the id by which ours is known."""

    repository: Repository
    head: str
    name: str = "Model Repo Drift"
    comment_id: str = "default"

    @property
    def external_id(self) -> str:
        """The id under which a later run of the same commit finds ours."""
        return f"model-repo-drift/{self.comment_id}"


def publish(target: Target, comparison: Comparison, links: Links, *, failed: bool) -> Posted:
    """Bring the check run of the head commit to what the comparison says; `failed` says that the exit status does.

    Never raises for what GitHub answers: the outcome is then "refused". A run is about one commit, so that one of an older head does no harm.
    """
    found = annotations(comparison)
    output = {"title": shorten(plain(headline(comparison)), _TITLE), "summary": summary(comparison, links, len(found))}
    try:
        return _publish(target, found, output, conclusion(comparison, failed=failed))
    except FAULTS as fault:
        return _refused(fault)


def conclusion(comparison: Comparison, *, failed: bool) -> Conclusion:
    """The mark. What the pull request changed and nothing could look at is never "success"."""
    if failed:
        return "failure"
    return "neutral" if any(each.changed for each in comparison.unchecked) else "success"


def annotations(comparison: Comparison) -> list[Annotation]:
    """New findings that have a line in head, worst first, at most 1,000."""
    spots = Spots(comparison)
    found = (made for finding in words.severest(comparison.new) if (made := _annotation(finding, spots)))
    return [each for each, _ in zip(found, range(MOST_ANNOTATIONS), strict=False)]


def summary(comparison: Comparison, links: Links, annotated: int) -> str:
    """The page of the check run as GitHub markdown of at most 65,000 bytes in UTF-8; `annotated` is how many findings are beside their lines."""
    view = View(whole=False, limits=Limits(block=16_000, diff=6_000), elsewhere="see the job summary")
    left = len(comparison.new) - annotated
    end = f"{words.plural(left, 'new finding')} {'is' if left == 1 else 'are'} not beside a line.\n\n" if left else ""
    return compose(
        opening(comparison),
        body(comparison, links, view),
        f"{end}{footer(comparison, links)}",
        limit=_SUMMARY,
        measure=utf8_bytes,
    )


def _annotation(finding: Finding, spots: Spots) -> Annotation | None:
    place = spots.of(finding)
    if place is None or not place.path.isprintable():
        return None  # a name with odd letters could not be told from another one
    fix = plain(finding.fix.description) if finding.fix else ""
    said = [plain(finding.detail), words.SURENESS[finding.confidence], fix, f"({plain(finding.check)})"]
    return Annotation(
        path=place.path,
        start_line=place.line,
        end_line=place.line,
        annotation_level=_LEVELS[finding.severity],
        title=shorten(plain(finding.title), _TITLE),
        message=shorten(" ".join(filter(None, said)), _MESSAGE),
    )


def _publish(target: Target, found: Sequence[Annotation], output: dict[str, str], mark: Conclusion) -> Posted:
    # Annotations are only ever added. Those that stand there already are not sent again. Where one stands there that is no longer true (the same
    # commit judged by other settings, against another base, by another version), a new check run takes the place of the old one: of those with
    # one name GitHub shows the latest.
    wanted, seen = Counter(found), _ours(target)
    earlier = max(seen, key=lambda run: run.id, default=None)
    there = Counter(_read(earlier)) if earlier else Counter[Annotation]()
    if earlier is None or there - wanted:
        return _create(target, found, output, mark, {run.id for run in seen})
    missing = list((wanted - there).elements())
    if not missing and (earlier.conclusion, earlier.output.title, earlier.output.summary) == (mark, *output.values()):
        return Posted("unchanged", earlier.html_url or "")
    earlier.edit(status="completed", conclusion=mark, output=_output(output, missing[:AT_ONCE]))
    _add(earlier, output, missing[AT_ONCE:])
    return Posted("edited", earlier.html_url or "")


def _create(
    target: Target, found: Sequence[Annotation], output: dict[str, str], mark: Conclusion, seen: Container[int]
) -> Posted:
    """Make a check run, and yield to one that another run made at the same time: the oldest of those that were not `seen` before stays.

    None can be deleted, and of those with one name GitHub shows the latest. So the one too many gets another name, lest it hide the verdict, and no
    annotation, for none can be taken back. Of a first try that was answered too late the next run of the commit adds the annotations.
    """
    run = target.repository.create_check_run(
        target.name, target.head, external_id=target.external_id, status="completed", conclusion=mark, output={**output}
    )
    first = min((each for each in _ours(target) if each.id not in seen), key=lambda each: each.id, default=run)
    if first.id < run.id:
        name = f"{target.name} (doubled)"
        said = {
            "title": "Another run judged the same commit at the same time",
            "summary": f"Its verdict is that of {target.name}.",
        }
        run.edit(name=name, external_id=f"{target.external_id}/doubled", status="completed", conclusion="neutral", output=said)
        return Posted("unchanged", first.html_url or "")
    _add(run, output, found)
    return Posted("created", run.html_url or "")


def _add(run: CheckRun, output: dict[str, str], found: Sequence[Annotation]) -> None:
    for start in range(0, len(found), AT_ONCE):
        run.edit(output=_output(output, found[start : start + AT_ONCE]))


def _output(output: dict[str, str], found: Sequence[Annotation]) -> dict[str, Any]:
    return {**output, "annotations": msgspec.to_builtins(found)}


def _ours(target: Target) -> list[CheckRun]:
    """The check runs of this name on this commit that are ours by their id."""
    runs = target.repository.get_commit(target.head).get_check_runs(check_name=target.name, filter="all")
    return [run for run in runs if run.external_id == target.external_id]


def _read(run: CheckRun) -> Iterator[Annotation]:
    for each in run.get_annotations():
        yield Annotation(each.path, each.start_line, each.end_line, each.annotation_level, each.title or "", each.message or "")


def _refused(fault: Exception) -> Posted:
    notice = f"The check run could not be written: {why(fault)}. The job summary has the report."
    if isinstance(fault, GithubException) and fault.status in (403, 404) and not isinstance(fault, RateLimitExceededException):
        notice += " Give the job `permissions: checks: write`; on pull requests from forks GitHub only lets it read, and a personal token never may."
    return Posted("refused", notice=notice)
