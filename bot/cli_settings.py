"""The settings of a run on the command line: its options first, then the settings file of base, or of the file that is named."""

import argparse
from pathlib import Path
from typing import get_args

from bot.analyze.records import FailOn
from bot.errors import UsageError
from bot.fetch.folder import FolderSource
from bot.fetch.hub import HubSource
from bot.fetch.selection import select
from bot.fetch.settings import settings_in
from bot.fetch.source import Source
from bot.fetch.tree import GitSource
from bot.settings import FILE, Layer, Settings, from_texts, options, settle
from bot.snapshot import LARGEST_SETTINGS

_OPTIONS = ("fail_on", "prove", "folders")


def settings(given: argparse.Namespace, base: Source) -> Settings:
    """The settings that hold where `base` is compared with, or judged. Raises UsageError or CannotLookError."""
    chosen = {name: value for name in _OPTIONS if (value := getattr(given, name, None))}
    layers = [Layer("command line", chosen), from_texts("command line", {"severity": "\n".join(given.severity)})]
    source, content = _file(given.settings, base)
    if content is not None:
        from bot.settings_file import from_file  # noqa: PLC0415 - most repositories have no such file, and need no YAML

        layers.append(from_file(content, source))
    return settle(*layers)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """The options that stand for settings, and the one that names a file of them."""
    add = parser.add_argument
    said = {option.name: option.help for option in options()}
    add(
        "--settings", metavar="FILE", type=Path, help=f"read settings from this file (default: {FILE} of base, where it is there)"
    )
    add("--fail-on", choices=get_args(FailOn), help="exit with 1 from this severity on (default: that of the settings, or error)")
    add("--folder", dest="folders", metavar="GLOB", action="append", default=[], help=f"{said['folders'][:-1]}; may be repeated")
    add("--severity", metavar="CHECK=LEVEL", action="append", default=[], help=f"{said['severity'][:-1]}; may be repeated")


def of_base(before: Source, after: Source) -> Source:
    """The source of base's settings: the tip of the base branch, for an old merge base does not bring old settings back.

    On the Hub the tip is listed only where something is to be judged, for that is a request more.
    """
    if isinstance(before, HubSource) and before.tip != before.sha:
        selection = select(before.entries(), after.entries())
        return before.of_tip() if selection.changed or selection.documents else before
    if isinstance(before, GitSource) and before.sha is not None and before.tip != before.sha:
        return GitSource(before.repository, before.name, before.tip)
    return before


def _file(named: Path | None, base: Source) -> tuple[str, bytes | None]:
    """How the settings file is called, and its bytes, None where there is none."""
    if named is None:
        return (f"{base.label}/{FILE}" if isinstance(base, FolderSource) else f"{base.label}:{FILE}"), settings_in(base)
    try:
        with named.open("rb") as file:  # the size of what is no plain file is not known before
            return str(named), file.read(LARGEST_SETTINGS + 1)
    except OSError as error:
        raise UsageError(f"--settings {named}: cannot be read ({error.strerror})") from error
