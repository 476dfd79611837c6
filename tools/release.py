"""What a release says about itself: `python3 -m tools.release prepare|check|notes VERSION`.

`prepare` enters version and day into `bot/__init__.py` and `CHANGELOG.md`, `check` says what still keeps HEAD from being released under the
version (exit status 1), `notes` prints its part of the changelog. docs/releasing.md says when. Needs nothing but Python and git.
"""

import argparse
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
"""Releases are plain versions of Semantic Versioning: what stands before a release has no tag."""
_DECLARED = re.compile(r'^__version__ = "([^"]*)"$', re.MULTILINE)
_HEADING = re.compile(r"^## \[([^\]]+)\](?: - (\d{4}-\d{2}-\d{2}))?$", re.MULTILINE)
UNRELEASED = "Unreleased"
NAMES_AN_IMAGE = "action.yml does not say `image: Dockerfile`; only the commit of a release names an image"


class ReleaseError(Exception):
    """Something of a release is not as it has to be; the text says in one line what and how to put it right."""


def sections(changelog: str) -> dict[str, tuple[str, str]]:
    """Day ("" for none) and text of each version in a changelog, newest first as they stand there. ReleaseError for one that is there twice."""
    found: dict[str, tuple[str, str]] = {}
    headings = [*_HEADING.finditer(changelog)]
    ends = [each.start() for each in headings[1:]] + [len(changelog)]
    for heading, end in zip(headings, ends, strict=True):
        if heading[1] in found:
            raise ReleaseError(f"CHANGELOG.md has [{heading[1]}] twice; make them one")
        found[heading[1]] = (heading[2] or "", changelog[heading.end() : end].strip())
    return found


def notes(changelog: str, version: str) -> str:
    """What a changelog says about a version, without its heading. ReleaseError when that is nothing."""
    day, text = sections(changelog).get(version, ("", ""))
    if not day or not text:
        raise ReleaseError(
            f"CHANGELOG.md says nothing under `## [{version}] - <day>`; run: python3 -m tools.release prepare {version}"
        )
    return text


def declared(source: str) -> str:
    """The version that `bot/__init__.py` declares. ReleaseError when there is none."""
    found = _DECLARED.search(source)
    if found is None:
        raise ReleaseError('bot/__init__.py has no line `__version__ = "1.2.3"`')
    return found[1]


def prepared(source: str, changelog: str, version: str, day: str) -> tuple[str, str]:
    """`bot/__init__.py` and `CHANGELOG.md` with a version in place of what was unreleased. ReleaseError when that cannot be."""
    if not VERSION.fullmatch(version):
        raise ReleaseError(f"{version!r} is no version such as 1.2.3")
    known = sections(changelog)
    if version in known:
        raise ReleaseError(f"CHANGELOG.md has [{version}] already; choose another version")
    if not known.get(UNRELEASED, ("", ""))[1]:
        raise ReleaseError("CHANGELOG.md has nothing under [Unreleased], so that there is nothing to release")
    heading = f"## [{UNRELEASED}]"
    return (
        _DECLARED.sub(f'__version__ = "{version}"', source),
        changelog.replace(heading, f"{heading}\n\n## [{version}] - {day}", 1),
    )


def faults(source: str, changelog: str, action: str, version: str, tags: frozenset[str]) -> list[str]:
    """What keeps a tree from being released under a version, a sentence each; the texts are those of its files, `tags` all that exist."""
    found: list[str] = []
    if not VERSION.fullmatch(version):
        found.append(f"{version!r} is no version such as 1.2.3")
    if declared(source) != version:
        found.append(f"bot/__init__.py says {declared(source)}; run: python3 -m tools.release prepare {version}")
    if f"v{version}" in tags:
        found.append(f"the tag v{version} exists, and a release is never changed; choose another version")
    if not re.search(r"^  image: Dockerfile$", action, re.MULTILINE):
        found.append(NAMES_AN_IMAGE)
    try:
        notes(changelog, version)
        known = sections(changelog)
    except ReleaseError as fault:
        return [*found, str(fault)]
    if known.get(UNRELEASED, ("", ""))[1]:
        found.append(f"CHANGELOG.md has something under [Unreleased], which this release would hold; move it to [{version}]")
    newest = next(name for name in known if name != UNRELEASED)
    if newest != version:
        found.append(f"CHANGELOG.md has [{newest}] above [{version}]; the newest stands first")
    return found


def git(root: Path, *arguments: str) -> str:
    """What git answers. CalledProcessError when it fails; its own words are then on standard error."""
    return subprocess.run(["git", "-C", str(root), *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def main(root: Path, arguments: list[str]) -> int:
    """Do one of the three; 1 when something is not as it has to be."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.release", allow_abbrev=False)
    parser.add_argument("act", choices=["prepare", "check", "notes"])
    parser.add_argument("version")
    parser.add_argument("--day", default=datetime.now(UTC).date().isoformat())
    asked = parser.parse_args(arguments)
    source, changelog = root / "bot/__init__.py", root / "CHANGELOG.md"
    texts = source.read_text("utf-8"), changelog.read_text("utf-8")
    try:
        if asked.act == "notes":
            print(notes(texts[1], asked.version))
        elif asked.act == "prepare":
            for path, text in zip((source, changelog), prepared(*texts, asked.version, asked.day), strict=True):
                path.write_text(text, encoding="utf-8")
        else:
            tags = frozenset(git(root, "tag", "--list").split())
            found = faults(*texts, (root / "action.yml").read_text("utf-8"), asked.version, tags)
            print("\n".join(found) or f"{asked.version} can be released")
            return 1 if found else 0
    except ReleaseError as fault:
        print(fault, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(ROOT, sys.argv[1:]))
