"""What could not be read or told, with the reason: shown, never taken for fine."""

from collections.abc import Iterable, Iterator

from bot.analyze.model import eos
from bot.analyze.model.calls import MOST_TEMPLATES
from bot.analyze.model.discovery import Pair
from bot.analyze.model.document import NotJson
from bot.analyze.model.templates import in_force, place_of, sources
from bot.analyze.model.tokens import tokens
from bot.analyze.model.turns import turns
from bot.analyze.records import Claim, Finding, Unchecked
from bot.analyze.watch import overrun
from bot.answer import Known, Unknown
from bot.place import Place
from bot.snapshot import Exchange


def unread(pair: Pair) -> Iterator[Unchecked]:
    """Files of a model that are there and could not be read, on the side where they count, and templates that show nothing."""
    model = pair.head
    if model is None:
        return
    yield from unread_files(pair)
    for turn in turns(model):
        if turn.unknown:
            place = (model.place(turn.template.file, turn.template.pointer),)
            yield Unchecked(
                kind="check", id="turn-end-not-in-eos", folder=model.name, reason=turn.unknown, places=place, changed=False
            )
    for fact in (eos.listed, eos.of_tokenizer):
        answer = fact(model)
        if isinstance(answer, Unknown):
            told = pair.base is None or not isinstance(fact(pair.base), Unknown)
            yield Unchecked(
                kind="check", id="eos-split-brain", folder=model.name, reason=answer.reason, places=answer.places, changed=told
            )


def unread_files(pair: Pair) -> Iterator[Unchecked]:
    """Files of a model that are there and could not be read."""
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


def unrendered(pair: Pair, said: Iterable[Unchecked]) -> Iterator[Unchecked]:
    """Chat templates that checks could not render within limits, or did not try for their number, and that nobody has told of."""
    model = pair.head
    if model is None:
        return
    told = {place for row in said if row.id == "prompts" for place in row.places}
    for side in filter(None, (pair.base, model)):
        for template in sources(side).every:
            place, why = place_of(side, template), overrun(template.text)
            if why and place not in told:
                reason = f"a conversation that checks look at {why}"
                yield Unchecked(kind="check", id="prompts", folder=model.name, reason=reason, places=(place,))
    before = {template.name: template.text for template in in_force(pair.base)} if pair.base is not None else {}
    changed = [template for template in in_force(model) if before.get(template.name) != template.text]
    if len(changed) > MOST_TEMPLATES:
        reason = f"{len(changed)} chat templates changed; tool calls, Python values, the clock and markers were looked for in some of them only"
        place = place_of(model, changed[MOST_TEMPLATES])
        yield Unchecked(kind="check", id="prompts", folder=model.name, reason=reason, places=(place,))


def unjudged(finding: Finding, pairs: tuple[Pair, ...]) -> Unchecked | None:
    """For a finding of base that head seems not to have: what hides it, when a file that it stands in is there in head and cannot be read."""
    head = next((pair.head for pair in pairs if pair.name == finding.folder and pair.head is not None), None)
    base = next((pair.base for pair in pairs if pair.name == finding.folder and pair.base is not None), None)
    if head is None or base is None:
        return None
    for name in (name for name in head.files if base.path(name) in {place.path for place in finding.places}):
        if not name.endswith(".json"):
            continue
        document = head.document(name)
        why = document.reason if isinstance(document, Unknown) else ""
        if isinstance(document, Known) and isinstance(document.value, NotJson):
            why = document.value.message
        if not why and name == "tokenizer.json":
            table = tokens(head)
            why = table.reason.removeprefix("tokenizer.json ") if isinstance(table, Unknown) else ""
        if why and finding.check not in ("invalid-json", "lfs-pointer", "tokenizer-json-unloadable"):
            reason = f"could not be judged again, for {name} of head {why}"
            return Unchecked(kind="check", id=finding.check, folder=finding.folder, reason=reason, places=(head.place(name),))
    return None


def untold(before: tuple[Claim, ...], after: tuple[Claim, ...]) -> Iterator[Unchecked]:
    """The claims of head, beyond those that base makes as well, of which nobody could tell."""
    known = {claim.sha for claim in before}
    for claim in after:
        if claim.status == "unknown" and claim.sha not in known:
            reason = f"could not tell whether a branch holds commit {claim.sha[:12]}: {claim.reason}"
            yield Unchecked(kind="check", id="orphan-fix-commit", folder=".", reason=reason, places=claim.places, changed=False)


def left_out(exchange: Exchange, said: list[Unchecked]) -> Iterator[Unchecked]:
    """What fetch could not bring and no model has told of."""
    known = {row.id for row in said if row.kind == "file"}
    for file in exchange.head.files:
        if file.unread and file.path not in known:
            yield Unchecked(kind="file", id=file.path, folder=".", reason=file.unread, places=(Place("head", file.path),))
    for glob in exchange.unmatched:
        reason = "is a glob of the setting `folders` that no model folder fits"
        yield Unchecked(kind="file", id=glob, folder=".", reason=reason, changed=False)
    for reason in exchange.change.unread:
        yield Unchecked(kind="check", id="orphan-fix-commit", folder=".", reason=reason, changed=False)
