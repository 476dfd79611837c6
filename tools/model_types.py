"""Write which model types each release of transformers has a configuration class for: `python -m tools.model_types WHEEL…`.

The wheels are read as source, without importing them; a type is kept with the first and the last of these releases that know it.
"""

import ast
import json
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

PATH = Path(__file__).parent.parent / "bot/analyze/engines/data/transformers-model-types.json"
_FILES = ("models/auto/auto_mappings.py", "models/auto/configuration_auto.py")  # the first one came with 5.6
_NAME = "CONFIG_MAPPING_NAMES"


def of(sources: Sequence[str]) -> set[str]:
    """The keys that source texts put into CONFIG_MAPPING_NAMES."""
    return {key for source in sources for node in ast.parse(source).body for key in _keys(node)}


def _keys(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=args, keywords=keywords)) if name == _NAME:
            for arg in args:
                yield from dict(ast.literal_eval(arg))
            for keyword in keywords:
                if isinstance(keyword.value, ast.Dict):
                    yield from ast.literal_eval(keyword.value)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="update"), args=[arg])) if name == _NAME:
            yield from ast.literal_eval(arg)
        case _:
            pass


def of_wheel(path: Path) -> tuple[str, set[str]]:
    """The version of a wheel and the model types that it knows."""
    found = re.match(r"transformers-([\d.]+)-", path.name)
    if not found:
        raise ValueError(f"{path} is no wheel of a release of transformers")
    with zipfile.ZipFile(path) as wheel:
        names = [f"transformers/{name}" for name in _FILES if f"transformers/{name}" in wheel.namelist()]
        return found[1], of([wheel.read(name).decode("utf-8") for name in names])


def ordered(releases: Iterable[str]) -> list[str]:
    """Releases, the newest last."""
    return sorted(releases, key=lambda version: [int(part) for part in version.split(".")])


def table(releases: dict[str, set[str]]) -> dict[str, tuple[str, str]]:
    """The first and the last release that know each type. Raises ValueError for one that came back."""
    order = ordered(releases)
    found: dict[str, tuple[str, str]] = {}
    for name in sorted(set().union(*releases.values())):
        known = [version for version in order if name in releases[version]]
        between = order[order.index(known[0]) : order.index(known[-1]) + 1]
        if known != between:
            raise ValueError(f"{name} is known to {known} only")
        found[name] = (known[0], known[-1])
    return found


if __name__ == "__main__":
    releases = dict(of_wheel(Path(name)) for name in sys.argv[1:])
    body = [f"{json.dumps(name)}:{json.dumps(row)}" for name, row in table(releases).items()]
    PATH.write_text(
        f'{{"releases":{json.dumps(ordered(releases))},\n"types":{{\n' + ",\n".join(body) + "\n}}\n", encoding="utf-8"
    )
    print(PATH)
