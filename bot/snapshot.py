"""What crosses from fetch to analyze: two snapshots, the change between them, and a folder of contents.

The exchange folder holds `exchange.json` (an `Exchange`) and `contents/<key>` (raw bytes, one file per
distinct content). Nothing else crosses, and it crosses in this direction only.
"""

from pathlib import Path
from typing import Literal

import msgspec

from bot.probe import Probe

Kind = Literal["file", "symlink", "submodule"]
Task = Literal["compare", "check", "inspect", "predict", "render"]
CommitStatus = Literal["reachable", "orphaned", "unknown"]
Level = Literal["error", "warning", "note", "off"]
SETTINGS = ".github/model-repo-drift.yml"
"""The settings file of a repository."""
LARGEST_SETTINGS = 256 * 1024
"""Bytes of a settings file."""


class File(msgspec.Struct, frozen=True):
    """One entry of a snapshot's tree.

    `path` is relative to the repository, with forward slashes. `content` names the file under
    `contents/` that holds the bytes, or is None when they were not taken: then `unread` says why
    they should have been ("" for a file that is never read, such as weights). What Git LFS keeps is the content in the place of
    its pointer, whose id `oid` stays; where the content is a pointer all the same, `unread` may say why. For a symlink that stays
    inside the tree `content` is that of the file it leads to; `target` is the text of the link.
    `dangling` is a symlink that leads to no file for certain: to nothing, to a folder or in a circle. One that leaves the tree may lead to one.
    Two files with equal `content` or equal `oid` have equal bytes in git; only an `oid` "size:N", as large weights in a plain
    folder have, says no more than the size.
    """

    path: str
    kind: Kind = "file"
    oid: str = ""
    size: int | None = None
    content: str | None = None
    unread: str = ""
    target: str = ""
    dangling: bool = False


class Snapshot(msgspec.Struct, frozen=True):
    """The part of one revision that the comparison needs.

    `files` are all entries of the candidate folders that differ between the revisions (weights by name
    only), plus the README, CHANGELOG and .gitattributes files of the root. `unchanged` names the candidate folders that are
    the same on both sides. `sha` is the commit (40 hex digits), None for a plain folder, whose
    repository path prefix is then unknown.
    """

    label: str
    sha: str | None
    files: tuple[File, ...] = ()
    unchanged: tuple[str, ...] = ()


class Text(msgspec.Struct, frozen=True):
    """A text of the pull request: `path` is `pull-request:title`, `pull-request:body` or `commit:<sha>`."""

    path: str
    text: str


class Commit(msgspec.Struct, frozen=True):
    """What became of one hexadecimal word: which commit it names and whether a branch holds it.

    `word` is the word as written, lower-cased; `sha` the full id where it is known. `status` is
    "reachable" (from the base branch, head, another branch or a tag; or the same change is there under another id),
    "orphaned" (refs are complete and no branch or tag holds it) or "unknown" (could not tell).
    `reason` is one clause for people, such as "only refs/pr/4 holds it", "the same change is on main as c0ffee1" or "the clone is shallow".
    `repository` is another one, "owner/name", where the text names it beside the word and the word was looked up there.
    """

    word: str
    sha: str | None
    status: CommitStatus
    reason: str
    repository: str = ""


class Change(msgspec.Struct, frozen=True):
    """What belongs to the change as a whole: texts, and every hexadecimal word of texts and documents, resolved.

    `repository` is "owner/name" where known: a link to a commit of another repository is not about `commits`.
    `complete_refs` says whether the refs that were looked at are all there are. `unread` says what of the texts and their
    words was left out, one clause each.
    """

    texts: tuple[Text, ...] = ()
    commits: tuple[Commit, ...] = ()
    repository: str = ""
    complete_refs: bool = False
    refs_reason: str = ""
    unread: tuple[str, ...] = ()


class SettingsFile(msgspec.Struct, frozen=True):
    """The settings file of head, which differs from that of base: `content` names its bytes as in `File`; `unread` says why there are none."""

    change: Literal["added", "changed", "removed"]
    content: str | None = None
    unread: str = ""


class Exchange(msgspec.Struct, frozen=True):
    """Everything that the jail is given.

    `task` is what it shall do: compare base with head, or judge, describe, predict or render head alone, with an empty base. `more` are further
    revisions to be predicted, each by itself. `engines` names the versions that are asked, as in "vllm@0.33.0"; none stands for those that
    a comparison looks at. `engines_after` names others for head, in the same order, where the question is what moving to them changes.
    `probes` are the conversations that are rendered; none stands for the built-in ones. `tokens` says whether prompts are told token by token.
    `severity` gives all findings of a check that severity; checks that are "off" do not run. `left_out` counts the folders that would have been looked at
    and are left out by choice, `unmatched` are the globs that mean no folder at all. `settings` is what head does to the settings file.
    """

    base: Snapshot
    head: Snapshot
    change: Change = Change()
    unrenderable: tuple[str, ...] = ()
    task: Task = "compare"
    more: tuple[Snapshot, ...] = ()
    engines: tuple[str, ...] = ()
    engines_after: tuple[str, ...] = ()
    probes: tuple[Probe, ...] = ()
    tokens: bool = False
    severity: dict[str, Level] = {}
    left_out: int = 0
    unmatched: tuple[str, ...] = ()
    settings: SettingsFile | None = None

    @staticmethod
    def load(folder: Path) -> "Exchange":
        """Read `exchange.json` of an exchange folder. Raises msgspec.ValidationError when it is not one."""
        return msgspec.json.decode((folder / "exchange.json").read_bytes(), type=Exchange)

    def save(self, folder: Path) -> None:
        """Write `exchange.json`; the contents are the caller's to write."""
        (folder / "exchange.json").write_bytes(msgspec.json.encode(self))
