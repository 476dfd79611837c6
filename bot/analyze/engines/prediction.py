"""What an engine module gives: one prediction per model folder and version, and how the modules are found."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Protocol, cast

import msgspec

from bot.analyze.model.folder import Model
from bot.analyze.records import Confidence
from bot.answer import Answer, Unknown, shown


class Prediction(msgspec.Struct, frozen=True):
    """What one version of one engine will do with a model folder.

    `fields` maps keys such as "stops" or "template.sha256" (a dot leads into an object) to answers: Known(None) is the engine's own
    "cannot get there" (it does not start), Unknown what we cannot tell. They hold for an operator who trusts nobody's code;
    `with_remote_code` holds those that differ for one who trusts the repository's own. `source` names the place of the engine's source where
    a "likely" answer was read; `compared` are the fields of such a prediction whose answers were compared with what the engine's own code did.
    """

    engine: str
    version: str
    fields: Mapping[str, Answer[Any]]
    with_remote_code: Mapping[str, Answer[Any]] = msgspec.field(default_factory=dict[str, Answer[Any]])
    confidence: Confidence = "certain"
    source: str = ""
    compared: frozenset[str] = frozenset()

    def sure(self, field: str) -> Confidence:
        """The confidence of one field: what trusted code does was never run, for it is the repository's own."""
        if field in self.with_remote_code:
            return "guess" if self.confidence == "guess" else "likely"
        return "certain" if field in self.compared else self.confidence

    @property
    def name(self) -> str:
        """The engine with its version, as in "vllm@0.33.0"."""
        return f"{self.engine}@{self.version}"

    def trusted(self, field: str) -> Answer[Any]:
        """The answer for an operator who trusts the repository's own code."""
        return self.with_remote_code.get(field, self.fields[field])

    def record(self) -> dict[str, Any]:
        """The prediction as one JSON object with the keys of a record: dotted keys become nested objects."""
        return {
            "engine": self.engine,
            "version": self.version,
            "confidence": self.confidence,
            **({"source": self.source} if self.source else {}),
            **_nested(self.fields),
            **({"with_remote_code": _nested(self.with_remote_code)} if self.with_remote_code else {}),
        }


def _nested(fields: Mapping[str, Answer[Any]]) -> dict[str, Any]:
    whole: dict[str, Any] = {}
    for key, answer in fields.items():
        *path, last = key.split(".")
        at = whole
        for part in path:
            at = at.setdefault(part, {})
        at[last] = shown(answer)
    return whole


class Engine(Protocol):
    """The shape of an engine module.

    `ID` names it in records, `NAME` in sentences, `VERSIONS` are those that are predicted, newest last. It may have as well: `ALIASES`, other names
    of versions; `COMPARED`, the versions that a comparison looks at where nobody chooses, by default the newest; and three that take longer than
    everything else and are asked for by `predict` and `render` only: `encode(model, version, texts)`, the ids of texts,
    `renders(model, version, probes)`, the prompt of each conversation by the probe's name (see `Renders` of render.py), and
    `prompt_tokens(model, version, texts)`, the tokens of prompts as it encodes them; instead of the last `probe_tokens(model, version, probes)`, those of
    the prompt of each conversation by the probe's name, where the text alone does not tell them.
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


def prediction(model: Model, engine: Engine, version: str) -> Prediction:
    """What a version of an engine does with a model, worked out once."""
    return model.recall(_of(engine, version))


@cache
def _of(engine: Engine, version: str) -> Callable[[Model], Prediction]:
    return lambda model: engine.predict(model, version)


def predicted(model: Model, engine: str, key: str) -> Answer[Any]:
    """One field of the newest predicted version of an engine, by its ID. Raises KeyError for an engine that is not modelled."""
    module = {candidate.ID: candidate for candidate in engines()}[engine]
    if not module.applies(model):
        return Unknown(f"{engine} has no business with this folder")
    return prediction(model, module, module.VERSIONS[-1]).trusted(key)
