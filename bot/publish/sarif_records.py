"""The part of SARIF 2.1.0 that is written, as records; names and meanings are those of the standard (OASIS, errata 01).

Empty values are left out. Uris are relative to %SRCROOT%, the root of the repository, where `uri_base_id` says so.
"""

from typing import Literal

import msgspec

from bot.analyze.records import Severity

Precision = Literal["very-high", "high", "medium", "low"]
BaselineState = Literal["new", "unchanged", "absent"]


class _Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    pass


class Message(_Record, frozen=True, kw_only=True):
    """Plain text for people (§3.11)."""

    text: str


class Artifact(_Record, frozen=True, kw_only=True):
    """A file (§3.4), or with `uri_base_id` alone the folder that it stands for."""

    uri: str = ""
    uri_base_id: str = ""


class Region(_Record, frozen=True, kw_only=True):
    """Lines of a file, 1-based, both included (§3.30)."""

    start_line: int
    end_line: int = 0


class Physical(_Record, frozen=True, kw_only=True):
    """Lines of a file (§3.29)."""

    artifact_location: Artifact
    region: Region


class Logical(_Record, frozen=True, kw_only=True):
    """A place that has a name of its own, such as a JSON pointer (§3.33)."""

    fully_qualified_name: str
    kind: str = ""


class Location(_Record, frozen=True, kw_only=True):
    """A place (§3.28); `id` tells apart those of one result."""

    physical_location: Physical
    id: int = -1
    logical_locations: tuple[Logical, ...] = ()
    message: Message | None = None


class Suppression(_Record, frozen=True, kw_only=True):
    """Why a result is not to be acted on (§3.35)."""

    kind: Literal["external", "inSource"]
    justification: str


class Replacement(_Record, frozen=True, kw_only=True):
    """Lines and what takes their place (§3.57)."""

    deleted_region: Region
    inserted_content: Message


class ArtifactChange(_Record, frozen=True, kw_only=True):
    """What changes in a file (§3.56)."""

    artifact_location: Artifact
    replacements: tuple[Replacement, ...]


class Fix(_Record, frozen=True, kw_only=True):
    """A repair that a program can make (§3.55)."""

    description: Message
    artifact_changes: tuple[ArtifactChange, ...]


class ResultProperties(_Record, frozen=True, kw_only=True):
    """What the standard has no name for; those of the same names in a finding."""

    confidence: str
    folder: str
    engines: tuple[str, ...] = ()
    cause: str = ""


class Result(_Record, frozen=True, kw_only=True):
    """A finding (§3.27)."""

    rule_id: str
    rule_index: int
    level: Severity
    message: Message
    baseline_state: BaselineState
    locations: tuple[Location, ...]
    related_locations: tuple[Location, ...] = ()
    partial_fingerprints: dict[str, str]
    suppressions: tuple[Suppression, ...] = ()
    fixes: tuple[Fix, ...] = ()
    properties: ResultProperties


class Configuration(_Record, frozen=True, kw_only=True):
    """How bad a rule's results are where they do not say it themselves (§3.50)."""

    level: Severity


class RuleProperties(msgspec.Struct, frozen=True, kw_only=True):
    """What GitHub reads besides the standard: how sure a rule is, and how bad."""

    precision: Precision
    severity: Literal["error", "warning", "recommendation"] = msgspec.field(name="problem.severity")
    tags: tuple[str, ...] = ("model-repository",)


class Rule(_Record, frozen=True, kw_only=True):
    """A check (§3.49)."""

    id: str
    short_description: Message
    full_description: Message
    help: Message
    default_configuration: Configuration
    properties: RuleProperties


class Driver(_Record, frozen=True, kw_only=True):
    """The tool (§3.19)."""

    name: str
    semantic_version: str
    rules: tuple[Rule, ...]


class Tool(_Record, frozen=True, kw_only=True):
    """The tool and what extends it (§3.18)."""

    driver: Driver


class Notification(_Record, frozen=True, kw_only=True):
    """A condition of the run itself (§3.58)."""

    level: Severity
    message: Message


class Invocation(_Record, frozen=True, kw_only=True):
    """One run of the tool (§3.20)."""

    execution_successful: bool
    tool_execution_notifications: tuple[Notification, ...] = ()


class VersionControl(_Record, frozen=True, kw_only=True):
    """The revision that was looked at (§3.23)."""

    repository_uri: str
    revision_id: str
    mapped_to: Artifact


class Run(_Record, frozen=True, kw_only=True):
    """What one run of the tool found (§3.14)."""

    tool: Tool
    invocations: tuple[Invocation, ...]
    version_control_provenance: tuple[VersionControl, ...] = ()
    results: tuple[Result, ...]


class Log(_Record, frozen=True, kw_only=True):
    """A whole file (§3.13)."""

    schema: str = msgspec.field(name="$schema")
    version: Literal["2.1.0"]
    runs: tuple[Run, ...]
