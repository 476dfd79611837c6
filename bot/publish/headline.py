"""The one sentence on top: what happens to people with this change."""

from collections.abc import Sequence

from bot.analyze.records import SEVERITIES, Comparison, Finding
from bot.publish import effects, words

_LOADING = "keeps some engines from loading the model"
_DISAGREE = "leaves the files disagreeing on which token ends a reply"
_OTHER_IDS = "gives tokens other ids than the model was trained with"
_READS = "changes what the model reads"
_PROMPT_BREAKS = "breaks prompts that worked before"

# What a finding of a check means to a reader of the pull request. The first that applies is said.
CLAUSES: dict[str, str] = {
    "invalid-json": "leaves a file that no engine can parse",
    "lfs-pointer": "leaves a Git LFS pointer where engines read a file",
    "eos-meaning-changed": "changes which token the stop id stands for",
    "turn-end-not-in-eos": "lets replies run on past their end",
    "eos-split-brain": _DISAGREE,
    "eos-id-unknown": "makes engines stop on a token that does not exist",
    "nested-eos-disagrees": _DISAGREE,
    "config-generation-eos-disagree": _DISAGREE,
    "mlc-stop-ids-disagree": _DISAGREE,
    "eos-class-default": "leaves the end of a reply to a default of the code",
    "generation-config-removed": "takes away the file that says where a reply ends",
    "chat-template-missing": "leaves the model without a chat template",
    "chat-template-syntax-error": "breaks the chat template",
    "chat-template-shadowed": "hides the chat template behind an empty one",
    "chat-template-no-generation-prompt": _PROMPT_BREAKS,
    "chat-template-rejects-conversation": _PROMPT_BREAKS,
    "system-message-ignored": "makes the model ignore the system message",
    "chat-template-sources-differ": "gives engines different chat templates",
    "chat-template-moved-to-file": "leaves older engines without a chat template",
    "thinking-default-flipped": "turns thinking on or off for everybody who did not ask",
    "quantization-config-removed": "takes away the quantization settings that the weights need",
    "quantization-config-nested": "hides the quantization settings from engines that look at the top level",
    "tokenizer-json-missing": "takes away the tokenizer file that some engines load",
    "tokenizer-hollow": "leaves the model without a vocabulary",
    "tokenizer-class-needs-v5": "shuts out users of transformers 4",
    "special-token-not-in-tokenizer": "names a special token that the tokenizer does not have",
    "special-token-object-untyped": _LOADING,
    "extra-special-tokens-list": _LOADING,
    "config-field-type": _LOADING,
    "generation-config-raises": _LOADING,
    "tokenizer-json-unloadable": _LOADING,
    "model-type-unresolvable": _LOADING,
    "rope-scaling-invalid": _LOADING,
    "auto-map-file-missing": _LOADING,
    "index-missing-shard": "lists weight files that are not there",
    "added-token-dropped-on-v5": "loses special tokens on transformers 5",
    "added-token-id-duplicate": _OTHER_IDS,
    "added-token-id-mismatch": _OTHER_IDS,
    "added-token-ids-not-contiguous": _OTHER_IDS,
    "config-token-id-mismatch": _OTHER_IDS,
    "vocab-size-too-small": "has tokens that lie outside the model's vocabulary",
    "remote-code-added": "makes users run code that was not there before",
    "remote-code-changed": "makes users run other code than before",
    "orphan-fix-commit": "refers to a fix that no branch holds",
}
_BY_START = {
    "mlc-": "breaks something for WebLLM and MLC",
    "chat-template-": _READS,
    "python-repr-": _READS,
    "tokenizer-": "makes engines split text differently",
    "generation-config-": "gives generation settings that engines refuse",
}


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
    clause = _clause(worst)
    if clause is None:
        return f"{subject} introduces {words.plural(len(same), worst.severity)}"
    others = sum(_clause(each) != clause for each in same)
    more = f", and {words.plural(others, f'more {worst.severity}')}" if others else ""
    return f"{subject} {clause}{more}"


def _worst(new: Sequence[Finding]) -> Finding | None:
    order = list(CLAUSES)
    alarms = [each for each in new if each.severity != "note"]
    return min(
        alarms,
        key=lambda each: (SEVERITIES.index(each.severity), order.index(each.check) if each.check in CLAUSES else len(order)),
        default=None,
    )


def _clause(finding: Finding) -> str | None:
    by_start = (clause for start, clause in _BY_START.items() if finding.check.startswith(start))
    return CLAUSES.get(finding.check) or next(by_start, None)


def _without_findings(comparison: Comparison, subject: str) -> str:
    fields = {change.field.partition(".")[0] for change in comparison.predictions}
    if effects.changes_behaviour(comparison):
        if "loads" in fields:
            return f"{subject} changes which engines load the model"
        if fields & {"stops", "stops_in_grammar"}:
            return f"{subject} changes which tokens end a reply"
        if comparison.prompts or "template" in fields:
            return f"{subject} {_READS}"
        return f"{subject} changes how engines run the model"
    if effects.unread_changes(comparison):
        return f"{subject} changes a file that could not be read"
    return f"Nothing new goes wrong with {subject[0].lower()}{subject[1:]}"
