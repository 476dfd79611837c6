"""The weight files of a folder, and the indexes that say which tensor is in which of them."""

import re
from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.model.folder import Model, fact

# "model.safetensors.index.json", "pytorch_model.bin.index.json", with a variant "model.safetensors.index.fp16.json".
_INDEX = re.compile(r"(?P<first>.+)\.index(?P<variant>\.[\w-]+)?\.json")
_WEIGHTS = re.compile(r".+\.(safetensors|bin|pt|pth|ckpt|gguf|ggml|h5|msgpack|onnx|npz|tflite|nemo)", re.IGNORECASE)
# Files with such an ending that hold no weights of a model: what a trainer leaves behind, and arguments.
_OTHERS = re.compile(
    r"training_args\.bin|(optimizer|scheduler|scaler|rng_state|random_states|adapter|lora)[\W_].*", re.IGNORECASE
)
# Weights for other programs that lie beside an index on purpose: Mistral's own format, adapters, OpenVINO, GGML, MLC.
_MEANT = re.compile(r"(consolidated|adapter|lora|openvino_|ggml|params_shard_|tokenizer)", re.IGNORECASE)


def is_weights(name: str) -> bool:
    """Whether a file of this name holds weights of a model (not of an adapter, nor the state of a trainer)."""
    return _WEIGHTS.fullmatch(name) is not None and _OTHERS.match(name) is None


@fact
def has_weights(model: Model) -> bool:
    """Whether any file of the folder holds weights; a folder without any may be a copy of the metadata alone."""
    return any(is_weights(name) for name in model.files)


@fact
def has_loadable_weights(model: Model) -> bool:
    """Whether some of them are of a format that comes with an index: beside GGUF, ONNX or WebLLM files an index is a left-over nobody reads."""
    formats = (".safetensors", ".bin", ".pt", ".pth", ".h5", ".msgpack")
    return any(is_weights(name) and name.endswith(formats) and not name.startswith("params_shard_") for name in model.files)


@fact
def indexes(model: Model) -> dict[str, dict[str, str]]:
    """For every index that could be read its file names, each with the first tensor that it is named for.

    Names that lead into another folder are left out, since only the files of this one are known.
    """
    found: dict[str, dict[str, str]] = {}
    for name in model.files:
        if _INDEX.fullmatch(name):
            weights: Any = model.mapping(name).get("weight_map")
            if isinstance(weights, dict):
                rows = found.setdefault(name, {})
                for tensor, file in cast("dict[str, Any]", weights).items():
                    if isinstance(file, str) and file and "/" not in file:
                        rows.setdefault(file, tensor)
    return found


def tensors(model: Model) -> Iterator[str]:
    """The names of all tensors in the indexes."""
    for name in indexes(model):
        yield from cast("dict[str, Any]", model.mapping(name)["weight_map"])


def shards(model: Model) -> Iterator[str]:
    """The files that the indexes name, those in other folders as well."""
    for name in indexes(model):
        weights = cast("dict[str, Any]", model.mapping(name)["weight_map"])
        yield from (file for file in weights.values() if isinstance(file, str))


def missing(model: Model) -> dict[str, list[str]]:
    """The files that each index names and that are not there, whether or not the folder holds any weights at all."""
    rows = {name: [file for file in files if not model.has(file)] for name, files in indexes(model).items()}
    return {name: files for name, files in rows.items() if files}


def orphans(model: Model) -> dict[str, dict[str, bool]]:
    """The weight files of an index's format that no index of the folder names, and whether each is called as the model's own files are.

    A file is called so as STEM.ENDING for the index "STEM.ENDING.index.json", like a shard of one (NAME-00001-of-00002.ENDING) with STEM or the
    NAME of a shard of the index, or when it begins like the model itself (model…, pytorch_model…), which is what many loaders without an index
    take. Variants (model.fp16.safetensors) are files on their own.
    """
    named = set(shards(model))
    found: dict[str, dict[str, bool]] = {}
    for index, files in indexes(model).items():
        match = _INDEX.fullmatch(index)
        if match is None or match["variant"] or not files:
            continue
        stem, _, ending = match["first"].rpartition(".")
        names = {stem, *(_shard_name(file) for file in files)} - {""}
        rows = {name: _own(name, names) for name in model.files if name not in named and model.has(name) and _apart(name, ending)}
        if rows:
            found[index] = {name: rows[name] for name in sorted(rows, key=lambda name: (not rows[name], name))}
    return found


def _apart(name: str, ending: str) -> bool:
    """Whether a file is of the format and none that has a meaning of its own."""
    inner = name.removesuffix(f".{ending}")
    return bool(ending) and inner != name and is_weights(name) and not {"/", "."} & set(inner) and not _MEANT.match(name)


def _own(name: str, names: set[str]) -> bool:
    inner = name.rpartition(".")[0]
    own = inner in names or _shard_name(name) in names
    return own or (bool(names & {"model", "pytorch_model"}) and re.match(r"(pytorch_)?model(?=[-_]|$)", inner) is not None)


def _shard_name(file: str) -> str:
    """NAME of NAME-00001-of-00002.ENDING, else ""."""
    match = re.fullmatch(r"(.+?)[-_]\d{1,6}[-_]of[-_]\d{1,6}\.\w+", file)
    return match[1] if match else ""
