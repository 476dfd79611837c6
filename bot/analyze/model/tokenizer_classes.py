"""The tokenizer classes of each release of transformers: which names it finds, and what a class brings along (see tools/tokenizer_classes.py)."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import msgspec

from bot.analyze import data

# The class of transformers 5 that takes tokenizer.json as it stands, which several names stand for.
FILE = "TokenizersBackend"
_GENERIC = ("PreTrainedTokenizer", "PreTrainedTokenizerFast", "PythonBackend", "PreTrainedTokenizerBase")


class ClassRow(msgspec.Struct, frozen=True):
    """A class: `roles` are its default strings, `files` its vocabulary files besides tokenizer.json.

    `kind` is "file" where it takes tokenizer.json as it stands, "built" where it builds its own pipeline, "python" where it is no front of the
    `tokenizers` library, "absent" where it needs a package that is seldom there. `no_pad` says that it leaves the padding role empty whatever a
    padding block says, `more` that it brings special tokens without a role, `pair` that vocab.json and merges.txt make its vocabulary, `again` that it
    makes every special token special at the end, `frail` are settings of which null may stop it. `needs` are parts of
    tokenizer.json without which it raises TypeError. `refuses` are the kinds of vocabulary (a "table" of ids or a "list" of scores) in tokenizer.json
    that it raises for, with the type of the exception, "" where more decides about it. Without any vocabulary file it starts with `minimal`, roles by their name, or raises `empty`.
    """

    kind: Literal["file", "built", "python", "absent"]
    files: tuple[str, ...] = ()
    roles: dict[str, str] = {}
    no_pad: bool = False
    more: bool = False
    minimal: tuple[str, ...] | None = None
    empty: str = ""
    pair: bool = False
    again: bool = False
    frail: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    refuses: dict[str, str] = {}


class Release(msgspec.Struct, frozen=True):
    """What one release knows. `spelled` gives the class of a name, `by_config` the class of a model type, "" for none.

    `lent` are the model types that have theirs through another one that shares the configuration class.
    """

    spelled: Mapping[str, str]
    by_config: Mapping[str, str]
    lent: frozenset[str]
    classes: Mapping[str, ClassRow]

    def named(self, name: str) -> str:
        """The class that AutoTokenizer of transformers 5 takes for a name, FILE for the generic ones, "" where it finds none."""
        found = self.spelled.get(name) or self.spelled.get(f"{name}Fast", "")
        return FILE if found in _GENERIC else found

    def as_is(self, name: str) -> str:
        """The class that transformers 5 has under a name as it is spelled, "" for none; any class is found with Fast behind it as well."""
        return self.spelled.get(name) or self.spelled.get(name.removesuffix("Fast"), "")


class _Tables(msgspec.Struct):
    """By name, from which version on a value holds; null where it is gone."""

    versions: list[str]
    by_config: dict[str, dict[str, str | None]]
    lent: dict[str, dict[str, bool | None]]
    classes: dict[str, dict[str, ClassRow | None]]
    spelled: dict[str, dict[str, str | None]]


# Read while the module is imported: afterwards no file may be within reach.
_TABLES = msgspec.json.decode(data.content("transformers-tokenizer-classes.json"), type=_Tables)
VERSIONS = tuple(_TABLES.versions)


@cache
def release(version: str) -> Release:
    """The tables of a version, one of VERSIONS."""
    until = VERSIONS[: VERSIONS.index(version) + 1]
    return Release(
        spelled=_at(_TABLES.spelled, until),
        by_config=_at(_TABLES.by_config, until),
        lent=frozenset(_at(_TABLES.lent, until)),
        classes=_at(_TABLES.classes, until),
    )


def _at(runs: Mapping[str, Mapping[str, Any]], until: tuple[str, ...]) -> dict[str, Any]:
    """The values that hold at the last of some versions."""
    found = {name: next((since[v] for v in reversed(until) if v in since), None) for name, since in runs.items()}
    return {name: value for name, value in found.items() if value is not None}
