"""The process that loads model folders with the installed transformers: an exchange folder in, one line of JSON for each revision out.

Started by bot/analyze/proving.py. It confines itself as the process that reads a repository does, before it opens the first content. Whatever
transformers may import is imported before that: afterwards the files of the installation may be out of reach.
"""

import codecs
import importlib.util
import json
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import transformers
from packaging import version
from transformers import CONFIG_MAPPING
from transformers.models.auto import tokenization_auto

from bot.analyze.engines.prediction import Engine, engines
from bot.analyze.limits import confine
from bot.analyze.model.config import holders
from bot.analyze.model.discovery import Pair, pairs
from bot.analyze.model.folder import Model
from bot.analyze.model.reader import Reader
from bot.analyze.outcome import outcome
from bot.analyze.proof import (
    ENGINE,
    OPTIONAL,
    Job,
    Real,
    Tried,
    identity,
    is_loaded,
    is_native,
    is_unknown,
    judge,
    not_tried,
)
from bot.analyze.proving import FOLDER, kept_in
from bot.analyze.tables import field_tables, tables
from bot.analyze.watch import ALL_SECONDS, WATCH
from bot.answer import Unknown
from bot.snapshot import Exchange, File

_TYPES = ("float16", "bfloat16", "float32", "float64")
_SMALLEST: dict[str, Any] = {
    "config.json": {"model_type": "llama", "eos_token_id": 1, "rope_scaling": None},
    "generation_config.json": {"eos_token_id": [1]},
    "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "b", "chat_template": "{{ messages }}"},
    "tokenizer.json": {
        "added_tokens": [],
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "a"},
    },
}
"""A model that loads, so that what every load imports is there."""


def main() -> None:
    """Try every job of an exchange folder.

    Standard input has four lines: the folder, for which jobs ("auto" or "always"), and the limits, seconds of processor time and bytes of memory.
    """
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print is no answer of ours
    transformers.logging.set_verbosity(logging.CRITICAL)
    warnings.simplefilter("ignore")
    given, when, seconds, memory = (sys.stdin.readline().rstrip("\n") for _ in range(4))
    folder = Path(given)
    exchange = Exchange.load(folder)
    reader = Reader.of_open_folder(folder / "contents")
    os.chdir(folder / FOLDER)
    engine = next(each for each in engines() if each.ID == ENGINE)
    lacking = frozenset(name for name, module in OPTIONAL.items() if not _installed(module))
    _warm(engine)
    missing = confine(seconds=int(seconds), memory=int(memory))
    WATCH.seconds, WATCH.refused = ALL_SECONDS, frozenset(exchange.unrenderable)
    refusal = _outside(engine) or ("; ".join(missing) if when == "auto" else "")
    models = dict(_jobs(pairs(exchange, reader), engine, every=when == "always"))
    answers.write(msgspec.json.encode([*models]) + b"\n")
    for job, model in models.items():
        answers.flush()
        answers.write(msgspec.json.encode(_tried(job, model, engine, lacking, refusal)) + b"\n")
    answers.flush()
    os._exit(0)


def _warm(engine: Engine) -> None:
    """Do once what imports or opens files on first use: load what loads, and what does not; predict both. Leaves the folder as it was."""
    for late in (tables, field_tables):
        late()
    for codec in ("unicode-escape", "utf-8", "latin-1", "ascii"):
        codecs.lookup(codec)
    for model_type in [*CONFIG_MAPPING]:
        _ = CONFIG_MAPPING[model_type]
    for name in tokenization_auto.TOKENIZER_MAPPING_NAMES.values():
        if name is not None:
            tokenization_auto.tokenizer_class_from_name(name)
    home = Path.cwd()
    smallest = {name: json.dumps(value).encode() for name, value in _SMALLEST.items()}
    for files in (smallest, {**smallest, "tokenizer.json": b"{"}, {}):
        engine.predict(_in_memory(files), transformers.__version__)
        with tempfile.TemporaryDirectory(dir=home) as folder:
            for name, content in files.items():
                Path(folder, name).write_bytes(content)
            os.chdir(folder)
            outcome(["a b"])
            os.chdir(home)
    sys.dont_write_bytecode = True


def _in_memory(files: Mapping[str, bytes]) -> Model:
    entries = {name: File(name, oid=name, size=len(content), content=name) for name, content in files.items()}
    return Model("head", ".", ".", entries, Reader({name: lambda content=content: content for name, content in files.items()}))


def _outside(engine: Engine) -> str:
    """That the installed version is none of those that are modelled, "" for one that is."""
    installed, (first, *_, last) = transformers.__version__, engine.VERSIONS
    if version.parse(first) <= version.parse(installed) <= version.parse(last):
        return ""
    return f"version {installed} is installed, and predicted are {first} to {last}"


def _installed(module: str) -> bool:
    """Whether a module can be found; the package that it lies in may be missing as well."""
    package = module.partition(".")[0]
    return importlib.util.find_spec(package) is not None and importlib.util.find_spec(module) is not None


def _jobs(found: tuple[Pair, ...], engine: Engine, *, every: bool) -> Iterator[tuple[Job, Model]]:
    """The revisions to be loaded, base first: both of a model whose tokenizer or templates differ, and an added one."""
    for pair in found:
        if pair.head is None:
            continue
        sides = [model for model in (pair.base, pair.head) if model is not None and model.files]
        if every or pair.base is None or identity(pair.base.files) != identity(pair.head.files):
            yield from ((Job(pair.name, model.revision), model) for model in sides if engine.applies(model))


def _tried(job: Job, model: Model, engine: Engine, lacking: frozenset[str], refusal: str) -> Tried:
    """Predict one revision, load it, and compare; `refusal` says why it must not be loaded, "" where it may."""
    installed = transformers.__version__
    refusal = refusal or _unavailable(model)
    if refusal:
        return Tried(job, None, (not_tried(job, installed, refusal),))
    home = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    alone = Model(model.revision, model.folder, model.name, model.files, model.reader, literal=True)
    try:
        predicted = engine.predict(alone, installed).record()
        os.chdir(kept_in(model.revision, model.folder))
        answers, failed = outcome(_texts(predicted))
    except BaseException as error:  # noqa: BLE001 - a panic of a compiled library is no Exception; it costs this revision only, and is said
        return Tried(job, None, (not_tried(job, installed, f"it broke off with {type(error).__name__}", changed=True),))
    finally:
        os.fchdir(home)
        os.close(home)
    native = any(is_native(name) for name in model.files)
    return judge(job, installed, predicted, Real(answers, failed, lacking, native, _odd_type(alone)))


def _odd_type(model: Model) -> bool:
    """Whether config.json names a type of weights that is none of the usual ones."""
    values = [holder.values.get(key) for holder in holders(model) for key in ("dtype", "torch_dtype")]
    return any(isinstance(value, str) and value not in _TYPES for value in values)


def _texts(predicted: dict[str, Any]) -> list[str]:
    """The texts whose ids are predicted."""
    encode = predicted.get("encode")
    return [*encode] if isinstance(encode, dict) and not is_unknown(encode) else []


def _unavailable(model: Model) -> str:
    """Why not everything that is loaded is here, "" when it is."""
    for name in model.files:
        answer = model.content(name) if is_loaded(name) else None
        if isinstance(answer, Unknown):
            return f"{name} {answer.reason}"
    return ""


if __name__ == "__main__":
    main()
