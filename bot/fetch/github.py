"""Read one commit through GitHub's API, for runs without a usable clone."""

import base64
import binascii

import msgspec
from github import UnknownObjectException
from github.GitTree import GitTree
from github.GitTreeElement import GitTreeElement
from github.Repository import Repository
from requests.exceptions import RequestException

from bot.api import FAULTS, why
from bot.errors import CannotLookError
from bot.fetch.lfs import Lfs
from bot.fetch.source import UnreadError, printable
from bot.snapshot import File, Kind

KINDS: dict[str, Kind] = {"120000": "symlink", "160000": "submodule"}
LARGEST_BLOB = 100 << 20  # bytes that the blobs API serves
MOST_LISTINGS = 200  # requests for one tree; GITHUB_TOKEN has 1,000 an hour
MOST_LINKS = 100  # symbolic links that are read, one request each
LONGEST_TARGET = 4096
MOST_UNANSWERED = 3


class GitHubSource:
    """One commit of a repository on GitHub; a file is brought when it is asked for, each distinct blob once by its id."""

    def __init__(self, repository: Repository, sha: str, label: str = "", *, lfs: Lfs | None = None) -> None:
        self.sha: str | None = sha
        self.lfs = lfs
        self.label = label or sha[:7]
        self._commit = sha
        self._repository = repository
        self._unanswered = 0  # requests in a row, each after all the patience that there is
        self._entries: tuple[File, ...] | None = None

    def entries(self) -> tuple[File, ...]:
        """Return the whole tree. Raises CannotLookError when the commit is not there or GitHub does not list it whole."""
        if self._entries is None:
            links = 0
            found: list[File] = []
            for file in self._listed():
                links += file.kind == "symlink"
                found.append(self._linked(file, links))
            self._entries = tuple(sorted(found, key=lambda file: file.path))
        return self._entries

    def size(self, file: File) -> int:
        """Return the number of bytes that the tree gives. Raises UnreadError where it gives none."""
        if file.size is None:
            raise UnreadError("GitHub does not say its size")
        return file.size

    def read(self, file: File) -> bytes:
        """Return the bytes of a blob. Raises UnreadError when GitHub does not hand it out."""
        if self.size(file) > LARGEST_BLOB:
            raise UnreadError(f"GitHub serves no file over {LARGEST_BLOB >> 20} MiB")
        if self._unanswered >= MOST_UNANSWERED:  # each further file would take as long, and a job has an end
            raise UnreadError(f"GitHub stopped answering, so that blob {file.oid[:12]} was not asked for")
        try:
            blob = self._repository.get_git_blob(file.oid)
            self._unanswered = 0
            return base64.b64decode(blob.content)
        except FAULTS as fault:
            self._unanswered += isinstance(fault, RequestException)
            raise UnreadError(f"{why(fault)}, asked for blob {file.oid[:12]}") from fault
        except binascii.Error as error:
            raise UnreadError(f"GitHub sent blob {file.oid[:12]} damaged") from error

    def close(self) -> None:
        """Do nothing: the connection is the caller's."""

    def _listed(self) -> list[File]:
        whole = self._tree(self._commit, recursive=True)
        if not whole.truncated:
            return [_file(element, "") for element in whole.tree if element.type != "tree"]
        found: list[File] = []
        ahead = [("", self._commit)]
        for _ in range(MOST_LISTINGS):
            if not ahead:
                return found
            prefix, sha = ahead.pop()
            tree = self._tree(sha, recursive=False)
            if tree.truncated:
                where = prefix or "the root folder"
                raise CannotLookError(f"GitHub does not list all of {where} of {self.sha}; clone the repository instead")
            for element in tree.tree:
                if element.type == "tree":
                    ahead.append((f"{prefix}{element.path}/", element.sha))
                else:
                    found.append(_file(element, prefix))
        raise CannotLookError(
            f"{self.sha} has more than {MOST_LISTINGS} folders, too many to list by API; clone the repository instead"
        )

    def _tree(self, sha: str, *, recursive: bool) -> GitTree:
        name = self._repository.full_name
        try:
            return self._repository.get_git_tree(sha, recursive=recursive)
        except UnknownObjectException as error:
            raise CannotLookError(f"{name} has no commit {sha} that this token may read") from error
        except FAULTS as fault:
            raise CannotLookError(f"{why(fault)}, asked for the tree of {sha} in {name}") from fault

    def _linked(self, file: File, number: int) -> File:
        """Fill in where a symbolic link leads."""
        if file.kind != "symlink":
            return file
        if number > MOST_LINKS or (file.size or 0) > LONGEST_TARGET:
            reason = "its target is too long" if number <= MOST_LINKS else f"only {MOST_LINKS} links are asked for"
            return msgspec.structs.replace(file, unread=f"symbolic link to an unknown place: {reason}")
        try:
            return msgspec.structs.replace(file, target=printable(self.read(file)))
        except UnreadError as reason:
            return msgspec.structs.replace(file, unread=f"symbolic link to an unknown place: {reason}")


def _file(element: GitTreeElement, prefix: str) -> File:
    return File(prefix + element.path, KINDS.get(element.mode, "file"), element.sha, element.size)
