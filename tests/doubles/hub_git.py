"""What the Hub says about one repository, read from real git: refs, commits, files, and their contents."""

import hashlib
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from tests.repositories import environment

Json: TypeAlias = Any
WHEN = "2026-01-02T03:04:05.000Z"
OPEN_FILES = ("README.md", ".gitattributes")  # of a gated repository
POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\noid sha256:([0-9a-f]{64})\nsize (\d+)\n")


class NoRevisionError(Exception):
    """There is no such revision."""


class NoEntryError(Exception):
    """There is no such file."""


@dataclass
class HubRepository:
    """One repository of the double. The attributes may be set at any time; the next request sees them.

    Files named in `lfs` are kept by Git LFS as far as clients see: git itself holds their content here, and `pointers` maps the ids of
    pointer blobs to contents for those that git holds as pointers. `readers` are the tokens that a private or gated repository lets in.
    `most_commits` is how many commits a page may have, whatever a client asks for; `files` how many files.
    """

    folder: Path
    name: str
    lfs: set[str] = field(default_factory=set[str])
    pointers: dict[str, bytes] = field(default_factory=dict[str, bytes])
    private: bool = False
    gated: bool = False
    readers: set[str] = field(default_factory=set[str])
    most_commits: int = 1000
    files: int = 1000

    def git(self, *arguments: str, stdin: bytes = b"", variables: Mapping[str, str] | None = None) -> str:
        """The output of git without the last newline."""
        return self.raw(*arguments, stdin=stdin, variables=variables).decode("utf-8", "replace").rstrip("\n")

    def raw(self, *arguments: str, stdin: bytes = b"", variables: Mapping[str, str] | None = None) -> bytes:
        """The output of git. Raises NoRevisionError when it fails."""
        done = subprocess.run(
            ["git", "-C", str(self.folder), *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            env=environment() | dict(variables or {}),
        )
        if done.returncode:
            raise NoRevisionError(done.stderr.decode("utf-8", "replace"))
        return done.stdout

    def sha(self, revision: str) -> str:
        """The commit that a revision names. Raises NoRevisionError."""
        if re.fullmatch(r"[0-9a-f]{4,39}", revision):
            raise NoRevisionError(revision)  # the Hub's documentation asks for the whole id
        return self.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")

    def info(self, revision: str) -> Json:
        """What the model page says, pinned to a commit."""
        sha = self.sha(revision)
        names = self.git("ls-tree", "-r", "--name-only", sha).splitlines()
        about = {"_id": "1", "id": self.name, "modelId": self.name, "author": self.name.split("/")[0], "sha": sha}
        about |= {"lastModified": WHEN, "createdAt": WHEN, "private": self.private, "gated": "auto" if self.gated else False}
        return about | {"disabled": False, "tags": [], "siblings": [{"rfilename": name} for name in names]}

    def refs(self, *, pulls: bool) -> Json:
        """Branches, tags, and where asked for pull requests."""
        listed = self.git("for-each-ref", "--format=%(refname) %(objectname) %(*objectname)").splitlines()
        rows = [(name, peeled or sha) for name, sha, peeled in ((line + " ").split(" ")[:3] for line in listed)]

        def of(start: str, *, whole: bool = False) -> list[Json]:
            found = [(name, sha) for name, sha in rows if name.startswith(start)]
            return [{"name": n if whole else n.removeprefix(start), "ref": n, "targetCommit": sha} for n, sha in found]

        kept = {"branches": of("refs/heads/"), "tags": of("refs/tags/"), "converts": of("refs/convert/")}
        return kept | ({"pullRequests": of("refs/pr/", whole=True)} if pulls else {})

    def commits(self, revision: str, start: int, most: int) -> tuple[list[Json], int]:
        """One page of the commits of a revision, newest first, and how many there are in all."""
        sha = self.sha(revision)
        form = "--format=%H%x00%an%x00%s%x00%b%x01"
        rows = self.git("log", f"--max-count={most}", f"--skip={start}", form, sha).split("\x01")
        found: list[Json] = []
        for row in rows:
            if row.strip():
                oid, author, title, body = row.strip("\n").split("\0")
                found.append({"id": oid, "title": title, "message": body.strip(), "date": WHEN, "authors": [{"user": author}]})
        return found, int(self.git("rev-list", "--count", sha))

    def tree(self, revision: str, path: str = "", *, recursive: bool) -> list[Json]:
        """The files and folders of a commit. Raises NoRevisionError or NoEntryError."""
        sha = self.sha(revision)
        try:
            listed = self.raw("ls-tree", "-l", "-z", *(["-r", "-t"] if recursive else []), f"{sha}:{path}" if path else sha)
        except NoRevisionError as error:
            raise NoEntryError(path) from error
        rows = [line.split("\t", 1) for line in listed.decode("utf-8", "replace").split("\0") if line]
        return [self._entry(f"{path}/{name}".lstrip("/"), *about.split()[1:]) for about, name in rows]

    def _entry(self, path: str, kind: str, oid: str, size: str) -> Json:
        if kind != "blob":
            return {"type": "directory", "oid": oid, "size": 0, "path": path}
        entry = {"type": "file", "oid": oid, "size": int(size), "path": path}
        content = self.kept(path, oid)
        if content is None:
            return entry
        kept = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 134}
        return entry | {"size": len(content), "lfs": kept}

    def kept(self, path: str, oid: str) -> bytes | None:
        """What Git LFS keeps for a file, None for an ordinary one."""
        if oid in self.pointers:
            return self.pointers[oid]
        return self.raw("cat-file", "blob", oid) if path in self.lfs else None

    def blob(self, revision: str, path: str) -> tuple[str, str]:
        """Commit and blob of a file. Raises NoRevisionError or NoEntryError."""
        sha = self.sha(revision)
        try:
            return sha, self.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{sha}:{path}")
        except NoRevisionError as error:
            raise NoEntryError(path) from error

    def merge(self, number: int, title: str, onto: str = "main") -> str:
        """Squash a pull request as the Hub does: one commit, whose message names those that it stands for; its id."""
        ref = f"refs/pr/{number}"
        rows = self.git("log", "--reverse", "--format=%s (%H)", f"{onto}..{ref}").splitlines()
        message = f"{title} (#{number})\n\n" + "\n".join(f"- {row}" for row in rows) + "\n"
        sha = self.git("commit-tree", f"{ref}^{{tree}}", "-p", self.sha(onto), stdin=message.encode())
        self.git("update-ref", f"refs/heads/{onto}", sha)
        return sha

    def readable(self, token: str, path: str | None = None) -> bool:
        """Whether a token lets one see the repository, or one of its files."""
        if token in self.readers:
            return True
        return not self.private and (path is None or not self.gated or path in OPEN_FILES)
