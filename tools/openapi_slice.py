"""Cut GitHub's OpenAPI description down to the operations that tests/doubles serves.

Usage: python tools/openapi_slice.py api.github.com.json

The input is `generated/api.github.com.json` of the npm package @octokit/openapi. Kept are the operations of
tests/doubles/github-operations.txt with everything they reference; the slice is written, gzipped, to
tests/doubles/github-api.json.gz. An operation that the description does not have is an error, so a typo or
a removed endpoint is seen at once.
"""

import gzip
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

Json: TypeAlias = Any

DOUBLES = Path(__file__).parent.parent / "tests" / "doubles"
NAME_MAPS = ("properties", "headers", "schemas")
"""Keys whose value maps names to things: a name in there is never a keyword of the description."""
DROPPED = ("example", "examples", "externalDocs", "discriminator", "summary")
"""Documentation; and the discriminator, which GitHub puts on a union with an array member: validators refuse that."""


def references(node: Json) -> Iterator[str]:
    """Every `$ref` inside `node`."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def bare(node: Json, *, names: bool = False) -> Json:
    """`node` without documentation and vendor extensions; with `names`, its own keys are names and all stay.

    A description is emptied, not dropped: OpenAPI asks every response to have one.
    """
    if isinstance(node, list):
        return [bare(value) for value in node]
    if not isinstance(node, dict):
        return node
    return {
        key: "" if key == "description" and not names else bare(value, names=key in NAME_MAPS and not names)
        for key, value in node.items()
        if names or not (key in DROPPED or key.startswith("x-"))
    }


def cut(description: Json, operations: Iterable[str]) -> Json:
    """Keep the part of `description` that `operations` ("GET /path") need. Raises SystemExit for an unknown operation."""
    paths: dict[str, Json] = {}
    for operation in operations:
        method, path = operation.split(None, 1)
        item = description["paths"].get(path, {})
        if method.lower() not in item:
            raise SystemExit(f"not in the description: {operation}")
        paths.setdefault(path, {})[method.lower()] = bare(item[method.lower()])
    components: dict[str, dict[str, Json]] = {}
    seen: set[str] = set()
    waiting = list(references(paths))
    while waiting:
        reference = waiting.pop()
        if reference in seen:
            continue
        seen.add(reference)
        _, section, kind, name = reference.split("/", 3)
        node = bare(description[section][kind][name])
        components.setdefault(kind, {})[name] = node
        waiting.extend(references(node))
    info = {key: description["info"][key] for key in ("title", "version")}
    return {
        "openapi": description["openapi"],
        "info": info,
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": components,
    }


def main(arguments: list[str]) -> None:
    """Read the description named on the command line and write the slice."""
    if len(arguments) != 1:
        raise SystemExit(__doc__)
    description = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    lines = (DOUBLES / "github-operations.txt").read_text(encoding="utf-8").splitlines()
    small = cut(description, [line for line in lines if line and not line.startswith("#")])
    text = json.dumps(small, sort_keys=True, separators=(",", ":"))
    (DOUBLES / "github-api.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{len(small['paths'])} paths, {sum(map(len, small['components'].values()))} components")


if __name__ == "__main__":
    main(sys.argv[1:])
