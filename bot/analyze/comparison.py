"""Join base with head: what is new, resolved or unchanged, what each engine does differently, what could not be checked."""

import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from bot.analyze import records
from bot.analyze.changed import changed
from bot.analyze.checks.check import Loaded, checks
from bot.analyze.claims import claims
from bot.analyze.effects import effects
from bot.analyze.engines.choice import Chosen, compared, named
from bot.analyze.model.discovery import Pair, nothing, pairs
from bot.analyze.model.folder import Model
from bot.analyze.model.reader import Reader
from bot.analyze.prompt_ids import Room
from bot.analyze.prompts import Prompts, prompts
from bot.analyze.records import Claim, Comparison, EngineChange, Finding, Unchecked
from bot.analyze.unread import left_out, unjudged, unread, unrendered, untold
from bot.place import Place, Revision
from bot.snapshot import Exchange, File, Level, Snapshot

T = TypeVar("T")
# The day of the facts that the engines' rules were taken from.
FACTS = "2026-11-29"


def compare(exchange: Exchange, reader: Reader) -> Comparison:
    """Compare the two snapshots of an exchange; for the task "check", judge head by itself."""
    alone = exchange.task == "check"
    found = pairs(exchange, reader)
    asked = _asked(exchange)
    if alone:  # nothing stands for base, so that everything wrong with head is new
        found = tuple(Pair(None, pair.head) for pair in found if pair.head is not None)
    unchecked: list[Unchecked] = []
    base: list[Finding] = []
    head: list[Finding] = []
    predictions: list[EngineChange] = []
    rendered: list[Prompts] = []
    room = Room()
    running = _running(exchange)
    for pair in found:
        for findings, model in ((base, pair.base), (head, pair.head)):
            if model is not None:
                findings.extend(_judge(running, model, unchecked))
        if pair.head is not None and not alone:
            head.extend(_judge_change(running, pair.base, pair.head, unchecked))
        if pair.base is not None and pair.head is not None:
            predictions.extend(effects(pair.base, pair.head, asked, unchecked))
            rendered.append(prompts(pair.base, pair.head, exchange.probes, unchecked, room))
        unchecked.extend(unread(pair))
        unchecked.extend([*unrendered(pair, unchecked)])
    said: dict[Revision, tuple[Claim, ...]] = {"base": (), "head": ()}
    if exchange.change.commits:  # else no text holds a word that could be one
        for revision in said:
            said[revision] = claims(_texts(exchange, revision, reader), exchange.change)
    for check in running:
        if check.find_in_claims is not None:
            base.extend(check.finding(seen, ".") for seen in check.find_in_claims(said["base"]))
            head.extend(check.finding(seen, ".") for seen in check.find_in_claims(said["head"]))
    unchecked.extend(untold(said["base"], said["head"]))
    unchecked.extend(left_out(exchange, unchecked))
    comparison = _joined(exchange, found, (base, head), predictions, rendered, said["head"], unchecked)
    lines = changed(comparison.new, exchange.base, exchange.head, _former(found), reader.raw)
    pointers = tuple(sorted(file.path for file in exchange.head.files if _is_pointer(file)))
    return records.encodable(msgspec.structs.replace(comparison, changed_lines=lines, pointers=pointers))


def _running(exchange: Exchange) -> tuple[Loaded, ...]:
    """The checks that the operator did not switch off."""
    return tuple(check for check in checks() if exchange.severity.get(check.id) != "off")


def _weighed(findings: Iterable[Finding], severity: Mapping[str, Level]) -> Iterator[Finding]:
    """The findings, each with the severity that the operator gives its check."""
    for finding in findings:
        level = severity.get(finding.check, finding.severity)
        yield finding if level in ("off", finding.severity) else msgspec.structs.replace(finding, severity=level)


def _asked(exchange: Exchange) -> tuple[tuple[Chosen, Chosen], ...]:
    """The version that is asked about base and the one that is asked about head, which is mostly the same."""
    before = named(exchange.engines) if exchange.engines else compared()
    return tuple(zip(before, named(exchange.engines_after) if exchange.engines_after else before, strict=True))


def _joined(
    exchange: Exchange,
    found: tuple[Pair, ...],
    findings: tuple[list[Finding], list[Finding]],
    predictions: list[EngineChange],
    rendered: list[Prompts],
    said: tuple[Claim, ...],
    unchecked: list[Unchecked],
) -> Comparison:
    # A model that is gone takes its findings with it: nothing of it is repaired or left over.
    gone = {pair.name for pair in found if pair.head is None}
    before, after = (_weighed(side, exchange.severity) for side in findings)
    new, resolved, unchanged = join((f for f in before if f.folder not in gone), after)
    new = tuple(_with_patch(finding, found, unchecked) for finding in new)
    hidden = {finding: reason for finding in resolved if (reason := unjudged(finding, found))}
    resolved = tuple(finding for finding in resolved if finding not in hidden)
    unchecked.extend(hidden.values())
    counts = records.NewCounts(**{severity: sum(f.severity == severity for f in new) for severity in records.SEVERITIES})
    left = tuple(row for row in dict.fromkeys(unchecked) if row.kind != "check" or exchange.severity.get(row.id) != "off")
    return Comparison(
        base=_side(exchange, exchange.base, [pair.base for pair in found]),
        head=_side(exchange, exchange.head, [pair.head for pair in found]),
        models=() if exchange.task == "check" else tuple(_change(pair) for pair in found),
        new=new,
        resolved=resolved,
        unchanged=unchanged,
        suppressed=(),
        predictions=tuple(predictions),
        prompts=tuple(change for each in rendered for change in each.changes),
        rendered=tuple(template for each in rendered for template in each.templates),
        claims=said,
        proof=(),
        unchecked=left,
        modelled=records.Modelled(
            engines=tuple(old.name if old == new else f"{old.name} -> {new.version}" for old, new in _asked(exchange)),
            checks={loaded.id: loaded.check.says for loaded in _running(exchange)},
            date=FACTS,
        ),
        verdict=records.Verdict(new=counts, resolved=len(resolved), unchanged=len(unchanged), suppressed=0, unchecked=len(left)),
    )


def join(
    base: Iterable[Finding], head: Iterable[Finding]
) -> tuple[tuple[Finding, ...], tuple[Finding, ...], tuple[Finding, ...]]:
    """Sort findings into new, resolved and unchanged by fingerprint, each worst first.

    The same finding with a higher severity in head is new, with a lower one resolved, so that swapping the sides swaps the answers.
    """
    before, after = _by_fingerprint(base), _by_fingerprint(head)
    new = [f for key, f in after.items() if key not in before or _rank(f) < _rank(before[key])]
    resolved = [f for key, f in before.items() if key not in after or _rank(f) < _rank(after[key])]
    unchanged = [f for key, f in after.items() if key in before and _rank(f) == _rank(before[key])]
    return tuple(sorted(new, key=_order)), tuple(sorted(resolved, key=_order)), tuple(sorted(unchanged, key=_order))


def _by_fingerprint(findings: Iterable[Finding]) -> dict[str, Finding]:
    found: dict[str, Finding] = {}
    for finding in findings:
        found.setdefault(finding.fingerprint, finding)
    return found


def _rank(finding: Finding) -> int:
    return records.SEVERITIES.index(finding.severity)


def _order(finding: Finding) -> tuple[Any, ...]:
    return _rank(finding), finding.folder, finding.check, finding.key


def _judge(running: tuple[Loaded, ...], model: Model, unchecked: list[Unchecked]) -> Iterator[Finding]:
    for check in running:
        find = check.find
        if find is not None:
            yield from _run(check, model.name, unchecked, lambda find=find: find(model))


def _judge_change(running: tuple[Loaded, ...], base: Model | None, head: Model, unchecked: list[Unchecked]) -> Iterator[Finding]:
    before = base or nothing(head)
    for check in running:
        find = check.find_in_change
        if find is not None and (base is not None or check.check.of_added_models):
            yield from _run(check, head.name, unchecked, lambda find=find: find(before, head))


def _run(check: Loaded, folder: str, unchecked: list[Unchecked], find: Callable[[], Iterable[Any]]) -> list[Finding]:
    """Run one check; one that breaks is said to be unchecked, with the error, and hinders no other."""
    return _guarded(check, folder, unchecked, lambda: [check.finding(seen, folder) for seen in find()]) or []


def _guarded(check: Loaded, folder: str, unchecked: list[Unchecked], work: Callable[[], T]) -> T | None:
    try:
        return work()
    except Exception as error:  # noqa: BLE001 - whatever a file does to a check, the others still judge and this one says so
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"the check broke: {type(error).__name__}: {error} ({where.name}, line {where.lineno})"
        unchecked.append(Unchecked(kind="check", id=check.id, folder=folder, reason=reason))
        return None


def _with_patch(finding: Finding, found: tuple[Pair, ...], unchecked: list[Unchecked]) -> Finding:
    """The finding with the diff that repairs it, where its check knows one."""
    check = next(check for check in checks() if check.id == finding.check)
    pair = next((pair for pair in found if pair.name == finding.folder and pair.head is not None), None)
    patch, head = check.patch, pair.head if pair else None
    if patch is None or finding.fix is None or pair is None or head is None:
        return finding
    made = _guarded(check, head.name, unchecked, lambda: patch(pair.base or nothing(head), head, finding)) or ""
    return msgspec.structs.replace(finding, fix=msgspec.structs.replace(finding.fix, patch=made)) if made else finding


def _texts(exchange: Exchange, revision: Revision, reader: Reader) -> dict[Place, str]:
    """README and CHANGELOG of a revision, and for head the texts of the pull request."""
    snapshot = exchange.base if revision == "base" else exchange.head
    found: dict[Place, str] = {}
    for file in snapshot.files:
        if is_document(file) and file.content is not None:
            found[Place(revision, file.path)] = reader.raw(file.content)[: 1 << 20].decode("utf-8", "replace")
    if revision == "head":
        found.update({Place("head", text.path): text.text for text in exchange.change.texts})
    return found


def is_document(file: File) -> bool:
    """Whether a file is a README or a CHANGELOG."""
    stem = file.path.rpartition("/")[2].lower().partition(".")[0]
    return stem in ("readme", "changelog")


def _is_pointer(file: File) -> bool:
    """Whether a file was judged by what Git LFS keeps: then its content is not the one that its id in git names."""
    known = file.content is not None and not file.oid.startswith("size:")
    return known and file.kind == "file" and file.content != file.oid


def _former(found: tuple[Pair, ...]) -> dict[str, str]:
    """The paths in base of the files of moved folders, by those in head."""
    moves = [(pair.base, pair.head) for pair in found if pair.moved]
    return {new.path(name): old.path(name) for old, new in moves if old and new for name in new.files}


def _side(exchange: Exchange, snapshot: Snapshot, models: list[Model | None]) -> records.Side:
    return records.Side(
        label=snapshot.label,
        sha=snapshot.sha,
        folders=tuple(m.folder for m in models if m is not None),
        unchanged=len(snapshot.unchanged),
        left_out=exchange.left_out,
    )


def _change(pair: Pair) -> records.ModelChange:
    if pair.base is None or pair.head is None:
        kind = "added" if pair.base is None else "removed"
    else:
        kind = "moved" if pair.moved else "changed"
    return records.ModelChange(
        change=kind, before=pair.base.folder if pair.base else None, after=pair.head.folder if pair.head else None
    )
