"""Conversations that are rendered to see what a chat template does, and the file in which an operator writes some."""

import codecs
from pathlib import Path
from typing import Any, TypeAlias, cast

import msgspec

from bot.errors import UsageError

Message: TypeAlias = dict[str, Any]
LARGEST = 4 << 20
"""Bytes of a file of probes."""
_DEEPER = 50
_MESSAGES = '[{"role": "user", "content": "Hi"}]'
_PROBES = f'{{"probes": [{{"name": "hello", "messages": {_MESSAGES}}}]}}'
_CONVERSATION = f'{{"messages": {_MESSAGES}}}'


class Probe(msgspec.Struct, frozen=True):
    """A conversation with a name for people, and the variables that go with it (add_generation_prompt, tools, enable_thinking …).

    `template` names the chat template that renders it; "" is the one that a request takes: `tool_use` with tools where there is one, else the default.
    """

    name: str
    messages: tuple[Message, ...]
    variables: dict[str, Any] = {}
    template: str = ""


class _Row(msgspec.Struct, forbid_unknown_fields=True):
    """A probe as a file has it. `shows` is for readers of the file."""

    name: str
    messages: list[Message]
    add_generation_prompt: bool = True
    tools: list[dict[str, Any]] | None = None
    documents: list[dict[str, Any]] | None = None
    variables: dict[str, Any] = {}
    template: str = ""
    shows: str = ""


def read_probes(path: Path) -> tuple[Probe, ...]:
    """Read the probes of a file: an object whose `probes` are objects with name, messages and the rest of `_Row`. Raises UsageError."""
    value = _json(path, _PROBES)
    rows: Any = value.get("probes") if isinstance(value, dict) else None
    if not isinstance(rows, list) or not rows:
        raise UsageError(f'{path}: has no list "probes" with a conversation in it; write {_PROBES}')
    found = tuple(_probe(path, f"probes[{i}]", row, _PROBES) for i, row in enumerate(cast("list[Any]", rows)))
    names = [probe.name for probe in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{path}: two probes are called {twice!r}; give each a name of its own")
    return found


def read_messages(path: Path) -> Probe:
    """One conversation from a file: a list of messages, or an object with `messages` and what else a probe may have. Raises UsageError."""
    value = _json(path, _MESSAGES)
    if isinstance(value, list):
        value = {"messages": value}
    if not isinstance(value, dict) or "messages" not in value:
        raise UsageError(f'{path}: is no list of messages; write {_MESSAGES}, or an object with "messages"')
    return _probe(
        path,
        "the conversation",
        {"name": path.stem.encode("utf-8", "backslashreplace").decode(), **cast("dict[str, Any]", value)},
        _CONVERSATION,
    )


def _json(path: Path, example: str) -> Any:
    """What a JSON file holds; `example` shows how one is written."""
    try:
        with path.open("rb") as file:  # the size of what is no plain file is not known before
            raw = file.read(LARGEST + 1)
        if len(raw) > LARGEST:
            raise UsageError(f"{path}: is larger than {LARGEST >> 20} MiB; conversations to be rendered are short")
        raw = raw.removeprefix(codecs.BOM_UTF8)
        value: Any = msgspec.json.decode(raw)
        msgspec.json.decode(b"[" * _DEEPER + raw + b"]" * _DEEPER)  # it is read once more where it stands deeper
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror}); name a JSON file of conversations") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: is not JSON ({error}); write {example}") from error
    return value


def _probe(path: Path, place: str, value: Any, example: str) -> Probe:
    try:
        row = msgspec.convert(value, _Row)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {place} is no conversation ({error}); write {example}") from error
    given = {"add_generation_prompt": row.add_generation_prompt, "tools": row.tools, "documents": row.documents}
    reserved = sorted({*given, "messages"} & row.variables.keys())
    if reserved:
        raise UsageError(f"{path}: {place} has {reserved[0]!r} among its variables; write it beside them")
    roleless = next((i for i, message in enumerate(row.messages) if not isinstance(message.get("role"), str)), None)
    if roleless is not None:
        raise UsageError(f'{path}: message {roleless} of {place} has no role; write one such as "user"')
    return Probe(
        row.name, tuple(row.messages), {**{k: v for k, v in given.items() if v is not None}, **row.variables}, row.template
    )
