"""Hold what a source chose against the type of an option, at any depth, and say in one line what is wrong and where."""

import difflib
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, NoReturn, cast

import msgspec
from msgspec import Meta

from bot.errors import UsageError
from bot.policy import check_ids

Path = tuple[str | int, ...]


class Spot(NamedTuple):
    """Where a value stands: in which source, under which keys. `lines` are the 1-based lines of a file, by path."""

    source: str
    path: Path = ()
    lines: Mapping[Path, int] = types.MappingProxyType({})

    def below(self, step: str | int) -> "Spot":
        """The spot of a part."""
        return self._replace(path=(*self.path, step))

    @property
    def name(self) -> str:
        """The path as people write it: `suppress[0].reason`."""
        steps = (f"[{step}]" if isinstance(step, int) else f".{_key(step)}" for step in self.path)
        return "".join(steps).removeprefix(".")

    def refuse(self, words: str) -> NoReturn:
        """Raise UsageError with `words` behind source and line."""
        line = next((self.lines[self.path[:n]] for n in range(len(self.path), 0, -1) if self.path[:n] in self.lines), None)
        raise UsageError(f"{self.source}{f':{line}' if line else ''}: {words}")


def checked(spot: Spot, value: object, hint: Any) -> Any:
    """The value as the type `hint` has it. Raises UsageError, naming the place, what stands there and what is legal."""
    kind = bare(hint)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _record(spot, value, kind, hint)
    if typing.get_origin(kind) is tuple:
        if not isinstance(value, list | tuple):
            _illegal(spot, value, hint)
        part = typing.get_args(kind)[0]
        parts = (checked(spot.below(i), each, part) for i, each in enumerate(cast("list[object]", value)))
        return _converted(spot, tuple(parts), hint)
    if typing.get_origin(kind) is dict:
        if not isinstance(value, Mapping):
            _illegal(spot, value, hint)
        name, held = typing.get_args(kind)
        rows = cast("Mapping[str, object]", value).items()
        return {checked(spot.below(key), key, name): checked(spot.below(key), each, held) for key, each in rows}
    found = _converted(spot, value, hint)
    if extra(hint).get("known") == "check" and value not in check_ids():
        spot.refuse(f"{_said(spot, value)}: there is no such check; {near(str(value), check_ids(), 'see `explain`')}")
    return found


def legal(hint: Any) -> str:
    """What may be written for an option, in words."""
    kind = bare(hint)
    if kind is bool:
        return "true, false"
    if typing.get_origin(kind) is Literal:
        return ", ".join(typing.get_args(kind))
    return extra(hint)["legal"]


def bare(hint: Any) -> Any:
    """A type without its annotations."""
    return typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Annotated else hint


def description(hint: Any) -> str:
    """The help of an option: the last one, since those of an alias come first."""
    return next((meta.description for meta in _metas(hint) if meta.description), "")


def extra(hint: Any) -> dict[str, Any]:
    """What else the annotations of a type say, the last one winning."""
    found: dict[str, Any] = {}
    for meta in _metas(hint):
        found = {**(meta.extra or {}), **found}
    return found


def near(name: str, names: Iterable[str], otherwise: str) -> str:
    """The cure for a name that is not among `names`."""
    found = difflib.get_close_matches(
        name.replace("_", "-").lower(), {each.replace("_", "-"): 0 for each in names}, n=1, cutoff=0.5
    )
    return f"did you mean {next(each for each in names if each.replace('_', '-') == found[0])}?" if found else otherwise


def shown(value: object) -> str:
    """A value on one line of at most 60 letters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."


def _record(spot: Spot, value: object, kind: type[msgspec.Struct], hint: Any) -> Any:
    hints = typing.get_type_hints(kind, include_extras=True)
    if not isinstance(value, Mapping):
        _illegal(spot, value, hint)
    given = cast("Mapping[str, object]", value)
    for key in given:
        if key not in hints:
            cure = near(key, hints, f"there are {', '.join(hints)}")
            spot.below(key).refuse(f"{spot.name} has an unknown key {shown(key)}; {cure}")
    found = {key: checked(spot.below(key), each, hints[key]) for key, each in given.items()}
    for field in msgspec.structs.fields(kind):
        if field.required and field.name not in found:
            spot.refuse(f"{spot.name} has no `{field.name}`; add {legal(hints[field.name])}")
    try:
        return kind(**found)
    except ValueError as error:  # what the record asks of its fields together
        spot.refuse(f"{spot.name} {error}")


def _converted(spot: Spot, value: object, hint: Any) -> Any:
    try:
        return msgspec.convert(value, hint)
    except msgspec.ValidationError:
        _illegal(spot, value, hint)


def _illegal(spot: Spot, value: object, hint: Any) -> NoReturn:
    spot.refuse(f"{_said(spot, value)} is not legal; legal: {legal(hint)}")


def _said(spot: Spot, value: object) -> str:
    is_key = spot.path[-1:] == (value,) and len(spot.path) > 1
    return spot.name if is_key else f"{spot.name} = {shown(value)}"


def _key(step: str) -> str:
    return step if step.replace("_", "").replace("-", "").isalnum() and len(step) <= 60 else shown(step)


def _metas(hint: Any) -> list[Meta]:
    return [each for each in reversed(typing.get_args(hint)[1:]) if isinstance(each, Meta)] if bare(hint) is not hint else []
