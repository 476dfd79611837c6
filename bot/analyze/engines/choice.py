"""Which engines and versions are asked: from what an operator writes to the versions that are modelled.

`vllm` is the newest modelled version, `vllm@0.33.0` exactly one, `vllm@0.33` the newest that begins so, `vllm>=0.20,<0.30` all in a range, `vllm@all`
all of one engine and `all` everything.
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bot.analyze.engines.prediction import Engine, engines
from bot.errors import UsageError

ALL = "all"
_WRITTEN = re.compile(r"(?P<name>[a-z][a-z0-9.-]*?)(?:@(?P<version>[\w.+-]+)|(?P<range>(?:[<>=]{1,2}[^<>=]+)+))?")
_BOUND = re.compile(r"(>=|<=|==|>|<)\s*([\w.-]+)")


class Chosen(NamedTuple):
    """One version of one engine."""

    engine: Engine
    version: str

    @property
    def name(self) -> str:
        """As reports name it: "vllm@0.33.0"."""
        return f"{self.engine.ID}@{self.version}"


def newest() -> tuple[Chosen, ...]:
    """The newest modelled version of each engine."""
    return tuple(Chosen(engine, engine.VERSIONS[-1]) for engine in engines())


def compared() -> tuple[Chosen, ...]:
    """What a comparison looks at where nobody chooses: the newest version of each engine, and older ones that an engine names as still in wide use."""
    return tuple(Chosen(engine, version) for engine in engines() for version in getattr(engine, "COMPARED", engine.VERSIONS[-1:]))


def choose(written: Iterable[str]) -> tuple[Chosen, ...]:
    """The versions that are written, in the order of engines and versions. Raises UsageError, naming what is modelled."""
    asked = [chosen for text in written for chosen in _one("".join(text.split()).lower())]
    every = [Chosen(engine, version) for engine in engines() for version in engine.VERSIONS]
    names = {chosen.name for chosen in asked}
    return tuple(chosen for chosen in every if chosen.name in names)


def rendering(written: Sequence[str]) -> tuple[Chosen, ...]:
    """The versions whose prompts are rendered: those that are written, the newest transformers where none are.

    Raises UsageError for an engine that is named and whose prompts are not modelled; of `all` those are left out.
    """
    able = [engine.ID for engine in engines() if hasattr(engine, "renders")]
    for text in written:
        lacking = [] if text.strip().lower() == ALL else [each.engine.ID for each in choose([text]) if each.engine.ID not in able]
        if lacking:
            raise UsageError(
                f"engine {text[:60]!r}: how {lacking[0]} writes a prompt is not modelled; it is of {', '.join(able)}"
            )
    return tuple(each for each in choose(written or ("transformers",)) if each.engine.ID in able)


def named(names: Iterable[str]) -> tuple[Chosen, ...]:
    """The versions with exactly these names, as `Chosen.name` gives them."""
    wanted = set(names)
    return tuple(
        Chosen(engine, version) for engine in engines() for version in engine.VERSIONS if f"{engine.ID}@{version}" in wanted
    )


def in_pairs(before: Sequence[str], after: Sequence[str]) -> tuple[tuple[Chosen, Chosen], ...]:
    """One version of an engine before, another after: what moving from one to the other changes. Raises UsageError."""
    olds, news = choose(before), choose(after)
    if not olds:
        raise UsageError(f"--engine-after {after[0]}: say with --engine which version is in use now"[:200])
    for side, chosen in (("--engine", olds), ("--engine-after", news)):
        ids = [each.engine.ID for each in chosen]
        double = next((name for name in ids if ids.count(name) > 1), None)
        if double is not None:
            raise UsageError(
                f"{side}: one version of {double} is needed to compare it with another, and there are {ids.count(double)}"
            )
    after_by_id = {each.engine.ID: each for each in news}
    lacking = {each.engine.ID for each in olds} ^ set(after_by_id)
    if lacking:
        raise UsageError(f"--engine and --engine-after have to name the same engines; {min(lacking)} is named once only")
    return tuple((old, after_by_id[old.engine.ID]) for old in olds)


def modelled() -> dict[str, tuple[str, ...]]:
    """The modelled versions by engine, oldest first."""
    return {engine.ID: engine.VERSIONS for engine in engines()}


def _one(text: str) -> list[Chosen]:
    if text == ALL:
        return [Chosen(engine, version) for engine in engines() for version in engine.VERSIONS]
    match = _WRITTEN.fullmatch(text)
    by_id = {engine.ID: engine for engine in engines()}
    name = match["name"] if match else re.split("[@<>=]", text)[0]
    if name not in by_id:
        near = difflib.get_close_matches(name, by_id, n=1, cutoff=0.6)
        cure = f"did you mean {near[0]}?" if near else f"there are {', '.join(by_id)}"
        if "," in text:
            cure = "name one engine at a time"
        raise UsageError(f"engine {text[:60]!r} is not modelled; {cure}")
    if match is None:
        raise UsageError(f"engine {text[:60]!r} cannot be read; write {name}, {name}@VERSION or {name}>=VERSION")
    engine = by_id[name]
    if match["range"]:
        return _in_range(engine, text, match["range"])
    if match["version"]:
        return _of_version(engine, match["version"])
    return [Chosen(engine, engine.VERSIONS[-1])]


def _of_version(engine: Engine, version: str) -> list[Chosen]:
    if version == ALL:
        return [Chosen(engine, each) for each in engine.VERSIONS]
    version = aliases(engine).get(version, version)
    found = [each for each in engine.VERSIONS if each == version or each.startswith((f"{version}.", f"{version}-"))]
    if not found:
        raise UsageError(f"{engine.ID} {version[:40]} is not modelled; modelled are {', '.join(engine.VERSIONS)}")
    return [Chosen(engine, found[-1])]


def _in_range(engine: Engine, text: str, written: str) -> list[Chosen]:
    bounds = [_BOUND.fullmatch(part.strip()) for part in written.split(",")]
    if not all(bounds):
        raise UsageError(
            f"engine {text[:60]!r}: the range cannot be read; write {engine.ID}>=VERSION or {engine.ID}>=VERSION,<VERSION"
        )
    limits = [(bound[1], _number(bound[2])) for bound in bounds if bound]
    found = [Chosen(engine, v) for v in engine.VERSIONS if all(_within(_number(v), sign, limit) for sign, limit in limits)]
    if not found:
        raise UsageError(f"engine {text[:60]!r}: no modelled version lies there; modelled are {', '.join(engine.VERSIONS)}")
    return found


def aliases(engine: Engine) -> dict[str, str]:
    """Other names of an engine's versions, such as the commit of a dated one."""
    return dict(getattr(engine, "ALIASES", {}))


def _within(version: tuple[int, ...], sign: str, limit: tuple[int, ...]) -> bool:
    length = max(len(version), len(limit))
    one, two = (number + (0,) * (length - len(number)) for number in (version, limit))
    return {">=": one >= two, "<=": one <= two, "==": one == two, ">": one > two, "<": one < two}[sign]


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))
