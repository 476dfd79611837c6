"""Which fields of config.json the strict configuration classes of transformers refuse.

The rules are those of huggingface_hub 2.4.0 (dataclasses.py:139-150 and 460-640), which transformers 5.4.0 and newer use; the types of the fields and which class
has which come from a table of transformers 5.24.0, so that nothing is said of a class that is not in it.
"""

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from bot.analyze.model.config import FILE, Holder, whole
from bot.analyze.model.folder import Model
from bot.analyze.tables import FieldTables, field_tables


class Refused(msgspec.Struct, frozen=True):
    """A value that a class refuses: the keys that lead to it, the name of the class, and why, as the rest of a sentence about the value."""

    path: tuple[str, ...]
    owner: str
    why: str


class _Row(msgspec.Struct, frozen=True):
    """A class of the table: field numbers by kind, and the classes of the configurations that it builds.

    `replaced` are fields of those that the class itself sets, `divides` and `layers` validators that can be stated, `positions` the default of
    max_position_embeddings.
    """

    fields: dict[str, list[int]]
    nested: dict[str, str] = {}
    replaced: dict[str, list[int]] = {}
    divides: list[str] = []
    layers: list[str] = []
    positions: int | None = None


def refused(config: dict[str, Any]) -> Iterator[Refused]:
    """Everything that the class of `model_type` refuses, in nested configurations as well."""
    model_type = _model_type(config)
    if model_type == "mistral" and "layer_types" in config:
        model_type = "ministral"  # models/auto/configuration_auto.py:435 in 5.24.0
    tables = field_tables()
    name = tables.classes.get(model_type)
    if name is not None:
        yield from _of_class(tables, name, config, ())


def stated_or_default(model: Model, holder: Holder, key: str) -> Any:
    """A value of a configuration, or for max_position_embeddings what its class has where the key is absent."""
    if key in holder.values or key != "max_position_embeddings":
        return holder.values.get(key)
    tables = field_tables()
    values = model.mapping(FILE)
    name = tables.classes.get(_model_type(values), "")
    for part in holder.path:
        inner = _row(tables, name).nested.get(part, "") if name in tables.rows else ""
        values = cast("dict[str, Any]", values[part])
        name = tables.classes.get(_model_type(values) or inner[5:], "") if inner.startswith("auto:") else inner
    return _row(tables, name).positions if name in tables.rows else None


def _model_type(values: dict[str, Any]) -> str:
    model_type = values.get("model_type")
    return model_type if isinstance(model_type, str) else ""


def _row(tables: FieldTables, name: str) -> _Row:
    return msgspec.json.decode(tables.rows[name], type=_Row)


def _of_class(tables: FieldTables, name: str, values: dict[str, Any], path: tuple[str, ...]) -> Iterator[Refused]:
    row = _row(tables, name)
    for kind, numbers in row.fields.items():
        for number in numbers:
            key = tables.names[number]
            if key in values and not accepts(tables.kinds[int(kind)], values[key]):
                yield Refused((*path, key), name, f"where {name} takes {words(tables.kinds[int(kind)])} only")
    rope = values.get("rope_scaling")
    if (
        rope
        and not isinstance(rope, dict)
        and "rope_parameters" in {tables.names[n] for group in row.fields.values() for n in group}
    ):
        yield Refused((*path, "rope_scaling"), name, f"where {name} takes an object only")  # it is assigned to rope_parameters
    yield from _of_validators(tables, row, name, values, path)
    for key, inner in row.nested.items():
        below = values.get(key)
        if isinstance(below, dict):
            nested = cast("dict[str, Any]", below)
            owner = tables.classes.get(_model_type(nested) or inner[5:], "") if inner.startswith("auto:") else inner
            replaced = {tables.names[number] for number in row.replaced.get(key, ())}
            if owner in tables.rows:
                kept = {name: value for name, value in nested.items() if name not in replaced}
                yield from _of_class(tables, owner, kept, (*path, key))


def _of_validators(tables: FieldTables, row: _Row, name: str, values: dict[str, Any], path: tuple[str, ...]) -> Iterator[Refused]:
    """What validate_architecture and validate_layer_type refuse, where both numbers are stated (validate_architecture of each class; configuration_utils.py:703-721 in 5.24.0)."""
    if row.divides:
        size, parts = (whole(values.get(key)) for key in row.divides)
        if size is not None and parts and size % parts:
            yield Refused((*path, row.divides[0]), name, f"which is no multiple of {row.divides[1]} {parts}, as {name} asks")
    layers = values.get("layer_types")
    if not isinstance(layers, list) or not all(isinstance(layer, str) for layer in cast("list[Any]", layers)):
        return
    unknown = [layer for layer in cast("list[str]", layers) if layer not in tables.layer_types]
    count = whole(values.get("num_hidden_layers"))
    if unknown and "entries" in row.layers:
        yield Refused((*path, "layer_types"), name, f"whose {unknown[0]} is no type of layer that {name} knows")
    elif count is not None and count != len(cast("list[str]", layers)) and "count" in row.layers:
        yield Refused(
            (*path, "layer_types"), name, f"with {len(cast('list[str]', layers))} entries for num_hidden_layers {count}"
        )


def accepts(kind: Any, value: Any) -> bool:
    """Whether a value of JSON suits a kind of the table. A float is no int, an int no float, and a truth value neither."""
    if isinstance(value, dict) and "__float__" in value:
        return True  # NaN and infinities may be written as an object, which is read back before the class sees it
    match kind:
        case "any":
            return True
        case str():
            return _name(value) == kind
        case ["or", *kinds]:
            return any(accepts(inner, value) for inner in kinds)
        case ["list", inner]:
            return isinstance(value, list) and all(accepts(inner, item) for item in cast("list[Any]", value))
        case ["sequence", inner]:
            return isinstance(value, list | str) and all(accepts(inner, item) for item in cast("list[Any]", value))
        case ["dict", of_key, of_value]:
            items = cast("dict[str, Any]", value).items() if isinstance(value, dict) else ()
            return isinstance(value, dict) and all(accepts(of_key, key) and accepts(of_value, item) for key, item in items)
        case ["in", *choices]:
            same = [choice for choice in choices if isinstance(choice, bool) == isinstance(value, bool)]
            return value in same
        case _:
            return True


def words(kind: Any) -> str:
    """A kind in words."""
    match kind:
        case str():
            return _WORDS.get(kind, kind)
        case ["or", *kinds]:
            return " or ".join(words(inner) for inner in kinds)
        case ["list" | "sequence", inner]:
            return f"a list with {words(inner)} in each place"
        case ["dict", _, inner]:
            return f"an object with {words(inner)} in each place"
        case ["in", *choices]:
            return " or ".join(map(str, choices))
        case _:
            return "another type"


_WORDS = {
    "int": "an integer",
    "float": "a number with a decimal point",
    "bool": "true or false",
    "str": "a string",
    "null": "null",
    "list": "a list",
    "dict": "an object",
    "any": "anything",
    "never": "no value that JSON can hold",
}


def _name(value: Any) -> str:
    """The JSON type of a value."""
    kinds = {bool: "bool", int: "int", float: "float", str: "str", list: "list", dict: "dict"}
    return kinds.get(cast("Any", type(value)), "null")
