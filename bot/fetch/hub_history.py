"""What became of commits, asked of the Hugging Face Hub: its lists of commits, its refs, and its pull requests."""

import dataclasses
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bot.fetch.git import FULL
from bot.fetch.history import SHORT, holders, is_pull, place, unlikely
from bot.fetch.hub import HubSource, Revision
from bot.fetch.hub_commits import MOST_REQUESTS, Commits, Requests, Row, SpentError
from bot.hub import AbsentError, HubError, connect
from bot.snapshot import Commit, CommitStatus

if TYPE_CHECKING:
    from bot.hub_client import Hub

WORD = re.compile(r"[0-9a-f]{7,40}")
PULL = re.compile(r"refs/pr/([1-9]\d{0,8})")
MERGED = re.compile(r"\(#[1-9]\d*\)$")
PULL_PAGE = 100  # commits of a pull request that are asked for at once: its own stand first
ABSENT = "no commit of this repository has this id"
SPENT = f"more than {MOST_REQUESTS} requests to the Hub would be needed to look for all commits"

Fate = tuple[CommitStatus, str]


class _Refs(NamedTuple):
    """Branches and tags, and the refs that need never reach one, newest pull request first; each with its commit."""

    kept: list[tuple[str, str]]
    pulls: list[tuple[str, str]]


class HubHistory:
    """A repository, with the commits of its base branch (called `name`) and those of head.

    Lists that serve all words are asked for first, then single commits. The Hub answers for commits that no branch holds as well (UNVERIFIED
    for those that no ref holds), so that an answer is no proof.
    """

    def __init__(self, hub: "Hub", repository: str, base: Commits, head: Commits, name: str) -> None:
        self.reason = ""
        self._hub, self._repository = hub, repository
        self._base, self._head = base, head
        self._name = "the base branch" if FULL.fullmatch(name) else name.removeprefix("refs/heads/")
        self._requests = base.requests
        self._near: dict[str, str] = {}  # every commit that a branch or tag holds, and where
        self._rows: list[Row] = []
        self._pulled: dict[str, list[str]] = {}  # commits that pull requests hold and `_near` does not

    @property
    def complete(self) -> bool:
        """Whether all branches and tags could be looked at, as far as a commit needed it."""
        return not self.reason

    def resolve(self, words: Sequence[str]) -> tuple[Commit, ...]:
        """Say of each word which commit it names and whether a branch or tag holds it."""
        asked = sorted((word for word in dict.fromkeys(words) if WORD.fullmatch(word)), key=unlikely)
        settled: dict[str, Commit] = {}
        try:
            if asked:
                self._settle(asked, settled)
        except SpentError:
            self.reason = SPENT
        except HubError as fault:
            self.reason = str(fault)
        return tuple(settled.get(word) or Commit(word, None, "unknown", self.reason or "is no id of a commit") for word in words)

    def _settle(self, words: Sequence[str], settled: dict[str, Commit]) -> None:
        """Fill in what became of each word, the surest first. Raises SpentError or HubError where nothing more can be told."""
        self._add(self._base, "in head" if is_pull(self._name) else f"on {self._name}")
        if self._head is not self._base:
            self._add(self._head, "in head")
        self._match(words, settled)
        if len(settled) == len(words):
            return
        refs = self._refs()
        for ref, tip in refs.kept:
            if tip not in self._near:
                self._add(Commits(self._hub, self._repository, tip, self._requests), place(ref))
        self._match(words, settled)
        for word in words:
            if word not in settled:
                settled[word] = self._off(word, refs)

    def _add(self, commits: Commits, where: str) -> None:
        for sha, row in commits.whole().items():
            if sha not in self._near:
                self._near[sha] = where
                self._rows.append(row)

    def _match(self, words: Sequence[str], settled: dict[str, Commit]) -> None:
        known = sorted(self._near)
        for word in words:
            first = bisect_left(known, word)
            found = [sha for sha in known[first : first + 2] if sha.startswith(word)]
            if len(found) > 1:
                settled[word] = Commit(word, None, "unknown", "short for more than one commit")
            elif found:
                settled[word] = Commit(word, found[0], "reachable", self._near[found[0]])

    def _off(self, word: str, refs: _Refs) -> Commit:
        """What became of a word that no branch or tag holds."""
        tips = {tip for _, tip in refs.pulls if tip.startswith(word) and tip not in self._near}
        sha = tips.pop() if len(tips) == 1 else self._named(word)
        if sha is None and FULL.fullmatch(word) is None and not unlikely(word):
            sha = self._pulled_as(word, refs)  # the Hub need not know short ids
        if sha is None:
            return Commit(word, None, "orphaned", ABSENT)
        if not sha.startswith(word):
            return Commit(word, None, "unknown", "names a branch or tag, not a commit")
        return Commit(word, sha, *self._fate(sha, refs))

    def _named(self, word: str) -> str | None:
        """The commit that the Hub finds for a word, None for none."""
        self._requests.spend()
        try:
            asked = f"hub:{self._repository}@{word}"
            return self._hub.ask(asked, lambda api: api.model_info(self._repository, revision=word, expand=["sha"])).sha
        except AbsentError:
            return None

    def _pulled_as(self, word: str, refs: _Refs) -> str | None:
        """The commit of a pull request that begins with a word."""
        while True:
            found = [sha for sha in self._pulled if sha.startswith(word)]
            if found or not self._next_pull(refs):
                return found[0] if found else None

    def _fate(self, sha: str, refs: _Refs) -> Fate:
        """What became of a commit that is there and on no branch or tag."""
        # The Hub names the commits that it squashes in the message of the one that it makes (npm @huggingface/hub 2.4.1, list-commits.spec.ts).
        squash = next((row for row in self._rows if f"({sha})" in row.message and MERGED.search(row.title)), None)
        if squash is not None:
            return "reachable", f"the same change is {self._near[squash.id]} as {squash.id[:SHORT]}"
        found = self._pulled.get(sha, []) or [ref for ref, tip in refs.pulls if tip == sha]
        while not found and self._next_pull(refs):
            found = self._pulled.get(sha, [])
        merged = {ref: commit for ref in found if (commit := self._merged(ref)) is not None}
        for commit in merged.values():
            if commit in self._near:
                return "reachable", f"the same change is {self._near[commit]} as {commit[:SHORT]}"
        same = self._same(sha)
        if same:
            return "reachable", same
        for ref in merged:
            return "unknown", f"{ref} holds it and was merged, but the commit that this made is on no branch that was looked at"
        return "orphaned", holders(found)

    def _same(self, sha: str) -> str:
        """Word where every file that a commit changed is as it left it, as after an upload by hand; "" when that is nowhere.

        The commit after one in its list is a parent of it: git looks at nothing else then.
        """
        commits = Commits(self._hub, self._repository, sha, self._requests, at_once=2)
        commits.more()
        if len(commits.rows) == 1:
            return ""  # a first commit is another history
        after, before = (self._files(each) for each in list(commits.rows)[:2])
        changed = {path for path in (*after, *before) if after.get(path) != before.get(path)}
        for tip in dict.fromkeys((self._base.tip(), self._head.tip())) if changed else ():
            files = self._files(tip)
            if all(files.get(path) == after.get(path) for path in changed):
                return f"what it changes is {self._near[tip]} as well"
        return ""

    def _files(self, sha: str) -> dict[str, str]:
        """What identifies each file of a commit."""
        self._requests.spend()
        return {file.path: file.oid for file in HubSource(self._hub, Revision(self._repository, sha), sha).entries()}

    def _next_pull(self, refs: _Refs) -> bool:
        """Bring the commits of one more pull request; False when there is none left."""
        while refs.pulls:
            ref, tip = refs.pulls.pop(0)
            if tip in self._near:
                continue
            commits = Commits(self._hub, self._repository, tip, self._requests, at_once=PULL_PAGE)
            while commits.more() and not any(sha in self._near for sha in commits.rows):
                pass
            for sha in commits.rows:
                if sha not in self._near:
                    self._pulled.setdefault(sha, []).append(ref)
            return True
        return False

    def _merged(self, ref: str) -> str | None:
        """The commit that merging a pull request made, "" where it is not said, None where it was not merged."""
        number = PULL.fullmatch(ref)
        if number is None:
            return None
        self._requests.spend()
        asked = f"hub:{self._repository}@{ref}"
        try:
            about = self._hub.ask(asked, lambda api: api.get_discussion_details(self._repository, int(number[1])))
        except AbsentError:
            return None  # a ref that was pushed without a discussion was merged by nobody
        return about.merge_commit_oid or "" if about.status == "merged" else None

    def _refs(self) -> _Refs:
        self._requests.spend()
        place = f"hub:{self._repository}"
        refs = self._hub.ask(place, lambda api: api.list_repo_refs(self._repository, include_pull_requests=True))
        kept = [(each.ref, each.target_commit) for each in (*refs.branches, *refs.tags)]
        pulls = [(each.ref, each.target_commit) for each in (*(refs.pull_requests or ()), *refs.converts)]
        return _Refs(kept, sorted(pulls, key=_newest))


def history_of(base: HubSource, head: HubSource) -> HubHistory:
    """The history of head's repository, whose base branch is what `base` names; of another repository it is head itself."""
    if base.asked.repository.lower() != head.asked.repository.lower():
        base = head
    requests = next((each.commits.requests for each in (base, head) if each.commits), None) or Requests()
    ours, theirs = (each.commits or Commits(each.hub, each.asked.repository, each.tip, requests) for each in (base, head))
    return HubHistory(head.hub, head.asked.repository, ours, ours if base is head else theirs, base.asked.revision)


def elsewhere(source: HubSource) -> Callable[[str], HubHistory]:
    """How the history of another repository is had, all of them within the requests of one run.

    They are asked without our token: what it may read and others may not is not for the readers of a report whose texts name it.
    """
    requests = source.commits.requests if source.commits else Requests()
    hub = connect(dataclasses.replace(source.hub.access, token=""), source.hub.budget)

    def history(repository: str) -> HubHistory:
        main = Commits(hub, repository, "main", requests)
        return HubHistory(hub, repository, main, main, "main")

    return history


def _newest(ref: tuple[str, str]) -> int:
    number = PULL.fullmatch(ref[0])
    return -int(number[1]) if number else 0
