"""Which paths .gitattributes keeps in Git LFS, as git itself reads it, in a process that knows no secret."""

import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bot.fetch.source import UnreadError

SECONDS = 20  # for one call of git; a pattern may be made to take long


def kept_in_lfs(files: Mapping[str, bytes], paths: Iterable[str]) -> frozenset[str]:
    """Return those of `paths` whose filter is "lfs"; `files` are the .gitattributes, by folder ("" is the root).

    They stand in the index of a repository that has nothing else: no name of theirs reaches the file system, and no setting of this machine speaks.
    Raises UnreadError when git cannot tell.
    """
    wanted = sorted(set(paths))
    if not files or not wanted:
        return frozenset()
    with tempfile.TemporaryDirectory(prefix="model-repo-drift-") as name:
        folder = Path(name)
        _git(folder, ["init", "--quiet", "--template="])
        for number, content in enumerate(files.values()):
            (folder / str(number)).write_bytes(content)
        numbers = "".join(f"{number}\n" for number in range(len(files))).encode()
        blobs = _git(folder, ["hash-object", "-w", "--no-filters", "--stdin-paths"], numbers).decode().split()
        rows = [f"100644 {blob}\t{where}/.gitattributes".replace("\t/", "\t") for blob, where in zip(blobs, files, strict=True)]
        _git(folder, ["update-index", "-z", "--index-info"], _bytes("".join(f"{row}\0" for row in rows)))
        asked = _bytes("".join(f"{path}\0" for path in wanted))
        said = _git(folder, ["check-attr", "--cached", "-z", "--stdin", "filter"], asked).split(b"\0")
    return frozenset(
        path.decode("utf-8", "surrogatepass") for path, value in zip(said[0:-1:3], said[2::3], strict=True) if value == b"lfs"
    )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _git(folder: Path, arguments: Sequence[str], stdin: bytes = b"") -> bytes:
    fixed = {
        "LC_ALL": "C",
        "HOME": str(folder),
        "GIT_DIR": str(folder / ".git"),
        "GIT_WORK_TREE": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
    }
    kept = {"PATH": os.environ["PATH"]} if "PATH" in os.environ else {}
    command = ["git", *arguments]
    try:
        done = subprocess.run(
            command, cwd=folder, env=kept | fixed, input=stdin, capture_output=True, check=True, timeout=SECONDS
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UnreadError(f"git could not say whether .gitattributes keeps it in Git LFS ({type(error).__name__})") from error
    return done.stdout
