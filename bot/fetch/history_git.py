"""Refs and commits of a git clone."""

import re
from collections.abc import Callable, Mapping, Sequence

from bot.errors import CannotLookError
from bot.fetch.git import FULL, Repository
from bot.fetch.history import MOST_PULLS, SHORT, History, holders, is_pull, place, unlikely
from bot.fetch.patches import Patches
from bot.snapshot import Commit, CommitStatus

WORD = re.compile(r"[0-9a-f]{7,40}")
AT_ONCE = 500  # words on one command line
MOST_WALKS = 100  # commits off base and head that are looked for in the other refs; each costs a walk
ALL_BRANCHES = ("refs/heads/*", "refs/*")
PULLS = re.compile(r"refs/(?:pr|pull|merge-requests)/")
FETCHED = re.compile(r"refs/(?:heads|remotes/(?P<remote>[^/]+))/(?P<name>(?:pr|pull|merge-requests)/(?P<number>\d+))(?:/.*)?")
ELSEWHERE = "the clone does not have it, and its remote may"

Fate = tuple[CommitStatus, str]


class GitHistory:
    """A clone, with the tip of the base branch (called `base_name`) and the head commit.

    Its refs are complete when it is not shallow and every remote brings all branches and tags. A clone does not bring the commits that
    became another one when they were merged: what it lacks is only said to be nowhere where there is no remote. `beyond` is asked, where
    it is given, for what the clone cannot tell.
    """

    def __init__(
        self,
        repository: Repository,
        base_branch: str,
        head: str,
        base_name: str,
        beyond: Callable[[], History] | None = None,
    ) -> None:
        self._repository = repository
        self._base, self._head = base_branch, head
        self._name = "the base branch" if FULL.fullmatch(base_name) else base_name.removeprefix("refs/heads/")
        self._patches = Patches(repository)
        self._fates: dict[str, Fate] = {}
        self._beyond = beyond
        self._remotes = repository.remotes()
        self.reason = _why_incomplete(repository)

    @property
    def complete(self) -> bool:
        """Whether the clone has every branch and tag of its remotes."""
        return not self.reason

    def resolve(self, words: Sequence[str]) -> tuple[Commit, ...]:
        """Say of each word which commit it names and whether a branch or tag holds it."""
        named = self._named([word for word in words if WORD.fullmatch(word)])
        near: dict[str, Fate] = {}
        if named:
            near = dict.fromkeys(self._reached(self._head), ("reachable", "in head"))
            near |= dict.fromkeys(self._reached(self._base), ("reachable", f"on {self._name}"))
        found = {word: self._commit(word, named.get(word, {}), near) for word in words}
        open_ends = [word for word, commit in found.items() if commit.status == "unknown" and not _is_told(named.get(word, {}))]
        asked = [word for word in open_ends if not unlikely(word)]
        if self._beyond and asked:
            found |= {commit.word: commit for commit in self._beyond().resolve(asked)}
        return tuple(found[word] for word in words)

    def _named(self, words: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        """Return the objects, id to type, whose ids begin with each word. Refs of the same name are not looked at."""
        wanted = set(words)
        found: set[str] = set()
        for start in range(0, len(words), AT_ONCE):
            asked = [f"--disambiguate={word}" for word in words[start : start + AT_ONCE]]
            found.update(self._repository.ask("rev-parse", *asked).decode().split())
        checked = self._repository.ask("cat-file", "--batch-check", stdin="".join(f"{oid}\n" for oid in found).encode())
        named: dict[str, dict[str, str]] = {}
        for row in checked.decode().splitlines():
            oid, kind, *_ = row.split()
            for length in range(7, 41):
                if oid[:length] in wanted:
                    named.setdefault(oid[:length], {})[oid] = kind
        return named

    def _reached(self, tip: str) -> list[str]:
        return self._repository.ask("rev-list", tip).decode().split()

    def _commit(self, word: str, objects: Mapping[str, str], near: Mapping[str, Fate]) -> Commit:
        commits = [oid for oid, kind in objects.items() if kind == "commit"]
        if len(commits) > 1:
            return Commit(word, None, "unknown", "short for more than one commit")
        if commits:
            sha = commits[0]
            return Commit(word, sha, *(near.get(sha) or self._far(sha)))
        if objects:
            return Commit(word, None, "unknown", f"names a {next(iter(objects.values()))}, not a commit")
        if self.complete and not self._remotes:
            return Commit(word, None, "orphaned", "no commit of this repository has this id")
        return Commit(word, None, "unknown", self.reason or ELSEWHERE)

    def _far(self, sha: str) -> Fate:
        """Say what became of a commit that neither the base branch nor head holds."""
        if sha not in self._fates:
            if len(self._fates) >= MOST_WALKS:
                return "unknown", f"more than {MOST_WALKS} commits would have to be looked for"
            self._fates[sha] = self._look(sha)
        return self._fates[sha]

    def _look(self, sha: str) -> Fate:
        try:
            refs = (
                self._repository.ask("for-each-ref", f"--contains={sha}", "--format=%(refname)")
                .decode("utf-8", "replace")
                .split()
            )
        except CannotLookError as error:
            return "unknown", f"could not walk the refs: {error}"
        pulls = [ref for ref in refs if self._is_pull(ref, refs)]
        held = next(
            (ref for ref in refs if ref.startswith(("refs/heads/", "refs/remotes/", "refs/tags/")) and ref not in pulls), ""
        )
        if held:
            return "reachable", place(held)
        try:
            same = self._same(sha) or self._merged(pulls)
        except CannotLookError as error:
            return "unknown", f"could not compare patches: {error}"
        if same:
            return "reachable", same
        if not self.complete:
            return "unknown", self.reason
        return "orphaned", holders(pulls)

    def _is_pull(self, ref: str, beside: Sequence[str]) -> bool:
        """Say whether a ref is that of a pull request and no branch that is called so, as pr/4 can be; `beside` hold the same commit."""
        if PULLS.match(ref) or not is_pull(ref):
            return is_pull(ref)
        match = FETCHED.fullmatch(ref)
        remote, name, number = match.group("remote", "name", "number") if match else ("", "", "")
        if remote not in (None, *self._remotes) or any(PULLS.match(each) and number in each.split("/") for each in beside):
            return True
        if remote is None:  # fetched by hand, unless a remote has this branch, or there is no remote
            there = [f"refs/remotes/{each}/{name}" for each in self._remotes]
            return bool(there) and not self._repository.ask("for-each-ref", "--count=1", *there)
        sources = [value.removeprefix("+") for _, value in self._repository.settings(rf"^remote\.{re.escape(remote)}\.fetch$")]
        return ref.endswith(("/head", "/merge")) or any(PULLS.match(source) for source in sources)

    def _merged(self, pulls: Sequence[str]) -> str:
        """Word where all of a pull request is one commit, as after a squash. Raises CannotLookError."""
        if len(pulls) > MOST_PULLS:
            raise CannotLookError(f"more than {MOST_PULLS} pull requests hold it")
        for ref in pulls:
            same = self._same(self._repository.commit(ref))
            if same:
                return same.replace("the same change", f"all of {ref}", 1)
        return ""

    def _same(self, sha: str) -> str:
        """Word where the same change is under another id, "" when it is nowhere. Raises CannotLookError."""
        commit = self._patches.same(sha, self._base)
        if commit:
            return f"the same change is on {self._name} as {commit[:SHORT]}"
        commit = self._patches.same(sha, self._head, [self._base])
        return f"the same change is in head as {commit[:SHORT]}" if commit else ""


def _is_told(objects: Mapping[str, str]) -> bool:
    """Whether the objects that a word names tell enough: several commits, or other things."""
    return bool(objects) and sum(kind == "commit" for kind in objects.values()) != 1


def _why_incomplete(repository: Repository) -> str:
    """Say why the clone may lack branches or tags, "" when it has all of them."""
    if repository.shallow:
        return "the clone is shallow"
    fetched: dict[str, list[str]] = {remote: [] for remote in repository.remotes()}
    for name, value in repository.settings(r"^remote\..*\.(fetch|tagopt)$"):
        remote, _, key = name.removeprefix("remote.").rpartition(".")
        if key == "tagopt" and value == "--no-tags":
            return f"tags of {remote} were not fetched"
        if key == "fetch":
            fetched.setdefault(remote, []).append(value.removeprefix("+").partition(":")[0])
    for remote, sources in fetched.items():
        left_out = [source for source in sources if source.startswith("^")]
        if left_out:
            return f"branches {left_out[0].removeprefix('^refs/heads/')} of {remote} were left out"
        if not any(source in ALL_BRANCHES for source in sources):
            names = ", ".join(source.removeprefix("refs/heads/") for source in sources)
            return f"only branch {names} was cloned" if names else f"no branches are fetched from {remote}"
    return ""
