"""Read git objects by id through one long-lived `git cat-file`."""

import subprocess
from typing import IO

from bot.errors import CannotLookError
from bot.fetch.git import FULL, Repository
from bot.fetch.source import UnreadError


class Objects:
    """The objects of one repository, read without filters. The process starts with the first question and ends with close()."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._process: subprocess.Popen[bytes] | None = None

    def size(self, oid: str) -> int:
        """Return the number of bytes of one object. Raises UnreadError when it is not there."""
        return self._ask("info", oid)[0]

    def content(self, oid: str) -> bytes:
        """Return the bytes of one object. Raises UnreadError when it is not there or damaged."""
        size, answers = self._ask("contents", oid)
        content = answers.read(size)
        if len(content) != size or answers.read(1) != b"\n":
            self.close()
            raise UnreadError(f"object {oid[:12]} is damaged")
        return content

    def close(self) -> None:
        """End the process."""
        if self._process is None:
            return
        process, self._process = self._process, None
        try:
            process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()

    def _ask(self, verb: str, oid: str) -> tuple[int, IO[bytes]]:
        """Send one request; return the size that the answer's first line gives, and where the bytes follow."""
        if not FULL.fullmatch(oid):
            raise UnreadError(f"{oid[:80]!r} is no object id")
        asking, answers = self._pipes()
        try:
            asking.write(f"{verb} {oid}\n".encode())
            asking.flush()
            line = answers.readline()
        except BrokenPipeError:
            line = b""
        _, *words = line.split()[:3] or [b""]
        if not words:
            self.close()
            if not self._repository.fetches:
                raise UnreadError(f"object {oid[:12]} is damaged, or not in the clone: {self._repository.unfetched()}")
            raise UnreadError(
                f"git cat-file ended at object {oid[:12]}: it is damaged or cannot be fetched, or git is older than 2.36"
            )
        if words == [b"missing"]:
            raise UnreadError(f"object {oid[:12]} is not in the clone")
        return int(words[1]), answers

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None:
            try:
                self._process = subprocess.Popen(
                    self._repository.command("cat-file", "--batch-command"),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=self._repository.environment(fetching=True),
                )
            except OSError as error:
                raise CannotLookError(f"git cannot be started: {error.strerror}") from error
        asking, answers = self._process.stdin, self._process.stdout
        if asking is None or answers is None:
            raise CannotLookError("git was started without pipes")
        return asking, answers
