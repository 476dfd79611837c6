"""What an operator may choose: every option once, with its legal values and its help, and which source wins."""

import difflib
import re
import typing
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from bot.analyze.records import FailOn, Prove
from bot.errors import UsageError

FILE = ".github/model-repo-drift.yml"
"""The settings file of the base revision: a pull request cannot change how it is judged itself."""

CommentId: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z0-9]+([._-][A-Za-z0-9]+)*$", max_length=64)]
Login: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z0-9]+(-[A-Za-z0-9]+)*(\[bot\])?$", max_length=64)]


EngineChoice: TypeAlias = Annotated[
    str, Meta(pattern=r"^[a-z][a-z0-9.-]*((@|[<>]=?|==) ?[A-Za-z0-9][A-Za-z0-9.<>=, -]*)?$", max_length=100)
]


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


class Layer(NamedTuple):
    """What one source chose: `values` by option name; `source` is named in errors."""

    source: str
    values: Mapping[str, object]


class Option(NamedTuple):
    """One option as documentation needs it."""

    name: str
    legal: str
    default: object
    help: str


def settle(*layers: Layer) -> Settings:
    """The settings that `layers` give, the first one that names an option winning.

    Raises UsageError for an unknown option and for an illegal value, naming source, option and what is legal.
    """
    chosen: dict[str, object] = {}
    for layer in layers:
        for name, value in layer.values.items():
            checked = _checked(layer.source, name, value)
            chosen.setdefault(name, checked)
    return msgspec.convert(chosen, Settings)


def from_texts(source: str, texts: Mapping[str, str]) -> Layer:
    """Read options that come as text, as inputs of an action do; an empty text means that nothing was chosen."""
    return Layer(source, {name: _from_text(name, text.strip()) for name, text in texts.items() if text.strip()})


def options() -> tuple[Option, ...]:
    """Every option, in the order of the record."""
    defaults = msgspec.to_builtins(Settings())
    return tuple(Option(name, _legal(hint), defaults[name], _meta(hint).description or "") for name, hint in _hints().items())


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a settings file, for editors; published as schema/settings-1.json."""
    schema = msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(Settings)))["$defs"]["Settings"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Settings of Model Repo Drift"}


def _checked(source: str, name: str, value: object) -> object:
    hints = _hints()
    if name not in hints:
        near = difflib.get_close_matches(name.replace("-", "_").lower(), hints, n=1, cutoff=0.5)
        cure = f"did you mean {near[0]}?" if near else f"there are {', '.join(hints)}"
        raise UsageError(f"{source}: unknown setting {_shown(name)}; {cure}")
    try:
        return msgspec.convert(value, hints[name])
    except msgspec.ValidationError:
        raise UsageError(f"{source}: {name} = {_shown(value)} is not legal; legal: {_legal(hints[name])}") from None


def _from_text(name: str, text: str) -> object:
    hint = _hints().get(name)
    kind = typing.get_args(hint)[0] if hint else str
    if kind is bool:
        return {"true": True, "false": False}.get(text.lower(), text)
    if typing.get_origin(kind) is tuple:
        return tuple(part for part in re.split(r"[\s,]+(?![\s,<>=])", text) if part)  # "vllm>=0.20,<0.30" is one
    return text


def _legal(hint: object) -> str:
    kind = typing.get_args(hint)[0]
    if kind is bool:
        return "true, false"
    if typing.get_origin(kind) is Literal:
        return ", ".join(typing.get_args(kind))
    return (_meta(hint).extra or {})["legal"]


def _hints() -> dict[str, Any]:
    return typing.get_type_hints(Settings, include_extras=True)


def _meta(hint: object) -> Meta:
    """The help of an option: the last annotation, since those of an alias come first."""
    return typing.get_args(hint)[-1]


def _shown(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
