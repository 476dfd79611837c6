"""Questions to GitHub's REST API about commits and refs, counted, each asked once."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from github.GithubException import GithubException
from github.GitRef import GitRef
from github.Repository import Repository

from bot.api import why
from bot.fetch.patches_github import NOTHING, Difference, difference

MOST_REQUESTS = 100  # of a run; GITHUB_TOKEN has 1,000 an hour
MOST_PAGES = 5  # of the commits of a branch, 100 each
MOST_LISTED = 1_000  # branches, tags or pull requests
NOT_FOUND = 404
REFUSALS = (NOT_FOUND, 422)
# What GitHub says of what is no commit, with 422 (kamilkisiela in graphql-hive/console#2559; yegor256/rultor#1344), and of two commits
# without a common ancestor, with 404 (PyGithub/PyGithub#1334). Any other 404 or 422 may be about a right, a diff that is too large, ...
NO_COMMIT = "No commit found for "
UNRELATED = "No common ancestor between "


class SpentError(Exception):
    """No request is left."""


class RefusedError(Exception):
    """GitHub does not answer one question, and may answer others; the text is the reason."""


class Comparison:
    """What GitHub answers to `base...head`; of the commits and files only the first page."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.within = said["status"] in ("behind", "identical")
        self.commits: Sequence[dict[str, Any]] = said["commits"]
        self.whole = len(self.commits) == said["total_commits"]
        self.difference = difference(said["files"])


class Asked:
    """A repository on GitHub. Every method raises one of bot.api.FAULTS, RefusedError, and SpentError when too much was asked."""

    def __init__(self, repository: Repository) -> None:
        self.left = MOST_REQUESTS
        self._repository = repository
        self._newest: dict[str, tuple[frozenset[str], bool]] = {}
        self._refs: dict[str, list[tuple[str, str]]] = {}
        self._comparisons: dict[tuple[str, str], Comparison | None] = {}
        self._differences: dict[str, Difference] = {}
        self._objects: dict[str, dict[str, str]] = {}

    def newest(self, tip: str) -> tuple[frozenset[str], bool]:
        """The newest commits of a branch, and whether these are all."""
        if tip not in self._newest:
            self._newest[tip] = self._pages(tip)
        return self._newest[tip]

    def commit(self, revision: str) -> str | None:
        """The commit that a revision names, None where GitHub says that there is none."""
        self._spend()
        try:
            commit = self._repository.get_commit(revision)
            said = commit.raw_data
        except GithubException as fault:
            if _says(fault, NO_COMMIT):
                return None
            raise _meant(fault) from fault
        self._differences[said["sha"]] = difference(said["files"]) if len(said["parents"]) <= 1 else NOTHING
        return said["sha"]

    def difference(self, sha: str) -> Difference:
        """What a commit changes; nothing, for a merge."""
        if sha not in self._differences:
            self.commit(sha)
        return self._differences.get(sha, NOTHING)

    def kind(self, word: str, *commits: str) -> str:
        """What a word that names no commit names: "tree" or "blob", "" for nothing. In short it is only known in the trees of `commits`."""
        for commit in commits:
            found = [kind for sha, kind in self._tree(commit).items() if sha.startswith(word)]
            if found:
                return found[0]
        for kind, ask in (("tree", self._repository.get_git_tree), ("blob", self._repository.get_git_blob)):
            if len(word) == len("0" * 40):
                self._spend()
                try:
                    return kind if ask(word).raw_data["sha"] == word else ""
                except GithubException as fault:
                    if fault.status not in REFUSALS:
                        raise
        return ""

    def _tree(self, commit: str) -> dict[str, str]:
        """The kinds of all objects in the tree of a commit, by id; of a very large tree GitHub lists only a part."""
        if commit not in self._objects:
            self._spend()
            said = self._repository.get_git_tree(commit, recursive=True).raw_data
            self._objects[commit] = {said["sha"]: "tree"} | {row["sha"]: row["type"] for row in said["tree"]}
        return self._objects[commit]

    def compare(self, base: str, head: str) -> Comparison | None:
        """Compare two commits; None when GitHub says that they have no common ancestor."""
        if (base, head) not in self._comparisons:
            self._spend()
            try:
                self._comparisons[base, head] = Comparison(self._repository.compare(base, head).raw_data)
            except GithubException as fault:
                if not _says(fault, UNRELATED):
                    raise _meant(fault) from fault
                self._comparisons[base, head] = None
        return self._comparisons[base, head]

    def holds(self, tip: str, sha: str) -> bool:
        """Whether a commit is `tip` or an ancestor of it."""
        comparison = self.compare(tip, sha)
        return comparison is not None and comparison.within

    def refs(self, kind: str) -> list[tuple[str, str]]:
        """The refs of a kind ("heads", "tags" or "pull"), at most MOST_LISTED and one, each with its commit ("" for none)."""
        if kind not in self._refs:
            self._spend()
            rows = list(islice(self._repository.get_git_matching_refs(kind), MOST_LISTED + 1))
            rows = [row for row in rows if row.ref.startswith(f"refs/{kind}/")]
            self._refs[kind] = [(row.ref, self._tip(row)) for row in rows]
        return self._refs[kind]

    def _tip(self, row: GitRef) -> str:
        """The commit of a ref, "" for none: an annotated tag is an object of its own, which points to the commit."""
        if row.object.type == "tag":
            return self.commit(row.ref.removeprefix("refs/")) or ""
        return row.object.sha if row.object.type == "commit" else ""

    def _pages(self, tip: str) -> tuple[frozenset[str], bool]:
        commits = self._repository.get_commits(sha=tip)
        found: list[str] = []
        for number in range(MOST_PAGES):
            self._spend()
            page = commits.get_page(number)
            found += [commit.sha for commit in page]
            if len(page) < self._repository.requester.per_page:
                return frozenset(found), True
        return frozenset(found), False

    def _spend(self) -> None:
        if not self.left:
            raise SpentError
        self.left -= 1


def _says(fault: GithubException, text: str) -> bool:
    return fault.status in REFUSALS and str(fault.message or "").startswith(text)


def _meant(fault: GithubException) -> Exception:
    """The fault, as RefusedError where it is about the question alone."""
    return RefusedError(f"{why(fault)}, asked for it") if fault.status in REFUSALS else fault
