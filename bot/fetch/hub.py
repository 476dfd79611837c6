"""Read one commit of a repository on the Hugging Face Hub: the list of its files, and the bytes of those that are asked for."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from bot.errors import UsageError
from bot.fetch.git import FULL
from bot.fetch.hub_cache import ContentCache, fits
from bot.fetch.hub_commits import Commits, Requests, merge_base
from bot.fetch.lfs import Absent, Lfs, Pointer
from bot.fetch.messages import MOST_CHARACTERS, MOST_COMMITS
from bot.fetch.source import UnreadError
from bot.hub import AbsentError, Access, HubError, connect
from bot.snapshot import File, Text

if TYPE_CHECKING:
    from bot.hub_client import Hub

PREFIX = "hub:"
SHORT = 7  # digits of a commit in a label
MOST_FILES = 100_000
NAME = re.compile(r"(?:[A-Za-z0-9][\w.-]{0,95}/)?[A-Za-z0-9][\w.-]{0,95}", re.ASCII)


class Revision(NamedTuple):
    """What `hub:<repository>@<revision>` names."""

    repository: str
    revision: str

    def __str__(self) -> str:
        return f"{PREFIX}{self.repository}@{self.revision}"

    @property
    def label(self) -> str:
        """What people call it, without the prefix."""
        short = self.revision[:SHORT] if FULL.fullmatch(self.revision) else self.revision
        return f"{self.repository}@{short}"


def parse(written: str) -> Revision:
    """Read `hub:<organization>/<name>@<revision>`; the revision is by default main. Raises UsageError."""
    repository, at, revision = written.removeprefix(PREFIX).partition("@")
    fit = NAME.fullmatch(repository) and "--" not in repository and ".." not in repository
    if not fit or (at and not (revision and revision.isprintable() and len(revision) <= 255)):
        raise UsageError(
            f"{written[:300]!r}: hub:<organization>/<name>@<revision> is needed, such as hub:openai/gpt-oss-20b@main"
        )
    return Revision(repository, revision or "main")


class HubSource:
    """One commit on the Hub. A file is brought when it is asked for, and held to what the list of files says about it.

    `tip` is the commit that the revision named; `sha` may be an older one, the merge base. What Git LFS keeps is identified by its sha256 and read
    like any other file, as the Hub shows it; with `pointers` it is what git has instead, for a comparison with a clone. `commits` is the list that
    the tip came from, None where none was asked for, and `messages` are those of the commits that base does not have.
    """

    def __init__(
        self,
        hub: "Hub",
        asked: Revision,
        tip: str,
        *,
        sha: str = "",
        label: str = "",
        pointers: bool = False,
        commits: Commits | None = None,
        messages: tuple[Text, ...] = (),
        left_out: tuple[str, ...] = (),
    ) -> None:
        self.hub = hub
        self.asked = asked
        self.tip = tip
        self.sha: str | None = sha or tip
        self.label = label or asked.label
        self.commits, self.messages, self.left_out = commits, messages, left_out
        self._commit = sha or tip
        self._place = f"{PREFIX}{asked.repository}@{self._commit}"
        self._cache = ContentCache(hub.access.cache)
        self._pointers = pointers
        self._kept: dict[str, Pointer] = {}
        self._entries: tuple[File, ...] | None = None
        self.lfs: Lfs | None = _Store(self) if pointers else None

    def entries(self) -> tuple[File, ...]:
        """Return all files; the Hub says of none whether it is a symbolic link. Raises HubError."""
        if self._entries is None:
            self._entries = tuple(sorted(self._listed(), key=lambda file: file.path))
        return self._entries

    def size(self, file: File) -> int:
        """Return the number of bytes that the list of files gives."""
        if file.size is None:
            raise UnreadError("the Hub does not say its size")
        return file.size

    def read(self, file: File) -> bytes:
        """Return the bytes of a file. Raises UnreadError when this one is not to be had, HubError when none is."""
        kept = self._kept.get(file.path)
        if kept is not None and self._pointers:
            return pointer_text(kept)
        return self.content(file.path, file.oid, self.size(file))

    def content(self, path: str, oid: str, size: int) -> bytes:
        """Return the bytes behind a path, from the cache or from the Hub; `oid` is the id of a blob, or a sha256."""
        content = self._cache.get(oid)
        if content is None:
            try:
                content = self.hub.content(self._place, self.asked.repository, self._commit, path, size)
            except AbsentError as fault:
                raise UnreadError(f"the Hub lists it and does not have it: {fault}") from fault
            if not fits(oid, content):
                raise UnreadError("what the Hub sent is not what its list of files names")
            self._cache.put(oid, content)
        return content

    def close(self) -> None:
        """Leave the cache in order; the connection is shared by all of this process."""
        self._cache.prune()

    def of_tip(self) -> "HubSource":
        """The commit that the revision named, which may be younger than this one."""
        return HubSource(self.hub, self.asked, self.tip)

    def kept(self) -> dict[Pointer, str]:
        """What Git LFS keeps, and a path where it is."""
        self.entries()
        return {pointer: path for path, pointer in self._kept.items()}

    def _listed(self) -> Iterator[File]:
        from huggingface_hub.hf_api import RepoFile  # noqa: PLC0415 - not before `connect` said how it shall behave

        repository, sha = self.asked.repository, self._commit
        rows = self.hub.trees.get(self._place)  # both sides may be one commit
        if rows is None:
            rows = self.hub.trees[self._place] = self.hub.ask(
                self._place,
                lambda api: list(islice(api.list_repo_tree(repository, recursive=True, revision=sha), MOST_FILES + 1)),
            )
        if len(rows) > MOST_FILES:
            raise HubError(
                f"{self._place}: it has more than {MOST_FILES:,} files and folders, too many to list; clone the repository"
            )
        for row in rows:
            if not isinstance(row, RepoFile):
                continue
            if row.lfs is None:
                yield File(row.path, oid=row.blob_id, size=row.size)
                continue
            kept = self._kept[row.path] = Pointer(row.lfs.size, row.lfs.sha256)
            if self._pointers:
                yield File(row.path, oid=row.blob_id, size=len(pointer_text(kept)))
            else:
                yield File(row.path, oid=kept.oid, size=kept.size)


class _Store:
    """What Git LFS keeps of one commit, for pointers that the same files stand behind."""

    def __init__(self, source: HubSource) -> None:
        self._source = source

    def bring(self, wanted: Sequence[Pointer]) -> Iterator[tuple[Pointer, bytes | Absent]]:
        """Bring contents. Raises HubError when none is to be had."""
        paths = self._source.kept()
        for one in wanted:
            if one not in paths:
                yield one, Absent("the Hub does not keep it")
                continue
            try:
                yield one, self._source.content(paths[one], one.oid, one.size)
            except UnreadError as reason:
                yield one, Absent(str(reason))


def pointer_text(kept: Pointer) -> bytes:
    """The pointer that git has in the place of a content (git-lfs/git-lfs, docs/spec.md, "The Pointer")."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{kept.oid}\nsize {kept.size}\n".encode()


def open_hub(written: str, access: Access, *, pointers: bool = False) -> HubSource:
    """Open one revision as it stands, pinned to its commit. Raises UsageError or HubError."""
    asked = parse(written)
    hub = connect(access)
    return HubSource(hub, asked, _pinned(hub, asked), pointers=pointers)


def _pinned(hub: "Hub", asked: Revision) -> str:
    """The commit that a revision names. A full id is taken as it is: the list of its files tells whether it is there."""
    if FULL.fullmatch(asked.revision):
        return asked.revision
    about = hub.ask(str(asked), lambda api: api.model_info(asked.repository, revision=asked.revision, expand=["sha"]))
    if about.sha is None or not FULL.fullmatch(about.sha):
        raise HubError(f"{asked}: the Hub does not say which commit that is")
    return about.sha


def open_hub_pair(base: str, head: str, access: Access) -> tuple[HubSource, HubSource]:
    """Open two revisions. In one repository the base is their merge base, or base as it stands where head lies behind it.

    The lists of commits that tell it give the tips as well, so that nothing else is asked. Raises UsageError or HubError.
    """
    before, after = parse(base), parse(head)
    hub = connect(access)
    if before.repository.lower() != after.repository.lower():
        return HubSource(hub, before, _pinned(hub, before)), HubSource(hub, after, _pinned(hub, after))
    requests = Requests()
    ours, theirs = (Commits(hub, each.repository, each.revision, requests) for each in (before, after))
    found, why = merge_base(ours, theirs)
    tip, head_tip = ours.tip(), theirs.tip()
    label = before.label
    if found is None:
        label = f"{label} ({why})"
    if found in (None, head_tip):
        found = tip
    elif found != tip:
        label = f"{label} (merge base {found[:SHORT]})"
    messages, left_out = _messages(ours, theirs, found)
    return (
        HubSource(hub, before, tip, sha=found, label=label, commits=ours),
        HubSource(hub, after, head_tip, commits=theirs, messages=messages, left_out=left_out),
    )


def _messages(base: Commits, head: Commits, start: str) -> tuple[tuple[Text, ...], tuple[str, ...]]:
    """The messages of the commits that head has and base has not, and what was left out."""
    rows = [row for row in head.until(start) if row.id not in base.rows] if start in head.rows else []
    texts = [Text(f"commit:{row.id}", row.text[:MOST_CHARACTERS]) for row in rows[:MOST_COMMITS]]
    return tuple(texts), (f"only the newest {MOST_COMMITS} commit messages were read",) if len(rows) > MOST_COMMITS else ()
