"""The metadata of a model card: the YAML block at the head of README.md, as the Hub and huggingface_hub read it."""

import importlib
import re
from typing import Any, cast

import msgspec

from bot.analyze.model.folder import Model
from bot.analyze.model.pointers import pointer
from bot.answer import Known
from bot.place import Place
from bot.snapshot import Exchange

NAME = "README.md"
_LONGEST = 128 << 10  # of the block; longer ones (tables of results) would take too long
_MOST = 50_000  # values
_DEEPEST = 50

# The core schema of YAML 1.2, which the Hub reads: "no" and "on" are texts there, not booleans as in PyYAML.
_NULL = re.compile(r"~|null|Null|NULL|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]{1,300}|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_TAGS = "tag:yaml.org,2002:"
_STANDARD = {"str", "int", "float", "bool", "null", "seq", "map", "binary", "timestamp", "omap", "pairs", "set", "merge"}


class Fault(msgspec.Struct, frozen=True):
    """Why the block cannot be read: what it is about ("syntax", "key:NAME"), a clause for people, its line in the file, and what the clause quotes."""

    subject: str
    message: str
    line: int
    quoted: str = ""


class Card(msgspec.Struct, frozen=True, eq=False):
    """The metadata of a card: its fields as Python values, and the lines of fields and of their items by JSON pointer."""

    fields: dict[str, Any]
    lines: dict[str, int]
    fault: Fault | None = None

    def place(self, model: Model, *path: object) -> Place:
        """Where a field stands, or the nearest one above it."""
        parts = list(path)
        while parts and pointer(*parts) not in self.lines:
            parts.pop()
        return Place(model.revision, model.path(NAME), "", self.lines.get(pointer(*parts), 1))


class Block(msgspec.Struct, frozen=True):
    """The text between the two fences, the line of the file that it starts on, and whether there is a second fence."""

    text: str
    line: int
    closed: bool


def card(model: Model) -> Card | None:
    """The card of a folder; None when there is no README.md, no metadata in it, or when it cannot be read here."""
    found = model.parsed(NAME, read)
    return found.value if isinstance(found, Known) else None


def library(model: Model) -> str:
    """The library that the card names, "" where it names none; found without reading YAML."""
    found = model.parsed(NAME, _library)
    return found.value if isinstance(found, Known) else ""


def changed(exchange: Exchange) -> bool:
    """Whether a card can newly be at fault, so that YAML will be read: a card or an adapter's configuration differs."""
    sides = [
        {(file.path, file.oid) for file in side.files if file.path.rpartition("/")[2] in (NAME, "adapter_config.json")}
        for side in (exchange.base, exchange.head)
    ]
    return sides[0] != sides[1]


def read(content: bytes) -> Card | None:
    """The card in the bytes of a README.md."""
    try:
        block = front(content.decode("utf-8"))
        yaml: Any = importlib.import_module("yaml")
    except (UnicodeDecodeError, ImportError):
        return None
    if block is None or len(block.text) > _LONGEST:
        return None
    if not block.closed:
        return Card({}, {}, Fault("syntax", "has no second line of dashes that ends it", block.line - 1))
    # A tab may separate a value from its key or dash in YAML 1.2; libyaml refuses the second.
    text = re.sub(r"^( *-)\t+", r"\1 ", block.text, flags=re.MULTILINE)
    try:
        root: Any = yaml.compose(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    except yaml.YAMLError as error:
        mark: Any = getattr(error, "problem_mark", None)
        what = str(getattr(error, "problem", None) or error).split("\n")[0]
        return Card({}, {}, Fault("syntax", "is not YAML", block.line + (mark.line if mark else 0), what))
    except RecursionError:
        return Card({}, {}, Fault("syntax", "is nested too deeply", block.line))
    if root is None:
        return Card({}, {})
    reader = _Values(block.line, {}, [])
    value = reader.value(root, ())
    if reader.faults:
        return Card({}, {}, reader.faults[0])
    if reader.count[0] > _MOST:
        return None
    if not isinstance(value, dict):
        return Card({}, {}, None if value is None else Fault("syntax", "is no mapping of fields", block.line))
    return Card(cast("dict[str, Any]", value), reader.lines)


def front(text: str) -> Block | None:
    """The block at the head of a card (huggingface_hub 2.4.0 repocard.py:34).

    A first line of dashes that is followed by no field and closed by no second one is a rule, not a block.
    """
    lines = re.split(r"\r\n|\r|\n", text)
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if lines[first].lstrip() != "---":
        return None
    last = next((i for i in range(first + 1, len(lines)) if re.fullmatch(r"---[ \t]*", lines[i])), None)
    if last is None:
        field = len(lines) > first + 1 and re.match(r"[A-Za-z_][\w-]*:(\s|$)", lines[first + 1])
        return Block("", first + 2, closed=False) if field else None
    return Block("\n".join(lines[first + 1 : last]), first + 2, closed=True)


def _library(content: bytes) -> str:
    block = front(content[:_LONGEST].decode("utf-8", "replace"))
    found = re.search(r"^library_name:[ \t]*[\"']?([\w.-]+)", block.text, re.MULTILINE) if block else None
    return found[1].lower() if found else ""


class _Values(msgspec.Struct, frozen=True):
    """Turn YAML nodes into values; aliases are followed, and all values that this makes are counted."""

    first: int
    lines: dict[str, int]
    faults: list[Fault]
    count: list[int] = msgspec.field(default_factory=lambda: [0])

    def value(self, node: Any, path: tuple[object, ...]) -> Any:
        """The value of a node."""
        self.count[0] += 1
        if self.count[0] > _MOST or len(path) > _DEEPEST:
            return None
        tag = str(node.tag).removeprefix(_TAGS)
        if str(node.tag) not in ("", "None", "!") and tag not in _STANDARD:
            self.faults.append(Fault("syntax", "has an unknown tag", self.line(node), str(node.tag)))
        if len(path) <= 2:
            self.lines.setdefault(pointer(*path), self.line(node))
        if node.id == "mapping":
            return self.mapping(node, path)
        if node.id == "sequence":
            return [self.value(item, (*path, i)) for i, item in enumerate(node.value)]
        return _scalar(str(node.value)) if not node.style and tag == "str" else str(node.value)

    def mapping(self, node: Any, path: tuple[object, ...]) -> dict[str, Any]:
        """An object; a key that stands twice is a fault for the Hub's reader (js-yaml: duplicated mapping key)."""
        found: dict[str, Any] = {}
        for key, inner in node.value:
            name = str(key.value) if key.id == "scalar" else "…"
            if name in found and name != "<<":
                self.faults.append(Fault(f"key:{name}", "has a key twice", self.line(key), name))
            if len(path) < 2:
                self.lines[pointer(*path, name)] = self.line(key)
            found[name] = self.value(inner, (*path, name))
        return found

    def line(self, node: Any) -> int:
        """The line of a node in the file."""
        return self.first + int(node.start_mark.line)


def _scalar(text: str) -> Any:
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text.lower() == "true"
    if _INT.fullmatch(text):
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    return float(text.replace(".inf", "inf").replace(".nan", "nan").lower()) if _FLOAT.fullmatch(text) else text
