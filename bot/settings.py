"""What an operator may choose: every option once, with its legal values and its help, and which source wins."""

import re
import types
import typing
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, TypeAlias, cast

import msgspec
from msgspec import Meta

from bot.analyze.records import FailOn, Prove
from bot.policy import CheckId, Policy, Suppression
from bot.settings_values import Path, Spot, bare, checked, description, extra, legal, near, shown
from bot.snapshot import SETTINGS, Level

FILE = SETTINGS
"""The settings file of the base revision: a pull request cannot change how it is judged itself."""

CommentId: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z0-9]+([._-][A-Za-z0-9]+)*$", max_length=64)]
Login: TypeAlias = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9]+(-[A-Za-z0-9]+)*(\[bot\])?$", max_length=64, extra={"legal": "a list of GitHub logins"})
]
EngineChoice: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^[a-z][a-z0-9.-]*((@|[<>]=?|==) ?[A-Za-z0-9][A-Za-z0-9.<>=, -]*)?$",
        max_length=100,
        extra={"legal": "a list of `name`, `name@version`, `name>=version`, or `all`"},
    ),
]
FolderChoice: TypeAlias = Annotated[
    str,
    Meta(
        pattern=r"^!?[^!\s]",
        max_length=400,
        extra={"legal": "a list of folders or globs: `.` is the root, `**` any number of folders, `!` leaves out"},
    ),
]
_ONE_OF = {"anyOf": [{"required": ["check"]}, {"required": ["fingerprint"]}]}


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can be chosen. A field is an option: its name, its legal values, its help and its default."""

    fail_on: Annotated[
        FailOn,
        Meta(
            description="Fail from this severity of a new finding on; `unchecked`: for an error, or when something could not be checked."
        ),
    ] = "error"
    comment: Annotated[bool, Meta(description="Whether to comment on the pull request.")] = True
    comment_id: Annotated[
        CommentId,
        Meta(
            description="Name of the comment: two runs with different names keep two comments.",
            extra={"legal": "up to 64 letters and digits, with single . _ - between them"},
        ),
    ] = "default"
    comment_authors: Annotated[
        tuple[Login, ...],
        Meta(
            description="Logins that may own our comment, beside bots: the owner of a personal token that comments.",
            extra={"legal": "a list of GitHub logins"},
        ),
    ] = ()
    engines: Annotated[
        tuple[EngineChoice, ...],
        Meta(
            description="Engines whose behaviour is compared; a range stands for every modelled version in it. Default: the newest of each.",
            extra={"legal": "a list of `name`, `name@version`, `name>=version`, or `all`"},
        ),
    ] = ()
    prove: Annotated[
        Prove,
        Meta(
            description="Whether to load both revisions with the installed transformers and compare that with the predictions; `auto`: where tokenizer or template files changed."
        ),
    ] = "auto"
    check_run: Annotated[
        bool, Meta(description="Whether to write a check run with annotations beside the job; it needs `checks: write`.")
    ] = False
    suggest: Annotated[
        bool, Meta(description="Whether to suggest fixes in a review, where the lines are in the pull request's diff.")
    ] = False
    folders: Annotated[
        tuple[FolderChoice, ...],
        Meta(
            max_length=200,
            description="Model folders that are judged; what is left out is counted. Default: all.",
            extra={
                "legal": "a list of folders or globs: `.` is the root, `**` any number of folders, `!` leaves out",
                "example": ["models/*", "!models/old"],
            },
        ),
    ] = ()
    severity: Annotated[
        dict[CheckId, Level],
        Meta(
            description="What all findings of a check weigh; `off`: it does not run. Sources are joined check by check.",
            extra={
                "legal": "for each check one of error, warning, note, off",
                "example": {"chat-template-changed": "warning", "time-dependent-prompt": "off"},
            },
        ),
    ] = {}
    suppress: Annotated[
        tuple[
            Annotated[
                Suppression, Meta(extra_json_schema=_ONE_OF, extra={"legal": "an object with check or fingerprint, and reason"})
            ],
            ...,
        ],
        Meta(
            description="Known findings that neither fail a run nor are commented on; they are counted, and each says why.",
            extra={
                "legal": "a list of objects with check or fingerprint, reason, and where wanted folder, key, expires",
                "example": [
                    {
                        "check": "requires-remote-code",
                        "folder": "models/*",
                        "reason": "our servers run this code after review",
                        "expires": "2030-12-31",
                    }
                ],
                "file_only": True,
            },
        ),
    ] = ()

    def policy(self) -> Policy:
        """What of it `run.compare` and `run.check` need for judging."""
        return Policy(folders=self.folders, severity=self.severity, suppress=self.suppress)


class Layer(NamedTuple):
    """What one source chose: `values` by option name; `source` is named in errors, with the line where `lines` has the path."""

    source: str
    values: Mapping[str, object]
    lines: Mapping[Path, int] = types.MappingProxyType({})


class Option(NamedTuple):
    """One option as documentation needs it; `file_only` says that no input or command line option stands for it. `example` is None where the default is one."""

    name: str
    legal: str
    default: object
    help: str
    file_only: bool = False
    example: object = None


def settle(*layers: Layer) -> Settings:
    """The settings that `layers` give, the first one that names an option winning; `severity` is joined check by check.

    Raises UsageError for an unknown option and for an illegal value, naming source, line, option and what is legal.
    """
    chosen: dict[str, object] = {}
    for layer in layers:
        for name, value in layer.values.items():
            found = _checked(Spot(layer.source, (), layer.lines).below(name), name, value)
            if isinstance(found, dict):
                found = {**found, **cast("dict[str, object]", chosen.get(name, {}))}
                chosen[name] = found
            chosen.setdefault(name, found)
    return msgspec.structs.replace(Settings(), **chosen)


def from_texts(source: str, texts: Mapping[str, str]) -> Layer:
    """Read options that come as text, as inputs of an action do; an empty text means that nothing was chosen."""
    return Layer(source, {name: _from_text(name, text.strip()) for name, text in texts.items() if text.strip()})


def options() -> tuple[Option, ...]:
    """Every option, in the order of the record."""
    defaults = msgspec.to_builtins(Settings())
    return tuple(
        Option(
            name,
            legal(hint),
            defaults[name],
            description(hint),
            file_only=bool(extra(hint).get("file_only")),
            example=extra(hint).get("example"),
        )
        for name, hint in _hints().items()
    )


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a settings file, for editors; published as schema/settings-1.json."""
    (_,), parts = msgspec.json.schema_components([Settings], ref_template="#/$defs/{name}")
    top = parts.pop("Settings")
    schema = {**top, "title": "Settings of Model Repo Drift", "$defs": parts}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.decode(msgspec.json.encode(schema))}


def _checked(spot: Spot, name: str, value: object) -> object:
    hints = _hints()
    if name not in hints:
        cure = near(name, hints, f"there are {', '.join(hints)}")
        spot.refuse(f"unknown setting {shown(name)}; {cure}")
    return checked(spot, value, hints[name])


def _from_text(name: str, text: str) -> object:
    kind = bare(_hints().get(name, str))
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    if name == "folders":  # whose names may hold blanks
        return tuple(part.strip() for part in re.split(r"[\n,]", text) if part.strip())
    if typing.get_origin(kind) is tuple:
        return tuple(part for part in re.split(r"[\s,]+(?![\s,<>=])", text) if part)  # "vllm>=0.20,<0.30" is one
    if typing.get_origin(kind) is dict:
        rows = [row.partition("=" if "=" in row else ":") for row in re.split(r"[\n,]", text) if row.strip()]
        return {key.strip(): held.strip() for key, _, held in rows}
    return text


def _hints() -> dict[str, Any]:
    return typing.get_type_hints(Settings, include_extras=True)
