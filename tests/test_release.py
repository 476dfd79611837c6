"""A release: one version everywhere, notes from the changelog, a commit that names the image, and what the image is made of."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from tools import release, release_action, release_sbom
from tools.release import ReleaseError, git

# The schema of SPDX 2.3 from https://github.com/spdx/spdx-spec, tag v2.3, schemas/spdx-schema.json, under CC-BY-3.0.
SPDX = json.loads(gzip.decompress((ROOT / "tests/oracles/spdx-2.3.json.gz").read_bytes()))
SOURCE = '"""Words."""\n\n__version__ = "0.1.0"\n'
CHANGELOG = "# Changelog\n\nWords.\n\n## [Unreleased]\n\n### Added\n\n- A thing.\n"
RELEASED = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-02-01\n\n- Two.\n\n## [0.1.0] - 2026-01-01\n\n- One.\n"
ACTION = (ROOT / "action.yml").read_text("utf-8")
IMAGE = "ghcr.io/owner/model-repo-drift@sha256:" + "ab" * 32
NO_TAGS = frozenset[str]()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with what a release touches, on a branch."""
    (tmp_path / "bot").mkdir()
    for name, text in (("bot/__init__.py", SOURCE), ("CHANGELOG.md", CHANGELOG), ("action.yml", ACTION)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "add", "--all")
    commit(tmp_path)
    return tmp_path


def commit(tree: Path) -> None:
    git(tree, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "--quiet", "--all", "--message", "Words")


def test_the_notes_are_what_the_changelog_says_about_the_version() -> None:
    assert release.notes(RELEASED, "0.2.0") == "- Two."
    assert release.notes(RELEASED, "0.1.0") == "- One."


@pytest.mark.parametrize("version", ["0.3.0", "Unreleased", "0.2"])
def test_a_version_that_the_changelog_does_not_have_has_no_notes(version: str) -> None:
    with pytest.raises(ReleaseError, match="says nothing under"):
        release.notes(RELEASED, version)


def test_a_version_that_is_there_twice_is_a_fault() -> None:
    with pytest.raises(ReleaseError, match="twice"):
        release.notes(RELEASED + "\n## [0.2.0] - 2026-02-02\n\n- Again.\n", "0.2.0")


@given(st.tuples(*[st.integers(0, 99)] * 3).map(lambda parts: ".".join(map(str, parts))), st.dates().map(str))
def test_what_was_prepared_can_be_released_under_that_version_and_no_other(version: str, day: str) -> None:
    source, changelog = release.prepared(SOURCE, CHANGELOG, version, day)

    assert release.faults(source, changelog, ACTION, version, NO_TAGS) == []
    assert release.notes(changelog, version) == "### Added\n\n- A thing."
    assert release.faults(source, changelog, ACTION, version + "1", NO_TAGS) != []
    with pytest.raises(ReleaseError):  # nothing is left to release
        release.prepared(source, changelog, "100.0.0", day)


@pytest.mark.parametrize("version", ["v1.2.3", "1.2", "1.2.3-rc.1", "01.2.3", "1.2.3\n", "1.2.3;x", ""])
def test_what_is_no_version_is_neither_prepared_nor_released(version: str) -> None:
    with pytest.raises(ReleaseError, match="no version"):
        release.prepared(SOURCE, CHANGELOG, version, "2026-01-01")
    assert any("no version" in fault for fault in release.faults(SOURCE, RELEASED, ACTION, version, NO_TAGS))


@pytest.mark.parametrize(
    ("source", "changelog", "action", "tags", "says"),
    [
        (SOURCE, RELEASED, ACTION, NO_TAGS, "bot/__init__.py says 0.1.0"),
        (SOURCE.replace("0.1.0", "0.2.0"), CHANGELOG, ACTION, NO_TAGS, "CHANGELOG.md says nothing"),
        (SOURCE.replace("0.1.0", "0.2.0"), RELEASED, ACTION, frozenset({"v0.2.0"}), "the tag v0.2.0 exists"),
        (SOURCE.replace("0.1.0", "0.2.0"), RELEASED, release_action.rewritten(ACTION, IMAGE), NO_TAGS, release.NAMES_AN_IMAGE),
        (SOURCE.replace("0.1.0", "0.2.0"), RELEASED.replace("## [0.2", "- New.\n\n## [0.2"), ACTION, NO_TAGS, "[Unreleased]"),
        (
            SOURCE.replace("0.1.0", "0.2.0"),
            RELEASED.replace("## [0.2", "## [0.3.0] - 2026-03-01\n\n- Three.\n\n## [0.2"),
            ACTION,
            NO_TAGS,
            "[0.3.0] above [0.2.0]",
        ),
    ],
    ids=["declared version", "no notes", "tag", "image", "unreleased", "order"],
)
def test_each_thing_that_keeps_a_version_from_being_released_is_said_alone(
    source: str, changelog: str, action: str, tags: frozenset[str], says: str
) -> None:
    (fault,) = release.faults(source, changelog, action, "0.2.0", tags)
    assert says in fault


def test_the_changelog_of_this_repository_can_be_read() -> None:
    known = release.sections((ROOT / "CHANGELOG.md").read_text("utf-8"))
    assert next(iter(known)) == release.UNRELEASED
    assert release.declared((ROOT / "bot/__init__.py").read_text("utf-8"))


def test_a_release_is_prepared_checked_and_noted_on_the_command_line(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release.main(tree, ["check", "0.2.0"]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert release.main(tree, ["notes", "0.2.0"]) == 1
    assert release.main(tree, ["prepare", "0.2.0", "--day", "2026-02-01"]) == 0
    assert release.main(tree, ["check", "0.2.0"]) == 0
    capsys.readouterr()
    assert release.main(tree, ["notes", "0.2.0"]) == 0
    assert capsys.readouterr().out == "### Added\n\n- A thing.\n"
    git(tree, "tag", "v0.2.0")
    assert release.main(tree, ["check", "0.2.0"]) == 1


def test_the_action_of_a_release_differs_in_the_image_alone() -> None:
    expected = yaml.safe_load(ACTION)
    expected["runs"]["image"] = f"docker://{IMAGE}"
    assert yaml.safe_load(release_action.rewritten(ACTION, IMAGE)) == expected


@pytest.mark.parametrize(
    "image",
    [
        "ghcr.io/owner/name",
        "ghcr.io/owner/name:v1.2.3",
        "ghcr.io/Owner/name@sha256:" + "a" * 64,
        "ghcr.io/owner/name@sha256:" + "a" * 63,
        "name@sha256:" + "a" * 64,
        IMAGE + "\n  pre-entrypoint: x",
        "",
    ],
)
def test_an_image_without_its_digest_is_refused(image: str) -> None:
    with pytest.raises(ReleaseError, match="no image with its digest"):
        release_action.rewritten(ACTION, image)


def test_an_action_that_names_no_dockerfile_is_refused() -> None:
    with pytest.raises(ReleaseError, match="0 lines"):
        release_action.rewritten(release_action.rewritten(ACTION, IMAGE), IMAGE)


def test_the_commit_of_a_release_is_a_child_of_head_on_no_branch(tree: Path) -> None:
    head = git(tree, "rev-parse", "HEAD")
    (tree / "action.yml").write_text("what is not committed does not count\n", encoding="utf-8")
    made = release_action.tag(tree, "1.2.3", IMAGE)

    assert git(tree, "rev-parse", "v1.2.3") == made  # the tag is no object of its own: what it names can be pinned
    assert git(tree, "rev-list", "--parents", "-1", made) == f"{made} {head}"
    assert git(tree, "diff", "--name-only", head, made) == "action.yml"
    assert f"  image: docker://{IMAGE}\n" in release_action.content(tree, f"{made}:action.yml")
    assert head in git(tree, "log", "-1", "--format=%B", made)
    assert git(tree, "branch", "--contains", made) == ""
    assert (git(tree, "rev-parse", "HEAD"), git(tree, "status", "--porcelain")) == (head, "M action.yml")


def test_a_tag_that_exists_is_never_moved(tree: Path) -> None:
    release_action.tag(tree, "1.2.3", IMAGE)
    before = git(tree, "for-each-ref")
    with pytest.raises(ReleaseError, match="exists"):
        release_action.tag(tree, "1.2.3", IMAGE)
    assert git(tree, "for-each-ref") == before


def test_a_tag_can_be_pushed_without_a_branch(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """As the workflow does it, from a clone that has one commit."""
    there, here = tmp_path_factory.mktemp("there"), tmp_path_factory.mktemp("here")
    git(there, "init", "--quiet", "--bare")
    git(tree, "push", "--quiet", str(there), "main")
    (tree / "CHANGELOG.md").write_text(RELEASED, encoding="utf-8")
    commit(tree)
    git(tree, "push", "--quiet", str(there), "main")
    git(here, "clone", "--quiet", "--depth=1", "--branch=main", f"file://{there}", "clone")
    made = release_action.tag(here / "clone", "1.2.3", IMAGE)
    git(here / "clone", "push", "--quiet", "origin", "refs/tags/v1.2.3")
    assert git(there, "rev-parse", "v1.2.3") == made
    assert git(there, "rev-parse", "v1.2.3^") == git(there, "rev-parse", "main")


def test_the_command_prints_the_commit_or_one_line_of_why_not(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release_action.main(tree, ["1.2.3", IMAGE]) == 0
    assert re.fullmatch(r"[0-9a-f]{40}\n", capsys.readouterr().out)
    for arguments, status in ((["1.2.3", IMAGE], 1), (["1.2", IMAGE], 1), (["2.0.0", "name:latest"], 1), (["2.0.0"], 2)):
        assert release_action.main(tree, arguments) == status
        said = capsys.readouterr()
        assert (said.out, said.err.count("\n")) == ("", 1)


def answer() -> dict[str, Any]:
    return {
        "system": "debian-13",
        "python": "3.13.5",
        "own": [["huggingface_hub", "2.4.0"], ["msgspec", "0.23.0"]],
        "base": [["pip", "26.0"], ["msgspec", "0.23.0"]],
        "debian": [["git", "1:2.47.3-0+deb13u1", "amd64"], ["g++", "4:14.2.0-1", "amd64"]],
    }


def test_a_bill_of_materials_names_each_package_once_and_where_it_is_from() -> None:
    assert [package.purl for package in release_sbom.packages(answer())] == [
        "pkg:deb/debian/g%2B%2B@4%3A14.2.0-1?arch=amd64&distro=debian-13",
        "pkg:deb/debian/git@1%3A2.47.3-0%2Bdeb13u1?arch=amd64&distro=debian-13",
        "pkg:generic/python@3.13.5",
        "pkg:pypi/huggingface-hub@2.4.0",
        "pkg:pypi/msgspec@0.23.0",
        "pkg:pypi/pip@26.0",
    ]


def test_a_bill_of_materials_is_a_document_of_spdx() -> None:
    found = release_sbom.packages(answer())
    document: Any = release_sbom.document("ghcr.io/owner/name", "v1.2.3", found, "2026-01-31T00:00:00Z")

    jsonschema.Draft7Validator(SPDX).validate(document)
    ids = [package["SPDXID"] for package in document["packages"]]
    assert len(set(ids)) == len(found) + 1
    # What an attestation looks for, to tell the format: https://github.com/actions/attest, v4.2.2, src/sbom.ts, checkIsSPDX.
    assert document["spdxVersion"] == "SPDX-2.3"
    assert document["SPDXID"] == "SPDXRef-DOCUMENT"
    contained = [each["relatedSpdxElement"] for each in document["relationships"] if each["relationshipType"] == "CONTAINS"]
    assert contained == ids[1:]


def test_the_question_to_an_image_is_a_program_that_answers_here(tmp_path: Path) -> None:
    """Where there is no package manager of Debian, a stand-in lists two packages, one of them removed."""
    lister = tmp_path / "dpkg-query"
    lister.write_text("#!/bin/sh\nprintf 'git\\t1:2\\tamd64\\tii \\nvim\\t9\\tamd64\\trc \\n'\n", encoding="utf-8")
    lister.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", release_sbom.QUESTION], env={"PATH": str(tmp_path)}, check=True, capture_output=True, text=True
    )
    found = {package.purl.partition("?")[0] for package in release_sbom.packages(json.loads(done.stdout))}
    assert {"pkg:deb/debian/git@1%3A2"} <= found
    assert not any("vim" in purl for purl in found)
    assert any(purl.startswith("pkg:pypi/msgspec@") for purl in found)
