"""Read a settings file: YAML with an object of options, and the line of each."""

import re
from collections.abc import Iterator
from typing import Any, NoReturn, cast

import yaml

from bot.errors import UsageError
from bot.settings import FILE, Layer
from bot.settings_values import Path, shown
from bot.snapshot import LARGEST_SETTINGS

DEEPEST = 12
MOST_VALUES = 50_000
_PREFIX = "tag:yaml.org,2002:"
_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


class _WrongError(Exception):
    """What is wrong at a line of the file."""

    def __init__(self, words: str, line: int) -> None:
        super().__init__(words)
        self.line = line


class _Loader(yaml.SafeLoader):
    """YAML in which only booleans and nothing are no text, because no option is a number: a fingerprint may be all digits, and a day stays as it is written.

    `on` and `off` are text as in YAML 1.2: `off` is what a check may be.
    """

    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Compose a node, unless it stands too deep."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise _WrongError(f"is nested more than {DEEPEST} deep", self.peek_event().start_mark.line + 1)
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


_Loader.yaml_implicit_resolvers = {}
_Loader.add_implicit_resolver(f"{_PREFIX}bool", re.compile("(?i:true|yes|false|no)$"), list("tTyYfFnN"))
_Loader.add_implicit_resolver(f"{_PREFIX}null", re.compile("(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""])


def from_file(content: bytes, source: str = FILE) -> Layer:
    """Read a settings file (YAML, an object of options, at most LARGEST_SETTINGS bytes). Raises UsageError with source and line when it is none."""
    if len(content) > LARGEST_SETTINGS:
        raise UsageError(f"{source}: has {len(content):,} bytes; at most {LARGEST_SETTINGS:,} are read")
    try:
        node = yaml.compose(content.decode("utf-8"), _Loader)
        lines: dict[Path, int] = {}
        chosen = _Reader(lines).plain(node, ()) if node is not None else None
    except UnicodeDecodeError as error:
        raise UsageError(f"{source}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
    except _WrongError as error:
        raise UsageError(f"{source}:{error.line}: {error}") from None
    except yaml.YAMLError as error:
        _refuse(source, error)
    except (ValueError, OverflowError) as error:  # an escape beyond the last letter there is
        raise UsageError(f"{source}: not YAML: {error}") from None
    if chosen is None:  # an empty file chooses nothing
        return Layer(source, {})
    if not isinstance(chosen, dict):
        raise UsageError(f"{source}: holds no options; write lines such as `fail_on: warning`")
    return Layer(source, cast("dict[str, object]", chosen), lines)


class _Reader:
    """Turns nodes into plain values, an alias into a value of its own, and notes where each stands."""

    def __init__(self, lines: dict[Path, int]) -> None:
        self._lines = lines
        self._left = MOST_VALUES

    def plain(self, node: yaml.Node, path: Path) -> Any:
        """The value of a node; its parts are noted by their path. Raises _WrongError."""
        line = node.start_mark.line + 1
        self._left -= 1
        if self._left < 0:
            raise _WrongError(f"holds more than {MOST_VALUES:,} values, those of aliases counted each time", line)
        if len(path) > DEEPEST:
            raise _WrongError("an alias stands inside of what it repeats", line)
        if node.tag.removeprefix(_PREFIX) not in ("str", "bool", "null", "seq", "map"):
            raise _WrongError(f"the tag {shown(node.tag)} means nothing here; put what starts with ! in quotes", line)
        if isinstance(node, yaml.MappingNode):
            return dict(self._rows(node, path))
        if isinstance(node, yaml.SequenceNode):
            found: list[Any] = []
            for number, each in enumerate(node.value):
                self._lines.setdefault((*path, number), each.start_mark.line + 1)
                found.append(self.plain(each, (*path, number)))
            return found
        text = cast("str", node.value)
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise _WrongError(f"{shown(text)} holds half a letter; write the letter itself", line)
        kind = node.tag.removeprefix(_PREFIX)
        return _BOOLEANS.get(text.lower(), text) if kind == "bool" else None if kind == "null" else text

    def _rows(self, node: yaml.MappingNode, path: Path) -> Iterator[tuple[str, Any]]:
        seen: set[str] = set()
        for name, held in node.value:
            line = name.start_mark.line + 1
            if not isinstance(name, yaml.ScalarNode):
                raise _WrongError("a key must be a word", line)
            key = str(name.value)
            if key in seen:
                raise _WrongError(f"the key {shown(key)} stands twice", line)
            seen.add(key)
            self._lines.setdefault((*path, key), line)
            yield key, self.plain(held, (*path, key))


def _refuse(source: str, error: yaml.YAMLError) -> NoReturn:
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    said = [error.context, error.problem] if isinstance(error, yaml.MarkedYAMLError) else [str(error)]
    words = " ".join(", ".join(filter(None, said)).split())
    cure = "; put what starts with * or & in quotes" if "alias" in words or "anchor" in words else ""
    raise UsageError(f"{source}{f':{mark.line + 1}' if mark else ''}: not YAML: {words}{cure}") from None
