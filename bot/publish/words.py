"""The wording that all views share, as sentences in which back-ticks mark values (see `escape`)."""

import datetime as dt
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from bot.analyze.records import (
    SEVERITIES,
    Claim,
    Confidence,
    Finding,
    ModelChange,
    Modelled,
    SettingsChange,
    Severity,
    Side,
    Unchecked,
)
from bot.place import Place
from bot.publish.escape import quoted, shorten
from bot.snapshot import SETTINGS

ICONS: dict[Severity, str] = {"error": "🔴", "warning": "🟠", "note": "⚪"}
SURENESS: dict[Confidence, str] = {
    "certain": "",
    "likely": "Likely: read in the engine's source, not run.",
    "guess": "A guess: nothing here could confirm it.",
}
# Engines as their users write them, in the order in which they are shown.
_ENGINES = {
    "transformers": "transformers",
    "vllm": "vLLM",
    "sglang": "sglang",
    "webllm": "WebLLM",
    "mlc": "MLC",
    "mlc-llm": "MLC",
    "tgi": "TGI",
    "lmdeploy": "LMDeploy",
    "tensorrt-llm": "TensorRT-LLM",
    "llama.cpp": "llama.cpp",
    "ollama": "Ollama",
    "mlx": "MLX",
    "mlx-lm": "MLX-LM",
    "transformers.js": "transformers.js",
}
_SHORT = 8
Order: TypeAlias = Mapping[str, Mapping[str, int]]
"""Where each version of an engine stands among those that judged."""
OLD_DAYS = 183
_VERSIONS = re.compile(r"(?:[<>]=? ?)?[0-9][0-9A-Za-z.+-]{0,20}(?: -(?:>)? [0-9][0-9A-Za-z.+-]{0,20})?")


def plural(count: int, noun: str) -> str:
    """`1 error`, `2 errors`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listing(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def counts(severities: Iterable[str]) -> str:
    """`1 error, 2 warnings`; "" for none."""
    found = list(severities)
    return ", ".join(plural(found.count(severity), severity) for severity in SEVERITIES if severity in found)


def severest(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, errors first and the surer ones before the others."""
    sureness = list(SURENESS)
    return sorted(findings, key=lambda each: (SEVERITIES.index(each.severity), sureness.index(each.confidence)))


def short(sha: str | None) -> str:
    """The first letters of a commit id."""
    return (sha or "")[:_SHORT]


def side(revision: Side) -> str:
    """A revision as a person names it: its label and its commit."""
    sha = short(revision.sha)
    label = revision.label
    if not sha or (len(label) >= len(sha) and revision.sha == label):
        return quoted(sha or shorten(label, 60))
    return f"{quoted(shorten(label, 60))} {quoted(sha)}" if label else quoted(sha)


def homes(models: Iterable[ModelChange]) -> dict[str, str]:
    """Where head has the model folders that moved, by their names, which are their paths in base."""
    return {each.folder: each.after for each in models if each.change == "moved" and each.after is not None}


def folder(path: str, moved: Mapping[str, str] | None = None) -> str:
    """A model folder by name, one of those that `moved` (see `homes`) by where it is now as well."""
    named = "the root folder" if path == "." else quoted(f"{path}/")
    now = (moved or {}).get(path)
    return named if now is None else f"{folder(now)}, formerly {named}"


def key(pointer: str) -> str:
    """A JSON pointer as people write it: `text_config.eos_token_id`."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    return ".".join(steps)


def text_place(place: Place) -> str:
    """A place in a text that no file holds."""
    kind, _, rest = place.path.partition(":")
    if kind == "commit":
        return f"message of commit {quoted(short(rest))}, line {place.line}"
    if rest == "title":
        return "the pull request's title"
    return f"the pull request's {'description' if rest == 'body' else quoted(rest)}, line {place.line}"


def place(spot: Place) -> str:
    """A place without a link."""
    where = quoted(f"{spot.path}:{spot.line}") if spot.in_tree else text_place(spot)
    named = f"{where} {quoted(key(spot.pointer))}" if key(spot.pointer) else where
    return f"{named} (before)" if spot.revision == "base" and spot.in_tree else named


def engine(name: str, *, generates: bool = False) -> str:
    """An engine's name as its users write it; transformers is named by the call that stops."""
    if name == "transformers" and generates:
        return "transformers `generate()`"
    known = _ENGINES.get(name)
    return known or (name if re.fullmatch(r"[a-z][a-z.]{0,20}", name) else quoted(name))


def engine_rank(written: str) -> int:
    """Where an engine stands among others, by its id with or without a version."""
    name, order = written.partition("@" if "@" in written else " ")[0], list(_ENGINES)
    return order.index(name) if name in order else len(order)


def in_order(modelled: Iterable[str]) -> Order:
    """Where the versions of each engine stand among those that judged, to be worked out once for many rows."""
    versions: dict[str, set[str]] = {}
    for each in modelled:
        name, _, version = each.partition("@")
        versions.setdefault(name, set()).add(version)
    return {name: {version: at for at, version in enumerate(sorted(found, key=_version))} for name, found in versions.items()}


def engines(ids: Iterable[str], modelled: Iterable[str] | Order, *, generates: bool = False) -> str:
    """`transformers 4.57.6 and 5.24.0 · vLLM 0.33.0` of ids such as `vllm@0.33.0` and `vllm < 0.24`.

    Three or more neighbours among those modelled become a range.
    """
    return " · ".join(engine_rows(ids, modelled, generates=generates))


def engine_rows(ids: Iterable[str], modelled: Iterable[str] | Order, *, generates: bool = False) -> list[str]:
    """The same, an engine a row."""
    order = modelled if isinstance(modelled, Mapping) else in_order(modelled)
    versions: dict[str, list[str]] = {}
    for each in ids:
        name, _, version = each.partition("@" if "@" in each else " ")
        versions.setdefault(name, []).append(version)
    rows: list[str] = []
    for name, found in sorted(versions.items(), key=lambda row: engine_rank(row[0])):
        rows.append(f"{engine(name, generates=generates)} {_versions(found, order.get(name, {}))}".rstrip())
    return rows


def facts(date: str, today: dt.date | None = None) -> str:
    """The day of the facts behind the rules, and their age where it is more than half a year; `today` is the day of the run."""
    said, age = f"facts of {date}", days_old(date, today)
    if age <= OLD_DAYS:
        return said
    return f"{said}, {age // 30} months old: newer versions of these engines may do otherwise; a newer Model Repo Drift may know them"


def days_old(date: str, today: dt.date | None = None) -> int:
    """The age of facts on the day of the run; 0 for what is no day, for a record of another program may hold anything."""
    try:
        return ((today or dt.datetime.now(dt.UTC).date()) - dt.date.fromisoformat(date)).days
    except ValueError:
        return 0


def judges(modelled: Modelled) -> str:
    """What judged, with versions and the date of the facts."""
    named = engines(modelled.engines, modelled.engines)
    dated = f" · {facts(modelled.date)}" if modelled.date else ""
    return f"{plural(len(modelled.checks), 'check')}{' · ' if named else ''}{named}{dated}"


def _versions(found: Iterable[str], every: Mapping[str, int]) -> str:
    runs: list[list[str]] = []
    place = -2
    for version in sorted(set(found), key=_version):
        before, place = place, every.get(version, -2)
        if place >= 0 and place == before + 1:
            runs[-1].append(version)
        else:
            runs.append([version])
    shown: list[str] = []
    for run in runs:
        named = [each if _VERSIONS.fullmatch(each) else quoted(each) for each in run if each]
        shown.extend([f"{named[0]} – {named[-1]}"] if len(named) > 2 else named)
    return listing(shown)


def _version(version: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() and len(part) < 10 else (-1, part) for part in re.split(r"[.+-]", version)]


def token(number: int, texts: Mapping[str, str]) -> str:
    """A token id with its text: `<|im_end|>` 163586."""
    text = texts.get(str(number))
    return f"{number} (no text known)" if text is None else f"{quoted(text)} {number}"


def tokens(numbers: Sequence[int], texts: Mapping[str, str], limit: int = 6) -> str:
    """Token ids with their texts, the rest counted."""
    shown = [token(number, texts) for number in numbers[:limit]]
    return listing([*shown, f"{len(numbers) - limit} more"] if len(numbers) > limit else shown)


def value(anything: object, limit: int = 60) -> str:
    """Any value of a prediction, as the JSON it is."""
    if anything is None:
        return "nothing"
    if isinstance(anything, str):
        return quoted(shorten(anything, limit))
    return quoted(shorten(json.dumps(anything, ensure_ascii=False, default=str), limit))


def model(change: ModelChange) -> str:
    """What happened to a model folder, in one line; "" for one that only changed."""
    if change.change == "moved":
        return f"The model in {folder(change.before or '.')} moved to {folder(change.after or '.')}."
    if change.change == "removed":
        return f"Removes the model in {folder(change.folder)}."
    return f"Adds a model in {folder(change.folder)}." if change.change == "added" else ""


def settings_change(change: SettingsChange, subject: str) -> str:
    """What `subject` does to the settings file, and what runs will say to that."""
    if change.change == "removed":
        return f"{subject} removes {quoted(SETTINGS)}, which applies until it is merged."
    verb = "adds" if change.change == "added" else "changes"
    said = f"{subject} {verb} {quoted(SETTINGS)}; what it says applies once it is merged."
    if not change.error:
        return said
    where, colon, why = shorten(change.error, 300).partition(": ")
    return f"{said} Runs will stop then: {f'{quoted(where)}: {why}' if colon and where.startswith(SETTINGS) else quoted(change.error)}"


def left_out(count: int) -> str:
    """How many folders nobody wants judged; "" for none."""
    return f"{plural(count, 'folder')} left out by settings" if count else ""


def claim(named: Claim) -> str:
    """What became of a commit that a text names."""
    status = {"reachable": "is on a branch", "orphaned": "is on no branch", "unknown": "could not be looked up"}[named.status]
    return f"{quoted(named.sha[:12])} {status}{': ' if named.reason else ''}{named.reason}"


def unread(items: Iterable[Unchecked]) -> list[str]:
    """What could not be checked and why, one sentence per reason."""
    by_reason: dict[str, list[Unchecked]] = {}
    for each in items:
        by_reason.setdefault(each.reason, []).append(each)
    return [_because(_subjects(same), reason) for reason, same in by_reason.items()]


def _subjects(items: Iterable[Unchecked]) -> list[str]:
    engines, others = list[str](), list[str]()
    for each in items:
        if each.kind == "engine":
            engines.append(each.id)
        else:
            others.append(f"{'check ' if each.kind == 'check' else ''}{quoted(each.id)}")
    return list(dict.fromkeys((*engine_rows(engines, ()), *others)))


def _because(subjects: list[str], reason: str) -> str:
    """One sentence, also where the reason is only the end of it."""
    goes_on = len(subjects) == 1 and reason.startswith(("is ", "has ", "does ", "could ", "cannot "))
    return f"{listing(_few(subjects))}{'' if goes_on else ':'} {reason}"


def _few(subjects: list[str], limit: int = 6) -> list[str]:
    return subjects if len(subjects) <= limit else [*subjects[:limit], f"{len(subjects) - limit} more"]
