"""Where a run on GitHub reads its two revisions: the clone in the workspace where it has both, else the REST API."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from github.GithubException import UnknownObjectException
from github.Repository import Repository as Remote

from bot.api import FAULTS, why
from bot.errors import CannotLookError, UsageError
from bot.event import Job
from bot.fetch.git import FULL, Repository
from bot.fetch.github import GitHubSource
from bot.fetch.history import History
from bot.fetch.history_git import GitHistory
from bot.fetch.history_github import GitHubHistory
from bot.fetch.hub import PREFIX as HUB
from bot.fetch.hub import open_hub, open_hub_pair
from bot.fetch.lfs import CloneStore, InTurn, Lfs
from bot.fetch.settings import MISNAMED, settings_in
from bot.fetch.source import Source
from bot.fetch.tree import GitSource
from bot.hub import Access
from bot.settings import FILE
from bot.snapshot import LARGEST_SETTINGS, Text


@dataclass(frozen=True)
class Sides:
    """The two revisions, opened, and what else the place that has them knows.

    `settings` is the settings file of the base branch as it is now (not of the merge base: an old branch does not
    bring old settings back), None where there is none. `texts` are commit messages that the sources cannot give, `history` tells what
    became of commits (None where the clone does, and nobody else can be asked).
    """

    base: Source
    head: Source
    settings: bytes | None
    texts: tuple[Text, ...] = ()
    history: History | None = None


def sides(job: Job, workspace: Path, remote: Remote | None, lfs: Lfs | None = None, hub: Access | None = None) -> Sides:
    """Open both revisions of `job`: from a complete clone, by the API, or from a shallow clone, which may have to fetch.

    What Git LFS keeps is looked for in the clone, whatever its depth, and then in `lfs`. A revision that the job names as
    `hub:<repository>@<revision>` is read from the Hub, by default without a token. Nothing is checked out. Raises CannotLookError
    with what every attempt said.
    """
    ways: list[Callable[[], Sides]] = []
    reasons: list[str] = []
    clone = _clone(workspace, reasons)
    store = CloneStore(clone) if clone else None
    stores = InTurn(store, lfs) if store and lfs else store or lfs
    if on_hub(job.base) or on_hub(job.head):
        return _with_hub(job, hub or Access(), lambda revision: _here(revision, clone, remote, stores))
    if clone and not clone.shallow:
        ways.append(lambda: _from_clone(job, clone, stores, remote))
    if remote:
        ways.append(lambda: _from_api(job, remote, stores))
    if clone and clone.shallow:
        ways.append(lambda: _from_clone(job, clone, stores, remote))
    for way in ways:
        try:
            return way()
        except CannotLookError as error:
            reasons.append(str(error))
    cure = "check the repository out with `fetch-depth: 0`, or give the input token"
    raise CannotLookError("; ".join([*reasons, cure]))


def _clone(workspace: Path, reasons: list[str]) -> Repository | None:
    try:
        # It belongs to the runner's user, whatever ours is in a container, and its settings are those of actions/checkout.
        return Repository(workspace, trusted=True)
    except CannotLookError as error:
        reasons.append(str(error))
        return None


def on_hub(revision: str) -> bool:
    """Say whether a revision is one of the Hub."""
    return revision.startswith(HUB)


def _with_hub(job: Job, hub: Access, here: Callable[[str], Source]) -> Sides:
    """Open revisions of which at least one is on the Hub, as they stand; `here` opens one of this repository."""
    if on_hub(job.base) and on_hub(job.head):
        base, head = open_hub_pair(job.base, job.head, hub)
    else:
        base, head = (open_hub(each, hub, pointers=True) if on_hub(each) else here(each) for each in (job.base, job.head))
    return Sides(base, head, settings_in(base))


def _here(revision: str, clone: Repository | None, remote: Remote | None, lfs: Lfs | None) -> Source:
    """One revision of this repository, from the clone where it has it. Raises CannotLookError."""
    try:
        if clone:
            return GitSource(clone, _name(revision, ""), _commit(clone, revision), lfs=lfs)
    except CannotLookError:
        if remote is None:
            raise
    if remote is None:
        raise CannotLookError(f"{revision} is not here: check the repository out, or give the input token")
    with _asking(revision[:100]):
        return GitHubSource(remote, remote.get_commit(revision).sha, _name(revision, ""), lfs=lfs)


def _from_clone(job: Job, clone: Repository, lfs: Lfs | None, remote: Remote | None) -> Sides:
    tip, head = _commit(clone, job.base), _commit(clone, job.head)
    merge_base = clone.merge_base(tip, head) if job.from_merge_base else None
    return Sides(
        GitSource(clone, _name(job.base, job.base_name), tip, sha=_start(job, tip, merge_base, head), lfs=lfs),
        GitSource(clone, _name(job.head, job.head_name), head, lfs=lfs),
        _settings_in(clone, tip),
        history=_asking_on(job, clone, tip, head, remote) if remote else None,
    )


def _asking_on(job: Job, clone: Repository, tip: str, head: str, remote: Remote) -> History:
    """The clone's history, and GitHub's for what the clone cannot tell: it lacks the commits that were merged as another one."""
    name = _name(job.base, job.base_name)

    def beyond() -> History:
        if clone.shallow:
            return GitHubHistory(remote, tip, head, name)
        on_base, ahead = (clone.ask("rev-list", *asked).decode().split() for asked in ((tip,), (head, f"^{tip}")))
        return GitHubHistory(remote, tip, head, name, ahead, on_base=on_base)

    return GitHistory(clone, tip, head, name, beyond)


def _start(job: Job, tip: str, merge_base: str | None, head: str) -> str:
    """Where to compare from. A head behind base brings nothing as a pull request, but may be asked about as it stands."""
    behind = merge_base == head and job.kind != "pull-request"
    return tip if merge_base is None or behind or not job.from_merge_base else merge_base


def _name(revision: str, name: str) -> str:
    return name or (revision[:7] if FULL.fullmatch(revision) else revision)


def _commit(clone: Repository, revision: str) -> str:
    """The commit that a revision names; a branch that only the remote has is good as well."""
    try:
        return clone.commit(revision)
    except CannotLookError:
        try:
            return clone.commit(f"refs/remotes/origin/{revision.removeprefix('refs/heads/')}")
        except CannotLookError:
            pass
        raise


def _settings_in(clone: Repository, commit: str) -> bytes | None:
    listed = clone.ask("ls-tree", "-l", "-z", commit, "--", FILE)
    if not listed:
        _refuse_misnamed(bool(clone.ask("ls-tree", commit, "--", MISNAMED)))
        return None
    mode, _, oid, size = listed.split(b"\t")[0].split()
    if mode not in (b"100644", b"100755"):
        raise UsageError(f"{FILE} of the base revision is not a plain file; make it one")
    if int(size) > LARGEST_SETTINGS:
        raise UsageError(f"{FILE} of the base revision has {int(size)} bytes; at most {LARGEST_SETTINGS} are read")
    return clone.ask("cat-file", "blob", oid.decode())


def _from_api(job: Job, remote: Remote, lfs: Lfs | None) -> Sides:
    with _asking(f"{job.base[:100]}...{job.head[:100]}"):
        comparison = remote.compare(job.base, job.head)
        merge_base, tip = comparison.merge_base_commit.sha, comparison.base_commit.sha
        head = job.head if FULL.fullmatch(job.head) else remote.get_commit(job.head).sha
        commits = {commit.sha: commit.commit.message for commit in comparison.commits}
        ahead = list(commits) if len(commits) == comparison.total_commits else None
    base = _name(job.base, job.base_name)
    return Sides(
        GitHubSource(remote, _start(job, tip, merge_base, head), base, lfs=lfs),
        GitHubSource(remote, head, _name(job.head, job.head_name), lfs=lfs),
        settings_at(remote, tip),
        tuple(Text(f"commit:{sha}", message) for sha, message in commits.items()),
        GitHubHistory(remote, tip, head, base, ahead),
    )


def settings_at(remote: Remote, commit: str) -> bytes | None:
    """Read the settings file of a commit by the API; None where there is none. Raises UsageError or CannotLookError."""
    folder = FILE.rpartition("/")[0]
    with _asking(FILE):
        try:
            listed = remote.get_contents(folder, ref=commit)
        except UnknownObjectException:
            return None
        beside = [entry.path for entry in listed] if isinstance(listed, list) else []
        if FILE not in beside:
            _refuse_misnamed(MISNAMED in beside)
            return None
        found = remote.get_contents(FILE, ref=commit)
    if isinstance(found, list) or found.type != "file":
        raise UsageError(f"{FILE} of the base revision is not a plain file; make it one")
    if found.size > LARGEST_SETTINGS:
        raise UsageError(f"{FILE} of the base revision has {found.size} bytes; at most {LARGEST_SETTINGS} are read")
    return found.decoded_content


def _refuse_misnamed(there: bool) -> None:  # noqa: FBT001 - the only thing to say
    if there:
        raise UsageError(f"{MISNAMED} of the base revision is not read; call it {FILE}")


@contextmanager
def _asking(what: str) -> Generator[None]:
    """Turn what goes wrong between us and GitHub into a reason that names what was asked for."""
    try:
        yield
    except FAULTS as fault:
        raise CannotLookError(f"{what} could not be read by the API: {why(fault)}") from fault
