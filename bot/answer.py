"""The three answers to "what does this repository say about X?": known, missing, could not tell."""

from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from bot.place import Place

T = TypeVar("T")


class Known(msgspec.Struct, Generic[T], frozen=True):
    """A value that was read, and where it stands."""

    value: T
    places: tuple[Place, ...] = ()


class Missing(msgspec.Struct, frozen=True):
    """Nothing states the value; `places` says where one would look for it."""

    places: tuple[Place, ...] = ()


class Unknown(msgspec.Struct, frozen=True):
    """The value could not be read; `reason` says why. Never to be taken for "fine"."""

    reason: str
    places: tuple[Place, ...] = ()


Answer: TypeAlias = Known[T] | Missing | Unknown


def shown(answer: Answer[Any]) -> Any:
    """An answer as the report states it: the value, or {"unknown": reason}."""
    if isinstance(answer, Known):
        return answer.value
    return {"unknown": "nothing states it" if isinstance(answer, Missing) else answer.reason}
