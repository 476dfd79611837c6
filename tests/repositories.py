"""Real git repositories for tests, with fixed dates and authors, so that every commit id is the same in each run."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

WHEN = 1_700_000_000  # seconds since 1970 of the first commit; each later one is a minute younger

Content = str | bytes | None


class GitRepository:
    """A git repository in a folder, made by real git; commits can be made without a working tree as well."""

    def __init__(self, path: Path, *arguments: str) -> None:
        self.path = path
        self._clock = WHEN
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main", *arguments)

    def git(self, *arguments: str, stdin: bytes = b"", check: bool = True) -> str:
        """Run git in the repository and return its output without the last newline."""
        done = subprocess.run(
            ["git", "-C", str(self.path), *arguments], input=stdin, capture_output=True, check=False, env=environment(self._clock)
        )
        if check and done.returncode:
            raise AssertionError(f"git {' '.join(arguments)}: {done.stderr.decode('utf-8', 'replace')}")
        return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")

    def write(self, files: Mapping[str, Content]) -> None:
        """Write files into the working tree; None deletes one."""
        for name, content in files.items():
            path = self.path / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, message: str, files: Mapping[str, Content] | None = None) -> str:
        """Write files, commit everything there is and return the commit."""
        self.write(files or {})
        self.git("add", "--all")
        self._clock += 60
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    def tree_commit(self, rows: list[tuple[str, bytes, bytes]], *parents: str) -> str:
        """Commit a flat tree of (mode, name, content) without touching the working tree, as hostile names need it."""
        lines: list[bytes] = []
        for mode, name, content in rows:
            oid = content.decode() if mode == "160000" else self.blob(content)
            kind = "commit" if mode == "160000" else "blob"
            lines.append(f"{mode} {kind} {oid}\t".encode() + name + b"\0")
        tree = self.git("mktree", "-z", "--missing", stdin=b"".join(lines))
        self._clock += 60
        return self.git("commit-tree", tree, *(part for parent in parents for part in ("-p", parent)), stdin=b"made by hand\n")

    def blob(self, content: bytes) -> str:
        """Write one blob and return its id."""
        return self.git("hash-object", "-w", "--stdin", stdin=content)

    def forget(self, path: str, revision: str = "HEAD") -> None:
        """Delete the blob of a file from the object database: whoever reads it afterwards fails."""
        oid = self.git("rev-parse", f"{revision}:{path}")
        (self.path / ".git" / "objects" / oid[:2] / oid[2:]).unlink()

    def clone(self, path: Path, *arguments: str) -> "GitRepository":
        """Clone over file://, so that depth is honoured."""
        cloned = GitRepository.__new__(GitRepository)
        cloned.path = path
        cloned._clock = self._clock
        self.git("clone", "--quiet", *arguments, f"file://{self.path}", str(path))
        return cloned


def environment(when: int = WHEN) -> dict[str, str]:
    """Return an environment in which git depends on nothing of this machine."""
    date = f"{when} +0000"
    return {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.com",
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.com",
        "GIT_COMMITTER_DATE": date,
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "protocol.file.allow",
        "GIT_CONFIG_VALUE_0": "always",
    }
