"""Say what an image is made of: `python3 -m tools.release_sbom IMAGE NAME VERSION`, an SPDX 2.3 document on standard output.

The image itself is asked, without a network: which packages Debian's package manager has installed, which distributions the interpreters
of the tool and of the base image find, and the interpreter. NAME and VERSION are what the image is published as.
https://spdx.github.io/spdx-spec/v2.3/ has the format, https://github.com/package-url/purl-spec that of the locators.
"""

import hashlib
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

PYTHON = "/opt/model-repo-drift/bin/python"
# Runs in the image. A base image that is not Debian's own Python has its interpreter, and pip, outside of the package manager.
QUESTION = r"""
import importlib.metadata as m, json, pathlib, platform, subprocess, sys
def found(paths):
    return sorted({(d.name, d.version) for d in m.distributions(path=[str(p) for p in paths])})
base = pathlib.Path(sys.base_prefix, "lib")
system = dict(line.rstrip().replace('"', "").split("=", 1) for line in open("/etc/os-release") if "=" in line)
listed = subprocess.run(["dpkg-query", "--show", "--showformat", "${Package}\t${Version}\t${Architecture}\t${db:Status-Abbrev}\n"],
                        check=True, capture_output=True, text=True).stdout
print(json.dumps({"system": system["ID"] + "-" + system.get("VERSION_ID", ""), "python": platform.python_version(),
                  "own": found([p for p in sys.path if p.endswith("-packages")]), "base": found(base.glob("python3*/site-packages")),
                  "debian": [line.split("\t")[:3] for line in listed.splitlines() if line.split("\t")[3].startswith("ii")]}))
"""


@dataclass(frozen=True)
class Package:
    """One package: name, version, and the package URL that says where it comes from."""

    name: str
    version: str
    purl: str


def ask(image: str) -> list[Package]:
    """The packages of an image, sorted by where they come from and by name. CalledProcessError when it cannot be run."""
    command = ["docker", "run", "--rm", "--network=none", "--entrypoint", PYTHON, image, "-c", QUESTION]
    answer = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return packages(answer)


def packages(answer: dict[str, object]) -> list[Package]:
    """The packages that an image named: `system`, `python`, and rows of `own`, `base` and `debian`."""
    own, base, debian = (_rows(answer[part]) for part in ("own", "base", "debian"))
    python = str(answer["python"])
    found = {Package("python", python, f"pkg:generic/python@{python}")}
    for name, version, *_ in own + base:
        # The name as package URLs of this type have it: lower case, one dash for every run of separators.
        found.add(Package(name, version, f"pkg:pypi/{re.sub('[-_.]+', '-', name).lower()}@{quote(version)}"))
    for name, version, architecture in debian:
        about = f"arch={architecture}&distro={quote(str(answer['system']))}"
        found.add(Package(name, version, f"pkg:deb/debian/{quote(name)}@{quote(version)}?{about}"))
    return sorted(found, key=lambda package: package.purl)


def _rows(given: object) -> list[list[str]]:
    return [[str(cell) for cell in row] for row in given] if isinstance(given, list) else []


def document(name: str, version: str, found: list[Package], created: str) -> dict[str, object]:
    """The SPDX document of an image that contains some packages; `created` is a time in UTC as 2026-01-31T00:00:00Z."""
    whole = {
        "SPDXID": "SPDXRef-image",
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "primaryPackagePurpose": "CONTAINER",
    }
    parts = [
        {
            "SPDXID": f"SPDXRef-{hashlib.sha256(package.purl.encode()).hexdigest()[:16]}",
            "name": package.name,
            "versionInfo": package.version,
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False,
            "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": package.purl}],
        }
        for package in found
    ]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-image")]
    relations += [("SPDXRef-image", "CONTAINS", str(part["SPDXID"])) for part in parts]
    content = hashlib.sha256("\n".join(package.purl for package in found).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{name}:{version}",
        "documentNamespace": f"https://{name}/sbom/{version}/{content}",
        "creationInfo": {"created": created, "creators": ["Tool: model-repo-drift tools/release_sbom.py"]},
        "packages": [whole, *parts],
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other} for one, kind, other in relations
        ],
    }


def main(arguments: list[str]) -> int:
    """Print the document; 2 for wrong usage."""
    if len(arguments) != 3:
        print("usage: python3 -m tools.release_sbom IMAGE NAME VERSION", file=sys.stderr)
        return 2
    image, name, version = arguments
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    print(json.dumps(document(name, version, ask(image), now), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
