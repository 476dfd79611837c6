"""Our prediction beside what really happened: what agrees, what does not, and what could not be tried on this machine."""

import json
import posixpath
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple, cast

import msgspec

from bot.analyze.records import Proof, Unchecked
from bot.place import Revision
from bot.snapshot import File

ENGINE = "transformers"
OPTIONAL = {"sentencepiece": "sentencepiece", "tiktoken": "tiktoken", "protobuf": "google.protobuf"}
"""Packages that predictions take as installed (name to install -> name to import): vocabularies that are no JSON are read with them."""

_TOKENIZER = {
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json", "vocab.txt", "merges.txt",
    "tekken.json", "chat_template.jinja", "chat_template.json",
}  # fmt: skip
_TEMPLATES = "additional_chat_templates"

# What ends a load that this machine or our limits forbid, and no rule of the engine.
_OF_THIS_MACHINE = ("ImportError", "ModuleNotFoundError", "PermissionError", "MemoryError")
_MOST_SHOWN = 4
_LONGEST = 70


class Job(msgspec.Struct, frozen=True):
    """One revision of a model folder, by its name in reports, that is loaded."""

    folder: str
    revision: Revision


class Tried(msgspec.Struct, frozen=True):
    """What came of one job: a proof where anything could be compared, and what could not be."""

    job: Job
    proof: Proof | None = None
    unchecked: tuple[Unchecked, ...] = ()


class Real(NamedTuple):
    """What really happened to a folder.

    `answers` has the dotted keys of a prediction, `failed` gives by step the class of the exception that ended it. `lacking` are packages of
    OPTIONAL that are not installed, `native` says whether the folder has a vocabulary that is read with them. `odd_type` says that
    config.json names a type of weights that is none of the usual ones: one that torch does not have raises where torch is installed.
    """

    answers: Mapping[str, Any]
    failed: Mapping[str, str]
    lacking: Collection[str] = ()
    native: bool = False
    odd_type: bool = False


def is_tokenizer_file(name: str) -> bool:
    """Whether a file of a model folder, by its name in it, makes the tokenizer or its templates."""
    folder, _, last = name.rpartition("/")
    if folder:
        return folder == _TEMPLATES and last.endswith(".jinja")
    return name in _TOKENIZER or is_native(name)


def is_native(name: str) -> bool:
    """Whether a file of a model folder is a vocabulary that is no JSON."""
    return "/" not in name and (name.endswith((".model", ".tiktoken")) or name.startswith("tokenizer.model.v"))


def is_loaded(name: str) -> bool:
    """Whether loading configuration, generation defaults and tokenizer may open a file of a model folder."""
    return is_tokenizer_file(name) or ("/" not in name and name.endswith((".json", ".jinja")))


def identity(files: Mapping[str, File]) -> frozenset[tuple[str, str]]:
    """What makes the tokenizer and its templates, of the files of a model folder by name: each name with what identifies its bytes."""
    return frozenset((name, file.content or file.oid) for name, file in files.items() if is_tokenizer_file(name))


def split(path: str) -> tuple[str, str]:
    """The model folder that a file of a tree belongs to ("." for the root), and its name in it."""
    folder, name = posixpath.split(path)
    above, last = posixpath.split(folder)
    return (above or ".", f"{last}/{name}") if last == _TEMPLATES else (folder or ".", name)


def is_unknown(value: Any) -> bool:
    """Whether a value of a record stands for an answer that could not be given."""
    return isinstance(value, dict) and list(cast("dict[str, Any]", value)) == ["unknown"]


def judge(job: Job, version: str, predicted: Mapping[str, Any], real: Real) -> Tried:
    """Compare a predicted record (nested, as `Prediction.record` gives it) with what happened, on every key that both know.

    Proof.agrees is False when a single answer differs: our prediction is then wrong.
    """
    untried = dict(_untried(predicted, real))
    right: list[str] = []
    wrong: list[str] = []
    for key, value in real.answers.items():
        known, expected = _at(predicted, key)
        if not known or untried.keys() & _steps(key):
            continue
        if _same(key, expected, value):
            right.append(key)
        else:
            wrong.append(f"{key}: {_difference(_plain(expected), _plain(value))}")
    unchecked = tuple(not_tried(job, version, reason) for reason in untried.values())
    if wrong:
        more = [f"and {len(wrong) - _MOST_SHOWN} more"] if len(wrong) > _MOST_SHOWN else []
        detail = f"our prediction is wrong: {'; '.join([*wrong[:_MOST_SHOWN], *more])}"
    elif right:
        detail = f"as predicted: {len(right)} of the {len(real.answers)} answers that loading gives, the others are not predicted"
        if len(right) == len(real.answers):
            detail = f"as predicted: all {len(right)} answers that loading gives"
    else:
        nothing = not_tried(job, version, "nothing that loading shows is predicted")
        return Tried(job, None, unchecked or (nothing,))
    proof = Proof(folder=job.folder, revision=job.revision, version=f"{ENGINE} {version}", agrees=not wrong, detail=detail)
    return Tried(job, proof, unchecked)


def not_tried(job: Job, version: str, reason: str, *, changed: bool = False) -> Unchecked:
    """That a revision, or a part of it, was not loaded; `changed` where the files are the reason."""
    said = f"{job.revision} was not proved by loading: {reason}"
    return Unchecked(kind="engine", id=f"{ENGINE}@{version}", folder=job.folder, reason=said, changed=changed)


def _untried(predicted: Mapping[str, Any], real: Real) -> Iterator[tuple[str, str]]:
    """The steps whose end says something of this machine only, each with the reason."""
    for step in ("config", "tokenizer"):
        if real.odd_type and _at(predicted, f"loads.{step}")[1] is False and step not in real.failed:
            yield step, f"whether the {step} loads may depend on torch, which is not loaded here"
    for step, error in real.failed.items():
        expected = _at(predicted, f"errors.{step}.type")[1]
        loads = _at(predicted, f"loads.{step}")[1]
        if step == "tokenizer" and real.native and real.lacking and (loads is True or expected != error):
            names = ", ".join(sorted(real.lacking))
            yield step, f"the vocabulary may need what is not installed here: {names}"
        elif error in _OF_THIS_MACHINE and expected != error:
            yield step, f"the {step} could not be loaded on this machine ({error})"


def _steps(key: str) -> set[str]:
    """The loads that an answer depends on."""
    if key in ("stops", "sampling_defaults"):
        return {"config", "generation_config"}
    if key in ("dtype", "quantization", "errors.config.type"):
        return {"config"}
    return {key.removeprefix("loads.")} if key.startswith("loads.") else {"tokenizer"}


def _at(record: Mapping[str, Any], key: str) -> tuple[bool, Any]:
    """Whether a record knows a dotted key, and its value."""
    value: Any = record
    for part in key.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return False, None
        value = cast("Mapping[str, Any]", value)[part]
    return not is_unknown(value), value


def _same(key: str, expected: Any, value: Any) -> bool:
    if key.startswith("loads."):  # None is predicted where there is no file to be loaded
        return bool(expected) == value
    return _plain(expected) == _plain(value)


def _plain(value: Any) -> Any:
    """A value as JSON would bring it back."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in cast("Mapping[Any, Any]", value).items()}
    return [_plain(inner) for inner in cast("list[Any]", value)] if isinstance(value, list | tuple) else value


def _difference(expected: Any, value: Any) -> str:
    """What differs, without quoting at length what a stranger wrote."""
    if isinstance(expected, dict) and isinstance(value, dict):
        one, two = cast("dict[str, Any]", expected), cast("dict[str, Any]", value)
        keys = [key for key in {**one, **two} if one.get(key) != two.get(key)]
        return f"differs for {', '.join(_shown(key) for key in keys[:_MOST_SHOWN])}{' …' if len(keys) > _MOST_SHOWN else ''}"
    return f"predicted {_shown(expected)}, really {_shown(value)}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
