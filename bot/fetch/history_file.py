"""Refs and commits from a file, for comparisons without a repository (`--history FILE`)."""

import json
import re
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from bot.errors import UsageError
from bot.fetch.history import SHORT, holders, is_pull, place
from bot.snapshot import Commit

PATCH_IDS = ":patch-ids"
LARGEST = 64 << 20
FULL = re.compile(r"[0-9a-f]{40}")
EXAMPLE = '{"main": ["<40 hex digits>", ...], "refs/pr/1": [...]}'


class FileHistory:
    """The refs of a file, which are complete by definition. `head_commits` are head's own, which the file may lack.

    The base branch is `main`, else `master`, else the only branch. Raises UsageError for a file that is not such a history.
    """

    complete = True
    reason = ""

    def __init__(self, path: Path, head_commits: Collection[str] = ()) -> None:
        self._path = path
        refs = self._load()
        patches = refs.pop(PATCH_IDS, {})
        self._patches = self._patch_ids(patches)
        self._refs = {_short(ref): self._commits(ref, commits) for ref, commits in refs.items()}
        self._base = self._base_branch()
        self._head = tuple(head_commits)
        self._all = sorted(frozenset(self._head).union(self._patches, *self._refs.values()))

    def resolve(self, words: Sequence[str]) -> tuple[Commit, ...]:
        """Say of each word which commit it names; a short one matches by prefix."""
        return tuple(self._resolve(word) for word in words)

    def _resolve(self, word: str) -> Commit:
        first = bisect_left(self._all, word)
        found = [sha for sha in self._all[first : first + 2] if sha.startswith(word)]
        if not found:
            return Commit(word, None, "orphaned", "no commit of this repository has this id")
        if len(found) > 1:
            return Commit(word, None, "unknown", "short for more than one commit")
        sha = found[0]
        where = self._where(sha)
        if where:
            return Commit(word, sha, "reachable", where)
        return Commit(word, sha, "orphaned", holders([ref for ref in sorted(self._refs) if sha in self._refs[ref]]))

    def _where(self, sha: str) -> str:
        """Word where a commit or its change can be reached, "" when it cannot."""
        if sha in self._refs[self._base]:
            return f"on {self._base}"
        if sha in self._head:
            return "in head"
        for ref in sorted(self._refs):
            if not is_pull(ref) and sha in self._refs[ref]:
                return place(ref)
        mine = self._patches.get(sha)
        if mine is not None:
            for commit in self._refs[self._base]:
                if self._patches.get(commit) == mine:
                    return f"the same change is on {self._base} as {commit[:SHORT]}"
        return ""

    def _load(self) -> dict[str, object]:
        try:
            loaded: object = json.loads(self._read())
        except FileNotFoundError as error:
            raise UsageError(f"{self._path}: there is no such history file") from error
        except OSError as error:
            raise UsageError(f"{self._path} cannot be read: {error.strerror}") from error
        except json.JSONDecodeError as error:
            raise UsageError(f"{self._path}, line {error.lineno}: {error.msg}; expected {EXAMPLE}") from error
        except (UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"{self._path} is not JSON; expected {EXAMPLE}") from error
        if not isinstance(loaded, dict):
            raise UsageError(f"{self._path} holds no object; expected {EXAMPLE}")
        return {str(ref): value for ref, value in loaded.items()}

    def _read(self) -> bytes:
        with self._path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise UsageError(f"{self._path} is larger than {LARGEST >> 20} MiB, so it is no history file; expected {EXAMPLE}")
        return content

    def _commits(self, ref: str, commits: object) -> dict[str, None]:
        """Check the commits of one ref; a dict keeps their order, newest first, and finds one at once."""
        if not isinstance(commits, list):
            raise UsageError(f"{self._path}, {ref!r}: expected a list of commits, newest first, as in {EXAMPLE}")
        return dict.fromkeys(self._full(f"{ref!r}, entry {number}", sha) for number, sha in enumerate(commits, 1))

    def _patch_ids(self, patches: object) -> Mapping[str, str]:
        where = f"{self._path}, {PATCH_IDS!r}"
        if not isinstance(patches, dict):
            raise UsageError(f'{where}: expected an object such as {{"<commit>": "<patch id>"}}')
        for sha, patch in patches.items():
            if not isinstance(patch, str) or not patch:
                raise UsageError(f"{where}, {sha!r}: expected the patch id as text")
        return {self._full(repr(PATCH_IDS), sha): str(patch) for sha, patch in patches.items()}

    def _full(self, place: str, sha: object) -> str:
        if isinstance(sha, str) and FULL.fullmatch(sha.lower()):
            return sha.lower()
        raise UsageError(f"{self._path}, {place}: {str(sha)[:80]!r} is no commit; write all 40 hexadecimal digits")

    def _base_branch(self) -> str:
        branches = [ref for ref in self._refs if not is_pull(ref) and not ref.startswith("refs/tags/")]
        for name in ("main", "master"):
            if name in branches:
                return name
        if len(branches) == 1:
            return branches[0]
        found = ", ".join(branches[:5]) or "none"
        raise UsageError(f"{self._path}: which branch is the base? name it main (branches found: {found})")


def _short(ref: str) -> str:
    return ref.removeprefix("refs/heads/")
