"""Ask git about one repository, so that no revision can become an option, a hook or a filter."""

import os
import re
import subprocess
from pathlib import Path

from bot.errors import CannotLookError, UsageError

FULL = re.compile(r"[0-9a-f]{40}")
FOREIGN = "nothing is fetched in a clone of another user, whose settings name programs"
SECONDS = 120  # for one call of git
# We read clones of other users too, whose settings can name programs. What git would run for our commands is turned off here and there:
# hooks and core.fsmonitor below, pagers by --no-pager, diff.external and the diff drivers of attributes (command, textconv) by
# --no-ext-diff and --no-textconv where a diff is made; filters are asked for by nobody (cat-file without --filters, ls-files and diff-index
# --cached do not look at files), nor are signatures (gpg.program). Transport settings (core.sshCommand, core.gitProxy, core.askPass,
# credential.helper, remote.*.uploadpack, remote.*.vcs, core.alternateRefsCommand, ext::) count when something is fetched, lazily too, and
# nothing is fetched in a clone that is not ours: see `Repository.fetches`.
OPTIONS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "protocol.ext.allow=never",
)


class Repository:
    """A git repository, bare or not, that is only read; the one exception is a commit fetched on demand.

    `root` is the working tree's top, or the git directory where there is no working tree. `fetches` is whether something may be fetched,
    for which git runs programs that the clone names: only in our own clone, and in one that the caller says is `trusted`.
    """

    def __init__(self, path: Path, *, trusted: bool = False) -> None:
        self.root = _root(path)
        self.fetches = False
        paths = (self.root, self.root / ".git")
        self._options = [part for option in OPTIONS for part in ("-c", option)]
        self._options += [part for folder in paths for part in ("-c", f"safe.directory={folder}")]
        about = self.ask("rev-parse", "--show-object-format", "--is-shallow-repository", "--is-bare-repository").split()
        if about[0] != b"sha1":
            kind = about[0].decode()
            raise CannotLookError(
                f"{self.root} is a {kind} repository, and only sha1 ones can be read; give two checked-out folders"
            )
        self.shallow = about[1] == b"true"
        self.bare = about[2] == b"true"
        self.fetches = trusted or all(map(_is_ours, self._places()))

    def command(self, *arguments: str) -> list[str]:
        """Return the full command line of one git call."""
        return ["git", "--no-pager", "-C", str(self.root), *self._options, *arguments]

    def environment(self, *, fetching: bool = False) -> dict[str, str]:
        """Return the environment of one git call, which holds no secret. `fetching` lets it fetch where that is allowed, lazily too."""
        # In a hook of `git commit -a` or `git commit FILE` the index that will be committed is not that of the repository.
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "GIT_INDEX_FILE") if name in os.environ}
        fixed = {
            "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
        }
        if fetching and self.fetches:
            return kept | fixed
        # Git before 2.44 does not know the first; the second allows no protocol, whatever the settings say (git, transport.c).
        return kept | fixed | {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}

    def run(self, *arguments: str, stdin: bytes = b"", fetching: bool = False) -> subprocess.CompletedProcess[bytes]:
        """Run git and return what it said, whatever its status. Raises CannotLookError when it cannot run or takes too long."""
        try:
            return subprocess.run(
                self.command(*arguments),
                check=False,
                capture_output=True,
                env=self.environment(fetching=fetching),
                input=stdin,
                timeout=SECONDS,
            )
        except FileNotFoundError as error:
            raise CannotLookError("git is not installed or not in PATH; install it, or give two folders") from error
        except subprocess.TimeoutExpired as error:
            raise CannotLookError(f"git {arguments[0]} in {self.root} took more than {SECONDS} seconds") from error

    def ask(self, *arguments: str, stdin: bytes = b"", fetching: bool = False) -> bytes:
        """Run git and return its output. Raises CannotLookError with its last line when it fails."""
        done = self.run(*arguments, stdin=stdin, fetching=fetching)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            reason = f"{self.root}: git {arguments[0]} failed: {said[-1] if said else f'status {done.returncode}'}"
            if fetching and not self.fetches and b"promisor" in done.stderr:
                reason = f"{self.root} lacks objects, and {self.unfetched()}"
            raise CannotLookError(reason)
        return done.stdout

    def commit(self, revision: str) -> str:
        """Return the commit that a revision names, 40 hex digits; a missing full id is fetched where the remote allows it.

        Raises UsageError for what cannot be a revision, CannotLookError when the commit is not there.
        """
        if not revision or not revision.isprintable():
            raise UsageError(f"git:{revision!r}: a revision is needed, such as git:main or git:HEAD~1")
        found = self._commit(revision)
        if found is None and FULL.fullmatch(revision):
            found = self._fetched(revision)
        if found is None:
            raise CannotLookError(self._why_not(revision))
        return found

    def unborn(self) -> bool:
        """Say whether the branch that is checked out has no commit yet."""
        return self._commit("HEAD") is None and self.run("symbolic-ref", "--quiet", "HEAD").returncode == 0

    def merge_base(self, base: str, head: str) -> str | None:
        """Return the best common ancestor of two commits, None where their histories never meet.

        Raises CannotLookError when a shallow clone hides it.
        """
        done = self.run("merge-base", "--end-of-options", base, head)
        found = done.stdout.decode().strip()
        if FULL.fullmatch(found):
            return found
        if self.shallow:
            raise CannotLookError(
                f"the merge base of {base[:12]} and {head[:12]} is not in this shallow clone; "
                f"`git fetch --unshallow {self._remote() or 'origin'}`{'' if self.fetches else ' by its owner'} brings it "
                "(fetch-depth: 0 in actions/checkout)"
            )
        return None

    def unfetched(self) -> str:
        """Say that nothing is fetched in the clone of another user, and what brings all that a partial clone lacks."""
        return f"{FOREIGN}; `git fetch --refetch --no-filter {self._remote() or 'origin'}` by its owner brings them"

    def remotes(self) -> list[str]:
        """Return the names of all remotes, "origin" first."""
        names = self.ask("remote").decode("utf-8", "surrogateescape").split("\n")
        return sorted((name for name in names if name), key=lambda name: (name != "origin", name))

    def settings(self, pattern: str) -> list[tuple[str, str]]:
        """Return the settings whose name (in lower case but for the middle) matches a pattern, as name and value."""
        done = self.run("config", "--null", "--get-regexp", pattern)
        text = done.stdout.decode("utf-8", "replace")
        return [(name, value) for name, _, value in (row.partition("\n") for row in text.split("\0") if row)]

    def _places(self) -> list[Path]:
        """Return what git asks the owner of (setup.c, ensure_valid_ownership: work tree, .git, git directory), and where the settings are."""
        asked = (self.ask("rev-parse", where).rstrip(b"\n") for where in ("--absolute-git-dir", "--git-common-dir"))
        named = [self.root / os.fsdecode(folder) for folder in asked]
        return [self.root, *(path for path in (self.root / ".git",) if os.path.lexists(path)), *named]

    def _commit(self, revision: str) -> str | None:
        done = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        found = done.stdout.decode().strip()
        return found if done.returncode == 0 and FULL.fullmatch(found) else None

    def _remote(self) -> str | None:
        names = self.remotes()
        return names[0] if names else None

    def _fetched(self, sha: str) -> str | None:
        """Fetch exactly one commit; a full clone gets its history too, so that it does not turn shallow."""
        remote = self._remote()
        if remote is None or not self.fetches:
            return None
        depth = ["--depth=1"] if self.shallow else []
        self.run(
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            *depth,
            "--end-of-options",
            remote,
            sha,
            fetching=True,
        )
        return self._commit(sha)

    def _why_not(self, revision: str) -> str:
        """Say in one line what is missing and how to bring it. What git said itself is not shown: it may hold a remote's password."""
        if not self.ask("for-each-ref", "--count=1") and self._commit("HEAD") is None:
            return f"{self.root} has no commit yet; make one first"
        shown = revision[:200]
        if FULL.fullmatch(revision):
            kind = self.run("cat-file", "-t", revision).stdout.decode().strip()
            if kind:
                return f"{revision} is a {kind}, not a commit, in {self.root}"
            remote = self._remote()
            if remote is None:
                return f"commit {revision} is not in {self.root}, and there is no remote to fetch it from"
            cure = f"git fetch --unshallow {remote}" if self.shallow else f"git fetch {remote} {revision}"
            clone = "shallow clone" if self.shallow else "clone"
            if not self.fetches:
                return f"commit {revision} is not in the {clone} {self.root}, and {FOREIGN}; `{cure}` by its owner may bring it"
            return (
                f"commit {revision} is not in the {clone} {self.root} and its remote did not hand it out; `{cure}` may bring it"
            )
        for remote in self.remotes():
            if self._commit(f"refs/remotes/{remote}/{revision}"):
                return f"{self.root} has no revision {shown}; did you mean git:{remote}/{shown}?"
        cure = "`git fetch --unshallow` may bring it" if self.shallow else "see `git branch --all` and `git tag`"
        return f"{self.root} has no revision {shown}; {cure}"


def _is_ours(path: Path) -> bool:
    """Say whether a path belongs to who we are, by git's rule (git-compat-util.h, is_path_owned_by_current_uid): with sudo also to who used it."""
    owner, we = path.lstat().st_uid, os.geteuid()
    sudo = os.environ.get("SUDO_UID", "")
    return owner == we or (we == 0 and sudo.isascii() and sudo.isdecimal() and owner == int(sudo))


def _root(path: Path) -> Path:
    """Find the repository that holds a path. Raises CannotLookError where there is none, or where the system does not let us look."""
    try:
        return _above(path)
    except OSError as error:
        raise CannotLookError(f"{path} cannot be looked at: {error.strerror}") from error


def _above(path: Path) -> Path:
    """Look as git does, but without asking git before its folder is known to be safe."""
    if not path.is_dir():
        raise CannotLookError(f"{path}: there is no such folder, so no git repository in it")
    folder = path.resolve()
    for here in (folder, *folder.parents):
        if (here / ".git").exists() or ((here / "HEAD").is_file() and (here / "objects").is_dir() and (here / "refs").is_dir()):
            return here
    raise CannotLookError(f"{path} is not in a git repository; give --repo the path of a clone, or compare two folders")
