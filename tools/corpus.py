"""Run over a corpus of real model repositories and write docs/corpus.md: what is reported, and what proves each error right.

usage: python tools/corpus.py CORPUS

Every pair (a folder with base/ and head/) is compared, every snapshot is compared with itself, and every snapshot is
judged as new against an empty folder. A traceback, or an exit status other than 0 and 1, heads the page and fails the run;
so does anything new between a snapshot and itself.
"""

import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from bot import __version__
from bot.analyze.records import SEVERITIES, Comparison, Finding
from bot.place import Place

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "corpus.md"
PROOFS = ROOT / "docs" / "corpus-proof.toml"
JOBS = 2
SECONDS = 120
Kind = Literal["pair", "itself", "new"]


@dataclass(frozen=True)
class Run:
    """One comparison: `name` is the folder's path in the corpus."""

    kind: Kind
    name: str
    base: Path
    head: Path
    history: Path | None = None


@dataclass(frozen=True)
class Outcome:
    """What a run gave: a report, or what went wrong in one line."""

    run: Run
    report: Comparison | None
    broken: str = ""


def runs(corpus: Path, empty: Path) -> Iterator[Run]:
    """Everything that is compared, in the corpus's order."""
    sides = sorted(path.parent for path in corpus.rglob("head") if path.is_dir() and (path.parent / "base").is_dir())
    single = [path for path in sorted(corpus.iterdir()) if path.is_dir() and not any(side.is_relative_to(path) for side in sides)]
    for pair in sides:
        refs = pair / "refs.json"
        yield Run("pair", str(pair.relative_to(corpus)), pair / "base", pair / "head", refs if refs.is_file() else None)
    for snapshot in [*single, *(pair / side for pair in sides for side in ("base", "head"))]:
        name = str(snapshot.relative_to(corpus))
        yield Run("itself", name, snapshot, snapshot)
        yield Run("new", name, empty, snapshot)


def execute(run: Run) -> Outcome:
    """Compare in a process of its own."""
    command: list[str | Path] = [
        Path(sys.executable).with_name("model-repo-drift"),
        "compare",
        "--prove",
        "never",
        run.base,
        run.head,
        "--format",
        "json",
    ]
    command += ["--history", run.history] if run.history else []
    try:
        done = subprocess.run(command, check=False, capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return Outcome(run, None, f"no answer within {SECONDS} s")
    last = (done.stderr.decode(errors="replace").strip().splitlines() or [""])[-1]
    if done.returncode not in (0, 1) or b"Traceback" in done.stderr:
        return Outcome(run, None, f"exit status {done.returncode}: {last}")
    try:
        report = msgspec.json.decode(done.stdout, type=Comparison)
    except msgspec.DecodeError as error:
        return Outcome(run, None, f"exit status {done.returncode}, no report: {error}")
    if run.kind == "itself" and (report.new or report.resolved or report.predictions or report.prompts):
        return Outcome(run, report, f"differs from itself: {', '.join(f.check for f in report.new) or 'predictions or prompts'}")
    return Outcome(run, report)


def cell(text: str) -> str:
    """Text from a repository as one table cell that shows it and nothing else."""
    shown = "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in text)
    fence = "``" if "`" in shown else "`"
    return f"{fence} {shown} {fence}".replace("|", "\\|")


def spot(place: Place) -> str:
    """A place as words."""
    return f"{place.revision}/{place.path}:{place.line}" + (f" {place.pointer}" if place.pointer else "")


def counts(outcomes: list[Outcome], kind: Kind) -> list[str]:
    """Table of alarms per check and severity."""
    alarms = Counter[tuple[str, str]]()
    where = dict[str, set[str]]()
    for outcome in outcomes:
        for finding in outcome.report.new if outcome.run.kind == kind and outcome.report else ():
            alarms[finding.check, finding.severity] += 1
            where.setdefault(finding.check, set()).add(outcome.run.name)
    lines = [
        "| check | " + " | ".join(f"{severity}s" for severity in SEVERITIES) + " | in |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {check} | {' | '.join(str(alarms[check, s]) for s in SEVERITIES)} | {len(where[check])} |" for check in sorted(where)
    ]
    total = " | ".join(str(sum(n for (_, severity), n in alarms.items() if severity == s)) for s in SEVERITIES)
    return [*lines, f"| all | {total} | {len(set[str]().union(*where.values()))} |"]


class Proofs:
    """The proofs by run and alarm: a table per run, whose keys are `check` or `check key` (see docs/corpus-proof.toml)."""

    def __init__(self, file: Path) -> None:
        self._known: dict[str, dict[str, str]] = tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        self._used = set[tuple[str, str]]()

    def of(self, run: Run, finding: Finding) -> str | None:
        """What proves an alarm right."""
        table = self._known.get(run.name, {})
        for key in (f"{finding.check} {finding.key}", finding.check):
            if key in table:
                self._used.add((run.name, key))
                return table[key]
        return None

    def unused(self) -> list[str]:
        """Proofs of what is not reported any more."""
        return [f"{name}: {key}" for name, table in self._known.items() for key in table if (name, key) not in self._used]


def errors(outcomes: list[Outcome], kind: Kind, proofs: Proofs) -> tuple[list[str], int]:
    """Table of every error, and how many of them nothing proves."""
    lines, unproved = ["| where | check | place | what | proof |", "| --- | --- | --- | --- | --- |"], 0
    for outcome in outcomes:
        for finding in outcome.report.new if outcome.run.kind == kind and outcome.report else ():
            if finding.severity == "error":
                proof = proofs.of(outcome.run, finding)
                unproved += proof is None
                shown = (cell(spot(finding.places[0])), cell(finding.title), proof.replace("|", "\\|") if proof else "**none**")
                lines.append(f"| {outcome.run.name} | {finding.check} | {' | '.join(shown)} |")
    return lines, unproved


def page(outcomes: list[Outcome], proofs: Proofs) -> str:
    """The whole document."""
    number = Counter(outcome.run.kind for outcome in outcomes)
    broken = [f"- {o.run.name} ({o.run.kind}): {cell(o.broken)}" for o in outcomes if o.broken]
    pairs, pairs_unproved = errors(outcomes, "pair", proofs)
    absolute, absolute_unproved = errors(outcomes, "new", proofs)
    unused = [f"- {name}" for name in proofs.unused()]
    lines = [
        "# What is reported about real repositories",
        "",
        f"Written by `make corpus` on {datetime.now(UTC):%Y-%m-%d} with version {__version__}. The corpus is no part",
        "of this repository; proofs stand in [corpus-proof.toml](corpus-proof.toml).",
        "",
        f"{number['pair']} pairs; {number['itself']} snapshots, each against itself and as new against an empty folder.",
        f"Errors without a proof: {pairs_unproved} between pairs, {absolute_unproved} in snapshots taken as new.",
        "",
        "## Failed runs",
        "",
        *(broken or ["None: every run ended with exit status 0 or 1, and nothing is new between a snapshot and itself."]),
        "",
        "## New between the two sides of a pair",
        "",
        *counts(outcomes, "pair"),
        "",
        "### Every error",
        "",
        *pairs,
        "",
        "## In a snapshot taken as new",
        "",
        *counts(outcomes, "new"),
        "",
        "### Each error",
        "",
        *absolute,
        "",
        *(["## Proofs of what is not reported any more", "", *unused, ""] if unused else []),
    ]
    return "\n".join(lines)


def main(corpus: Path) -> int:
    """Write the page; 1 when a run failed, 2 when there is nothing to run on."""
    if not corpus.is_dir():
        print(f"{corpus}: no such folder; name the corpus with make corpus CORPUS=...", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as empty, ThreadPoolExecutor(JOBS) as pool:
        outcomes = list(pool.map(execute, runs(corpus, Path(empty))))
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(outcomes, Proofs(PROOFS)), encoding="utf-8")
    broken = [o for o in outcomes if o.broken]
    for o in broken:
        print(f"{o.run.name} ({o.run.kind}): {o.broken}", file=sys.stderr)
    print(f"{len(outcomes)} runs, {len(broken)} failed: {PAGE.relative_to(ROOT)}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
