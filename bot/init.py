"""The first settings file of a repository: every option with its default, and where wanted the findings of today as known."""

import datetime as dt
import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import yaml

from bot.analyze.records import Finding
from bot.errors import UsageError
from bot.fetch.globs import literal
from bot.publish.escape import plain
from bot.settings import FILE, Option, options
from bot.snapshot import LARGEST_SETTINGS

_WIDTH = 110
_ABOUT = (
    f"Settings of Model Repo Drift. They are read from {FILE} of the branch that a pull request goes to, so that no pull request"
    " silences its own findings; inputs of the action and options of the command line win over them. Each line that starts with a # and"
    " no blank shows a default. Schema for editors: schema/settings-1.json of Model Repo Drift."
)


def first(known: Iterable[Finding], today: dt.date) -> str:
    """The text of a first settings file. `known` are findings that are silenced because they were there on `today`.

    Raises UsageError for more of them than a settings file can hold.
    """
    entries = sorted(known, key=lambda each: (each.folder, each.check, each.key, each.fingerprint))
    parts = (_baseline(each, entries, today) if each.name == "suppress" and entries else _default(each) for each in options())
    text = "\n\n".join("\n".join(part) for part in (_prose(_ABOUT), *parts)) + "\n"
    size = len(text.encode())
    if size > LARGEST_SETTINGS:
        raise UsageError(
            f"{len(entries)} findings would make a settings file of {size:,} bytes, and at most {LARGEST_SETTINGS:,} are read; "
            "leave folders out or switch checks off instead"
        )
    return text


def _default(option: Option) -> Iterator[str]:
    """An option that is not chosen."""
    yield from _help(option)
    if option.example is not None:
        yield "# For example:"
        shown = yaml.safe_dump({option.name: option.example}, sort_keys=False, width=_WIDTH)
        yield from (f"#   {line}" for line in shown.splitlines())
    yield f"#{option.name}: {option.default if isinstance(option.default, str) else json.dumps(option.default)}"


def _baseline(option: Option, entries: Sequence[Finding], today: dt.date) -> Iterator[str]:
    """The findings of today, one entry each, with the title for whoever reads the file."""
    yield from _help(option)
    yield f"{option.name}:"
    reason = f"there before Model Repo Drift was introduced on {today.isoformat()}"
    for each in entries:
        yield f"  # {each.severity}: {plain(each.title)}"
        fields = {"check": each.check, "folder": literal(each.folder), "fingerprint": each.fingerprint, "reason": reason}
        for number, (name, value) in enumerate(fields.items()):
            yield f"  {'  ' if number else '- '}{name}: {_quoted(value)}"


def _help(option: Option) -> Iterator[str]:
    yield from _prose(option.help)
    yield from _prose(f"Legal: {option.legal}.")


def _prose(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)]


def _quoted(value: Any) -> str:
    return yaml.safe_dump(value, default_style='"', allow_unicode=True, width=1 << 30).strip()
