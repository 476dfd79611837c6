"""The rooms keep their order, and the tree holds nothing that does not belong into it."""

import ast
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from tests.conftest import ROOT

# Each room may import itself and what stands before it. A module belongs to the longest name that fits.
ORDER: tuple[tuple[str, ...], ...] = (
    ("bot.place", "bot.answer", "bot.errors", "bot.__init__", "bot.__version__"),
    ("bot.probe",),
    ("bot.snapshot",),
    ("bot.analyze",),  # records, tables, and what all of the room uses
    ("bot.analyze.model",),
    ("bot.analyze.rules",),  # what several engines share
    ("bot.analyze.engines",),
    ("bot.analyze.effects", "bot.analyze.prompt_ids", "bot.analyze.prompts"),
    ("bot.analyze.checks",),
    ("bot.analyze.comparison", "bot.analyze.unread", "bot.analyze.jail", "bot.analyze.proving", "bot.analyze.prover"),
    (
        "bot.analyze.inspection",
        "bot.analyze.describe",
        "bot.analyze.describe_tokens",
        "bot.analyze.predict",
        "bot.analyze.rendering",
    ),
    (
        "bot.policy",
        "bot.settings_values",
        "bot.settings",
        "bot.settings_file",
        "bot.settings_change",
    ),  # head's settings are read where head is
    ("bot.analyze.__main__",),
    ("bot.api", "bot.hub", "bot.hub_client"),  # how GitHub and the Hub are opened, for fetch and publish
    ("bot.publish",),
    ("bot",),  # the ones who ask
)
FETCH_MAY_IMPORT = (
    "bot.fetch",
    "bot.place",
    "bot.answer",
    "bot.errors",
    "bot.probe",
    "bot.snapshot",
    "bot.api",
    "bot.hub",
    "bot.hub_client",
)
NO_NETWORK_IN_ANALYZE = ("github", "huggingface_hub", "requests", "httpx", "httpx2", "urllib.request", "socket", "http")
NO_PARSER_OUTSIDE_ANALYZE = ("jinja2", "tokenizers", "transformers", "markdown_it", "yaml")
ENVIRONMENT = ("environ", "environb", "getenv", "getenvb")
MOST_LINES = 320


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    return {str(path.relative_to(ROOT).with_suffix("")).replace("/", "."): path for path in sorted((ROOT / "bot").rglob("*.py"))}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imports(path: Path) -> Iterator[str]:
    """Dotted names that a module imports anywhere in it; `from a import b` counts as a.b."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def under(name: str, rooms: tuple[str, ...]) -> bool:
    return any(name == room or name.startswith(room + ".") for room in rooms)


def rank(name: str) -> int:
    name = "bot.__init__" if name == "bot" else name  # `import bot` is the package's own file
    fits = [(len(room), number) for number, rooms in enumerate(ORDER) for room in rooms if under(name, (room,))]
    return max(fits)[1]


def test_every_room_imports_only_what_stands_before_it() -> None:
    wrong = [
        f"{name} imports {imported}"
        for name, path in modules().items()
        if not under(name, ("bot.fetch",))
        for imported in imports(path)
        if under(imported, ("bot",))
        and (rank(imported) > rank(name) or (under(imported, ("bot.fetch",)) and rank(name) < rank("bot.cli")))
    ]
    assert wrong == []


def test_fetch_knows_only_bytes() -> None:
    wrong = [
        f"{name} imports {imported}"
        for name, path in modules().items()
        if under(name, ("bot.fetch",))
        for imported in imports(path)
        if under(imported, ("bot",)) and not under(imported, FETCH_MAY_IMPORT)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("rooms", "forbidden"),
    [(("bot.analyze",), NO_NETWORK_IN_ANALYZE), (("bot.fetch", "bot.publish"), NO_PARSER_OUTSIDE_ANALYZE)],
    ids=["analyze has no network", "rooms with a token parse nothing"],
)
def test_a_room_does_not_import(rooms: tuple[str, ...], forbidden: tuple[str, ...]) -> None:
    inside = {name: path for name, path in modules().items() if under(name, rooms)}
    assert inside
    assert [f"{name} imports {i}" for name, path in inside.items() for i in imports(path) if under(i, forbidden)] == []


def test_analyze_does_not_read_the_environment() -> None:
    wrong = [
        f"{path}:{node.lineno}"
        for name, path in modules().items()
        if under(name, ("bot.analyze",))
        for node in ast.walk(tree(path))
        if (isinstance(node, ast.Attribute) and node.attr in ENVIRONMENT)
        or (isinstance(node, ast.ImportFrom) and any(alias.name in ENVIRONMENT for alias in node.names))
    ]
    assert wrong == []


def test_every_module_says_its_job_and_is_short() -> None:
    assert [name for name, path in modules().items() if not ast.get_docstring(tree(path))] == []
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in modules().items()}
    assert {name: length for name, length in lengths.items() if length > MOST_LINES} == {}


@cache
def committed() -> dict[str, str]:
    """Every text file that is or would be committed, by its path."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"], check=True, capture_output=True
    ).stdout
    paths = [ROOT / name for name in listed.decode().split("\0") if name]
    contents = {path: path.read_bytes() for path in paths if path.is_file() and not path.is_symlink()}
    return {str(p.relative_to(ROOT)): c.decode(errors="replace") for p, c in contents.items() if b"\0" not in c[:8000]}


def test_no_file_names_a_package_registry_or_a_path_of_the_machine() -> None:
    # Put together here, so that this file does not name them either.
    hosts = [".".join(parts) for parts in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"))]
    hosts += [f"{name}.debian.org".replace("debian", "debi" + "an") for name in ("deb", "security")]
    folders = rf"(?<![\w.~-])(?:/{'work'}|/{'root'}|/{'home'}/(?!runner\b)\w+)/|{re.escape(str(ROOT))}"
    pattern = re.compile("|".join([*map(re.escape, hosts), folders]))
    found = {f"{path}: {match[0]}" for path, text in committed().items() for match in pattern.finditer(text)}
    assert found == set()


@pytest.mark.parametrize("name", ["run", "dev", "build"])
def test_requirements_are_locked_by_hash_and_name_no_index(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    assert lines
    assert [line for line in lines if not re.match(r"[\w.\[\]-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", line)] == []
    assert "://" not in text


def workflows() -> list[str]:
    return [path for path in committed() if re.search(r"\.ya?ml$", path) and path.startswith((".github/", "examples/"))]


def steps(text: str) -> list[str]:
    return re.findall(r"^\s*(?:-\s+)?uses:\s*[\"']?([^\s\"']+)", text, re.MULTILINE)


def test_third_party_actions_are_pinned_by_commit() -> None:
    used = {(path, action) for path in workflows() for action in steps(committed()[path])}
    assert used
    others = {(p, a) for p, a in used if not a.startswith("./") and not re.match(r"[\w.-]+/model-repo-drift@", a)}
    assert {(p, a) for p, a in others if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", a)} == set()


def test_workflows_start_without_any_permission() -> None:
    found = [path for path in workflows() if "dependabot" not in path]
    assert found
    for path in found:
        workflow = cast("dict[str, Any]", yaml.safe_load(committed()[path]))
        assert workflow.get("permissions") == {}, path
