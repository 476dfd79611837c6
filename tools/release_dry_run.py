"""Do everything of a release that can be done on this machine: `python -m tools.release_dry_run`; docs/releasing.md has the list.

The steps run on a clone of HEAD in a temporary folder. With a Docker engine an image is built and tested, and with the program
docker-registry (a package of Debian) it is pushed to a registry on loopback and run again by its digest. What could not be done is said in lines that begin with `not run`; exit status 1 when a step failed.
"""

import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tools import release, release_action, release_image, release_sbom
from tools.release import ROOT, ReleaseError, git

STAND_IN = "ghcr.io/owner/model-repo-drift@sha256:" + "0" * 64
_SECONDS = 30


def prepare(root: Path) -> tuple[str, str]:
    """Prepare and commit a version in a clone without tags: it, and the notes. ReleaseError when it could not be released then.

    The version is the declared one, or its next patch where the changelog has that one and something newer. A tree that was prepared stays.
    """
    version = release.declared((root / "bot/__init__.py").read_text("utf-8"))
    known = release.sections((root / "CHANGELOG.md").read_text("utf-8"))
    newer = bool(known.get(release.UNRELEASED, ("", ""))[1])
    if version in known and newer:
        major, minor, patch = version.split(".")
        version = f"{major}.{minor}.{int(patch) + 1}"
    if newer:
        _succeed(release.main(root, ["prepare", version]))
        who = ("-c", "user.name=dry run", "-c", "user.email=dry-run@example.com")
        git(root, *who, "commit", "--quiet", "--all", "--message", f"Prepare {version}")
    _succeed(release.main(root, ["check", version]))
    return version, release.notes((root / "CHANGELOG.md").read_text("utf-8"), version)


def tag(root: Path, version: str, image: str) -> str:
    """Tag a clone, and hold the tag to what it promises: a child of HEAD that differs in one line. ReleaseError when it does not."""
    commit = release_action.tag(root, version, image)
    changed = git(root, "diff", "--numstat", "HEAD", commit)
    if git(root, "rev-parse", f"{commit}^") != git(root, "rev-parse", "HEAD") or changed != "1\t1\taction.yml":
        raise ReleaseError(f"the commit of the release changes {changed!r} in place of one line of action.yml")
    if release.faults(*_texts(root, commit), version, frozenset()) != [release.NAMES_AN_IMAGE]:
        raise ReleaseError("the commit of the release is no release")
    return commit


@contextmanager
def registry(folder: Path) -> Generator[str]:
    """An image registry of this machine alone while the block runs: its host and port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{probe.getsockname()[1]}"
    settings = folder / "registry.yml"
    settings.write_text(
        f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {folder / 'registry'}}}}}\nhttp: {{addr: '{host}'}}\n",
        encoding="utf-8",
    )
    with (folder / "registry.log").open("wb") as log:
        program = subprocess.Popen(["docker-registry", "serve", str(settings)], stdout=log, stderr=log)
        try:
            _answers(f"http://{host}/v2/")
            yield host
        finally:
            program.terminate()
            program.wait(_SECONDS)


def image(root: Path, scratch: Path, version: str) -> str | None:
    """Build, test and describe the image of a clone, and push it where a registry can stand in: its name with the digest, None where none can."""
    built = "model-repo-drift:release-dry-run"
    # The Dockerfile tests what it builds; the rest of the tests are those that CI runs.
    flags = shlex.split(os.environ.get("DOCKER_BUILD_FLAGS", ""))
    _run("docker", "build", "--quiet", *flags, "--tag", built, str(root))
    # The clone's own command is what the image is compared with.
    given = {**os.environ, "MODEL_REPO_DRIFT_IMAGE": built, "PYTHONPATH": str(root)}
    subprocess.run([sys.executable, "-m", "pytest", "-q", "tests/test_docker.py"], check=True, cwd=root, env=given)
    found = release_sbom.ask(built)
    print(f"SBOM: {len(found)} packages")
    if not shutil.which("docker-registry"):
        print("not run: push by tag, index and digest, which need docker-registry")
        return None
    archives = [scratch / "image.tar", scratch / "other.tar"]
    _run("docker", "save", "--output", str(archives[0]), built)
    other(scratch, built)
    _run("docker", "save", "--output", str(archives[1]), built)
    with registry(scratch) as host:
        name = f"{host}/owner/model-repo-drift"
        digests = release_image.push(name, version, archives)
        print("\n".join(f"{what}={digest}" for what, digest in digests.items()))
        whole = f"{name}@{digests['index']}"
        # As a runner does with what action.yml names.
        _run("docker", "pull", "--quiet", whole)
        said = release_image.docker("run", "--rm", "--network=none", whole, "--version")
        if version not in said:
            raise ReleaseError(f"the image of {version} says {said!r}")
        for architecture in digests.keys() - {"index"}:
            release_image.docker("image", "rm", f"{name}:v{version}-{architecture}")
    return f"ghcr.io/owner/model-repo-drift@{digests['index']}"


def other(scratch: Path, name: str) -> None:
    """Give a name to an image with nothing in it, for an architecture that this machine does not have: the second of an index."""
    folder = scratch / "other"
    folder.mkdir()
    (folder / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /\n", encoding="utf-8")
    native = release_image.docker("version", "--format", "{{.Server.Arch}}")
    _run(
        "docker",
        "build",
        "--quiet",
        "--platform",
        "linux/amd64" if native == "arm64" else "linux/arm64",
        "--tag",
        name,
        str(folder),
    )


def main() -> int:
    """Say each step; 1 when one failed."""
    with tempfile.TemporaryDirectory(prefix="release-dry-run-") as folder:
        scratch = Path(folder)
        root = scratch / "clone"
        try:
            git(ROOT, "clone", "--quiet", "--no-local", "--no-tags", str(ROOT), str(root))
            version, notes = prepare(root)
            print(f"== notes of {version}\n{notes}")
            print("== image")
            if shutil.which("docker") and subprocess.run(["docker", "version"], check=False, capture_output=True).returncode == 0:
                pushed = image(root, scratch, version)
            else:
                pushed = None
                print("not run: build, test, SBOM and push of the image, for no Docker engine answers")
            print(f"== commit and tag\n{tag(root, version, pushed or STAND_IN)}")
            print(git(root, "diff", "--unified=0", "HEAD", f"v{version}"))
        except ReleaseError as fault:
            print(f"failed: {fault}", file=sys.stderr)
            return 1
        except subprocess.CalledProcessError as fault:
            print(f"failed: {shlex.join(map(str, fault.cmd))} ended with {fault.returncode}", file=sys.stderr)
            return 1
    print("not run: arm64, the push to the real registry, attestations and the release on GitHub; docs/releasing.md says why")
    return 0


def _texts(root: Path, commit: str) -> tuple[str, str, str]:
    source, changelog, action = (
        release_action.content(root, f"{commit}:{path}") for path in ("bot/__init__.py", "CHANGELOG.md", "action.yml")
    )
    return source, changelog, action


def _succeed(status: int) -> None:
    if status:
        raise ReleaseError("the step above failed")


def _run(*command: str) -> None:
    """Run a command as the workflow does, with what it says on standard error."""
    subprocess.run(command, check=True, stdout=sys.stderr, env={**os.environ, "BUILDX_NO_DEFAULT_ATTESTATIONS": "1"})


def _answers(url: str) -> None:
    """Wait until a server answers. ReleaseError when it does not in time."""
    end = time.monotonic() + _SECONDS
    while True:
        try:
            with urllib.request.urlopen(url):
                return
        except OSError:
            if time.monotonic() > end:
                raise ReleaseError(f"{url} did not answer within {_SECONDS} s") from None
            time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())
