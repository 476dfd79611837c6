"""The three answers to "what does this repository say about X?": known, missing, could not tell."""

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from bot.place import Place

T = TypeVar("T")


@dataclass(frozen=True)
class Known(Generic[T]):
    """A value that was read, and where it stands."""

    value: T
    places: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Missing:
    """Nothing states the value; `places` says where one would look for it."""

    places: tuple[Place, ...] = ()


@dataclass(frozen=True)
class Unknown:
    """The value could not be read; `reason` says why. Never to be taken for "fine"."""

    reason: str
    places: tuple[Place, ...] = ()


Answer: TypeAlias = Known[T] | Missing | Unknown
