"""The file that keeps which types configuration classes accept, for every release: taken apart into plain tables and put together again.

A plain table is {"layer_types": names, "classes": {model type: class}, "rows": {class: row}}; the fields and `replaced` of its rows are names by kind,
the kind as JSON text. In the file they are numbers, and a class or row stands there once for all releases in which it stays the same, with the first of them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Table = dict[str, Any]


def ordered(releases: Iterable[str]) -> list[str]:
    """Releases, the newest last."""
    return sorted(releases, key=lambda version: [int(part) for part in version.split(".")])


def split(text: str) -> dict[str, Table]:
    """The plain table of every release in the file."""
    whole = json.loads(text)
    kinds, names = [_compact(kind) for kind in whole["kinds"]], whole["names"]

    def plain(row: dict[str, Any]) -> dict[str, Any]:
        fields = {kinds[int(kind)]: [names[i] for i in group] for kind, group in row["fields"].items()}
        replaced = {key: [names[i] for i in group] for key, group in row.get("replaced", {}).items()}
        return row | {"fields": fields} | ({"replaced": replaced} if replaced else {})

    found: dict[str, Table] = {}
    for version in whole["releases"]:
        rows = _at(whole["rows"], whole["releases"], version)
        found[version] = {
            "layer_types": _last(whole["layer_types"], whole["releases"], version),
            "classes": _at(whole["classes"], whole["releases"], version),
            "rows": {name: plain(row) for name, row in rows.items()},
        }
    return found


def join(tables: Mapping[str, Table]) -> str:
    """The file: a header, then one line for each class."""
    releases = ordered(tables)
    rows = [row for table in tables.values() for row in table["rows"].values()]
    kinds = sorted({kind for row in rows for kind in row["fields"]})
    groups = [group for row in rows for group in (*row["fields"].values(), *row.get("replaced", {}).values())]
    names = sorted({name for group in groups for name in group})
    number, place = {name: i for i, name in enumerate(names)}, {kind: str(i) for i, kind in enumerate(kinds)}

    def short(row: dict[str, Any] | None) -> dict[str, Any] | None:
        if row is None:
            return None
        fields = {place[kind]: [number[name] for name in group] for kind, group in row["fields"].items()}
        replaced = {key: [number[name] for name in group] for key, group in row.get("replaced", {}).items()}
        return row | {"fields": fields} | ({"replaced": replaced} if replaced else {})

    header = {
        "releases": releases,
        "kinds": [json.loads(kind) for kind in kinds],
        "names": names,
        "layer_types": list(_changes((version, tables[version]["layer_types"]) for version in releases)),
        "classes": _since({version: tables[version]["classes"] for version in releases}),
    }
    lines = [f"{json.dumps(key)}:{_compact(value)}," for key, value in header.items()]
    found = _since({version: tables[version]["rows"] for version in releases})
    body = [f"{json.dumps(name)}:{_compact([[v, short(row)] for v, row in steps])}" for name, steps in found.items()]
    return "{\n" + "\n".join(lines) + '\n"rows":{\n' + ",\n".join(body) + "\n}}\n"


def _since(values: Mapping[str, Mapping[str, Any]]) -> dict[str, list[list[Any]]]:
    """For every key the releases in which its value became another, null for one that is gone."""
    keys = sorted(set().union(*values.values()))
    return {key: list(_changes(((version, held.get(key)) for version, held in values.items()), None)) for key in keys}


def _changes(values: Iterable[tuple[str, Any]], before: Any = ...) -> Iterator[list[Any]]:
    for version, value in values:
        if value != before:
            yield [version, value]
        before = value


def _at(steps: Mapping[str, list[list[Any]]], releases: list[str], version: str) -> dict[str, Any]:
    found = {key: _last(changes, releases, version) for key, changes in steps.items()}
    return {key: value for key, value in found.items() if value is not None}


def _last(changes: list[list[Any]], releases: list[str], version: str) -> Any:
    known = releases[: releases.index(version) + 1]
    return next((value for since, value in reversed(changes) if since in known), None)


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
