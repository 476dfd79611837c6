"""The file that keeps which types configuration classes accept, for every release: taken apart into plain tables and put together again.

A plain table is {"layer_types": names, "classes": {model type: class}, "rows": {class: row}}; the fields and `replaced` of its rows are names by kind,
the kind as JSON text. In the file they are numbers, and a class or row stands there once for all releases in which it stays the same, with the first of them.
"""

import json
from collections.abc import Mapping
from typing import Any

from tools.history import at, changes, last, ordered, since

Table = dict[str, Any]


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
        rows = at(whole["rows"], whole["releases"], version)
        found[version] = {
            "layer_types": last(whole["layer_types"], whole["releases"], version),
            "classes": at(whole["classes"], whole["releases"], version),
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
        "layer_types": list(changes((version, tables[version]["layer_types"]) for version in releases)),
        "classes": since({version: tables[version]["classes"] for version in releases}),
    }
    lines = [f"{json.dumps(key)}:{_compact(value)}," for key, value in header.items()]
    found = since({version: tables[version]["rows"] for version in releases})
    body = [f"{json.dumps(name)}:{_compact([[v, short(row)] for v, row in steps])}" for name, steps in found.items()]
    return "{\n" + "\n".join(lines) + '\n"rows":{\n' + ",\n".join(body) + "\n}}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
