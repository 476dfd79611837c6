"""Make the commit and the tag of a release: `python3 -m tools.release_action VERSION IMAGE@sha256:DIGEST`, which prints the commit.

The commit is a child of HEAD that stands on no branch. Its action.yml names the image that was pushed, by its digest, in place of the
Dockerfile: who pins the commit runs these very bytes, and builds nothing. Nothing is pushed, and the work tree is left alone.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.release import ROOT, VERSION, ReleaseError, git

IMAGE = re.compile(r"[a-z0-9.-]+(?::\d+)?(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)+@sha256:[0-9a-f]{64}")
_DOCKERFILE = re.compile(r"^(  image: )Dockerfile$", re.MULTILINE)
# The account that GitHub writes commits of workflows under: https://github.com/actions/checkout, README.md, "Push a commit using the built-in token".
NAME, MAIL = "github-actions[bot]", "41898282+github-actions[bot]@users.noreply.github.com"


def rewritten(action: str, image: str) -> str:
    """The text of action.yml with an image in place of the Dockerfile. ReleaseError for an image without a digest, or where not exactly one line names it."""
    if not IMAGE.fullmatch(image):
        raise ReleaseError(f"{image!r} is no image with its digest, such as ghcr.io/owner/name@sha256:<64 hex digits>")
    text, count = _DOCKERFILE.subn(rf"\g<1>docker://{image}", action)
    if count != 1:
        raise ReleaseError(f"action.yml has {count} lines `  image: Dockerfile`, one is needed")
    return text


def tag(root: Path, version: str, image: str) -> str:
    """Make the commit of a release on top of HEAD, tag it v<version>, and return it. ReleaseError as `rewritten`, or when the tag exists."""
    if not VERSION.fullmatch(version):
        raise ReleaseError(f"{version!r} is no version such as 1.2.3")
    if git(root, "tag", "--list", f"v{version}"):
        raise ReleaseError(f"the tag v{version} exists, and a release is never changed")
    head = git(root, "rev-parse", "HEAD")
    action = rewritten(content(root, f"{head}:action.yml"), image)
    with tempfile.TemporaryDirectory() as folder:
        given = {**os.environ, "GIT_INDEX_FILE": str(Path(folder, "index"))}

        def run(*arguments: str, text: str | None = None) -> str:
            command = ["git", "-C", str(root), "-c", f"user.name={NAME}", "-c", f"user.email={MAIL}", *arguments]
            return subprocess.run(command, env=given, input=text, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

        blob = run("hash-object", "-w", "--stdin", text=action)
        run("read-tree", head)
        run("update-index", "--cacheinfo", f"100644,{blob},action.yml")
        message = f"Release {version}\n\nThe action runs {image}.\nBuilt from {head}.\n"
        commit = run("commit-tree", run("write-tree"), "-p", head, text=message)
    # Not annotated: what the tag names is the commit that a workflow pins.
    git(root, "update-ref", f"refs/tags/v{version}", commit, "")
    return commit


def content(root: Path, name: str) -> str:
    """A file of a commit, to the last line end."""
    return subprocess.run(
        ["git", "-C", str(root), "cat-file", "blob", name], check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def main(root: Path, arguments: list[str]) -> int:
    """Print the commit; 1 when there is none, 2 for wrong usage."""
    if len(arguments) != 2:
        print("usage: python3 -m tools.release_action VERSION IMAGE@sha256:DIGEST", file=sys.stderr)
        return 2
    try:
        print(tag(root, *arguments))
    except ReleaseError as fault:
        print(fault, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(ROOT, sys.argv[1:]))
