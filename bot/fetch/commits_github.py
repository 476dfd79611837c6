"""Questions to GitHub's REST API about commits and refs, counted, each asked once."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

from github.GithubException import GithubException
from github.Repository import Repository

from bot.fetch.patches_github import NOTHING, Difference, difference

MOST_REQUESTS = 100  # of a run; GITHUB_TOKEN has 1,000 an hour
MOST_PAGES = 5  # of the commits of a branch, 100 each
MOST_LISTED = 1_000  # branches, tags or pull requests
NOT_FOUND = 404
# For what is no commit GitHub answers 422, "No commit found for SHA: ..."; its description of the API has 404 as well.
NONE_SUCH = (NOT_FOUND, 422)


class SpentError(Exception):
    """No request is left."""


class Comparison:
    """What GitHub answers to `base...head`; of the commits and files only the first page."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.within = said["status"] in ("behind", "identical")
        self.commits: Sequence[dict[str, Any]] = said["commits"]
        self.whole = len(self.commits) == said["total_commits"]
        self.difference = difference(said["files"])


class Asked:
    """A repository on GitHub. Every method raises one of bot.api.FAULTS, and SpentError when too much was asked."""

    def __init__(self, repository: Repository) -> None:
        self.left = MOST_REQUESTS
        self._repository = repository
        self._newest: dict[str, tuple[frozenset[str], bool]] = {}
        self._refs: dict[str, list[tuple[str, str]]] = {}
        self._comparisons: dict[tuple[str, str], Comparison | None] = {}
        self._differences: dict[str, Difference] = {}

    def newest(self, tip: str) -> tuple[frozenset[str], bool]:
        """The newest commits of a branch, and whether these are all."""
        if tip not in self._newest:
            self._newest[tip] = self._pages(tip)
        return self._newest[tip]

    def commit(self, revision: str) -> str | None:
        """The commit that a revision names, None where there is none.

        Whoever asks has read files of the repository with the same token, so that a 404 is about the commit.
        """
        self._spend()
        try:
            commit = self._repository.get_commit(revision)
            said = commit.raw_data
        except GithubException as fault:
            if fault.status in NONE_SUCH:
                return None
            raise
        self._differences[said["sha"]] = difference(said["files"]) if len(said["parents"]) <= 1 else NOTHING
        return said["sha"]

    def difference(self, sha: str) -> Difference:
        """What a commit changes; nothing, for a merge."""
        if sha not in self._differences:
            self.commit(sha)
        return self._differences.get(sha, NOTHING)

    def compare(self, base: str, head: str) -> Comparison | None:
        """Compare two commits; None when they have no common ancestor, to which GitHub says 404."""
        if (base, head) not in self._comparisons:
            self._spend()
            try:
                self._comparisons[base, head] = Comparison(self._repository.compare(base, head).raw_data)
            except GithubException as fault:
                if fault.status != NOT_FOUND:
                    raise
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
            # An annotated tag is an object of its own, which points to the commit.
            self._refs[kind] = [
                (row.ref, row.object.sha if row.object.type == "commit" else self.commit(row.ref.removeprefix("refs/")) or "")
                for row in rows
            ]
        return self._refs[kind]

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
