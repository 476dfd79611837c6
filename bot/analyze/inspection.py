"""What `inspect` answers: one page per model folder, each value with its place, each answer known, missing or unknown.

`Inspection` is what `inspect --format json` prints (schema 1, published in schema/inspection-1.json).
"""

from typing import Any, Literal

import msgspec

from bot.analyze.records import Unchecked
from bot.answer import Answer, Known, Missing
from bot.place import Place

State = Literal["known", "missing", "unknown"]


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """One answer: `about` names what was asked, in words or as a dotted path; `value` is there where it is known, `reason` where it is not."""

    about: str
    state: State = "known"
    value: Any = None
    reason: str = ""
    places: tuple[Place, ...] = ()


class Declaration(msgspec.Struct, frozen=True, kw_only=True):
    """A statement that a string is a token.

    `slot` is the role, name or list it stands in, "" in a table of tokens; `id` what it declares, None for none; `special` its flag, None
    where it has none. `read` is False in a file that transformers does not open here.
    """

    file: str
    slot: str
    id: int | None
    special: bool | None
    read: bool
    place: Place


class TokenRow(msgspec.Struct, frozen=True, kw_only=True):
    """An added token or a special one: the ids that it really gets, by reader, and every statement about it.

    Readers are "tokenizers" (tokenizer.json as the library numbers it), versions of transformers, and where there is no tokenizer.json "tokenizer
    in Python", which takes ids as they are declared; a reader that does not have the token,
    or of which nothing is known, is left out.
    """

    text: str
    ids: dict[str, int]
    special: dict[str, bool]
    declared: tuple[Declaration, ...]


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What one version of transformers makes of the tokenizer.

    `loads` is None where it could not be told, `reason` then says why, as it does where the library refuses. `numbering` says which file
    decides about ids and flags. `special_ids` are those of all_special_ids.
    """

    version: str
    loads: bool | None
    cls: str = ""
    reason: str = ""
    numbering: str = ""
    size: int | None = None
    special_ids: tuple[int, ...] = ()


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """What one chat template does around turns: the tokens that end a reply and those that open other turns; `reason` where it does not show."""

    template: str
    ends: tuple[str, ...]
    opens: tuple[str, ...]
    by_role: bool
    reason: str
    place: Place


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one model folder says.

    `classes` are the tokenizer classes that runs of transformers 5 releases pick. `collisions` are strings with more than one id among the readers and statements, `plain_markers` structural tokens that are not special.
    `disagreements` name what several files state differently; `needs` what some engine needs beyond the files.
    """

    folder: str
    loads: tuple[Load, ...]
    classes: tuple[Said, ...]
    tokens: tuple[TokenRow, ...]
    collisions: dict[str, tuple[int, ...]]
    plain_markers: tuple[str, ...]
    turns: tuple[Turn, ...]
    eos: tuple[Said, ...]
    disagreements: tuple[Said, ...]
    templates: tuple[Said, ...]
    quantization: tuple[Said, ...]
    remote_code: tuple[Said, ...]
    needs: tuple[Said, ...]


class Inspection(msgspec.Struct, frozen=True, kw_only=True):
    """One revision, described."""

    schema: Literal[1] = 1
    label: str
    sha: str | None
    models: tuple[Page, ...]
    unchecked: tuple[Unchecked, ...]


def said(about: str, answer: Answer[Any]) -> Said:
    """An answer as a row of a page."""
    if isinstance(answer, Known):
        return Said(about=about, value=answer.value, places=answer.places)
    if isinstance(answer, Missing):
        return Said(about=about, state="missing", places=answer.places)
    return Said(about=about, state="unknown", reason=answer.reason, places=answer.places)
