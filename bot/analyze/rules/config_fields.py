"""Which fields of config.json the strict configuration classes of transformers refuse.

The rules are those of huggingface_hub 2.4.0 (dataclasses.py:139-150 and 460-640), which transformers 5.4.0 and newer use; the types of the fields and which class
has which come from tables of each release, so that nothing is said of a class that is not in them.
"""

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from bot.analyze.model.config import whole
from bot.analyze.tables import NEWEST, FieldTables, field_tables, parts

STRICT = (5, 4)  # the first version whose classes check their fields (configuration_utils.py:114 in 5.4.0)
FIELD_ERROR, CLASS_ERROR = "StrictDataclassFieldValidationError", "StrictDataclassClassValidationError"


class Refused(msgspec.Struct, frozen=True):
    """A value that a class refuses: the keys that lead to it, the name of the class, and why, as the rest of a sentence about the value.

    `error` is the name of the exception.
    """

    path: tuple[str, ...]
    owner: str
    why: str
    error: str = FIELD_ERROR


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


def refused(config: dict[str, Any], version: str = NEWEST) -> Iterator[Refused]:
    """Everything that the class of `model_type` refuses in a version since 5.4.0, in nested configurations as well; no older class checks its fields."""
    model_type = _model_type(config)
    if model_type == "mistral" and "layer_types" in config:
        model_type = "ministral"  # models/auto/configuration_auto.py:435 in 5.24.0
    tables = field_tables(version)
    name = tables.classes.get(model_type)
    if name is not None and parts(version) >= STRICT:
        yield from _of_class(tables, name, config, ())


# Names of nested configurations in general use, and the classes that read one under another name than they build it (run).
_COMMON = {"text_config", "llm_config", "language_config", "thinker_config", "vision_config", "audio_config"}
_RENAMED = {("nemotron_h_omni", "llm_config"), ("unlimited_ocr", "language_config")}


def unread(config: dict[str, Any], path: tuple[str, ...]) -> bool:
    """Whether the class of model_type does nothing with the nested configuration to which the keys lead: what is wrong in it does no harm."""
    tables, kind = field_tables(), _model_type(config)
    name = tables.classes.get(kind, "")
    if not path or path[0] not in _COMMON or name not in tables.rows or (kind, path[0]) in _RENAMED:
        return False
    return path[0] not in _row(tables, name).nested


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
                yield Refused((*path, key), name, f"where {name} takes only {words(tables.kinds[int(kind)])}")
    typed = {tables.names[n] for group in row.fields.values() for n in group}
    yield from (Refused((*path, key), name, why, _ERRORS[key]) for key, why in _of_all(tables, name, values, typed))
    yield from _of_validators(tables, row, name, values, path)
    for key, nested, owner in _below(tables, row, values):
        replaced = {tables.names[number] for number in row.replaced.get(key, ())}
        if owner in tables.rows:
            kept = {name: value for name, value in nested.items() if name not in replaced}
            yield from _of_class(tables, owner, kept, (*path, key))


# Model types of nested configurations that a class takes for another: models/*/configuration_*.py of 5.24.0 (read; Kimi run since 5.15).
_OTHER_TYPES = {("kimi_k25", "kimi_k2"): "deepseek_v3", ("exaone4_5", "exaone4_5_text"): "exaone4"}


def nested_type(parent: str, stated: str, default: str) -> str:
    """The model type by which a nested configuration is built, from its parent's, its own ("" for none) and the one for lack of one.

    The parent's own type, which older versions wrote there, counts for none (such as Qwen2.5-VL: configuration_qwen2_5_vl.py:202 in 5.24.0).
    """
    return _OTHER_TYPES.get((parent, stated), default if stated == parent else stated or default)


def _below(tables: FieldTables, row: _Row, values: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The nested configurations that a class builds: the key, the values, and the class, "" for one that is not in the table."""
    for key, inner in row.nested.items():
        below = values.get(key)
        if isinstance(below, dict):
            nested = cast("dict[str, Any]", below)
            kind = nested_type(_model_type(values), _model_type(nested), inner[5:])
            yield key, nested, tables.classes.get(kind, "") if inner.startswith("auto:") else inner


# Classes with rope settings that do not look at head_dim: they have none where config.json states none, or set it themselves (run).
_OWN_HEADS = {"CohereCompassTextConfig", "Dots3NoteVisionConfig", "MusicFlamingoConfig", "SarvamMLAConfig"}


# The exceptions of what every class refuses (run).
_ERRORS = {
    "rope_scaling": FIELD_ERROR,
    "quantization_config": "AttributeError",
    "id2label": "AttributeError",
    "head_dim": CLASS_ERROR,
}


def _of_all(tables: FieldTables, name: str, values: dict[str, Any], typed: set[str]) -> Iterator[tuple[str, str]]:
    """What classes refuse beside the types of their fields, with any class of the table (configuration_utils.py:454-462 and 1298, modeling_rope_utils.py:903-909 in 5.24.0, run)."""
    rope, labels, heads = values.get("rope_scaling"), values.get("id2label"), values.get("head_dim")
    if rope and not isinstance(rope, dict) and "rope_parameters" in typed:
        yield "rope_scaling", f"where {name} takes only an object"  # it is assigned to rope_parameters
    if values.get("quantization_config") is not None and not isinstance(values["quantization_config"], dict):
        yield "quantization_config", f"where {name} takes only an object or null"
    if labels is not None and not isinstance(labels, dict) and "id2label" not in typed:
        yield "id2label", f"where {name} takes only an object or null"
    even = parts(tables.version) >= (5, 19)  # since then an odd number is refused, and so is what can be neither
    if (
        even
        and isinstance(heads, str | list)
        and {"rope_parameters", "head_dim"} & typed == {"rope_parameters"}
        and name not in _OWN_HEADS
    ):
        yield "head_dim", f"where {name} takes only a number or null"


# Classes that look both configurations up, without a default for either (run).
_PAIRS: dict[str, tuple[str, str]] = dict.fromkeys(
    ("encoder-decoder", "vision-encoder-decoder", "speech-encoder-decoder"), ("encoder", "decoder")
)
_FIXED = {("cosmos3_omni", "vision_config")}  # where the class puts its own model type in place of another


def looked_up(
    config: dict[str, Any], name: str | None = None, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str]]:
    """The model types of nested configurations by which AutoConfig looks up the class (configuration_utils.py:216-225 in 5.24.0, run), with the keys that lead there.

    `name` is the class of `config`, by default that of its model type.
    """
    tables, kind = field_tables(), _model_type(config)
    name = tables.classes.get(kind, "") if name is None else name
    row = _row(tables, name) if name in tables.rows else _Row({})
    row = msgspec.structs.replace(row, nested=row.nested | dict.fromkeys(_PAIRS.get(kind, ()), "auto:"))
    for key, nested, owner in _below(tables, row, config):
        if row.nested[key].startswith("auto:") and _model_type(nested) and (kind, key) not in _FIXED:
            yield (*path, key, "model_type"), _model_type(nested)
        yield from looked_up(nested, owner, (*path, key))


def _of_validators(tables: FieldTables, row: _Row, name: str, values: dict[str, Any], path: tuple[str, ...]) -> Iterator[Refused]:
    """What validate_architecture and validate_layer_type refuse, where both numbers are stated (validate_architecture of each class; configuration_utils.py:703-721 in 5.24.0)."""
    if row.divides:
        size, heads = (whole(values.get(key)) for key in row.divides)
        if size is not None and heads and size % heads:
            yield Refused(
                (*path, row.divides[0]), name, f"which is no multiple of {row.divides[1]} {heads}, as {name} asks", CLASS_ERROR
            )
    layers = values.get("layer_types")
    if not isinstance(layers, list) or not all(isinstance(layer, str) for layer in cast("list[Any]", layers)):
        return
    unknown = [layer for layer in cast("list[str]", layers) if layer not in tables.layer_types]
    count = whole(values.get("num_hidden_layers"))
    if unknown and "entries" in row.layers:
        yield Refused((*path, "layer_types"), name, f"whose {unknown[0]} is no type of layer that {name} knows", CLASS_ERROR)
    elif count is not None and count != len(cast("list[str]", layers)) and "count" in row.layers:
        yield Refused(
            (*path, "layer_types"),
            name,
            f"with {len(cast('list[str]', layers))} entries for num_hidden_layers {count}",
            CLASS_ERROR,
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
    """A kind in words, of alternatives null last."""
    match kind:
        case str():
            return _WORDS.get(kind, (kind, ""))[0]
        case ["or", *kinds]:
            told = dict.fromkeys(words(inner) for inner in sorted(kinds, key=lambda inner: inner == "null"))
            *rest, last = told
            return f"{', '.join(rest)} or {last}" if rest else last
        case ["list" | "sequence", inner]:
            return f"a list{_of(inner)}"
        case ["dict", _, inner]:
            return f"an object{_of(inner)}"
        case ["in", *choices]:
            return " or ".join(map(str, choices))
        case _:
            return "another type"


def _of(inner: Any) -> str:
    """What a list or an object holds, "" where that cannot be told in a word or two."""
    kinds = cast("list[Any]", inner)[1:] if isinstance(inner, list) and inner[0] == "or" else [inner]
    plural = [_WORDS[kind][1] for kind in kinds if isinstance(kind, str) and kind != "any"]
    return f" of {' or '.join(plural)}" if len(plural) == len(kinds) else ""


_WORDS = {
    "int": ("an integer", "integers"),
    "float": ("a number with a decimal point", "numbers with a decimal point"),
    "bool": ("true or false", "truth values"),
    "str": ("a string", "strings"),
    "null": ("null", "nulls"),
    "list": ("a list", "lists"),
    "dict": ("an object", "objects"),
    "any": ("anything", ""),
    "never": ("no value that JSON can hold", "values that JSON cannot hold"),
}


def _name(value: Any) -> str:
    """The JSON type of a value."""
    kinds = {bool: "bool", int: "int", float: "float", str: "str", list: "list", dict: "dict"}
    return kinds.get(cast("Any", type(value)), "null")
