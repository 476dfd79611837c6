"""auto_map names a module that is not in the tree."""

from collections.abc import Iterator
from itertools import islice

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.remote_code import Reference, lost_imports, place, references
from bot.analyze.model.weights import has_weights
from bot.analyze.wording import listed, value
from bot.place import Place

CHECK = Check(
    title="auto_map names a file that is not there",
    says="asks for code that is not in the repository",
    sees="a reference of `auto_map` in `config.json`, `tokenizer_config.json` or a processor's file to a module of this folder without such a .py file, "
    "or to one that imports such a module (`from .name import …`), at any depth",
    why="Whoever trusts the repository's code cannot load it: `OSError: … does not appear to have a file named …` "
    "(transformers 5.24.0 dynamic_module_utils.py:420, run; also where transformers has a class of its own), and so in vLLM and sglang.",
    fix="Add the file, or take the entry out of `auto_map`.",
    wrong_when="the code is taken from another repository, or what it imports is a package, stands in a folder, or is imported inside a block such as `try`",
    severity="error",
    engines=("transformers", "vllm", "sglang"),
    weighed="Loading raises with trust_remote_code in every run; a folder below the root (whose code the Hub seeks at the root), one that holds "
    "neither weights nor any code, as copies of the metadata do (all 30 such folders of the corpus), the slow tokenizer beside a fast one, and code in a folder, which may count as another model, get a warning.",
)

_MOST = 20  # modules whose imports are followed: a real folder names a handful


def find(model: Model) -> Iterator[Seen]:
    """Look every module of the folder up, and name each once per file that asks for it; in a copy of the metadata name all in one."""
    whole = has_weights(model) or any(name.endswith(".py") for name in model.files)
    missing: dict[str, list[Reference]] = {}
    for row in references(model):
        # "a.b.Class" is refused by transformers even when there is an a.b.py (ValueError: too many values to unpack, dynamic_module_utils.py:609 in 5.24.0, run)
        if not row.repository and ("." in row.module or not model.has(row.path)):
            missing.setdefault(f"{row.file}:{row.module}" if whole else row.file, []).append(row)
    for key, rows in missing.items():
        sure = whole and model.folder == "." and not all(row.unused or "/" in row.module for row in rows)
        yield Seen(
            key=key,
            title=_title(model, rows),
            places=tuple(place(model, row) for row in rows[:8]),
            severity="error" if sure else "warning",
        )
    yield from _imported(model)


def _imported(model: Model) -> Iterator[Seen]:
    """Modules that the named ones import and that are not there: transformers copies or fetches each before it runs any (:448-490, run)."""
    named: dict[tuple[str, str], Reference] = {}
    for row in sorted(references(model), key=lambda row: row.unused):
        if not row.repository:
            named.setdefault((row.file, row.module), row)
    lost: dict[str, tuple[dict[str, Reference], dict[str, int]]] = {}
    for row in islice(named.values(), _MOST):
        for name, line, path in lost_imports(model, row.module):
            files, importers = lost.setdefault(path, ({}, {}))
            files.setdefault(row.file, row)
            importers[name] = line
    for path, (files, importers) in lost.items():
        by = listed(value(name) for name in importers)
        lines = [Place(model.revision, model.path(name), "", line) for name, line in importers.items()]
        sure = model.folder == "." and not all(row.unused for row in files.values())
        yield Seen(
            key=f"imported:{path}",
            title=f"{by}, which {value('auto_map')} leads to, {'imports' if len(importers) == 1 else 'import'} {value(path)}, which is not there",
            places=(*(place(model, row) for row in files.values()), *lines[:8]),
            severity="error" if sure else "warning",
        )


def _title(model: Model, rows: list[Reference]) -> str:
    names = listed(value(name) for name in dict.fromkeys(row.auto_class for row in rows))
    paths = listed(value(path) for path in dict.fromkeys(row.path for row in rows))
    start = f"{value('auto_map')} of {value(rows[0].file)} takes {names} from "
    if all(model.has(row.path) for row in rows):
        return f"{start}{value(rows[0].module)}, which is no name of a module"
    return f"{start}{paths}, which {'is' if len({row.path for row in rows}) == 1 else 'are'} not there"
