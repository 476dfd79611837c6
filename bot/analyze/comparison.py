"""Join base with head: what is new, resolved or unchanged, what each engine does differently, what could not be checked."""

import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from bot.analyze import records
from bot.analyze.checks.check import Loaded, checks
from bot.analyze.claims import claims
from bot.analyze.engines.prediction import Prediction, engines, shown
from bot.analyze.model.discovery import Pair, pairs
from bot.analyze.model.folder import Model
from bot.analyze.model.reader import Reader
from bot.analyze.model.templates import sources
from bot.analyze.model.tokens import texts_of
from bot.analyze.model.turns import turns
from bot.analyze.records import Claim, Comparison, EngineChange, Finding, Unchecked
from bot.answer import Known, Unknown
from bot.place import Place, Revision
from bot.snapshot import Exchange, File, Snapshot

# The day of the facts that the engines' rules were taken from.
FACTS = "2026-11-29"


def compare(exchange: Exchange, reader: Reader) -> Comparison:
    """Compare the two snapshots of an exchange."""
    found = pairs(exchange, reader)
    unchecked: list[Unchecked] = []
    base: list[Finding] = []
    head: list[Finding] = []
    predictions: list[EngineChange] = []
    for pair in found:
        for findings, model in ((base, pair.base), (head, pair.head)):
            if model is not None:
                findings.extend(_judge(model, unchecked))
        if pair.base is not None and pair.head is not None:
            head.extend(_judge_change(pair.base, pair.head, unchecked))
            predictions.extend(_predict(pair.base, pair.head, unchecked))
        unchecked.extend(_unread(pair))
    said = {revision: claims(_texts(exchange, revision, reader), exchange.change) for revision in ("base", "head")}
    for check in checks():
        if check.find_in_claims is not None:
            for findings, revision in ((base, "base"), (head, "head")):
                findings.extend(check.finding(seen, ".") for seen in check.find_in_claims(said[revision]))
    unchecked.extend(_untold(said["head"]))
    unchecked.extend(_left_out(exchange, unchecked))
    return _joined(exchange, found, (base, head), predictions, said["head"], unchecked)


def _joined(
    exchange: Exchange,
    found: tuple[Pair, ...],
    findings: tuple[list[Finding], list[Finding]],
    predictions: list[EngineChange],
    said: tuple[Claim, ...],
    unchecked: list[Unchecked],
) -> Comparison:
    # A model that is gone takes its findings with it: nothing of it is repaired or left over.
    gone = {pair.name for pair in found if pair.head is None}
    new, resolved, unchanged = join((f for f in findings[0] if f.folder not in gone), findings[1])
    counts = records.NewCounts(**{severity: sum(f.severity == severity for f in new) for severity in records.SEVERITIES})
    left = tuple(dict.fromkeys(unchecked))
    return Comparison(
        base=_side(exchange.base, [pair.base for pair in found]),
        head=_side(exchange.head, [pair.head for pair in found]),
        models=tuple(_change(pair) for pair in found),
        new=new,
        resolved=resolved,
        unchanged=unchanged,
        suppressed=(),
        predictions=tuple(predictions),
        prompts=(),
        claims=said,
        proof=(),
        unchecked=left,
        modelled=records.Modelled(
            engines=tuple(f"{engine.ID}@{version}" for engine in engines() for version in engine.VERSIONS),
            checks={loaded.id: loaded.check.says for loaded in checks()},
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


def _judge(model: Model, unchecked: list[Unchecked]) -> Iterator[Finding]:
    for check in checks():
        find = check.find
        if find is not None:
            yield from _run(check, model.name, unchecked, lambda find=find: find(model))


def _judge_change(base: Model, head: Model, unchecked: list[Unchecked]) -> Iterator[Finding]:
    for check in checks():
        find = check.find_in_change
        if find is not None:
            yield from _run(check, base.name, unchecked, lambda find=find: find(base, head))


def _run(check: Loaded, folder: str, unchecked: list[Unchecked], find: Callable[[], Iterable[Any]]) -> list[Finding]:
    """Run one check; one that breaks is said to be unchecked, with the error, and hinders no other."""
    try:
        return [check.finding(seen, folder) for seen in find()]
    except Exception as error:  # noqa: BLE001 - whatever a file does to a check, the others still judge and this one says so
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = f"the check broke: {type(error).__name__}: {error} ({where.name}, line {where.lineno})"
        unchecked.append(Unchecked(kind="check", id=check.id, folder=folder, reason=reason))
        return []


def _predict(base: Model, head: Model, unchecked: list[Unchecked]) -> list[EngineChange]:
    """The fields that change, engines with equal answers sharing one."""
    changes: dict[str, EngineChange] = {}
    for engine in engines():
        if not engine.applies(base) or not engine.applies(head):
            continue
        for version in engine.VERSIONS:
            try:
                before, after = engine.predict(base, version), engine.predict(head, version)
            except Exception as error:  # noqa: BLE001 - as for checks: said, and the other engines go on
                reason = f"the prediction broke: {type(error).__name__}: {error}"
                unchecked.append(Unchecked(kind="engine", id=f"{engine.ID}@{version}", folder=base.name, reason=reason))
                continue
            for change in _fields(before, after, base, head, unchecked):
                key = repr((change.field, change.before, change.after, change.with_remote_code))
                known = changes.get(key)
                changes[key] = change if known is None else _merged(known, change)
    return list(changes.values())


def _fields(
    before: Prediction, after: Prediction, base: Model, head: Model, unchecked: list[Unchecked]
) -> Iterator[EngineChange]:
    for field in before.fields.keys() & after.fields.keys():
        old, new = before.fields[field], after.fields[field]
        if shown(old) == shown(new) or (isinstance(old, Unknown) and isinstance(new, Unknown)):
            continue
        if isinstance(old, Unknown) or isinstance(new, Unknown):
            answer = old if isinstance(old, Unknown) else new
            reason = f"{field} of {'base' if answer is old else 'head'} could not be predicted: {cast('Unknown', answer).reason}"
            unchecked.append(
                Unchecked(kind="engine", id=after.name, folder=base.name, reason=reason, places=cast("Unknown", answer).places)
            )
            continue
        if (
            field == "stops_in_grammar"
            and shown(after.fields["stops"]) == shown(new)
            and shown(before.fields["stops"]) == shown(old)
        ):
            continue  # said by the row about plain chat
        yield EngineChange(
            engines=(after.name,),
            folder=base.name,
            field=field,
            before=shown(old),
            after=shown(new),
            because=tuple(place for answer in (old, new) if isinstance(answer, Known) for place in answer.places),
            before_texts=_texts_of_ids(base, shown(old)),
            after_texts=_texts_of_ids(head, shown(new)),
            with_remote_code=after.with_remote_code,
            confidence=after.confidence,
        )


def _merged(one: EngineChange, other: EngineChange) -> EngineChange:
    because = tuple(dict.fromkeys((*one.because, *other.because)))
    return EngineChange(
        engines=(*one.engines, *other.engines),
        folder=one.folder,
        field=one.field,
        before=one.before,
        after=one.after,
        because=because,
        before_texts=one.before_texts,
        after_texts=one.after_texts,
        with_remote_code=one.with_remote_code,
        confidence=one.confidence,
    )


def _texts_of_ids(model: Model, ids: Any) -> dict[str, str]:
    texts = texts_of(model)
    return {str(i): texts[i] for i in ids if i in texts} if isinstance(ids, list) else {}


def _unread(pair: Pair) -> Iterator[Unchecked]:
    """Files of a model that are there and could not be read, on the side where they count, and templates that show nothing."""
    model = pair.head
    if model is None:
        return
    for name, file in sorted(model.files.items()):
        answer = model.content(name)
        old = pair.base.files.get(name) if pair.base is not None else None
        if isinstance(answer, Unknown) and (file.content is not None or file.unread):
            changed = old is None or old.oid != file.oid
            yield Unchecked(
                kind="file", id=model.path(name), folder=model.name, reason=answer.reason, places=answer.places, changed=changed
            )
    for broken in sources(model).unread:
        if not any(
            model.path(name) == broken.places[0].path and isinstance(model.content(name), Unknown) for name in model.files
        ):
            yield Unchecked(kind="file", id=broken.places[0].path, folder=model.name, reason=broken.reason, places=broken.places)
    for turn in turns(model):
        if turn.unknown:
            place = (model.place(turn.template.file, turn.template.pointer),)
            yield Unchecked(
                kind="check", id="turn-end-not-in-eos", folder=model.name, reason=turn.unknown, places=place, changed=False
            )


def _untold(said: tuple[Claim, ...]) -> Iterator[Unchecked]:
    for claim in said:
        if claim.status == "unknown":
            reason = f"could not tell whether a branch holds commit {claim.sha[:12]}: {claim.reason}"
            yield Unchecked(kind="check", id="orphan-fix-commit", folder=".", reason=reason, places=claim.places, changed=False)


def _left_out(exchange: Exchange, said: list[Unchecked]) -> Iterator[Unchecked]:
    """What fetch could not bring and no model has told of."""
    known = {row.id for row in said if row.kind == "file"}
    for file in exchange.head.files:
        if file.unread and file.path not in known:
            yield Unchecked(kind="file", id=file.path, folder=".", reason=file.unread, places=(Place("head", file.path),))
    for reason in exchange.change.unread:
        yield Unchecked(kind="check", id="orphan-fix-commit", folder=".", reason=reason, changed=False)


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


def _side(snapshot: Snapshot, models: list[Model | None]) -> records.Side:
    return records.Side(
        label=snapshot.label,
        sha=snapshot.sha,
        folders=tuple(m.folder for m in models if m is not None),
        unchanged=len(snapshot.unchanged),
    )


def _change(pair: Pair) -> records.ModelChange:
    if pair.base is None or pair.head is None:
        kind = "added" if pair.base is None else "removed"
    else:
        kind = "moved" if pair.moved else "changed"
    return records.ModelChange(
        change=kind, before=pair.base.folder if pair.base else None, after=pair.head.folder if pair.head else None
    )
