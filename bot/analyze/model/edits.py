"""Changes to single values of a JSON file that leave the rest of it as it is written, as a unified diff."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from bot.analyze.model.folder import Model
from bot.analyze.patch import Edit, unified
from bot.answer import Known

_DECODER = json.JSONDecoder()
_BLANK = " \t\n\r"


class Put(msgspec.Struct, frozen=True):
    """The value at a pointer becomes another one. A key that is not there is added behind the key `beside`, or as the last one of its object."""

    pointer: str
    value: Any
    beside: str = ""


class Add(msgspec.Struct, frozen=True):
    """The list at a pointer gets further values at its end; a single value becomes a list with them, null or nothing the values alone (one is no list)."""

    pointer: str
    values: tuple[Any, ...]


class Take(msgspec.Struct, frozen=True):
    """The key or element at a pointer goes, with its comma."""

    pointer: str


class Rename(msgspec.Struct, frozen=True):
    """The key at a pointer gets another name."""

    pointer: str
    name: str


Change: TypeAlias = Put | Add | Take | Rename


class Member(msgspec.Struct, frozen=True):
    """A value inside an object or list: its key or place, and where both stand; `key_start` is `start` in a list."""

    name: str
    key_start: int
    start: int
    end: int


def diff(model: Model, changes: Mapping[str, Sequence[Change]]) -> str:
    """The diff that makes changes to JSON files of a model, by their names in the folder; "" where one of them cannot be made.

    That is so for a file that is no text of JSON or a symbolic link, for a key that an object has twice, and where a changed line would be
    longer than a person reads (see `unified`).
    """
    diffs: list[str] = []
    for name, wanted in changes.items():
        text = model.text(name)
        if not isinstance(text, Known) or model.files[name].kind != "file":
            return ""
        written = _Written(text.value)
        try:
            edits = [edit for change in wanted for edit in written.edits(change)]
            diffs.append(unified(model.path(name), text.value, edits))
        except (ValueError, IndexError, RecursionError):  # a change that cannot be made for certain, or no JSON
            return ""
    return "".join(diffs) if all(diffs) else ""


class _Written(msgspec.Struct, frozen=True, eq=False):
    """A JSON text, and what stands inside the objects and lists that were asked for: each is gone through once."""

    text: str
    _known: dict[int, tuple[Member, ...]] = msgspec.field(default_factory=dict[int, tuple[Member, ...]])

    def edits(self, change: Change) -> Iterator[Edit]:
        """What a change does to the text. Raises ValueError where it cannot be made for certain."""
        above, _, last = change.pointer.rpartition("/")
        holder, name = self._at(above), _unescaped(last)
        found = self._member(holder, name)
        if found is None:
            yield self._absent(holder, name, change)
            return
        old = self.text[found.start : found.end]
        match change:
            case Put(_, value):
                yield Edit(found.start, found.end, self._json(value, found.key_start))
            case Add(_, values):
                yield self._longer(found, values) if old != "null" else Edit(found.start, found.end, self._json(_some(values), 0))
            case Take():
                yield self._without(holder, found)
            case Rename(_, new):
                if self._member(holder, new) is not None:
                    raise ValueError(f"{new} is there already")
                yield Edit(found.key_start, self._key_end(found), self._json(new, 0))

    def _absent(self, holder: int, name: str, change: Change) -> Edit:
        """What a change does where its key is not there."""
        match change:
            case Put(_, value, beside):
                return self._further(holder, name, value, beside)
            case Add(_, values):
                return self._further(holder, name, _some(values), "")
            case _:
                raise ValueError(f"{name} is not there")

    def _at(self, pointer: str) -> int:
        """Where the value at a pointer starts."""
        at = _skip(self.text, 0)
        for part in pointer.split("/")[1:]:
            found = self._member(at, _unescaped(part))
            if found is None:
                raise ValueError(f"{pointer} is not there")
            at = found.start
        return at

    def _member(self, at: int, name: str) -> Member | None:
        rows = [member for member in self._inside(at) if member.name == name]
        if len(rows) > 1:  # which of them counts depends on the reader
            raise ValueError(f"{name} is there twice")
        return rows[0] if rows else None

    def _inside(self, at: int) -> tuple[Member, ...]:
        if at not in self._known:
            self._known[at] = tuple(_members(self.text, at))
        return self._known[at]

    def _further(self, holder: int, name: str, value: Any, beside: str) -> Edit:
        """A new key behind another one, or as the last one."""
        if self.text[holder] != "{":
            raise ValueError(f"{name} cannot be added to a list")
        members = self._inside(holder)
        if not members:
            end = _skip(self.text, holder + 1) + 1
            return Edit(holder, end, f"{{{self._json(name, 0)}: {self._json(value, 0)}}}")
        near = self._member(holder, beside) or members[-1]
        between = self.text[self._key_end(near) : near.start]
        key = f"{self._json(name, 0)}{between}{self._json(value, near.key_start)}"
        return Edit(near.end, near.end, f",{self._lead(near)}{key}")

    def _longer(self, found: Member, values: Sequence[Any]) -> Edit:
        """Further values at the end of a list."""
        texts = [self._json(value, found.start) for value in values]
        if self.text[found.start] == "{":
            raise ValueError(f"{found.name} is an object")
        old = self._inside(found.start) if self.text[found.start] == "[" else None
        if old:
            return Edit(old[-1].end, old[-1].end, "".join(f",{self._lead(old[-1])}{text}" for text in texts))
        texts = [self.text[found.start : found.end], *texts] if old is None else texts
        return Edit(found.start, found.end, f"[{(',' if self._tight() else ', ').join(texts)}]")

    def _without(self, holder: int, found: Member) -> Edit:
        """Nothing in the place of a value, of its key and of one comma."""
        members = self._inside(holder)
        at = members.index(found)
        if at + 1 < len(members):
            return Edit(found.key_start, members[at + 1].key_start, "")
        return Edit(members[at - 1].end, found.end, "") if at else Edit(holder + 1, _skip(self.text, found.end), "")

    def _key_end(self, member: Member) -> int:
        return _DECODER.raw_decode(self.text, member.key_start)[1]

    def _lead(self, member: Member) -> str:
        """The white space in front of a member, as a further one shall have it."""
        start = member.key_start
        while self.text[start - 1] in _BLANK:
            start -= 1
        return self.text[start : member.key_start] or ("" if self._tight() else " ")

    def _tight(self) -> bool:
        """Whether the text has no blanks between what it says."""
        first = next(iter(self._inside(_skip(self.text, 0))), None)
        return first is not None and self._key_end(first) + 1 == first.start

    def _json(self, value: Any, at: int) -> str:
        """A value as the file writes such: an object over several lines where the key at `at` has its own line."""
        ascii_only = self.text.isascii()
        line = self.text.rfind("\n", 0, at) + 1
        indent = self.text[line:at]
        if not isinstance(value, dict) or not value or not line or indent.strip(_BLANK):
            return json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":") if self._tight() else None)
        first = self._lead(self._inside(_skip(self.text, 0))[0])
        newline = "\r\n" if "\r" in first else "\n"
        written = json.dumps(value, ensure_ascii=ascii_only, indent=first.rpartition("\n")[2])
        return written.replace("\n", f"{newline}{indent}")


def _members(text: str, at: int) -> Iterator[Member]:
    """What is directly inside the object or list at an offset, nothing for another value."""
    kind, number = text[at], 0
    at = _skip(text, at + 1)
    while kind in "{[" and text[at] not in "}]":
        name, start = str(number), at
        if kind == "{":
            name, end = _DECODER.raw_decode(text, at)
            start = _skip(text, _skip(text, end) + 1)
        end = _DECODER.raw_decode(text, start)[1]
        yield Member(name, at, start, end)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
        number += 1


def _some(values: tuple[Any, ...]) -> Any:
    return values[0] if len(values) == 1 else list(values)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _unescaped(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")
