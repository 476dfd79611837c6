"""What became of commits, asked of GitHub's REST API: for runs without a clone that knows it."""

import re
from collections.abc import Collection, Sequence

from github.Repository import Repository

from bot.api import FAULTS, why
from bot.fetch.commits_github import MOST_LISTED, MOST_REQUESTS, Asked, Comparison, RefusedError, SpentError
from bot.fetch.git import FULL
from bot.fetch.history import MOST_PULLS, SHORT, holders, place, unlikely
from bot.snapshot import Commit, CommitStatus

WORD = re.compile(r"[0-9a-f]{7,40}")
SURE = 9  # digits from which on no two objects of a network of forks begin alike, but for one case in tens of thousands
MOST_REFS = 30  # branches and tags that hold more than base and head, a request or two each
MOST_PATCHES = 20  # commits of base or head whose change is compared with that of a commit on no branch, a request each
ABSENT = "no commit of this repository has this id"
SPENT = f"more than {MOST_REQUESTS} requests to GitHub would be needed to look for all commits"

Fate = tuple[CommitStatus, str]


class _UnknownError(Exception):
    """It cannot be told; the text is the reason."""


class GitHubHistory:
    """A repository, with the tip of the base branch (called `base_name`) and the head commit.

    `ahead` are all commits that head has and base has not, None when they are too many to be listed, and `on_base` all of base, None where
    GitHub is to be asked for them. Lists that serve all words are asked for
    first, and only then single commits. GitHub answers for commits that no branch holds as well, so that an answer is no proof.
    """

    def __init__(
        self,
        repository: Repository,
        base: str,
        head: str,
        base_name: str,
        ahead: Sequence[str] | None = None,
        *,
        on_base: Collection[str] | None = None,
    ) -> None:
        self.reason = ""
        self._asked = Asked(repository)
        self._base, self._head, self._ahead = base, head, ahead
        self._name = "the base branch" if FULL.fullmatch(base_name) else base_name.removeprefix("refs/heads/")
        self._on_base = (frozenset(on_base), True) if on_base is not None else None
        self._fates: dict[str, Fate] = {}
        self._stopped = False

    @property
    def complete(self) -> bool:
        """Whether all branches and tags could be looked at, as far as a commit needed it."""
        return not self.reason

    def resolve(self, words: Sequence[str]) -> tuple[Commit, ...]:
        """Say of each word which commit it names and whether a branch or tag holds it."""
        found = {word: self._commit(word) for word in sorted(dict.fromkeys(words), key=_order)}
        return tuple(found[word] for word in words)

    def _commit(self, word: str) -> Commit:
        if not self._stopped:
            try:
                return self._resolved(word)
            except RefusedError as refused:
                return Commit(word, None, "unknown", str(refused))
            except SpentError:
                self.reason = SPENT
            except FAULTS as fault:
                self.reason = f"{why(fault)}, asked for commits"
            self._stopped = True  # the next question would end alike
        return Commit(word, None, "unknown", self.reason)

    def _resolved(self, word: str) -> Commit:
        if not WORD.fullmatch(word):
            return Commit(word, None, "unknown", "is no id of a commit")
        if self._on_base is None:
            self._on_base = self._asked.newest(self._base)
        known = [(sha, f"on {self._name}") for sha in self._on_base[0] if sha.startswith(word)]
        known += [(sha, "in head") for sha in self._ahead or () if sha.startswith(word)]
        if len(known) > 1:
            return Commit(word, None, "unknown", "short for more than one commit")
        if known:
            return Commit(word, known[0][0], "reachable", known[0][1])
        met = [sha for sha in self._fates if sha.startswith(word)]
        try:
            sha = met[0] if len(met) == 1 else self._asked.commit(word)  # people write an id whole once, and then its beginning
        except RefusedError as refused:
            return self._listed(word)[0] or Commit(word, None, "unknown", str(refused))
        if sha is None:
            return self._refused(word, whole=self._on_base[1])
        if not sha.startswith(word):
            return Commit(word, None, "unknown", "names a branch or tag, not a commit")
        if sha not in self._fates:
            try:
                self._fates[sha] = self._fate(sha, whole=self._on_base[1])
            except _UnknownError as reason:
                self._fates[sha] = "unknown", str(reason)
        return Commit(word, sha, *self._fates[sha])

    def _refused(self, word: str, *, whole: bool) -> Commit:
        """What a word is that GitHub knows no commit by: of a short one it says so as well where two objects begin with it, even one of another fork.

        Seen in timescale/timescaledb#8102. `whole` says whether all commits of the base branch are known, of which none has the name.
        """
        found, every = self._listed(word)
        kind = "" if found else self._asked.kind(word, self._head, self._base)
        if found or kind:
            return found or Commit(word, None, "unknown", f"names a {kind}, not a commit")
        if len(word) >= SURE:
            return Commit(word, None, "orphaned", ABSENT)
        if whole and every:
            return Commit(word, None, "orphaned", "no branch or tag holds it, and GitHub knows no commit by this name")
        return Commit(word, None, "unknown", "GitHub knows no commit by so short a name, which several of its forks may share")

    def _listed(self, word: str) -> tuple[Commit | None, bool]:
        """The commit of a branch or tag that a word names, and whether all were looked at."""
        branches, every = self._branches()
        whole = every and self._ahead is not None
        for ref, tip in branches:
            beyond, listed = self._beyond(tip)
            found = [sha for sha in beyond if sha.startswith(word)]
            if found:
                return Commit(word, found[0], "reachable", place(ref)), whole
            whole = whole and listed
        return None, whole

    def _branches(self) -> tuple[list[tuple[str, str]], bool]:
        """The branches and tags that may hold more than base and head do, at most MOST_REFS, and whether these are all."""
        known = {"", self._head, *(self._on_base or (frozenset[str](), False))[0], *(self._ahead or ())}
        lists = [self._asked.refs(kind) for kind in ("heads", "tags")]
        found = [
            (ref, tip) for refs in lists for ref, tip in refs if tip not in known
        ]  # pr/4 too is a branch, when it is one here
        cut = any(len(refs) > MOST_LISTED for refs in lists)
        every = len(found) <= MOST_REFS and not cut
        if not every:
            number = f"more than {MOST_LISTED:,}" if cut else f"{len(found):,}"
            self.reason = f"only {min(MOST_REFS, len(found))} of {number} branches and tags were looked at"
        return found[:MOST_REFS], every

    def _beyond(self, tip: str) -> tuple[frozenset[str], bool]:
        """The commits of a branch that base does not have, and whether these are all. Mostly it is one answer, which serves all words."""
        comparison = self._asked.compare(self._base, tip)
        if comparison is None:  # such as a branch for the pages of a site
            return self._asked.newest(tip)
        return frozenset(commit["sha"] for commit in comparison.commits), comparison.whole

    def _fate(self, sha: str, *, whole: bool) -> Fate:
        """What became of a commit that the lists do not have; `whole` as in `_refused`. Raises _UnknownError."""
        if not whole and self._asked.holds(self._base, sha):
            return "reachable", f"on {self._name}"
        if self._ahead is None and self._asked.holds(self._head, sha):
            return "reachable", "in head"
        branches, every = self._branches()
        for ref, tip in branches:
            beyond, listed = self._beyond(tip)
            if sha in beyond or (not listed and self._asked.holds(tip, sha)):
                return "reachable", place(ref)
        if not every:
            raise _UnknownError(self.reason)
        same = self._same(sha)
        if same:
            return "reachable", same
        pulls = [ref for ref, tip in self._asked.refs("pull") if tip == sha]
        return ("orphaned", holders(pulls)) if pulls else self._pulled(sha)

    def _pulled(self, sha: str) -> Fate:
        """What became of a commit within a pull request, whose whole may be one commit, as after a squash. Raises _UnknownError."""
        near = {"", *(self._on_base or (frozenset[str](), False))[0], *(self._ahead or ())}
        pulls = {tip: ref for ref, tip in reversed(self._asked.refs("pull")) if tip not in near}
        if len(pulls) > MOST_PULLS:
            raise _UnknownError(f"it may be of one of {len(pulls)} pull requests, and merged with it under another id")
        found = {tip: ref for tip, ref in pulls.items() if self._asked.holds(tip, sha)}
        for tip, ref in found.items():
            same = self._same(tip)
            if same:
                return "reachable", same.replace("the same change", f"all of {ref}", 1)
        return "orphaned", holders(list(found.values())) if found else "no branch or tag holds it"

    def _same(self, sha: str) -> str:
        """Word where the same change is under another id, as after a squash or a cherry-pick; "" when it is nowhere. Raises _UnknownError."""
        since, later = self._asked.compare(self._base, sha), self._asked.compare(sha, self._base)
        if since is None or later is None:
            raise _UnknownError(f"it shares no history with {self._name}, where the same change may be under another id")
        mine = (self._asked.difference(sha), since.difference)
        open_ends = False
        for where, commits in ((f"on {self._name}", self._single(later)), ("in head", self._ahead)):
            if commits is None or len(commits) > MOST_PATCHES:
                where = where.removeprefix("on ").removeprefix("in ")  # noqa: PLW2901
                raise _UnknownError(
                    f"the same change may be in {where} under another id, where too many commits are to be compared"
                )
            for commit in commits:
                other = self._asked.difference(commit)
                if any(each.same(other) for each in mine):
                    return f"the same change is {where} as {commit[:SHORT]}"
                open_ends = open_ends or any(each.may_be(other) for each in mine)
        if open_ends:
            raise _UnknownError("GitHub does not show all of a change that may be the same under another id")
        return ""

    def _single(self, later: Comparison) -> list[str] | None:
        """The commits of a comparison that are no merges, None when it does not have them all."""
        return [commit["sha"] for commit in later.commits if len(commit["parents"]) <= 1] if later.whole else None


def _order(word: str) -> tuple[bool, int]:
    """Likely commits first, and whole ids before short ones. Digits alone are rarely one, nor is a length that nobody writes, as the 32 of an md5."""
    return unlikely(word), -len(word)
