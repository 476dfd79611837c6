"""What sglang's configuration classes have where config.json states nothing, and where they look for what it states.

Source: sglang 0.5.23 with transformers 5.19.0, utils/hf_transformers/config.py:200-300 and common.py:560-694, and the same of 0.5.9, 0.5.10 and 0.5.15 (run for
every model type: tools/tables_sglang.py).
"""

from functools import cache
from typing import Any, cast

import msgspec

from bot.analyze import data
from bot.analyze.model.config import FILE, pointer
from bot.analyze.model.folder import Model
from bot.analyze.rules.sglang.releases import RELEASES
from bot.place import Place

# The keys of a length in the order in which sglang asks for them (utils/hf_transformers/common.py:660), where a class renames none.
LENGTHS = ("max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings")


class Row(msgspec.Struct, frozen=True):
    """What is known of a model type.

    `path` are the keys that lead to the language model's configuration, `inner` is the model type of that where it names none; `fixed` says that its
    class is the same whatever type it names, `named` that it has to name one. `starts` says that a server starts with nothing but the type and an architecture.
    `eos` are the ids where nothing states any, `eos_null` those where null does. `context` is the default length (None: none, sglang then takes
    2048), `context_absent` another that holds where config.json has no configuration of the language model at all, `keys` the keys that count, best first, `keys_top` those that count at the top level although there is a nested configuration.
    `rope` is "" where linear and dynamic factors multiply the length, "yarn" where those of yarn do as well, "layers" where those of rope_scaling do not,
    "old" where rope_scaling alone counts, with all its factors, "?" where that is not known. `bare` are the kinds for which the class does without
    what is not stated: yarn an original length, llama3 a base, linear a factor.
    `dtype` is taken where none is stated, `half` in place of float32.
    `…_from` tells where the value is taken from: "" the top level, else the nested configuration (for `dtype` the other way round), "top" the top
    level only, "nested" the nested configuration before the top level.
    `unknown` are the parts of which nothing could be found out: "all", "eos", "context", "dtype", "quantization".
    """

    path: tuple[str, ...] = ()
    inner: str = ""
    fixed: bool = False
    named: bool = False
    starts: bool = False
    eos: tuple[int, ...] = ()
    eos_null: tuple[int, ...] = ()
    eos_from: str = ""
    context: int | None = None
    context_absent: int | None = None
    keys: tuple[str, ...] = LENGTHS
    keys_top: tuple[str, ...] = ()
    rope: str = ""
    bare: tuple[str, ...] = ()
    dtype: str = "float16"
    half: str = "float16"
    dtype_from: str = ""
    quantization_from: str = ""
    unknown: frozenset[str] = frozenset()

    def knows(self, part: str) -> bool:
        """Whether the trials told about a part."""
        return part not in self.unknown and "all" not in self.unknown


class _Table(msgspec.Struct, frozen=True):
    """The rows by model type, of the version of sglang that was run with that version of transformers."""

    sglang: str
    transformers: str
    rows: dict[str, Row]


class Read(msgspec.Struct, frozen=True):
    """config.json as sglang reads it: the row of its model type, the top level, and the language model's configuration (the same without one)."""

    row: Row
    top: dict[str, Any]
    inner: dict[str, Any]

    @property
    def nested(self) -> bool:
        """Whether the language model's configuration is one of its own."""
        return bool(self.row.path)

    @property
    def given(self) -> bool:
        """Whether config.json has a configuration of the language model beside the top level."""
        return self.nested and self.top.get(self.row.path[0]) is not None

    @property
    def usual(self) -> bool:
        """Whether the nested configuration is of the class whose defaults are known."""
        return not self.nested or self.row.fixed or self.inner.get("model_type", self.row.inner) == self.row.inner

    def place(self, model: Model, key: str, *, inner: bool = False) -> Place:
        """Where a value stands."""
        return model.place(FILE, pointer(*(self.row.path if inner else ()), key))


@cache
def _table(release: str) -> _Table:
    return msgspec.json.decode(data.content(f"sglang-{release}.json"), type=_Table)


@cache
def row_of(model_type: str, release: str) -> Row | None:
    """What is known of a model type in a release; None where it has no class for it, or nothing is known."""
    rows = [_table(name).rows.get(model_type) for name in RELEASES[release].tables]
    found = [row for row in rows if row is not None]
    return _common(found) if found and len(found) == len(rows) else None


_PARTS = {
    "eos": ("eos", "eos_null", "eos_from"),
    "context": ("context", "context_absent", "keys", "keys_top"),
    "dtype": ("dtype", "half", "dtype_from"),
    "quantization": ("quantization_from",),
}


def _common(rows: list[Row]) -> Row | None:
    """What rows of an older and a newer release agree on, None where they read different configurations."""
    row = rows[0]
    if any((each.path, each.inner, each.fixed, each.named) != (row.path, row.inner, row.fixed, row.named) for each in rows):
        return None
    differ = {
        part
        for part, names in _PARTS.items()
        for name in names
        if any(getattr(each, name) != getattr(row, name) for each in rows)
    }
    return msgspec.structs.replace(
        row,
        unknown=frozenset.union(*(each.unknown for each in rows)) | differ,
        rope=row.rope if all(each.rope == row.rope for each in rows) else "?",
        bare=tuple(kind for kind in row.bare if all(kind in each.bare for each in rows)),
        starts=all(each.starts for each in rows),
    )


def has_class(model_type: Any, release: str) -> bool | None:
    """Whether a release, with the transformers that it pins, has a configuration class for a model type; None where that is not known."""
    if not isinstance(model_type, str):
        return False
    found = {model_type in _table(name).rows for name in RELEASES[release].tables}
    return found.pop() if len(found) == 1 else None


def reading(model: Model, release: str) -> Read | str:
    """How a release reads config.json, or why that cannot be told, as a clause."""
    top = model.mapping(FILE)
    kind: Any = top.get("model_type")
    row = row_of(kind, release) if isinstance(kind, str) else None
    if row is None:
        return "how this release reads a configuration of the model type is not known"
    inner = top
    for key in row.path:
        value: Any = inner.get(key)
        if value is not None and not isinstance(value, dict):
            return f"{key} of config.json is no object"
        inner = cast("dict[str, Any]", value or {})
        if row.named and "model_type" not in inner:
            return f"{key} of config.json names no model type"
    others = [
        key for key in ("text_config", "llm_config", "language_config", "thinker_config") if key in top and key not in row.path
    ]
    if others:
        return f"config.json has {others[0]}, which the class of its model type does not know"
    return Read(row, top, inner)
