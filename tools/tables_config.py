"""Which types the strict configuration classes of the installed transformers accept, taken from their annotations and tried on the classes.

The strict dataclasses of huggingface_hub check every field as it is assigned (dataclasses.py:139-150 and 460-640 in 2.4.0). A row of the table
names a class: its fields by type, the nested configurations that it builds itself, and which of its validators can be stated.
`python -m tools.tables_config` puts the installed version into the file that holds all releases since 5.4.0, the first one with such classes;
older ones were put there by running it with their packages in front of the path.
"""

import ast
import inspect
import json
import logging
import textwrap
import types
from collections.abc import Callable, Sequence
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Any, ForwardRef, Literal, NamedTuple, Union, cast, get_args, get_origin

import transformers
from huggingface_hub.errors import StrictDataclassClassValidationError, StrictDataclassFieldValidationError
from transformers import CONFIG_MAPPING, PreTrainedConfig, configuration_utils

from bot.analyze.rules.config_fields import accepts
from tools import fields_file

FOLDER = Path(__file__).parent.parent / "bot/analyze/engines/data"
# A value of each JSON type, to ask a plain class which of them are its instances.
_SAMPLES = {"null": None, "bool": True, "int": 1, "float": 1.5, "str": "", "list": [], "dict": {}}
_TRIED = ("x", 1, 1.5, [["x"]], None)  # one of them suits no type that is not "any"
_SKIPPED = ("backbone_config",)  # built by a helper of its own from several keys


def accepted(annotation: Any) -> Any:
    """What a field takes from JSON: "any", a JSON type, or a list of a word and its arguments ("or", "list", "dict", "sequence", "in")."""
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation is Any or isinstance(annotation, str | ForwardRef):
        return "any"
    if annotation is None:
        return "null"
    if origin in (Union, types.UnionType):
        return _either([accepted(arg) for arg in args])
    if origin is Literal:
        return ["in", *args]
    if origin in (list, Sequence):
        return ["list" if origin is list else "sequence", accepted(args[0])]
    if origin is dict:
        return ["dict", *map(accepted, args)]
    if isinstance(annotation, type) and origin is None:
        return _either([name for name, sample in _SAMPLES.items() if _is(sample, annotation)])
    return "never" if origin in (tuple, set) else "any"


def _is(sample: Any, kind: type) -> bool:
    """As the library asks: a truth value is no int, and a TypedDict cannot be asked at all."""
    try:
        return isinstance(sample, kind) and not (kind is int and isinstance(sample, bool))
    except TypeError:
        return False


def _either(kinds: list[Any]) -> Any:
    flat: list[Any] = []
    for kind in kinds:
        flat += kind[1:] if isinstance(kind, list) and kind[0] == "or" else [kind]
    unique = sorted((kind for i, kind in enumerate(flat) if kind != "never" and kind not in flat[:i]), key=json.dumps)
    if "any" in unique or len(unique) == len(_SAMPLES):
        return "any"
    return "never" if not unique else unique[0] if len(unique) == 1 else ["or", *unique]


def typed(cls: type[PreTrainedConfig]) -> dict[str, Any]:
    """The fields of a class that not every JSON value suits."""
    checked = cast("dict[str, Any]", getattr(cls, "__validators__", {}))
    found = {field.name: accepted(field.type) for field in fields(cls) if field.name in checked}
    return {name: kind for name, kind in found.items() if kind != "any"}


def _refused(cls: type[PreTrainedConfig], values: dict[str, Any], error: type[Exception]) -> bool:
    try:
        cls.from_dict(values)
    except error:
        return True
    except Exception:  # noqa: BLE001 - some classes cannot be made from so little: nothing is said of them
        return False
    return False


def _strict(cls: type[PreTrainedConfig], wrap: Callable[[dict[str, Any]], dict[str, Any]], of: type[PreTrainedConfig]) -> bool:
    """Whether `cls` refuses a field of `of` with a value that its type does not take; a few fields are tried."""
    for name, kind in islice(sorted(typed(of).items()), 6):
        wrong = next((sample for sample in _TRIED if not accepts(kind, sample)), None)
        if _refused(cls, wrap({name: wrong}), StrictDataclassFieldValidationError):
            return True
    return False


def _divides(cls: type[PreTrainedConfig]) -> list[str]:
    """The two fields of `if self.a % self.b != 0: raise`, where that is how validate_architecture begins."""
    source = textwrap.dedent(inspect.getsource(cls.validate_architecture))
    body = [node for node in cast("ast.FunctionDef", ast.parse(source).body[0]).body if not isinstance(node, ast.Expr)]
    match body[0]:
        case ast.If(
            test=ast.Compare(
                left=ast.BinOp(left=ast.Attribute(attr=a), op=ast.Mod(), right=ast.Attribute(attr=b)),
                ops=[ast.NotEq()],
                comparators=[ast.Constant(value=0)],
            ),
            body=[ast.Raise()],
        ):
            tried = {a: 30, b: 4}
            return [a, b] if _refused(cls, tried, StrictDataclassClassValidationError) else []
        case _:
            return []


def _layers(cls: type[PreTrainedConfig], kinds: dict[str, Any]) -> list[str]:
    """What the class checks of layer_types: "entries", and "count" against num_hidden_layers."""
    named = {"layer_types", "num_hidden_layers"} <= {field.name for field in fields(cls)}
    if not named or "layer_types" not in kinds or cls.validate_layer_type is not PreTrainedConfig.validate_layer_type:
        return []
    entries = {"layer_types": ["no_such_layer"] * 4, "num_hidden_layers": 4}
    count = {"layer_types": ["full_attention"] * 3, "num_hidden_layers": 4}
    tried = {"entries": entries, "count": count}
    return [word for word, values in tried.items() if _refused(cls, values, StrictDataclassClassValidationError)]


def row(cls: type[PreTrainedConfig]) -> dict[str, Any]:
    """What is known of a class; empty when it does not check its fields."""
    kinds = typed(cls)
    if not kinds or not _strict(cls, dict, cls):
        return {}
    by_kind: dict[str, list[str]] = {}
    for name, kind in sorted(kinds.items()):
        by_kind.setdefault(json.dumps(kind, separators=(",", ":")), []).append(name)
    nested, replaced = _nested(cls)
    found = {
        "fields": by_kind,
        "nested": nested,
        "replaced": replaced,
        "divides": _divides(cls),
        "layers": _layers(cls, kinds),
        **_positions(cls),
    }
    return {key: value for key, value in found.items() if value}


def _nested(cls: type[PreTrainedConfig]) -> tuple[dict[str, str], dict[str, list[str]]]:
    """The nested configurations that a class builds from objects, by key: the class of each, or "auto:" with the model type for lack of one.

    With them the fields that the class sets itself, whatever the object says.
    """
    found: dict[str, str] = {}
    replaced: dict[str, list[str]] = {}
    for key, spec in _specs(cls).items():
        fixed = issubclass(spec.config_class, PreTrainedConfig)
        if key in _SKIPPED or not (fixed or spec.model_type in CONFIG_MAPPING):
            continue
        inner = spec.config_class if fixed else CONFIG_MAPPING[spec.model_type]
        start = {} if fixed else {"model_type": spec.model_type}
        names = _replaced(cls, key, inner, start)
        if names is not None and _strict(cls, lambda values, key=key, start=start: {key: start | values}, inner):
            found[key] = inner.__name__ if fixed else f"auto:{spec.model_type}"
            replaced |= {key: names} if names else {}
    return found, replaced


class _ReachedError(Exception):
    """Raised in place of making a nested configuration."""


def _replaced(cls: type[PreTrainedConfig], key: str, inner: type[PreTrainedConfig], start: dict[str, Any]) -> list[str] | None:
    """The fields of a nested configuration that its parent sets whatever config.json says; None when that cannot be seen."""
    marks = {name: f"mark of {name}" for name in typed(inner)}
    seen: list[dict[str, Any]] = []
    original = inner.__init__

    def record(_: Any, *__: Any, **values: Any) -> None:
        seen.append(values)
        raise _ReachedError

    type.__setattr__(inner, "__init__", record)
    try:
        cls.from_dict({key: start | marks})
    except Exception:  # noqa: BLE001 - what the parent cannot make of the marks it would have changed
        pass
    finally:
        type.__setattr__(inner, "__init__", original)
    reached = next((values for values in seen if any(values.get(name) == mark for name, mark in marks.items())), None)
    return None if reached is None else [name for name, mark in marks.items() if reached.get(name) != mark]


def _positions(cls: type[PreTrainedConfig]) -> dict[str, int]:
    """The context length of the class where config.json states none."""
    defaults = {field.name: field.default for field in fields(cls)}
    size = defaults.get("max_position_embeddings")
    return {"positions": size} if isinstance(size, int) else {}


class _Spec(NamedTuple):
    """A nested configuration: its class, or AutoConfig with the model type that it has for lack of one."""

    config_class: type[Any]
    model_type: str


def _specs(cls: type[PreTrainedConfig]) -> dict[str, Any]:
    """The nested configurations that a class names: with the model types for lack of one since 5.20, before that its own default shows them."""
    specs = cast("dict[str, Any] | None", getattr(cls, "sub_configs_defaults", None))
    if specs is not None:
        return specs
    try:
        made: Any = cls()
    except Exception:  # noqa: BLE001 - some cannot be made from nothing
        made = None
    older: dict[str, type[Any]] = cast("Any", cls).sub_configs
    return {key: _Spec(inner, str(getattr(getattr(made, key, None), "model_type", ""))) for key, inner in older.items()}


def _classes() -> dict[str, type[PreTrainedConfig]]:
    """Every configuration class that a model type names or another class builds, by its name."""
    found: dict[str, type[PreTrainedConfig]] = {}
    waiting: list[Any] = [CONFIG_MAPPING[model_type] for model_type in sorted(CONFIG_MAPPING.keys())]
    while waiting:
        cls = waiting.pop()
        if issubclass(cls, PreTrainedConfig) and cls.__name__ not in found:
            found[cls.__name__] = cls
            waiting += [spec.config_class for spec in _specs(cls).values()]
    return found


def path() -> Path:
    """Where the tables of all releases are kept."""
    return FOLDER / "transformers-5-fields.json"


def table() -> dict[str, Any]:
    """The table of the installed version, see tools/fields_file.py."""
    transformers.logging.set_verbosity(logging.CRITICAL)
    rows = {name: found for name, cls in sorted(_classes().items()) if (found := row(cls))}
    older: dict[str, str] = vars(configuration_utils).get("_LEGACY_LAYER_TYPE_REMAP", {})  # names that are still read, since 5.19
    allowed = vars(configuration_utils).get("ALLOWED_ATTN_LAYER_TYPES") or vars(configuration_utils)["ALLOWED_LAYER_TYPES"]
    return {
        "layer_types": sorted({*allowed, *older}),
        "classes": {t: CONFIG_MAPPING[t].__name__ for t in sorted(CONFIG_MAPPING.keys()) if CONFIG_MAPPING[t].__name__ in rows},
        "rows": rows,
    }


def text() -> str:
    """The tables as they are committed, that of the installed version made anew."""
    kept = fields_file.split(path().read_text("utf-8")) if path().is_file() else {}
    return fields_file.join(kept | {transformers.__version__: table()})


if __name__ == "__main__":
    path().write_text(text(), encoding="utf-8")
    print(path())
