"""Tables of many releases in one file: what belongs to a key stands there once for all releases in which it stays the same, with the first of them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Steps = list[list[Any]]  # [[first release, value], …], null for what is gone


def ordered(releases: Iterable[str]) -> list[str]:
    """Releases, the newest last."""
    return sorted(releases, key=lambda version: [int(part) for part in version.split(".")])


def since(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, Steps]:
    """The steps of every key, from its value in each release."""
    order = ordered(tables)
    keys = sorted(set().union(*tables.values()))
    return {key: list(changes((version, tables[version].get(key)) for version in order)) for key in keys}


def changes(values: Iterable[tuple[str, Any]]) -> Iterator[list[Any]]:
    """The releases in which a value became another; none for what it never was."""
    before = None
    for version, value in values:
        if value != before:
            yield [version, value]
        before = value


def at(steps: Mapping[str, Steps], releases: list[str], version: str) -> dict[str, Any]:
    """What the keys are in a release, without those that it does not have."""
    found = {key: last(rows, releases, version) for key, rows in steps.items()}
    return {key: value for key, value in found.items() if value is not None}


def last(steps: Steps, releases: list[str], version: str) -> Any:
    """The value in a release, None where there is none."""
    known = releases[: releases.index(version) + 1]
    return next((value for first, value in reversed(steps) if first in known), None)
