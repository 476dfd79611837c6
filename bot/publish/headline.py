"""The one sentence on top: what happens to people with this change."""

from collections.abc import Sequence

from bot.analyze.records import SEVERITIES, Comparison, Finding
from bot.publish import effects, prompted, words
from bot.publish.telling import telling

_READS = "changes what the model reads"


def headline(comparison: Comparison, subject: str = "This pull request") -> str:
    """One sentence, with back-ticks around values, about the worst that is new; about predictions where no finding is."""
    worst = _worst(comparison.new)
    if worst is None:
        return _without_findings(comparison, subject)
    added = {model.folder for model in comparison.models if model.change == "added"}
    alarms = [each for each in comparison.new if each.severity != "note"]
    if added and all(each.folder in added for each in alarms):
        number = words.listing(words.counts(each.severity for each in alarms).split(", "))
        model = "a model" if len(added) == 1 else f"{len(added)} models"
        return f"{subject} adds {model} with {number}"
    same = [each for each in comparison.new if each.severity == worst.severity]
    clauses = comparison.modelled.checks
    clause = clauses.get(worst.check)
    if clause is None:
        return f"{subject} introduces {words.plural(len(same), worst.severity)}"
    others = sum(clauses.get(each.check) != clause for each in same)
    more = f", and {words.plural(others, f'more {worst.severity}')}" if others else ""
    return f"{subject} {clause}{more}"


def _worst(new: Sequence[Finding]) -> Finding | None:
    alarms = [each for each in new if each.severity != "note"]
    return min(alarms, key=lambda each: SEVERITIES.index(each.severity), default=None)


def _without_findings(comparison: Comparison, subject: str) -> str:
    moved = _moved(comparison)
    if moved and not effects.changes_behaviour(comparison):
        return f"Nothing that is predicted changes with the move {moved}"
    subject = f"The move {moved}" if moved else subject
    fields = {change.field.partition(".")[0] for change in telling(comparison.predictions)}
    if effects.changes_behaviour(comparison):
        if "loads" in fields:
            return f"{subject} changes {'what loads' if moved else 'which engines load the model'}"
        if fields & {"stops", "stops_in_grammar"}:
            return f"{subject} changes which tokens end a reply"
        if comparison.prompts and not fields and all(map(prompted.is_repaired, comparison.prompts)):
            number = len(comparison.prompts)
            return f"{subject} repairs the chat template: {words.plural(number, 'conversation')} that failed {'renders' if number == 1 else 'render'} now"
        if comparison.prompts or "template" in fields:
            return f"{subject} {_READS}"
        return f"{subject} changes how engines run the model"
    if effects.unread_changes(comparison):
        return f"{subject} changes a file that could not be read"
    if not comparison.models:
        if comparison.head.left_out:
            return "No model folder that the settings name differs between the two revisions"
        if comparison.base.unchanged or comparison.head.unchanged:
            return "No model folder differs between the two revisions"
        return "There is no model folder in either revision"
    return f"Nothing new goes wrong with {subject[0].lower()}{subject[1:]}"


def _moved(comparison: Comparison) -> str:
    """Between which versions the engines move where that is all that differs, "" for a comparison of revisions."""
    pairs = [each.partition(" -> ") for each in comparison.modelled.engines if " -> " in each]
    if not pairs or (comparison.base.label, comparison.base.sha) != (comparison.head.label, comparison.head.sha):
        return ""
    olds = words.listing(words.engine_rows((old for old, _, _ in pairs), ()))
    news = words.listing(
        [new for _, _, new in pairs]
        if len(pairs) == 1
        else words.engine_rows((f"{old.partition('@')[0]}@{new}" for old, _, new in pairs), ())
    )
    return f"from {olds} to {news}"
