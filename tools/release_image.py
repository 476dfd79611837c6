"""Push the images of a release: `python3 -m tools.release_image IMAGE VERSION ARCHIVE...`, from archives that `docker save` wrote.

IMAGE is a name without a tag, as ghcr.io/owner/name. Each archive holds one image for one architecture, which is pushed as
IMAGE:v<VERSION>-<architecture>: the very bytes that were tested. IMAGE:v<VERSION> is then an index of them. Prints `name=digest` lines for
GITHUB_OUTPUT: the architectures, then `index`. The plain commands of Docker do it, so that a registry on this machine can stand in.
"""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.release import VERSION, ReleaseError

NAME = re.compile(r"[a-z0-9.-]+(?::\d+)?(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)+")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
# What `docker load` says: https://github.com/moby/moby, image/tarexport/load.go; an archive may have no name for its image.
_LOADED = re.compile(r"^Loaded image(?: ID)?: (\S+)$", re.MULTILINE)
_ARCHITECTURE = re.compile(r"[a-z0-9]+")


def docker(*arguments: str) -> str:
    """What docker prints on standard output. CalledProcessError when it fails; its own words are then on standard error."""
    return subprocess.run(["docker", *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def load(archive: Path) -> tuple[str, str]:
    """Load the one image of an archive: its name and architecture. ReleaseError when there is not exactly one."""
    loaded = _LOADED.findall(docker("load", "--input", str(archive)))
    if len(loaded) != 1:
        raise ReleaseError(f"{archive} holds {len(loaded)} images, one is needed")
    architecture = docker("image", "inspect", "--format", "{{.Architecture}}", loaded[0])
    if not _ARCHITECTURE.fullmatch(architecture):
        raise ReleaseError(f"the image of {archive} is for {architecture!r}, which is no architecture")
    return loaded[0], architecture


def push(name: str, version: str, archives: Sequence[Path]) -> dict[str, str]:
    """Push the images of archives and an index of them: the digest of each by its architecture, and of "index".

    ReleaseError for a name or version that is none, or as `load`. A registry on this machine may speak plain HTTP.
    """
    if not NAME.fullmatch(name) or not VERSION.fullmatch(version):
        raise ReleaseError(f"{name!r} with {version!r} is no image such as ghcr.io/owner/name with 1.2.3")
    whole = f"{name}:v{version}"
    insecure = ("--insecure",) if name.startswith(("127.0.0.1:", "localhost:")) else ()
    found: dict[str, str] = {}
    for archive in archives:
        image, architecture = load(archive)
        if architecture in found:
            raise ReleaseError(f"two archives are for {architecture}")
        # At once: the next archive may bring an image of the same name.
        docker("tag", image, f"{whole}-{architecture}")
        docker("push", "--quiet", f"{whole}-{architecture}")
        found[architecture] = _digest(name, f"{whole}-{architecture}")
    docker("manifest", "create", *insecure, whole, *(f"{name}@{digest}" for digest in found.values()))
    last = docker("manifest", "push", "--purge", *insecure, whole).splitlines()[-1]
    if not DIGEST.fullmatch(last):
        raise ReleaseError(f"docker manifest push answered {last!r} in place of a digest")
    return {**found, "index": last}


def _digest(name: str, tagged: str) -> str:
    """The digest under which the registry of `name` has an image that was pushed."""
    known: list[str] = json.loads(docker("image", "inspect", "--format", "{{json .RepoDigests}}", tagged))
    digests = {each.rpartition("@")[2] for each in known if each.startswith(f"{name}@")}
    if len(digests) != 1:
        raise ReleaseError(f"{tagged} has {len(digests)} digests after it was pushed, one is needed")
    return digests.pop()


def main(arguments: Sequence[str]) -> int:
    """Print the digests; 1 when something is not as it has to be, 2 for wrong usage."""
    if len(arguments) < 3:
        print("usage: python3 -m tools.release_image IMAGE VERSION ARCHIVE...", file=sys.stderr)
        return 2
    name, version, *archives = arguments
    try:
        digests = push(name, version, [Path(archive) for archive in archives])
    except ReleaseError as fault:
        print(fault, file=sys.stderr)
        return 1
    print("\n".join(f"{what}={digest}" for what, digest in digests.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
