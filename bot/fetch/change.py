"""Gather what belongs to the change as a whole: its texts, and the commits that texts and documents may name."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from bot.fetch.git import Repository
from bot.fetch.history import History
from bot.fetch.selection import is_document
from bot.fetch.words import LONGEST_TEXT, MOST_WORDS, named, words
from bot.snapshot import Change, Commit, Snapshot, Text

MOST_WORDS_IN_ALL = 2_000
MOST_OTHERS = 10  # other repositories that are asked for commits
HOSTS = ("github.com", "www.github.com", "huggingface.co", "hf.co", "ssh.github.com", "altssh.github.com")
URL = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^@/]*@)?(?P<host>[^/:@]+)(?::\d+)?/|(?:[^@/:]+@)?(?P<scp>[^/:@]+):)"
    r"/?(?P<owner>[A-Za-z0-9._-]+)/(?P<name>[A-Za-z0-9._-]+?)(?:\.git)?/?"
)


def build_change(
    texts: Sequence[Text],
    documents: Iterable[tuple[str, str]],
    history: History,
    *,
    repository: str = "",
    left_out: Iterable[str] = (),
    elsewhere: Callable[[str], History] | None = None,
) -> Change:
    """Resolve every hexadecimal word of the texts and documents (path and text).

    `left_out` are texts that could not be taken, one clause each; what this function leaves out is added. `elsewhere` gives the history of another
    repository, in which words are looked up as well that stand by its name.
    """
    missing = list(left_out)
    found: dict[str, None] = {}
    others: dict[str, dict[str, None]] = {}
    for path, text in [*((text.path, text.text) for text in texts), *documents]:
        if len(text) > LONGEST_TEXT:
            missing.append(f"only the first {LONGEST_TEXT:,} characters of {path} were searched for commits")
        some = words(text)
        if len(some) == MOST_WORDS:
            missing.append(f"only the first {MOST_WORDS} hexadecimal words of {path} were looked up")
        found.update(dict.fromkeys(some))
        for name, word in named(text) if elsewhere else ():
            if name.lower() != repository.lower():
                others.setdefault(name, {})[word] = None
    if len(found) > MOST_WORDS_IN_ALL:
        missing.append(f"only the first {MOST_WORDS_IN_ALL:,} of {len(found):,} hexadecimal words were looked up")
    if len(others) > MOST_OTHERS:
        missing.append(f"only the first {MOST_OTHERS} of {len(others):,} other repositories were asked for commits")
    commits = history.resolve(list(found)[:MOST_WORDS_IN_ALL])
    if elsewhere:
        for name, some in list(others.items())[:MOST_OTHERS]:
            commits += _there(name, elsewhere(name).resolve(list(some)))
    return Change(
        texts=tuple(_encodable(text) for text in texts),
        commits=commits,
        repository=repository,
        complete_refs=history.complete,
        refs_reason=history.reason,
        unread=tuple(missing),
    )


def _there(repository: str, commits: Iterable[Commit]) -> tuple[Commit, ...]:
    """The commits of another repository of which something can be told."""
    told = (commit for commit in commits if commit.sha is not None or commit.status != "unknown")
    return tuple(
        msgspec.structs.replace(commit, repository=repository, reason=f"{repository}: {commit.reason}") for commit in told
    )


def _encodable(text: Text) -> Text:
    """The text with halves of letters, which JSON can spell and UTF-8 cannot hold, as their escapes: titles are cut anywhere."""
    return Text(text.path, text.text.encode("utf-8", "backslashreplace").decode())


def documents(folder: Path, *snapshots: Snapshot) -> list[tuple[str, str]]:
    """Return path and text of each distinct README and CHANGELOG that was taken into an exchange folder, head's first."""
    found: dict[str, tuple[str, str]] = {}
    for snapshot in reversed(snapshots):
        for file in snapshot.files:
            if file.content is not None and file.content not in found and is_document(file.path):
                content = (folder / "contents" / file.content).read_bytes()
                found[file.content] = file.path, content.decode("utf-8", "replace")
    return list(found.values())


def repository_name(repository: Repository) -> str:
    """Return "owner/name" of the origin remote where it is on GitHub or the Hugging Face Hub, else ""."""
    for _, url in repository.settings(r"^remote\.origin\.url$"):
        match = URL.fullmatch(url.strip())
        if match and (match["host"] or match["scp"]).lower() in HOSTS:
            return f"{match['owner']}/{match['name']}"
    return ""
