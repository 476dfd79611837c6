"""Turn what the command line names into two open sources."""

from pathlib import Path

from bot.errors import UsageError
from bot.fetch.folder import FolderSource
from bot.fetch.git import FULL, Repository
from bot.fetch.hub import PREFIX as HUB
from bot.fetch.hub import HubSource, open_hub, open_hub_pair
from bot.fetch.lfs import InTurn
from bot.fetch.source import Nothing, Source
from bot.fetch.tree import GitSource, IndexSource
from bot.hub import Access

GIT = "git:"
SHORT = 7  # digits of a commit in a label
EMPTY_TREE = (
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # every repository has it, also one that never wrote it (run with git 2.39.5)
)


def open_pair(base: str, head: str, repo: Path, hub: Access | None = None) -> tuple[Source, Source]:
    """Open base and head: each a folder, `git:<revision>` of the repository at `repo`, or `hub:<repository>@<revision>`.

    Between two revisions of one repository the base is their merge base, so that what others did meanwhile is not held against head;
    when head lies behind base, base is taken as it stands. `hub` is by default asked without a token.
    Raises UsageError or CannotLookError.
    """
    if base.startswith(GIT) and head.startswith(GIT):
        return _git_pair(Repository(repo), base.removeprefix(GIT), head.removeprefix(GIT))
    access = hub or Access()
    if base.startswith(HUB) and head.startswith(HUB):
        return open_hub_pair(base, head, access)
    clone = base.startswith(GIT) or head.startswith(GIT)  # what Git LFS keeps is a pointer there
    before, after = (
        open_hub(each, access, pointers=clone) if each.startswith(HUB) else open_revision(each, repo) for each in (base, head)
    )
    for source, other in ((before, after), (after, before)):
        if isinstance(source, GitSource) and source.lfs and isinstance(other, HubSource) and other.lfs:
            source.lfs = InTurn(source.lfs, other.lfs)  # what the clone has only a pointer to, the Hub may keep
    return before, after


def open_staged(repo: Path) -> tuple[Source, Source]:
    """Open HEAD as base, nothing where there is no commit yet, and the index as head.

    Raises CannotLookError, for an unmerged index not before it is listed.
    """
    repository = Repository(repo)
    if repository.unborn():
        return Nothing(), IndexSource(repository, EMPTY_TREE)
    head = repository.commit("HEAD")
    return GitSource(repository, "HEAD", head), IndexSource(repository, head)


def open_revision(revision: str, repo: Path, hub: Access | None = None) -> Source:
    """Open one revision as it stands. Raises UsageError or CannotLookError."""
    if revision.startswith(HUB):
        return open_hub(revision, hub or Access())
    if revision.startswith(GIT):
        repository = Repository(repo)
        name = revision.removeprefix(GIT)
        return GitSource(repository, name, repository.commit(name), label=_called(name))
    if not revision or "\0" in revision:
        raise UsageError(f"{revision!r}: a folder, git:<revision> or hub:<organization>/<name>@<revision> is needed")
    return FolderSource(Path(revision))


def _git_pair(repository: Repository, base: str, head: str) -> tuple[Source, Source]:
    base_tip, head_tip = repository.commit(base), repository.commit(head)
    label = _called(base)
    found = base_tip if base_tip == head_tip else repository.merge_base(base_tip, head_tip)
    if found is None:
        label = f"{label} (no common history)"
    if found in (None, head_tip):
        found = base_tip
    if found != base_tip:
        label = f"{label} (merge base {found[:SHORT]})"
    return (
        GitSource(repository, base, base_tip, sha=found, label=label),
        GitSource(repository, head, head_tip, label=_called(head)),
    )


def _called(revision: str) -> str:
    return revision[:SHORT] if FULL.fullmatch(revision) else revision
