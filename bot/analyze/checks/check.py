"""What a check is, and how the checks are found: one file each, its name is the check's id."""

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from functools import cache
from types import ModuleType
from typing import Any

import msgspec

from bot.analyze.model.folder import Model
from bot.analyze.records import Claim, Confidence, Finding, Fix, Severity
from bot.place import Place

TEXTS = ("title", "says", "sees", "why", "fix", "wrong_when", "weighed")


class Check(msgspec.Struct, frozen=True):
    """The texts of a check, which are its documentation, and its severity.

    `says` is what happens to people, as a clause after "This pull request"; `sees` says what it looks at, `why` what it costs whom, `fix` what to do, `wrong_when` where the same shape is meant and the check is silent.
    `severity` is the highest it gives; `cause` groups its findings with those of other checks. `weighed` says in a sentence why severity and
    confidence are what they are, after a run over real repositories.
    `of_added_models` lets `find_in_change` see an added model as well, with an empty base.
    """

    title: str
    says: str
    sees: str
    why: str
    fix: str
    wrong_when: str
    severity: Severity
    weighed: str
    confidence: Confidence = "certain"
    engines: tuple[str, ...] = ()
    cause: str = ""
    of_added_models: bool = False


class Seen(msgspec.Struct, frozen=True):
    """What a check's function reports: the parts of a finding that the framework cannot know."""

    key: str
    title: str
    places: tuple[Place, ...]
    detail: str = ""
    severity: Severity | None = None
    confidence: Confidence | None = None
    engines: tuple[str, ...] | None = None
    fix: str = ""


class Loaded(msgspec.Struct, frozen=True):
    """A check as it was found: its id, its texts, and whichever of its functions it has.

    `find` runs on base and on head and the framework compares; `find_in_change` runs once, on base and head of a model that exists on both sides (or is added, where the check says so);
    `find_in_claims` runs once on the commits that texts of one revision claim. `patch` is asked for the repair of a new finding, given base (empty for an added
    model) and head: a diff of head's files after which the finding is gone and no other one is new, "" where no repair is certain.
    """

    id: str
    check: Check
    find: Callable[[Model], Iterable[Seen]] | None
    find_in_change: Callable[[Model, Model], Iterable[Seen]] | None
    find_in_claims: Callable[[tuple[Claim, ...]], Iterable[Seen]] | None
    patch: Callable[[Model, Model, Finding], str] | None = None

    def finding(self, seen: Seen, folder: str) -> Finding:
        """The whole finding."""
        check = self.check
        fix = seen.fix or check.fix
        return Finding(
            check=self.id,
            key=seen.key,
            folder=folder,
            severity=seen.severity or check.severity,
            confidence=seen.confidence or check.confidence,
            title=seen.title,
            detail=seen.detail or check.why,
            places=seen.places,
            engines=check.engines if seen.engines is None else seen.engines,
            cause=check.cause,
            fix=Fix(fix) if fix else None,
        )


@cache
def checks() -> tuple[Loaded, ...]:
    """Every check of this package. Raises TypeError for a module that is no whole check."""
    package = importlib.import_module("bot.analyze.checks")
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__) if module.name != "check")
    return tuple(_load(name, importlib.import_module(f"bot.analyze.checks.{name}")) for name in names)


def _load(name: str, module: ModuleType) -> Loaded:
    check: Any = getattr(module, "CHECK", None)
    functions = [getattr(module, function, None) for function in ("find", "find_in_change", "find_in_claims", "patch")]
    if not isinstance(check, Check) or not any(functions[:3]):
        raise TypeError(f"bot/analyze/checks/{name}.py must declare CHECK and one of find, find_in_change, find_in_claims")
    silent = [field for field in TEXTS if not getattr(check, field).strip()]
    if silent:
        raise TypeError(f"bot/analyze/checks/{name}.py leaves {silent[0]} empty")
    return Loaded(name.replace("_", "-"), check, *functions)
