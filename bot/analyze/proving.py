"""Let the installed transformers load what changed, in a process of its own, and say whether it does what was predicted."""

import hashlib
import os
import shutil
import signal
from collections import Counter
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Literal

import msgspec

from bot.analyze import child, jail
from bot.analyze.proof import ENGINE, Job, Tried, identity, is_loaded, not_tried, split
from bot.analyze.records import Proof, Unchecked
from bot.errors import UsageError
from bot.place import Revision
from bot.snapshot import Exchange, File, Snapshot

When = Literal["auto", "always", "never"]
"""Prove where a tokenizer or template changed, in every compared model folder, or nothing."""

FOLDER = "proof"
# Limits of the process, start-up included: seconds until it is killed, seconds of processor time, bytes of address space.
SECONDS = 120.0
PROCESSOR = 100
MEMORY = 4 << 30

# Packages that predictions take as absent: they would change what is loaded (mistral_common), or take time and memory that no tokenizer needs.
# What limits the process that reads a repository, and keeps typing_extensions from it, is not for a library of this size.
PROGRAM = (
    "import sys; own = sys.argv.pop(1); own in sys.path or sys.path.insert(0, own); "
    "sys.modules.update(dict.fromkeys(('torch', 'tensorflow', 'jax', 'flax', 'mistral_common'))); "
    "import runpy; runpy.run_module('bot.analyze.prover', run_name='__main__', alter_sys=True)"
)
SETTINGS = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HOME": "/nonexistent"}


def prove(
    folder: Path, exchange: Exchange, when: When, environment: Mapping[str, str]
) -> tuple[tuple[Proof, ...], tuple[Unchecked, ...]]:
    """Prove the predictions for an exchange folder, after it was analyzed, and say what could not be proved.

    "auto" starts and imports nothing where no tokenizer or template file differs. Where transformers is not installed, "auto" says so as
    unchecked, and "always" raises UsageError. A process that fails or overruns its limits costs what it had left to do, each revision a row.
    """
    if when == "never" or not (_changed(exchange) if when == "auto" else exchange.head.files):
        return (), ()
    try:
        version = metadata.version(ENGINE)
    except metadata.PackageNotFoundError as error:
        if when == "always":
            cure = "install it, or leave --prove at auto"
            raise UsageError(f"--prove always: {ENGINE} is not installed; {cure}") from error
        return (), (_nothing("it is not installed", changed=False),)
    try:
        lay_out(folder, exchange)
    except OSError as error:
        return (), (_nothing(f"the files could not be laid out ({error.strerror})", changed=True),)
    running = child.start(environment, PROGRAM, SETTINGS)
    try:
        ended = jail.once(running, f"{folder}\n{when}\n{PROCESSOR}\n{MEMORY}\n", SECONDS)
    finally:
        child.end(running)
    return results(ended, version)


def kept_in(revision: Revision, folder: str) -> str:
    """The name of the folder that holds the files of a model folder of one revision, whatever characters its path has."""
    return f"{revision}-{hashlib.sha256(folder.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def _changed(exchange: Exchange) -> bool:
    """Whether a tokenizer or template file differs; a folder that moved with its files does not."""
    base, head = (_tokenizers(snapshot) for snapshot in (exchange.base, exchange.head))
    if any(files != base[folder] for folder, files in head.items() if folder in base):
        return True
    gone, come = (
        {folder: files for folder, files in one.items() if folder not in two} for one, two in ((base, head), (head, base))
    )
    return bool(Counter(come.values()) - Counter(gone.values()))


def _tokenizers(snapshot: Snapshot) -> dict[str, frozenset[tuple[str, str]]]:
    """What makes the tokenizer and its templates, by folder."""
    found: dict[str, dict[str, File]] = {}
    for file in snapshot.files:
        folder, name = split(file.path)
        found.setdefault(folder, {})[name] = file
    return {folder: identity(files) for folder, files in found.items()}


def lay_out(folder: Path, exchange: Exchange) -> None:
    """Give the files that loading may open their names again, below `folder`, without copying a byte where the file system can link."""
    jail.open_contents(folder)
    places: dict[Revision, Snapshot] = {"base": exchange.base, "head": exchange.head}
    (folder / FOLDER).mkdir(mode=0o755)
    for revision, snapshot in places.items():
        for file in snapshot.files:
            inside, name = split(file.path)
            if file.content is None or not is_loaded(name):
                continue
            place = folder / FOLDER / kept_in(revision, inside) / name
            place.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            source = folder / "contents" / file.content
            try:
                os.link(source, place)
            except OSError:
                shutil.copyfile(source, place)


def results(ended: jail.Ended, version: str) -> tuple[tuple[Proof, ...], tuple[Unchecked, ...]]:
    """What the process had done when it ended, and a row for everything that it had left to do."""
    lines = ended.output.split(b"\n")[:-1]  # behind the last line end stands what was cut off
    if not lines:
        return (), (_nothing(_why(ended), changed=True),)
    try:
        jobs = msgspec.json.decode(lines[0], type=tuple[Job, ...])
        tried = [msgspec.json.decode(line, type=Tried) for line in lines[1:]]
    except msgspec.DecodeError:  # an installation that is broken may print something while it is imported
        said = lines[0].decode("utf-8", "replace")[:300]
        return (), (_nothing(f"{_why(ended)}, after it wrote {said!r}" if ended.status else f"it wrote {said!r}", changed=True),)
    reasons = [_why(ended), *["loading another revision before it ended the process"] * len(jobs)]
    left = [not_tried(job, version, reason, changed=True) for job, reason in zip(jobs[len(tried) :], reasons, strict=False)]
    proofs = tuple(each.proof for each in tried if each.proof is not None)
    return proofs, (*(row for each in tried for row in each.unchecked), *left)


def _why(ended: jail.Ended) -> str:
    """Why the process ended before its work was done."""
    if ended.reason:
        return ended.reason
    status = ended.status or 0
    if status == -signal.SIGXCPU:
        return f"it took more than {PROCESSOR} s of processor time"
    if status < 0:
        return f"the process was ended by {signal.Signals(-status).name}"
    return f"the process ended with {ended.errors.rstrip().rpartition(chr(10))[2][:300]!r}"


def _nothing(reason: str, *, changed: bool) -> Unchecked:
    said = f"nothing was proved by loading with {ENGINE}: {reason}"
    return Unchecked(kind="engine", id=ENGINE, folder=".", reason=said, changed=changed)
