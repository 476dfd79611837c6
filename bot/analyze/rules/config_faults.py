"""What the configuration class of a known model type raises for the values of config.json, by version of transformers.

Source: configuration_utils.py and modeling_rope_utils.py of 4.46.3 to 5.24.0 (run, with PyTorch). Classes check their fields since 5.4; before, and for
rules of single classes, only what every class does is told, and the rest is not known.
"""

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from bot.analyze.model.config import FILE, pointer, whole
from bot.analyze.model.folder import Model
from bot.analyze.model.rope import Rope, lacking, ropes
from bot.analyze.rules.config_fields import FIELD_ERROR, STRICT, nested_type, refused
from bot.analyze.tables import FieldTables, config_eos, field_tables, parts
from bot.answer import Answer, Known, Unknown
from bot.place import Place

Path = tuple[str, ...]

_FIVE, _FIRST = (5,), "5.4.0"
# Names of types in PyTorch; any other attribute of the package would be taken as well, which no file has.
_DTYPES = {
    *("float16", "float32", "float64", "bfloat16", "half", "float", "double", "int8", "int16", "int32", "int64", "uint8", "bool"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"),
}
_NO_DTYPES = {"auto", "bf16", "fp16", "fp32", "fp8", "f16", "f32"}  # names that people write, which PyTorch 2.13.0 has not
# What classes before 5.4 reckon with: a value of another type may make them raise.
_RECKONED = {
    *("hidden_size", "num_attention_heads", "num_key_value_heads", "num_hidden_layers", "head_dim", "layer_types", "num_labels"),
    *("id2label", "max_position_embeddings", "sliding_window", "rope_scaling", "rope_parameters", "text_config", "vision_config"),
}


_LAYERS = ("num_hidden_layers", "layer_types")  # they decide which types of layers are in use
_TOLD = {("gemma4", "text_config"), ("gemma4_text", "num_hidden_layers")}  # see _layered


class Fault(msgspec.Struct, frozen=True):
    """A value that makes the class raise, and the name of the exception."""

    path: Path
    error: str


class _Part(msgspec.Struct, frozen=True):
    """A configuration that is built: the keys that lead to it, its values, its model type ("" for a class that no type names).

    `looked_up` says that its class is that of the model type which it states itself.
    """

    path: Path
    values: dict[str, Any]
    kind: str
    looked_up: bool = False


def class_error(model: Model, config: dict[str, Any], version: str) -> Answer[str | None]:
    """The exception that building the configuration raises, None where it is built; "" where we cannot name it."""
    found = list(_built(config, version))
    faults = [*_fields(config, version), *(fault for part in found for fault in _values(part, version))]
    faults += [Fault((*rope.holder.path, *rope.keys), "KeyError") for rope in _ropes(model, found, version)]
    if not faults:
        unsure = _unsure(model, config, found, version)
        return unsure or Known(None, (model.place(FILE),))
    # Fields of the top level are checked before anything is made of them.
    first = next((fault for fault in faults if len(fault.path) == 1 and fault.error == FIELD_ERROR), None)
    told = first or faults[0]
    odd = any(part.values.get("layer_types") is not None for part in found)
    # Another fault, of which no rule tells, may come first.
    named = len({fault.error for fault in faults}) == 1 and not odd and _unsure(model, config, found, version) is None
    return Known(told.error if first or named else "", (_place(model, told.path),))


def _place(model: Model, path: Path) -> Place:
    return model.place(FILE, pointer(*path))


def _built(config: dict[str, Any], version: str) -> Iterator[_Part]:
    """The top level and the configurations that its class builds below. Which ones those are is taken from 5.4.0 for older versions."""
    tables = field_tables(max(version, _FIRST, key=parts))
    kinds = {name: kind for kind, name in sorted(tables.classes.items(), reverse=True)}
    kind = config.get("model_type")
    if kind == "mistral" and "layer_types" in config and parts(version) >= (4, 57):
        kind = "ministral"  # models/auto/configuration_auto.py:435 in 5.24.0
    yield from _below(tables, kinds, _Part((), config, kind if isinstance(kind, str) else ""))


def _below(tables: FieldTables, kinds: dict[str, str], part: _Part) -> Iterator[_Part]:
    yield part
    row = tables.rows.get(tables.classes.get(part.kind, ""))
    nested = msgspec.json.decode(row, type=_Nested).nested if row is not None else {}
    for key, owner in nested.items():
        values = part.values.get(key)
        if isinstance(values, dict):
            inner = cast("dict[str, Any]", values)
            stated = inner.get("model_type")
            said = stated if isinstance(stated, str) else ""
            if owner.startswith("auto:"):
                kind = nested_type(part.kind, said, owner[5:])
                yield from _below(tables, kinds, _Part((*part.path, key), inner, kind, looked_up=kind == said))
            else:
                yield from _below(tables, kinds, _Part((*part.path, key), inner, kinds.get(owner, "")))


class _Nested(msgspec.Struct, frozen=True):
    """Of a row of the field table: the configurations that a class builds, and the pair of fields of which one must divide the other."""

    nested: dict[str, str] = {}
    divides: list[str] = []
    layers: list[str] = []


def _fields(config: dict[str, Any], version: str) -> Iterator[Fault]:
    for each in refused(config, version):
        yield Fault(each.path, each.error)


def _values(part: _Part, version: str) -> Iterator[Fault]:
    """What every class refuses, besides the types of fields."""
    at, values = parts(version), part.values
    if part.looked_up and part.kind not in config_eos(version):
        yield Fault((*part.path, "model_type"), "ValueError" if at >= (5, 20) else "KeyError")
    key = next((key for key in ("dtype", "torch_dtype") if values.get(key) is not None and (key != "dtype" or at >= (4, 56))), "")
    name = values.get(key)
    if isinstance(name, str) and no_dtype(name):
        yield Fault((*part.path, key), "AttributeError")  # getattr(torch, name)
    if at >= (4, 56) and isinstance(name, list) and "." not in str(cast("list[Any]", name)):
        yield Fault(
            (*part.path, key), "IndexError"
        )  # as below (5.24.0 configuration_utils.py:1407), but numbers and objects are let pass
    if at < (4, 56) and values.get("torch_dtype") is not None and not isinstance(name, str) and "." not in str(name):
        yield Fault(
            (*part.path, "torch_dtype"), "IndexError"
        )  # what stands behind the dot is taken (4.46.3 configuration_utils.py:970)
    if at < _FIVE and "quantization_config" in values and values["quantization_config"] is None:
        yield Fault((*part.path, "quantization_config"), "AttributeError")  # to_dict() is called on it for a line of the log
    if at < STRICT and not isinstance(values.get("quantization_config"), dict | None):
        yield Fault((*part.path, "quantization_config"), "AttributeError")
    labels = values.get("id2label")
    if isinstance(labels, dict) and not all(_integer(label) for label in cast("dict[str, Any]", labels)):
        yield Fault((*part.path, "id2label"), "ValueError")
    if (5, 5) <= at < (5, 6) and part.kind == "gemma4_text" and not _layered(values):
        yield Fault((*part.path, "num_hidden_layers"), "KeyError")


def is_dtype(name: str) -> bool:
    """Whether PyTorch surely has a type of that name."""
    return name in _DTYPES


def no_dtype(name: str) -> bool:
    """Whether PyTorch surely has nothing of that name."""
    return name not in _DTYPES and (name in _NO_DTYPES or not name.isidentifier())


def _integer(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True


def _layered(values: dict[str, Any]) -> bool:
    """Whether all types of layers that Gemma 4 has rope settings for are among its layers: 5.5 takes the settings for those of one type otherwise.

    Source: models/gemma4/configuration_gemma4.py:177-205 and modeling_rope_utils.py:779-790 of 5.5.0 (run).
    """
    layers: Any = values.get("layer_types")
    if not isinstance(layers, list):
        count = whole(values.get("num_hidden_layers", 30)) or 0
        layers = [*(["sliding_attention"] if count > 1 else []), "full_attention"]
    rope = values.get("rope_parameters")
    settings = cast("dict[str, Any]", rope) if isinstance(rope, dict) else dict.fromkeys(("sliding_attention", "full_attention"))
    # The last layer is made one of full attention. What a rope_theta beside the settings does is not told, see _concerns.
    return "rope_theta" in values or "rope_theta" in settings or set(settings) <= {*map(str, layers[:-1]), "full_attention"}


def _ropes(model: Model, found: list[_Part], version: str) -> Iterator[Rope]:
    """The rope settings that lack one that their kind cannot do without, of classes that look at them."""
    for rope in _read(model, found, version):
        if rope[1] == "" and lacking(rope[0]):
            yield rope[0]


def _concerns(part: _Part, key: str, version: str) -> bool:
    """Whether a typical setting for which the class raises is stated here. Gemma 4's rule is known, and sliding_window was tried with null."""
    if (5, 5) <= parts(version) < (5, 6) and (part.kind, key) in _TOLD and "rope_theta" not in part.values:
        return False
    if "," in key:
        return all(each in part.values for each in key.split(","))
    return key == "*" or (key in part.values and (key != "sliding_window" or part.values[key] is None))


def _half_stated(part: _Part, version: str) -> str | None:
    """A field that the class compares with another one that is not stated, or types of layers that it checks in a way of its own."""
    tables = field_tables(max(version, _FIRST, key=parts))
    row = tables.rows.get(tables.classes.get(part.kind, ""))
    found = msgspec.json.decode(row, type=_Nested) if row is not None else _Nested()
    if part.values.get("layer_types") is not None and not found.layers:
        return "layer_types"
    if parts(version) < STRICT:
        return None
    for pair in (found.divides, ["layer_types", "num_hidden_layers"] if "count" in found.layers else []):
        stated = [key for key in pair if key in part.values]
        if len(stated) == 1 and stated[0] != "num_hidden_layers":
            return stated[0]
    return None


def _read(model: Model, found: list[_Part], version: str) -> Iterator[tuple[Rope, str]]:
    """The rope settings of what is built, each with "" where the common rule holds, else with why nothing is said."""
    kinds = {part.path: part.kind for part in found}
    rows = config_eos(version)
    for rope in ropes(model):
        kind = kinds.get(rope.holder.path)
        if kind is None or (parts(version) < _FIVE and rope.keys[0] == "rope_parameters"):
            continue  # no class reads it
        row = rows.get(kind)
        odd = (row or {}).get("rope", [])
        if odd == "none":
            continue
        if (5, 4) <= parts(version) < (5, 6) and len(rope.keys) > 1:
            # Settings by type of layer are taken for those of one type where a type is not among the layers, and then lack rope_theta.
            yield rope, "whether all types of layers are in use is not known"
            continue
        # A class that does not even take mrope, which no common rule looks at, has rules of its own for all kinds.
        own = (
            row is None or "mrope" in odd or rope.kind in odd or (rope.kind == "su" and "longrope" in odd) or rope.values is None
        ) or ("by_layer" in (row or {}) and not rope.holder.values.keys().isdisjoint(_LAYERS) and lacking(rope))
        yield rope, f"{kind or 'the class'} has a rule of its own for rope settings" if own else ""


def _unsure(model: Model, config: dict[str, Any], found: list[_Part], version: str) -> Unknown | None:
    """What may make a class raise although no rule says so."""
    for part in found:
        row = config_eos(version).get(part.kind, {})
        if "unknown" in row:
            return Unknown(f"the class of {part.kind} needs more than most", (_place(model, part.path),))
        odd = [key for key in row.get("odd", ()) if _concerns(part, key, version)]
        if odd:
            keys = () if odd[0] == "*" else (odd[0].partition(",")[0],)
            return Unknown(f"the class of {part.kind} has rules of its own", (_place(model, (*part.path, *keys)),))
        half = _half_stated(part, version)
        if half:
            return Unknown(
                f"whether {half} suits the default of another setting is not known", (_place(model, (*part.path, half)),)
            )
    own = next(((rope, why) for rope, why in _read(model, found, version) if why), None)
    if own:
        return Unknown(own[1], (own[0].place(model),))
    for part in found:
        for key in ("dtype", "torch_dtype"):
            name = part.values.get(key)
            if isinstance(name, str) and name not in _DTYPES:
                return Unknown(f"PyTorch may or may not have a type {name}", (_place(model, (*part.path, key)),))
    if parts(version) >= STRICT:
        return None
    risky = next((each for each in refused(config, _FIRST) if each.path[-1] in _RECKONED and each.why.startswith("where")), None)
    if risky:
        return Unknown("the class reckons with the value, which has another type", (_place(model, risky.path),))
    return None
