"""The whole of fetch: from two names of revisions to an exchange folder."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from bot.fetch.change import build_change, documents, repository_name
from bot.fetch.exchange import fill
from bot.fetch.folder import FolderSource
from bot.fetch.history import History, NoHistory
from bot.fetch.history_file import FileHistory
from bot.fetch.history_git import GitHistory
from bot.fetch.hub import HubSource
from bot.fetch.hub_history import elsewhere, history_of
from bot.fetch.messages import commit_messages
from bot.fetch.revision import open_pair, open_revision, open_staged
from bot.fetch.selection import select
from bot.fetch.settings import settings_change
from bot.fetch.source import Nothing, Source
from bot.fetch.tree import GitSource
from bot.hub import Access
from bot.probe import Probe
from bot.snapshot import Exchange, Level, Task, Text

JUDGING = ("compare", "check")  # the tasks to which it matters what became of a commit
UNASKED = "it was not looked up"


def gather(
    folder: Path,
    *,
    base: str | Source,
    head: str | Source,
    repo: Path,
    staged: bool = False,
    history: Path | History | None = None,
    texts: tuple[Text, ...] = (),
    repository: str = "",
    task: Task = "compare",
    engines: tuple[str, ...] = (),
    engines_after: tuple[str, ...] = (),
    probes: tuple[Probe, ...] = (),
    tokens: bool = False,
    whole: bool = False,
    folders: Sequence[str] = (),
    severity: Mapping[str, Level] | None = None,
    hub: Access | None = None,
) -> Exchange:
    """Fetch what analysis needs of two revisions into `folder`, and return what stands in its `exchange.json`.

    `base` and `head` are revisions as `open_pair` takes them, or sources that are open already; they are closed in
    any case. With `staged` they are not looked at: HEAD of `repo` is compared with its index. `history` is a file of
    refs, or a history, that is used instead of the clone's own. To `texts` the commit messages between two git revisions are added.
    `repository` is "owner/name"; by default it is read from the origin remote, or is that on the Hub. `hub` is how the Hub is asked. `task`, `engines`, `engines_after`, `probes` and `tokens` are handed on; with `engines_after`, or with `whole`, folders that
    do not differ are taken as well. `folders` are globs of the model folders to look at, none for all; `severity` is handed on. Raises UsageError or CannotLookError.
    """
    with ExitStack() as stack:
        for given in (base, head):
            if not isinstance(given, str):
                stack.callback(given.close)
        before, after = open_staged(repo) if staged else _open(base, head, repo, hub)
        stack.callback(before.close)
        stack.callback(after.close)
        for source, other in ((before, after), (after, before)):
            if isinstance(source, FolderSource) and not isinstance(other, FolderSource | Nothing):
                source.name_like(other)
        plain = isinstance(before, FolderSource | Nothing) and isinstance(after, FolderSource)
        selection = select(before.entries(), after.entries(), plain=plain, whole=whole or bool(engines_after), globs=folders)
        folder.mkdir(parents=True, exist_ok=True)
        snapshots = fill(folder, before, after, selection)
        clone = next((source.repository for source in (after, before) if isinstance(source, GitSource)), None)
        messages, left_out = _messages(before, after)
        known = {text.path for text in texts}
        change = build_change(
            [*texts, *(text for text in messages if text.path not in known)],
            documents(folder, *snapshots),
            _history(before, after, history if history is not None or task in JUDGING else NoHistory(UNASKED)),
            repository=repository or (repository_name(clone) if clone else _on_hub(before, after)),
            left_out=left_out,
            elsewhere=_elsewhere(before, after) if task in JUDGING else None,
        )
        exchange = Exchange(
            *snapshots,
            change,
            task=task,
            engines=engines,
            engines_after=engines_after,
            probes=probes,
            tokens=tokens,
            severity=dict(severity or {}),
            left_out=len(selection.left_out),
            unmatched=selection.unmatched,
            settings=settings_change(before, after, folder),
        )
        exchange.save(folder)
        return exchange


def _open(base: str | Source, head: str | Source, repo: Path, hub: Access | None) -> tuple[Source, Source]:
    if isinstance(base, str) and isinstance(head, str):
        return open_pair(base, head, repo, hub)
    before = open_revision(base, repo, hub) if isinstance(base, str) else base
    return before, open_revision(head, repo, hub) if isinstance(head, str) else head


def _on_hub(base: Source, head: Source) -> str:
    """The repository on the Hub that one of the sides is from, "" for none."""
    return next((source.asked.repository for source in (head, base) if isinstance(source, HubSource)), "")


def _messages(base: Source, head: Source) -> tuple[tuple[Text, ...], tuple[str, ...]]:
    """Return the commit messages between two commits of one repository, and what of them was left out."""
    if isinstance(base, GitSource) and isinstance(head, GitSource) and base.sha and head.sha:
        return commit_messages(head.repository, base.sha, head.sha)
    if isinstance(head, HubSource):
        return head.messages, head.left_out
    return (), ()


def _history(base: Source, head: Source, given: Path | History | None) -> History:
    if isinstance(given, Path):
        return FileHistory(given, _head_commits(base, head))
    if given is not None:
        return given
    if isinstance(head, GitSource):
        branch = base if isinstance(base, GitSource) else head
        return GitHistory(head.repository, branch.tip, head.tip, branch.name)
    if isinstance(base, GitSource):
        return GitHistory(base.repository, base.tip, base.tip, base.name)
    if isinstance(head, HubSource):
        return history_of(base if isinstance(base, HubSource) else head, head)
    if isinstance(base, HubSource):
        return history_of(base, base)
    return NoHistory("there is no clone to look in; --history FILE gives refs and commits")


def _elsewhere(base: Source, head: Source) -> Callable[[str], History] | None:
    """How the history of another repository on the Hub is had: only where the Hub is asked anyway."""
    source = next((source for source in (head, base) if isinstance(source, HubSource)), None)
    return elsewhere(source) if source else None


def _head_commits(base: Source, head: Source) -> list[str]:
    """Return head's own commits, which a file of refs may lack."""
    if isinstance(base, GitSource) and isinstance(head, GitSource) and base.sha and head.sha:
        return head.repository.ask("rev-list", head.sha, f"^{base.sha}").decode().split()
    if isinstance(head, HubSource):
        return [text.path.removeprefix("commit:") for text in head.messages]
    return []
