"""What an engine module gives: one prediction per model folder and version, and how the modules are found."""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Any, Protocol, cast

import msgspec

from bot.analyze.model.folder import Model
from bot.analyze.records import Confidence
from bot.answer import Answer, Known, Missing, Unknown


class Prediction(msgspec.Struct, frozen=True):
    """What one version of one engine will do with a model folder.

    `fields` maps keys such as "stops" to answers: Known(None) is the engine's own "cannot get there" (it does not start),
    Unknown what we cannot tell. `with_remote_code` marks what an operator gets who trusts the repository's own code.
    """

    engine: str
    version: str
    fields: Mapping[str, Answer[Any]]
    with_remote_code: bool = False
    confidence: Confidence = "certain"

    @property
    def name(self) -> str:
        """The engine with its version, as in "vllm@0.33.0"."""
        return f"{self.engine}@{self.version}"


class Engine(Protocol):
    """The shape of an engine module.

    `ID` names it in records, `NAME` in sentences, `VERSIONS` are those that are predicted, newest last.
    """

    ID: str
    NAME: str
    VERSIONS: tuple[str, ...]

    @staticmethod
    def applies(model: Model) -> bool:
        """Whether the engine has any business with the folder."""
        ...

    @staticmethod
    def predict(model: Model, version: str) -> Prediction:
        """What the version will do with the folder."""
        ...


@cache
def engines() -> tuple[Engine, ...]:
    """Every module of this package that declares an ID, by name."""
    package = importlib.import_module("bot.analyze.engines")
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    modules = [importlib.import_module(f"bot.analyze.engines.{name}") for name in names]
    return tuple(cast("Engine", module) for module in modules if hasattr(module, "ID"))


def shown(answer: Answer[Any]) -> Any:
    """An answer as the report states it: the value, or {"unknown": reason}."""
    if isinstance(answer, Known):
        return answer.value
    return {"unknown": "nothing states it" if isinstance(answer, Missing) else answer.reason}


def predicted(model: Model, engine: str, key: str) -> Answer[Any]:
    """One field of the newest predicted version of an engine, by its ID. Raises KeyError for an engine that is not modelled."""
    module = {candidate.ID: candidate for candidate in engines()}[engine]
    if not module.applies(model):
        return Unknown(f"{engine} has no business with this folder")
    return module.predict(model, module.VERSIONS[-1]).fields[key]
