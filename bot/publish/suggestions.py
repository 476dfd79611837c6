"""Fixes as review suggestions, which a person takes with one click, where the lines to replace are in the pull request's diff.

Facts about GitHub: a comment is only possible on lines that the diff shows, the lines of one comment in one hunk, and `start_line` is left out for one
line; else the whole review is refused with 422 (parkerbxyz/suggest-changes issue 28 and pull request 31). A suggestion is a fenced block that takes
the place of exactly these lines.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec
from github.GithubException import GithubException, RateLimitExceededException
from github.PullRequest import PullRequest, ReviewComment
from github.PullRequestComment import PullRequestComment

from bot.analyze.records import Comparison, Finding
from bot.api import FAULTS, why
from bot.publish import hunks, words
from bot.publish.escape import code, markup, visible
from bot.publish.github import Posted, Target
from bot.publish.hunks import Edit

MOST = 20
LONGEST_LINE = 400
_MARKER = re.compile(r"<!-- model-repo-drift suggestion (\{.*\}) -->")
_MEMBER = re.compile(r'(\s*"(?:[^"\\]|\\.)*+")\s*:')
_HEAD_LINES = 3  # of a patch of one hunk
Shown = Mapping[str, tuple[tuple[int, int], ...]]
"""The lines that the diff shows of each file: a range per hunk."""


class Marker(msgspec.Struct, frozen=True):
    """What the first line of a suggestion says of itself: the id of our comments, the finding, and a hash of the edit without its lines' numbers."""

    id: str
    fingerprint: str
    text: str


@dataclass(frozen=True)
class Suggestion:
    """The edit that repairs a finding."""

    finding: Finding
    edit: Edit

    def marker(self, comment_id: str) -> Marker:
        """The marker: equal for the same repair of the same finding, also where its lines have moved."""
        text = "\n".join((self.edit.path, *self.edit.lines))
        return Marker(comment_id, self.finding.fingerprint, hashlib.sha256(text.encode()).hexdigest()[:16])

    def body(self, comment_id: str) -> str:
        """The comment as GitHub markdown."""
        finding = self.finding
        said = markup(finding.fix.description, 1500) if finding.fix else ""
        return f"{_line(self.marker(comment_id))}\n**{markup(finding.title, 300)}**\n\n{said}\n\n{_fence(self.edit)}\n\n<sub>{code(finding.check)}</sub>"


def suggestions(comparison: Comparison, shown: Shown) -> list[Suggestion]:
    """The possible suggestions for new errors and warnings, worst first, at most 20, no two on the same lines or with the same key of a file to add.

    A note is no reason to write into a review. Lines are shown raw inside of a suggestion, so that none is made with lines that hold anything without
    a shape or more than 400 letters.
    """
    found: list[Suggestion] = []
    added: set[tuple[str, str]] = set()
    for finding in words.severest(comparison.new):
        if len(found) == MOST or finding.severity == "note":
            break
        edit = hunks.edit(finding.fix.patch) if finding.fix else None
        if finding.fix is None or edit is None or any(_touch(edit, each.edit) for each in found):
            continue
        adds = {(edit.path, member) for member in _members_added(finding.fix.patch)}
        if _fit(edit) and _in_one_hunk(edit, shown) and not adds & added:
            found.append(Suggestion(finding, edit))
            added |= adds
    return found


def publish(target: Target, comparison: Comparison) -> Posted:
    """Suggest what is not suggested yet, in one review. Never raises for what GitHub answers: the outcome is then "refused"."""
    if not any(each.severity != "note" and each.fix and hunks.edit(each.fix.patch) for each in comparison.new):
        return Posted("not needed")
    try:
        return _publish(target, comparison)
    except FAULTS as fault:
        return _refused(fault)


def _publish(target: Target, comparison: Comparison) -> Posted:
    pull = target.repository.get_pull(target.number)
    if stop := _no_longer(target, pull):
        return stop
    found = suggestions(comparison, {file.filename: hunks.shown(file.patch) for file in pull.get_files() if file.patch})
    there = set(_ours(target, pull)) if found else set[Marker]()
    left = [each for each in found if each.marker(target.comment_id) not in there]
    if not left:
        return Posted("unchanged" if found else "not needed")
    commit = target.repository.get_commit(target.head)
    if stop := _no_longer(target, target.repository.get_pull(target.number)):
        return stop
    # Looked at once more, so that of several runs at once nearly always one alone writes a review: it cannot be taken back.
    there = set(_ours(target, pull))
    left = [each for each in left if each.marker(target.comment_id) not in there]
    if not left:
        return Posted("unchanged")
    number = "a fix" if len(left) == 1 else f"{len(left)} fixes"
    body = f"Model Repo Drift suggests {number}, beside the lines to be replaced."
    review = pull.create_review(commit, body, "COMMENT", [_comment(each, target.comment_id) for each in left])
    if _take_back(target, pull, review.id) == len(left):
        # Comments one by one would leave no review, but send a mail and wait a second for each.
        review.edit("Model Repo Drift suggested the same a moment before; nothing is left of this review.")
        return Posted("unchanged", review.html_url)
    return Posted("created", review.html_url)


def _take_back(target: Target, pull: PullRequest, review: int) -> int:
    """Delete of our review what another run suggested before us, between our look and our review or in a first try that was answered too late.

    Returns how many comments that were.
    """
    gone = 0
    seen = Counter[Marker]()
    for comment in sorted(pull.get_review_comments(), key=lambda comment: comment.id):
        mark = _mark(target, comment)
        if mark is None:
            continue
        if seen[mark] and comment.pull_request_review_id == review:
            comment.delete()
            gone += 1
        seen[mark] += 1
    return gone


def _ours(target: Target, pull: PullRequest) -> Iterable[Marker]:
    return (mark for comment in pull.get_review_comments() if (mark := _mark(target, comment)))


def _mark(target: Target, comment: PullRequestComment) -> Marker | None:
    """The marker of a comment that is ours: on its first line, by a bot or a named author."""
    found = _MARKER.fullmatch((comment.body or "").split("\n", 1)[0].rstrip("\r"))
    user = comment.user  # None for a deleted account, whatever PyGithub's types say
    authors = {login.casefold() for login in target.authors}
    if found is None or not user or not (user.type == "Bot" or user.login.casefold() in authors):
        return None
    try:
        mark = msgspec.json.decode(found[1], type=Marker)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    return mark if mark.id == target.comment_id else None


def _comment(suggestion: Suggestion, comment_id: str) -> ReviewComment:
    edit = suggestion.edit
    made = ReviewComment(path=edit.path, line=edit.last, side="RIGHT", body=suggestion.body(comment_id))
    if edit.first < edit.last:
        made["start_line"], made["start_side"] = edit.first, "RIGHT"
    return made


def _no_longer(target: Target, pull: PullRequest) -> Posted | None:
    """Why nothing may be suggested any more, None when it may."""
    if pull.state != "open":
        return Posted("closed", notice="No fix was suggested: the pull request is closed.")
    if pull.head.sha != target.head:
        return Posted("outdated", notice=f"No fix was suggested: the pull request has moved on to {pull.head.sha[:7]}.")
    return None


def _refused(fault: Exception) -> Posted:
    notice = f"No fix could be suggested: {why(fault)}. The comment and the job summary describe the fixes."
    if isinstance(fault, GithubException) and not isinstance(fault, RateLimitExceededException):
        if fault.status in (403, 404):
            notice += " Give the job `permissions: pull-requests: write`; on pull requests from forks GitHub only lets it read."
        elif fault.status == 422:
            notice += " GitHub takes suggestions only on lines that the diff shows."
    return Posted("refused", notice=notice)


def _fit(edit: Edit) -> bool:
    return all(len(line) <= LONGEST_LINE and visible(line, keep="\t") == line for line in edit.lines)


def _in_one_hunk(edit: Edit, shown: Shown) -> bool:
    return any(first <= edit.first and edit.last <= last for first, last in shown.get(edit.path, ()))


def _members_added(patch: str) -> set[str]:
    """The keys of JSON that a patch adds, each with the spaces before it.

    Who takes two suggestions that add the same one has it twice. Where both are right, in two objects, the second is suggested once the first is taken.
    """
    lines = patch.split("\n")[_HEAD_LINES:]
    gone, come = ({found[1] for line in lines if line[:1] == mark and (found := _MEMBER.match(line[1:]))} for mark in "-+")
    return come - gone


def _touch(one: Edit, other: Edit) -> bool:
    return one.path == other.path and one.first <= other.last and other.first <= one.last


def _fence(edit: Edit) -> str:
    ticks = "`" * (1 + max(2, *(len(run) for line in edit.lines for run in re.findall("`+", line)), 2))
    return "\n".join((f"{ticks}suggestion", *edit.lines, ticks))


def _line(marker: Marker) -> str:
    # A comment of HTML ends at the first -->, and some readers forbid -- in it altogether.
    fields = {"id": marker.id, "fingerprint": marker.fingerprint, "text": marker.text}
    text = json.dumps(fields, separators=(",", ":")).replace("--", "-\\u002d").replace("<", "\\u003c").replace(">", "\\u003e")
    return f"<!-- model-repo-drift suggestion {text} -->"
