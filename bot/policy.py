"""What an operator decides about judging: which model folders, what each check weighs, which findings are silenced and why."""

import datetime as dt
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from bot.analyze import checks
from bot.snapshot import Level

CheckId: TypeAlias = Annotated[
    str, Meta(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=100, extra={"legal": "the id of a check", "known": "check"})
]
FolderGlob: TypeAlias = Annotated[
    str,
    Meta(
        min_length=1,
        extra={"legal": "a folder of the repository or a glob of such; `.` is the root, `**` any number of folders"},
    ),
]


class Suppression(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Findings that are known and accepted: those to which everything that is given here applies. "" and None are not given."""

    check: Annotated[CheckId, Meta(description="The check that found it.", extra={"legal": "the id of a check"})] = ""
    folder: Annotated[FolderGlob, Meta(description="The model folder, or a glob of such.")] = ""
    key: Annotated[
        str, Meta(min_length=1, description="What the finding is about, as the report names it.", extra={"legal": "a text"})
    ] = ""
    fingerprint: Annotated[
        str,
        Meta(
            pattern=r"^[0-9a-f]{16}$",
            description="The fingerprint of one finding, as the JSON report has it.",
            extra={"legal": "16 hexadecimal digits"},
        ),
    ] = ""
    reason: Annotated[
        str,
        Meta(
            pattern=r"\S",
            max_length=1000,
            description="Why it is accepted; readers of the report see it.",
            extra={"legal": "a text that is not blank"},
        ),
    ]
    expires: Annotated[
        dt.date | None,
        Meta(
            description="The last day on which it is silenced; without one there is no end.",
            extra={"legal": "a day as YYYY-MM-DD"},
        ),
    ] = None

    def __post_init__(self) -> None:
        if not self.check and not self.fingerprint:
            raise ValueError("names neither `check` nor `fingerprint`; without one it would silence every check")


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """How to judge. `folders` are globs, none for all folders; `severity` is by check; `suppress` applies to what is found."""

    folders: tuple[str, ...] = ()
    severity: Mapping[str, Level] = {}
    suppress: tuple[Suppression, ...] = ()


@cache
def check_ids() -> tuple[str, ...]:
    """The ids of all checks, taken from the names of their files, because importing them takes longer than everything else."""
    return tuple(sorted(name.replace("_", "-") for _, name, _ in pkgutil.iter_modules(checks.__path__) if name != "check"))
