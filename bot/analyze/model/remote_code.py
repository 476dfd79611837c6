"""The code that a model repository asks its readers to run: what auto_map names, and the files that this reaches.

Source: transformers 5.24.0, dynamic_module_utils.py:123-173 and :604-624 (run). vLLM and sglang load such code through it as well.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from posixpath import dirname, join, normpath
from typing import Any, cast

import msgspec

from bot.analyze.model.folder import Model, fact
from bot.analyze.model.pointers import pointer
from bot.answer import Known
from bot.place import Place

# The files whose auto_map is read: models/auto/*.py and processing_utils.py in 5.24.0; generation_config.json by older code.
FILES = (
    "config.json",
    "tokenizer_config.json",
    "processor_config.json",
    "preprocessor_config.json",
    "video_preprocessor_config.json",
    "generation_config.json",
)
# transformers 5 keeps what preprocessor_config.json and others held inside processor_config.json (image_processing_base.py:290-344 in 5.24.0).
_INSIDE = ("image_processor", "feature_extractor", "video_processor", "audio_processor")
_MOST = 200  # references of a folder; there are some fifty Auto classes
_DEEPEST = 3  # nested configurations inside one another

# "from .a.b import c, d" and "from . import a". Every length is bounded, so that a hostile file costs no time.
_FROM = re.compile(
    r"^[ \t]*from[ \t]+(\.{1,20})[ \t]*((?:\w[\w.]{0,200})?)[ \t]+import[ \t]*(\([^)]{0,4000}|[^\n#;]{0,4000})", re.MULTILINE
)
# "from .a import b" at the start of a line: no import that may fail, in a function or for a type checker.
_FIRM = re.compile(r"^from[ \t]+\.([^\W\d]\w{0,200})[ \t]+import\b", re.MULTILINE)


class Reference(msgspec.Struct, frozen=True):
    """A class that an auto_map names: by which file and pointer, for which Auto class, and where it is.

    `repository` is "" for the folder itself; `module` is the file without ".py". `unused` marks a slow tokenizer beside a fast one, which
    only older versions load, and only when they are told to.
    """

    file: str
    pointer: str
    auto_class: str
    repository: str
    module: str
    unused: bool = False

    @property
    def path(self) -> str:
        """The file that holds the class."""
        return f"{self.module}.py"

    @property
    def code(self) -> str:
        """The code without the class, as it is named in a reference."""
        return f"{self.repository}--{self.module}" if self.repository else self.module


@fact
def references(model: Model) -> tuple[Reference, ...]:
    """Every reference of the folder; a text that is none for transformers (no dot, two repositories) is left out."""
    return tuple(_entries(_auto_maps(model)))


@fact
def every_reference(model: Model) -> tuple[Reference, ...]:
    """The references of the folder and those in the nested configurations of config.json.

    Loading the configuration does not read the latter (run with 5.24.0 and 4.57.6: code is not loaded for them, and an unknown nested model_type
    stays unknown); Auto classes that are given a nested configuration do (models/auto/auto_factory.py:205-233 in 5.24.0).
    """
    return (*references(model), *_entries(_nested(model.mapping("config.json"), ())))


def _nested(config: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    for key, inner in config.items():
        if isinstance(inner, dict) and key.endswith("_config") and len(path) < _DEEPEST:
            held = cast("dict[str, Any]", inner)
            yield "config.json", (*path, key, "auto_map"), held.get("auto_map")
            yield from _nested(held, (*path, key))


def _entries(auto_maps: Iterable[tuple[str, tuple[str, ...], Any]]) -> list[Reference]:
    found: list[Reference] = []
    for file, path, auto_map in auto_maps:
        if isinstance(auto_map, list):  # the old form: the list is the entry of AutoTokenizer
            found += _entry(file, path, "AutoTokenizer", auto_map)
        elif isinstance(auto_map, dict):
            for name, entry in islice(cast("dict[str, Any]", auto_map).items(), _MOST):
                found += _entry(file, (*path, name), name, entry)
    return found[:_MOST]


def _auto_maps(model: Model) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    for file in FILES:
        held = model.mapping(file)
        yield file, ("auto_map",), held.get("auto_map")
        for key in _INSIDE if file == "processor_config.json" else ():
            inner: Any = held.get(key)
            if isinstance(inner, dict):
                yield file, (key, "auto_map"), cast("dict[str, Any]", inner).get("auto_map")


def place(model: Model, reference: Reference) -> Place:
    """Where a reference stands."""
    return model.place(reference.file, reference.pointer)


def local(rows: Iterable[Reference]) -> set[str]:
    """The modules of the folder itself among references."""
    return {row.module for row in rows if not row.repository}


def reached(model: Model, modules: Iterable[str]) -> frozenset[str]:
    """The .py files of a folder that modules lead to: their own, and those that relative imports name from there on.

    Imports are found by their text, as transformers finds them. It takes "from .a.b import c" for the file "a.b.py", Python for "a/b.py": both count.
    """
    waiting = [f"{module}.py" for module in modules]
    found: set[str] = set()
    while waiting:
        name = normpath(waiting.pop())
        if name in found or not model.has(name):
            continue
        found.add(name)
        text = model.parsed(name, _imports)
        for level, dotted, names in text.value if isinstance(text, Known) else ():
            folder = normpath(join(dirname(name), *[".."] * (level - 1)))
            waiting += [join(folder, path) for path in _candidates(dotted, names)]
    return frozenset(found)


def lost_imports(model: Model, module: str) -> Iterator[tuple[str, int, str]]:
    """The modules beside a module of the top level that it, or what it reaches there, imports and that are not there: by whom, in which line, and which.

    Only "from .name import" at the start of a line is judged: what stands in a folder may be a package or in another model.
    """
    for name in sorted(reached(model, [module])):
        lines = model.parsed(name, _firm_imports) if "/" not in name else None
        for line, other in lines.value if isinstance(lines, Known) else ():
            if not model.has(f"{other}.py") and other not in _folders(model):
                yield name, line, f"{other}.py"


@fact
def _folders(model: Model) -> frozenset[str]:
    return frozenset(name.partition("/")[0] for name in model.files if "/" in name)


def _firm_imports(content: bytes) -> tuple[tuple[int, str], ...]:
    text = content.decode("utf-8", "replace")
    found = {match[1]: match.start() for match in reversed(list(_FIRM.finditer(text)))}  # the first line of each
    return tuple((text.count("\n", 0, start) + 1, name) for name, start in islice(sorted(found.items()), _MOST))


def _candidates(dotted: str, names: tuple[str, ...]) -> Iterator[str]:
    inside = dotted.replace(".", "/")
    if dotted:
        yield f"{dotted}.py"
        yield f"{inside}.py"
    yield join(inside, "__init__.py")
    for name in names:
        yield join(inside, f"{name}.py")


def _imports(content: bytes) -> tuple[tuple[int, str, tuple[str, ...]], ...]:
    """The relative imports of a source text: how many dots, the module, the names."""
    text = content.decode("utf-8", "replace")
    return tuple(
        (len(dots), dotted.strip("."), tuple(re.findall(r"(?<!\sas\s)\b[^\W\d]\w*", re.sub(r"#[^\n]*", "", names))))
        for dots, dotted, names in dict.fromkeys(_FROM.findall(text))
    )


def _entry(file: str, path: tuple[str, ...], auto_class: str, entry: Any) -> Iterator[Reference]:
    """The references of one entry: a text, a list [slow, fast] of a tokenizer, or texts by backend of an image processor."""
    rows: list[tuple[tuple[object, ...], Any]] = [(path, entry)]
    if isinstance(entry, list):
        rows = [((*path, i), item) for i, item in enumerate(cast("list[Any]", entry))]
    elif isinstance(entry, dict):
        rows = [((*path, key), item) for key, item in cast("dict[str, Any]", entry).items()]
    fast = auto_class == "AutoTokenizer" and len(rows) > 1 and rows[1][1] is not None
    for i, (where, item) in enumerate(rows):
        parts = item.split("--") if isinstance(item, str) else []
        module, dot, name = parts[-1].rpartition(".") if parts else ("", "", "")
        if module and dot and name and len(parts) <= 2:
            repository = parts[0] if len(parts) == 2 else ""
            yield Reference(file, pointer(*where), auto_class, repository, module, unused=fast and i == 0)
