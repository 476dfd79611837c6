"""Find a change under another commit id: equal patch ids, as after a squash, a rebase or a cherry-pick."""

import tempfile
from collections.abc import Iterable
from subprocess import DEVNULL, PIPE, Popen
from threading import Timer

from bot.errors import CannotLookError
from bot.fetch.git import FULL, SECONDS, Repository

MOST_COMMITS = 2_000
MOST_BYTES = 64 << 20  # of diffs, over the whole life of one Patches
BLOCK = 1 << 20
DIFF = (
    "diff-tree",
    "-p",
    "--root",
    "--full-index",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)


class Patches:
    """Patch ids of the commits of one repository; each diff is made once."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._known: dict[str, str] = {}
        self._left = MOST_BYTES

    def same(self, sha: str, on: str, without: Iterable[str] = ()) -> str | None:
        """Return a commit of `on` that makes the same change as `sha`, alone or as everything since the two parted.

        `without` are commits whose history is left out. Raises CannotLookError when there is too much to compare.
        """
        there = self._commits(on, sha, *without)
        if not there:
            return None
        by_id = {patch: commit for commit, patch in self._ids([*there, sha]).items() if commit != sha}
        mine = [self._known.get(sha, ""), self._since(self._repository.merge_base(on, sha), sha)]
        return next((by_id[patch] for patch in mine if patch in by_id), None)

    def _commits(self, on: str, *without: str) -> list[str]:
        limit = f"--max-count={MOST_COMMITS + 1}"
        listed = self._repository.ask("rev-list", "--no-merges", limit, on, *(f"^{sha}" for sha in without)).decode().split()
        if len(listed) > MOST_COMMITS:
            raise CannotLookError(f"more than {MOST_COMMITS:,} commits")
        return listed

    def _ids(self, commits: list[str]) -> dict[str, str]:
        """Return the patch id of each commit that changes something."""
        new = [commit for commit in commits if commit not in self._known]
        if new:
            found = self._patch_ids((*DIFF, "--stdin"), "\n".join(new).encode() + b"\n")
            self._known.update(dict.fromkeys(new, "") | found)
        return {commit: self._known[commit] for commit in commits if self._known[commit]}

    def _since(self, base: str | None, sha: str) -> str:
        """Return the patch id of everything between two commits, "" for nothing."""
        if base is None:
            return ""
        return next(iter(self._patch_ids((*DIFF, base, sha), b"").values()), "")

    def _patch_ids(self, diff: tuple[str, ...], asked: bytes) -> dict[str, str]:
        """Return patch ids by commit (one without a commit has an id of zeros)."""
        text = bytearray()
        command, environment = self._repository.command(*diff), self._repository.environment()
        with tempfile.TemporaryFile() as asking:
            asking.write(asked)
            asking.seek(0)
            with Popen(command, stdin=asking, stdout=PIPE, stderr=DEVNULL, env=environment) as process:
                clock = Timer(SECONDS, process.kill)
                clock.start()
                while process.stdout and len(text) <= self._left and (block := process.stdout.read(BLOCK)):
                    text += block
                clock.cancel()
                if len(text) > self._left:
                    process.kill()
                    raise CannotLookError(f"more than {MOST_BYTES >> 20} MiB of differences")
        self._left -= len(text)
        if process.returncode:
            raise CannotLookError("git cannot make all of the differences; objects may be missing")
        rows = self._repository.ask("patch-id", "--stable", stdin=bytes(text)).decode().split()
        return {commit: patch for patch, commit in zip(rows[::2], rows[1::2], strict=True) if FULL.fullmatch(commit)}
