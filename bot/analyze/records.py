"""The records of the product: findings, predictions, and the comparison that holds them.

`Comparison` is what `compare --format json` prints (schema 1, published in schema/comparison-1.json).
Everything a person or a program sees is a view of it.
"""

import hashlib
from typing import Any, Literal, TypeAlias, TypeVar, cast

import msgspec

from bot.place import Place

T = TypeVar("T")

Severity = Literal["error", "warning", "note"]
Confidence = Literal["certain", "likely", "guess"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
FailOn: TypeAlias = Literal["error", "warning", "note", "unchecked", "never"]
"""From which severity of a new finding on a run fails; "unchecked" also fails when something could not be checked."""

Prove: TypeAlias = Literal["auto", "always", "never"]
"""When predictions are compared with what the installed transformers does: "auto" where tokenizer or template files changed."""


class Fix(msgspec.Struct, frozen=True):
    """How to repair a finding: a sentence, and where one can be given a unified diff."""

    description: str
    patch: str = ""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong with one revision.

    `key` names the subject (a file, a token string or a dotted config path), never a line, an order or
    an id that a fix would change: `fingerprint` is made of check, folder and key. `folder` is the
    base-side path of the model folder ("." for the root). Severity is what it costs, confidence how sure we are; `engines` are hit by it.
    `cause` groups findings of one root cause in views ("" for none).
    """

    check: str
    key: str
    folder: str
    severity: Severity
    confidence: Confidence
    title: str
    detail: str
    places: tuple[Place, ...]
    engines: tuple[str, ...] = ()
    cause: str = ""
    fix: Fix | None = None
    fingerprint: str = ""

    def __post_init__(self) -> None:
        if not self.places:
            raise ValueError(f"{self.check}: a finding needs at least one place")
        if not self.fingerprint:
            digest = hashlib.sha256(f"{self.check}\0{self.folder}\0{self.key}".encode("utf-8", "backslashreplace")).hexdigest()
            msgspec.structs.force_setattr(self, "fingerprint", digest[:16])


class Suppressed(Finding, frozen=True, kw_only=True):
    """A finding that the settings of base silence, and the reason they give."""

    reason: str


class EngineChange(msgspec.Struct, frozen=True, kw_only=True):
    """A prediction that differs between the revisions; engines with equal answers share one.

    `field` is a key of a prediction ("stops", "stops_in_grammar", "template.sha256", …); `before` and `after` are its values,
    or {"unknown": reason}. `before_why` and `after_why` are the error where a file does not load, "" where it does or it is not known. For token ids, `before_texts` and `after_texts` map the id (as text) to the
    token's string in that revision.
    `with_remote_code` marks what an operator gets who trusts the repository's own code. Values are equal only in the field
    "template.sha256", for an engine that keeps its chat template while another's changes; "vllm@0.23.0 -> 0.33.0" stands for a move between versions.
    """

    engines: tuple[str, ...]
    folder: str
    field: str
    before: Any
    after: Any
    because: tuple[Place, ...] = ()
    before_why: str = ""
    after_why: str = ""
    before_texts: dict[str, str] = {}
    after_texts: dict[str, str] = {}
    with_remote_code: bool = False
    confidence: Confidence = "certain"


class PromptChange(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation whose rendered prompt differs; `diff` is a unified diff with special tokens visible.

    `before_error` and `after_error` are the exception of a side that fails, and its message. Conversations of one template with an equal `way`
    differ in the same way, apart from what is said in them; "" where that is not known. `before_tokens` and `after_tokens` are the lengths of the prompts in tokens of
    the newest transformers, None where they are not known; `removed_ids` and `added_ids` are the ids that go and come, None also where they are many.
    """

    folder: str
    template: str
    probe: str
    before_sha256: str | None
    after_sha256: str | None
    diff: str = ""
    before_error: str = ""
    after_error: str = ""
    way: str = ""
    before_tokens: int | None = None
    after_tokens: int | None = None
    removed_ids: tuple[int, ...] | None = None
    added_ids: tuple[int, ...] | None = None


class RenderedTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """A chat template that was rendered on both sides: how many conversations were, how many of them differ, and how many fail on both sides.

    `rewritten` says that its text is another one to Jinja. `unrendered` conversations could not be rendered within limits; they are not among `conversations`.
    `more_tokens` is by how many tokens every conversation that asks for a reply got longer, None where it is not the same for all or not known.
    `brought` says that the conversations are the operator's, and not the built-in ones that checks render.
    """

    folder: str
    template: str
    rewritten: bool
    conversations: int
    differing: int
    failing: int = 0
    unrendered: int = 0
    more_tokens: int | None = None
    brought: bool = False


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A commit that a text claims, where the text says so, and whether a branch holds it."""

    sha: str
    places: tuple[Place, ...]
    status: Literal["reachable", "orphaned", "unknown"]
    reason: str


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """What loading a revision with the real library said about our prediction."""

    folder: str
    revision: Literal["base", "head"]
    version: str
    agrees: bool
    detail: str


class Unchecked(msgspec.Struct, frozen=True, kw_only=True):
    """Something that could not be read or judged, and why. Shown, never taken for fine.

    `changed` is False where it is the same in base, so that it is no reason for a comment of its own.
    """

    kind: Literal["check", "engine", "file"]
    id: str
    folder: str
    reason: str
    places: tuple[Place, ...] = ()
    changed: bool = True


class ModelChange(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to one model folder: `before` and `after` are its paths, None where it does not exist."""

    change: Literal["added", "removed", "moved", "changed"]
    before: str | None
    after: str | None

    @property
    def folder(self) -> str:
        """The name in fingerprints: the base-side path, or the head-side one of an added model."""
        return self.before if self.before is not None else self.after or "."


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two revisions: how it was asked for, its commit (None for a plain folder), its compared model folders.

    `unchanged` counts the folders that look like a model and are the same in both revisions: they were not read. `left_out` counts
    those that differ and that the settings leave out.
    """

    label: str
    sha: str | None
    folders: tuple[str, ...]
    unchanged: int = 0
    left_out: int = 0


class NewCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of new findings by severity."""

    error: int
    warning: int
    note: int


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The counts in one place."""

    new: NewCounts
    resolved: int
    unchanged: int
    suppressed: int
    unchecked: int


class Modelled(msgspec.Struct, frozen=True, kw_only=True):
    """What judged: engines with the versions predicted, checks, and the date of the facts behind them.

    `checks` gives for each id what its finding means to people, as a clause after "This pull request".
    """

    engines: tuple[str, ...]
    checks: dict[str, str]
    date: str


class ChangedLines(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of one of head's files that base does not have: ranges of 1-based lines, first and last included, in order."""

    path: str
    lines: tuple[tuple[int, int], ...]


class SettingsChange(msgspec.Struct, frozen=True, kw_only=True):
    """What head does to the settings file, whose version in base is the one that applies; `error` says why head's is refused, "" where it is not."""

    change: Literal["added", "changed", "removed"]
    error: str = ""


class PullRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The pull request that a comparison is about: repository as "owner/name", and the head commit that was judged."""

    repository: str
    number: int
    head: str


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Base joined with head. Everything printed, posted or stored is a view of this record.

    `changed_lines` are those of the files that new findings name. `pointers` are the paths in head of what Git LFS keeps: lines of places there are those
    of the content, while the tree has a pointer of three lines. `pull_request` is None outside of pull requests.
    """

    schema: Literal[1] = 1
    base: Side
    head: Side
    models: tuple[ModelChange, ...]
    new: tuple[Finding, ...]
    resolved: tuple[Finding, ...]
    unchanged: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...]
    predictions: tuple[EngineChange, ...]
    prompts: tuple[PromptChange, ...]
    rendered: tuple[RenderedTemplate, ...] = ()
    claims: tuple[Claim, ...]
    proof: tuple[Proof, ...]
    unchecked: tuple[Unchecked, ...]
    changed_lines: tuple[ChangedLines, ...] = ()
    pointers: tuple[str, ...] = ()
    settings_changed: SettingsChange | None = None
    pull_request: PullRequest | None = None
    modelled: Modelled
    verdict: Verdict


def encodable(record: T) -> T:
    """The record with every lone surrogate, which JSON can spell and UTF-8 cannot hold, shown as its escape."""
    try:
        msgspec.json.encode(record)
    except UnicodeEncodeError:
        return msgspec.convert(_spelled(msgspec.to_builtins(record)), type(record))
    return record


def _spelled(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_spelled(key): _spelled(inner) for key, inner in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_spelled(inner) for inner in cast("list[Any]", value)]
    return value
