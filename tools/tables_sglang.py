"""Write what sglang's own configuration code makes of each model type: `python -m tools.tables_sglang VERSION FOLDER`.

FOLDER holds the unpacked wheel of sglang; the interpreter is one with that version's transformers and the small packages that sglang imports
(psutil, orjson, msgspec, dill …). Compiled packages and torch are replaced by stand-ins: nothing of them is used to read a configuration.
Every row is the outcome of trials: sglang's `get_config` reads config.json files that state one thing each.
"""

import copy
import importlib
import importlib.abc
import importlib.machinery
import json
import logging
import os
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, MutableSequence, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast
from unittest.mock import MagicMock

DATA = Path(__file__).parent.parent / "bot/analyze/engines/data"
# Not there, or parts of sglang that only compute.
_ABSENT = ("torch", "torchvision", "triton", "IPython")
_COMPUTING = (
    "sglang.srt.distributed",
    "sglang.lang",
    "sglang.srt.sampling.custom_logit_processor",
    "sglang.srt.layers",
    "sglang.kernels",
    "sglang.srt.function_call",
    "sglang.srt.configs.utils",
)
_STANDARD = ("max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings")
_KEYS = (*_STANDARD, "n_positions", "context_length")
_STATED = 7_777


class _Meta(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return 7 if name.isupper() else MagicMock(name=name)


class _Dtype:
    """A type of numbers."""

    def __init__(self, name: str) -> None:
        self.name = name


class _StandIn(types.ModuleType):
    """A module in which every name is there: classes for names that begin with a capital."""

    __path__: MutableSequence[str] = []  # noqa: RUF012 - a module with submodules has one

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        known: Any = _Meta(name, (), {"__init__": lambda *_, **__: None}) if name[:1].isupper() else MagicMock(name=name)  # pyright: ignore[reportUnknownLambdaType]
        setattr(self, name, known)
        return known


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None) -> Any:
        del path, target
        absent = any(fullname == name or fullname.startswith(f"{name}.") for name in (*_ABSENT, *_COMPUTING))
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if absent else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        del module


def code(folder: str) -> dict[str, Any]:
    """The functions of sglang that read a configuration."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    importlib.import_module("transformers.utils")  # before torch seems to be there
    sys.path.insert(0, folder)
    sys.meta_path.insert(0, _Finder())
    torch: Any = importlib.import_module("torch")
    torch.dtype, torch.__version__ = _Dtype, "2.9.0"
    for name in ("float16", "float32", "bfloat16", "float64", "int8", "uint8", "int32", "int64", "float8_e4m3fn"):
        setattr(torch, name, _Dtype(name))
    cast("Any", importlib.import_module("sglang.srt.layers.quantization")).QUANTIZATION_METHODS = {}
    found = vars(importlib.import_module("sglang.srt.configs.model_config"))
    cast("Any", importlib.import_module("transformers.models.llama")).modeling_llama = _StandIn("modeling_llama")
    return found | {"auto": importlib.import_module("transformers").CONFIG_MAPPING}


class Trials:
    """Configurations of one model type, each with one statement, as sglang reads them."""

    def __init__(self, sglang: dict[str, Any], model_type: str) -> None:
        self.sglang, self.model_type, self.path = sglang, model_type, ()
        self.inner = ""
        config, text = self.read({})
        self.path: tuple[str, ...] = self._path(config, text)
        try:
            self.read({}, {})
        except KeyError:
            self.inner = text.model_type  # the nested configuration has to name its type

    def read(self, values: dict[str, Any], nested: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """The configuration and the language model's; `nested` stands at the path of the latter."""
        whole: dict[str, Any] = {"model_type": self.model_type, "architectures": ["ModelOfTrial"], **values}
        at: dict[str, Any] = whole
        for key in self.path if nested is not None else ():
            at = at.setdefault(key, {})
        at.update(({"model_type": self.inner} if nested is not None and self.inner else {}) | (nested or {}))
        Path("config.json").write_text(json.dumps(whole), "utf-8")
        get_config = self.sglang["get_config"]
        getattr(get_config, "cache_clear", lambda: None)()
        config = copy.deepcopy(get_config(str(Path.cwd()), trust_remote_code=False))
        return config, self.sglang["get_hf_text_config"](config)

    def _path(self, config: Any, text: Any) -> tuple[str, ...]:
        if text is config:
            return ()
        for key, value in vars(config).items():
            if value is text:
                return (key,)
            inner = next((name for name, below in vars(value).items() if below is text), "") if hasattr(value, "__dict__") else ""
            if inner:
                return (key, inner)
        raise ValueError(self.model_type)

    def eos(self, values: dict[str, Any], nested: dict[str, Any] | None = None) -> Any:
        """The ids of the loaded configuration."""
        return getattr(self.read(values, nested)[0], "eos_token_id", None)

    def context(self, values: dict[str, Any], *, top: bool = False) -> int | None:
        """The length; `values` stand in the language model's configuration, with `top` at the top level."""
        config, text = self.read(values) if top or not self.path else self.read({}, values)
        del config
        return self.sglang["get_context_length"](text)

    def dtype(self, values: dict[str, Any], nested: dict[str, Any] | None = None) -> Any:
        """The name of the type that is taken."""
        found = self.sglang["_get_and_verify_dtype"](self.read(values, nested)[1], "auto")
        return found.name

    def starts(self) -> bool:
        """Whether the object that holds a server's settings is made of it."""
        self.read({})
        return self.sglang["ModelConfig"](str(Path.cwd()), trust_remote_code=False) is not None

    def quantization(self, values: dict[str, Any], nested: dict[str, Any] | None) -> Any:
        """The method of the quantization that the loaded configuration has."""
        found = getattr(self.read(values, nested)[0], "quantization_config", None)
        return found.get("quant_method") if isinstance(found, dict) else None if found is None else "an object"


def row(trials: Trials) -> dict[str, Any]:
    """What is known of a model type, without what is the same for most; see Row of bot/analyze/rules/sglang/types.py."""
    found: dict[str, Any] = {"path": list(trials.path), "inner": trials.read({})[1].model_type if trials.path else ""}
    found |= {
        "fixed": _tried(lambda: _fixed(trials)) is True,
        "starts": _tried(trials.starts) is True,
        "bare": _tried(partial(_bare, trials)),
    }
    unknown: list[str] = []
    parts: dict[str, Callable[[Trials], Any]] = {"eos": _eos, "context": _context, "dtype": _dtype, "quantization": _quantization}
    for part, trial in parts.items():
        made = _tried(partial(trial, trials))
        if made is None or "error" in made:
            unknown.append(part)
        else:
            found |= made
    return {key: value for key, value in (found | {"unknown": unknown}).items() if value not in ("", [], None, False)}


def _tried(trial: Any) -> Any:
    try:
        return trial()
    except Exception as error:  # noqa: BLE001 - a class that cannot be made from so little: nothing is said of it
        return {"error": type(error).__name__}


def _fixed(trials: Trials) -> bool:
    """Whether the class of the nested configuration is the same whatever type it names."""
    return bool(trials.path) and type(trials.read({}, {"model_type": "llama"})[1]) is type(trials.read({})[1])


def _bare(trials: Trials) -> list[str]:
    """The kinds of rope settings for which the class does without what is not stated: an original length, a base, a factor."""
    llama = {
        "rope_type": "llama3",
        "factor": 4.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64,
    }
    kinds = {"yarn": {"rope_type": "yarn", "factor": 4.0}, "llama3": llama, "linear": {"rope_type": "linear"}}
    return [kind for kind, rope in kinds.items() if isinstance(_tried(partial(trials.context, {"rope_scaling": rope})), int)]


def _ids(value: Any) -> list[int]:
    return [] if value is None else value if isinstance(value, list) else [value]


def _eos(trials: Trials) -> dict[str, Any] | None:
    """The default ids, where the ids stand, and what null gives; None for a class that does otherwise."""
    found = {"eos": _ids(trials.eos({})), "eos_null": _ids(trials.eos({"eos_token_id": None}))}
    if trials.eos({"eos_token_id": 71}) != 71:
        return None
    if not trials.path:
        return found
    if trials.eos({}, {}) != trials.eos({}):
        return None
    inner = {"eos_token_id": 72}
    seen = (
        trials.eos({}, inner),
        trials.eos({"eos_token_id": 71}, inner),
        trials.eos({"eos_token_id": None}, inner),
        trials.eos({}, {"eos_token_id": None}),
    )
    default = trials.eos({})
    froms = {(72, 71, None, None): "", (72, 72, 72, None): "nested", (default, 71, None, default): "top"}
    return found | {"eos_from": froms[seen]} if seen in froms and not isinstance(default, list) else None


def _context(trials: Trials) -> dict[str, Any] | None:
    """The keys that count, best first, the default, and whether rope settings multiply it."""
    default = trials.context({})
    keys = [key for key in _KEYS if _tried(lambda key=key: trials.context({key: _STATED})) == _STATED]
    if not _in_order(trials, keys):
        before = {key: sum(trials.context({key: 1_111, other: 2_222}) == 2_222 for other in keys if other != key) for key in keys}
        keys.sort(key=lambda key: before[key])
    top = (
        [key for key in _KEYS if _tried(lambda key=key: trials.context({key: _STATED}, top=True)) == _STATED]
        if trials.path
        else []
    )
    absent = trials.context({}, top=True) if trials.path else default
    found = {"context_absent": absent if absent != default else None}
    return found | {"context": default, "keys": keys if keys != list(_STANDARD) else [], "keys_top": top} | _rope(trials, default)


def _in_order(trials: Trials, keys: list[str]) -> bool:
    """Whether each key counts before those behind it."""
    return all(
        trials.context({key: 1_000 + n for n, key in enumerate(keys) if n >= first}) == 1_000 + first
        for first in range(len(keys))
    )


def _rope(trials: Trials, default: Any) -> dict[str, Any]:
    def factor(name: str, kind: str) -> Any:
        rope = {"rope_type": kind, "rope_theta": 10000.0, "factor": 4.0}
        return _tried(lambda: trials.context({name: rope}))

    seen = [factor(name, kind) for name in ("rope_scaling", "rope_parameters") for kind in ("linear", "yarn")]
    whole, scaled = default, 4 * default
    if default == 2048 and seen[0] == whole:
        return {"context": None, "rope": "?"}  # nothing states a length, and 2048 is not multiplied
    if seen[:2] == [whole, whole] and seen[2] == scaled:
        return {"rope": "layers"}  # rope_scaling is spread over types of layers, whose factors are not looked at
    if seen == [scaled, scaled, whole, whole]:
        return {"rope": "old"}  # transformers 4: rope_parameters is nothing, and yarn is given no original length
    if seen[0] != scaled or seen[2] != scaled:
        return {"rope": "?"}
    yarn = [value for value in (seen[1], seen[3]) if not isinstance(value, dict)]
    return {"rope": "yarn" if yarn and set(yarn) == {scaled} else "" if set(yarn) <= {whole} else "?"}


def _dtype(trials: Trials) -> dict[str, Any] | None:
    """The type where none is stated, what float32 becomes, and where it stands."""
    default, half = trials.dtype({}), trials.dtype({"dtype": "float32"})
    found = {"dtype": default if default != "float16" else "", "half": half if half != "float16" else ""}
    mark = "bfloat16" if default == "float16" else "float16"
    if {trials.dtype({key: mark}) for key in ("dtype", "torch_dtype")} != {mark} or half == "float32":
        return None
    if not trials.path:
        return found
    inner = {"dtype": mark}
    seen = (
        trials.dtype({}, inner),
        trials.dtype({"dtype": "float64"}, inner),
        trials.dtype({}, {"torch_dtype": mark}),
    )
    froms = {(mark,) * 3: "", (default, "float64", default): "top"}
    return found | {"dtype_from": froms[seen]} if seen in froms else None


def _quantization(trials: Trials) -> dict[str, Any] | None:
    """Where it stands."""
    top, inner = {"quantization_config": {"quant_method": "top"}}, {"quantization_config": {"quant_method": "nested"}}
    if trials.quantization(top, {} if trials.path else None) != "top":
        return None
    if not trials.path:
        return {}
    seen = (
        trials.quantization({}, inner),
        trials.quantization(top, inner),
        trials.quantization({"quantization_config": None}, inner),
    )
    froms = {("nested", "top", None): "", (None, "top", None): "top", ("nested",) * 3: "nested"}
    return {"quantization_from": froms[seen]} if seen in froms else None


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sglang = code(sys.argv[2])
    logging.disable(logging.CRITICAL)
    rows: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for model_type in sorted(sglang["auto"].keys()):
            made = _tried(lambda model_type=model_type: Trials(sglang, model_type))
            rows[model_type] = {"unknown": ["all"]} if isinstance(made, dict) else row(made)
    table = {"sglang": sys.argv[1], "transformers": importlib.import_module("transformers").__version__, "rows": rows}
    (DATA / f"sglang-{sys.argv[1]}.json").write_text(json.dumps(table, sort_keys=True, separators=(",", ":")) + "\n", "utf-8")
