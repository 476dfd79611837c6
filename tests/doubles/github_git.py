"""A git repository in the shapes of GitHub's REST API: commits, comparisons, trees, blobs, files, refs."""

import base64
import subprocess
from pathlib import Path
from typing import Any, TypeAlias

from tests.doubles.contract import Contract

Json: TypeAlias = Any

STATUS = {"A": "added", "D": "removed", "M": "modified", "R": "renamed", "C": "copied", "T": "changed"}
INLINE_LIMIT = 1024 * 1024
"""Bytes up to which the contents API answers with the content."""


class NotThereError(Exception):
    """Git does not know the object."""


class GitShapes:
    """What GitHub answers about the objects of `folder`. Raises NotThereError for what is not in it."""

    def __init__(self, folder: Path, contract: Contract, repository: str) -> None:
        self.folder, self.contract, self.url = folder, contract, contract.url
        self.api = f"{contract.url}/repos/{repository}"

    def git(self, *arguments: str) -> str:
        return self.raw(*arguments).decode("utf-8", "surrogateescape").strip()

    def raw(self, *arguments: str) -> bytes:
        done = subprocess.run(
            ["git", "-C", self.folder, "-c", "core.quotePath=false", *arguments], capture_output=True, check=False
        )
        if done.returncode:
            raise NotThereError(done.stderr.decode("utf-8", "replace"))
        return done.stdout

    def sha(self, revision: str) -> str:
        return self.git("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")

    def merge_base(self, one: str, other: str) -> str:
        return self.git("merge-base", self.sha(one), self.sha(other))

    def related(self, one: str, other: str) -> bool:
        """Whether two commits have a common ancestor."""
        try:
            return bool(self.merge_base(one, other))
        except NotThereError:
            return False

    def commit(self, revision: str, *, files: bool = False) -> Json:
        sha, tree, parents, name, email, date, message = self.git(
            "show", "-s", "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%B", self.sha(revision)
        ).split("\0")
        who = {"name": name, "email": email, "date": date}
        person = self.contract.shape("simple-user", login="dev", id=3, type="User")
        made = self.contract.shape(
            "commit",
            sha=sha,
            url=f"{self.api}/commits/{sha}",
            parents=[{"sha": parent, "url": f"{self.api}/commits/{parent}"} for parent in parents.split()],
            author=person,
            committer=person,
        )
        made["commit"] |= {
            "author": who,
            "committer": who,
            "message": message.strip(),
            "tree": {"sha": tree, "url": f"{self.api}/git/trees/{tree}"},
            "comment_count": 0,
        }
        if files:
            made["files"] = self.difference(parents.split()[0], sha) if parents else []
        return made

    def git_commit(self, sha: str) -> Json:
        made = self.commit(sha)
        plain = {key: made["commit"][key] for key in ("author", "committer", "message", "tree")}
        parents = [{**parent, "html_url": f"{self.url}/x"} for parent in made["parents"]]
        return self.contract.shape("git-commit", sha=made["sha"], url=f"{self.api}/git/commits/{sha}", parents=parents, **plain)

    def commits(self, *arguments: str) -> list[Json]:
        return [self.commit(sha) for sha in self.git("rev-list", *arguments).split()]

    def difference(self, before: str, after: str) -> list[Json]:
        rows: list[Json] = []
        words = iter(self.raw("diff", "--raw", "-z", "--no-abbrev", "-M", before, after).decode("utf-8", "replace").split("\0"))
        for about in words:
            if not about:
                continue
            blob, status = about.split()[3:]
            names = [next(words) for _ in range(2 if status[0] in "RC" else 1)]
            counts = self.git("diff", "--numstat", "-M", before, after, "--", names[-1]).split("\t")
            added, removed = (int(count) if count.isdigit() else 0 for count in (*counts, "", "")[:2])
            row = {
                "sha": blob,
                "filename": names[-1],
                "status": STATUS[status[0]],
                "additions": added,
                "deletions": removed,
                "changes": added + removed,
                "blob_url": f"{self.url}/x",
                "raw_url": f"{self.url}/x",
                "contents_url": f"{self.api}/contents/{names[-1]}?ref={after}",
            }
            if len(names) > 1:
                row["previous_filename"] = names[0]
            start = (text := self.git("diff", "-M", before, after, "--", *names)).find("@@")
            if start >= 0:
                row["patch"] = text[start:]
            rows.append(row)
        return rows

    def compare(self, one: str, other: str) -> Json:
        base, head = self.sha(one), self.sha(other)
        merge_base = self.merge_base(base, head)
        behind, ahead = map(int, self.git("rev-list", "--left-right", "--count", f"{base}...{head}").split())
        status = "identical" if base == head else "ahead" if not behind else "behind" if not ahead else "diverged"
        commits = self.commits("--reverse", f"{base}..{head}")
        return {
            **dict.fromkeys(("url", "html_url", "permalink_url", "diff_url", "patch_url"), f"{self.url}/x"),
            "status": status,
            "base_commit": self.commit(base),
            "merge_base_commit": self.commit(merge_base),
            "ahead_by": ahead,
            "behind_by": behind,
            "total_commits": len(commits),
            "commits": commits[:250],
            "files": self.difference(merge_base, head)[:300],
        }

    def tree(self, revision: str, *, recursive: bool) -> Json:
        sha = self.git("rev-parse", "--verify", "--end-of-options", f"{revision}^{{tree}}")
        rows = [self._entry(line) for line in self._list(sha, *(("-r", "-t") if recursive else ()))]
        return {"sha": sha, "url": f"{self.api}/git/trees/{sha}", "tree": rows, "truncated": False}

    def blob(self, sha: str) -> Json:
        content = self.raw("cat-file", "blob", sha)
        return {
            "sha": sha,
            "node_id": "B",
            "size": len(content),
            "url": f"{self.api}/git/blobs/{sha}",
            "encoding": "base64",
            "content": base64.encodebytes(content).decode(),
        }

    def contents(self, path: str, revision: str) -> Json:
        """A file or the list of a folder, as the contents API gives it."""
        place = f"{self.sha(revision)}:{path.strip('/')}"
        url = f"{self.url}/x"
        links: Json = {"url": url, "git_url": url, "html_url": url, "_links": {"self": url, "git": url, "html": url}}
        if self.git("cat-file", "-t", place) == "tree":
            rows = [self._entry(line) for line in self._list(place)]
            kinds = {"tree": "dir", "blob": "file", "commit": "submodule"}
            return [
                {
                    "type": kinds[row["type"]],
                    "size": row.get("size", 0),
                    "name": row["path"],
                    "path": f"{path.strip('/')}/{row['path']}".lstrip("/"),
                    "sha": row["sha"],
                    "download_url": None,
                    **links,
                }
                for row in rows
            ]
        content = self.raw("cat-file", "blob", place)
        inline = len(content) <= INLINE_LIMIT
        return {
            "type": "file",
            "encoding": "base64" if inline else "none",
            "size": len(content),
            "name": path.rsplit("/", 1)[-1],
            "path": path,
            "sha": self.git("rev-parse", place),
            "download_url": f"{self.url}/x",
            "content": base64.encodebytes(content).decode() if inline else "",
            **links,
        }

    def refs(self, prefix: str) -> list[Json]:
        """The refs whose name starts with `refs/` and `prefix`."""
        lines = self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        rows = [line.split(" ") for line in lines if line.startswith(f"refs/{prefix}")]
        return [
            {
                "ref": name,
                "node_id": "R",
                "url": f"{self.api}/git/{name}",
                "object": {"type": "commit", "sha": sha, "url": f"{self.api}/git/commits/{sha}"},
            }
            for name, sha in rows
        ]

    def branches(self) -> list[Json]:
        return [
            {
                "name": row["ref"].removeprefix("refs/heads/"),
                "commit": row["object"] | {"url": f"{self.url}/x"},
                "protected": False,
            }
            for row in self.refs("heads/")
        ]

    def _list(self, tree: str, *options: str) -> list[str]:
        listed = self.raw("ls-tree", "-l", "-z", *options, tree).decode("utf-8", "replace")
        return [line for line in listed.split("\0") if line]

    def _entry(self, line: str) -> Json:
        head, path = line.split("\t", 1)
        mode, kind, sha, size = head.split()
        row = {"path": path, "mode": mode, "type": kind, "sha": sha, "url": f"{self.api}/git/{kind}s/{sha}"}
        return row if size == "-" else row | {"size": int(size)}
