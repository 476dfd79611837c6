"""Read a settings file: YAML with an object of options."""

from typing import Any, cast

import yaml

from bot.errors import UsageError
from bot.settings import FILE, Layer


class _Strict(yaml.SafeLoader):
    """YAML without code, and with an error where a key stands twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - PyYAML's
        keys = [key.value for key, _ in node.value]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise yaml.YAMLError(f"the key {twice!r} stands twice")
        return super().construct_mapping(node, deep)


def from_file(content: bytes, source: str = FILE) -> Layer:
    """Read a settings file (YAML, an object of options). Raises UsageError when it is none."""
    try:
        chosen = yaml.load(content.decode("utf-8"), _Strict)  # noqa: S506 - a SafeLoader
    except UnicodeDecodeError as error:
        raise UsageError(f"{source}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
    except yaml.YAMLError as error:
        raise UsageError(f"{source}: not YAML: {_one_line(str(error))}") from None
    if chosen is None:  # an empty file chooses nothing
        return Layer(source, {})
    if not isinstance(chosen, dict):
        raise UsageError(f"{source}: holds no options; write lines such as `fail_on: warning`")
    return Layer(source, {str(name): value for name, value in cast("dict[object, object]", chosen).items()})


def _one_line(text: str) -> str:
    return " ".join(text.split())
