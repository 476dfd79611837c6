"""The tokenizer that a class of transformers 5 with an __init__ of its own builds.

It takes vocabulary, merges and post-processor of tokenizer.json and builds the rest (tokenization_utils_tokenizers.py:105-180 of 5.24.0; what each
builds in which version is in the table that tools/tokenizer_backends.py writes, run).
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import msgspec

from bot.analyze import data
from bot.analyze.rules.backend import Backend
from bot.analyze.rules.backend_parts import File, NotKnownError, flagged, numbers, with_ends
from bot.analyze.rules.loaded import Loaded


class _Built(msgspec.Struct, frozen=True):
    """What a class builds: see tools/tokenizer_backends.py, which writes these down."""

    model: str
    model_options: dict[str, Any]
    normalizer: Any
    pre_tokenizer: Any
    ends: list[str | None] | None
    ends_without_file: list[str | None]
    flags: bool
    options: dict[str, bool] = {}
    with_: dict[str, dict[str, Any]] = msgspec.field(name="with", default_factory=dict[str, dict[str, Any]])


class _Table(msgspec.Struct, frozen=True):
    versions: list[str]
    classes: dict[str, dict[str, _Built | None]]


class _ModelPart(msgspec.Struct, frozen=True):
    """The model of a tokenizer.json, its parts as text."""

    vocab: msgspec.Raw
    type: str | msgspec.UnsetType = msgspec.UNSET
    merges: msgspec.Raw = msgspec.Raw(b"[]")


def rebuilt(file: File | None, tokenizer: Loaded, config: Mapping[str, Any], version: str) -> Backend:
    """The tokenizer of a class of 5.x that builds its own."""
    row = _row(tokenizer.cls, version, config)
    options = {name: _role_string(value, tokenizer) for name, value in row.model_options.items()}
    ends = row.ends
    if file is None:
        vocab, merges, post = msgspec.json.encode(tokenizer.pieces), b"[]", b"null"
        ends = _stated_ends(row, config, tokenizer, version) if row.flags else ends
    else:
        try:
            part = msgspec.json.decode(file.model, type=_ModelPart)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise NotKnownError(f"the model of tokenizer.json cannot be taken apart: {error}") from None
        vocab, merges, post = bytes(part.vocab), bytes(part.merges), bytes(file.post_processor)
        if not vocab.startswith(b"{") or not merges.startswith(b"["):
            raise NotKnownError(f"{tokenizer.cls} is given a vocabulary or merges of another kind of model")
    parts: dict[str, Any] = {"type": row.model, **options, "vocab": msgspec.Raw(vocab)}
    if row.model == "BPE":
        parts["merges"] = msgspec.Raw(merges)
    made = Backend(msgspec.json.encode(parts), msgspec.json.encode(row.normalizer), msgspec.json.encode(row.pre_tokenizer), post)
    return made if ends is None else with_ends(made, ends, tokenizer)


def _stated_ends(row: _Built, config: Mapping[str, Any], tokenizer: Loaded, version: str) -> list[str | None]:
    """What is put around a text without a tokenizer.json, where flags count; a flag for a role that nothing fills is dropped, but raises in 5.0.0."""
    flags = {name: bool(config.get(f"add_{name}", name in row.ends_without_file)) for name in ("bos_token", "eos_token")}
    if numbers(version) < (5, 5) and flags["bos_token"] and "bos_token" not in tokenizer.roles:
        raise NotKnownError("add_bos_token without a token for it may be refused")
    return flagged(**{name[:3]: flag and name in tokenizer.roles for name, flag in flags.items()})


def _row(name: str, version: str, config: Mapping[str, Any]) -> _Built:
    """What a class builds in a version, with the options of tokenizer_config.json."""
    runs = table().classes.get(name, {})
    at = numbers(version)
    row = next((row for since, row in reversed(runs.items()) if numbers(since) <= at), None)
    if row is None or version not in table().versions:
        raise NotKnownError(f"what {name} of {version} builds around its vocabulary is not known")
    given: dict[str, Any] = {}
    for option, nullable in row.options.items():
        if option in config and not (config[option] is None and nullable):
            given[option] = config[option]
    if not all(isinstance(value, bool) for value in given.values()):
        raise NotKnownError(f"an option of {name} is neither true nor false")
    # The options that change nothing by the value that they have are not part of the key.
    alone = {option: value for option, value in given.items() if f"{option}={str(value).lower()}" in row.with_}
    key = ";".join(f"{option}={str(alone[option]).lower()}" for option in row.options if option in alone)
    return msgspec.structs.replace(row, **row.with_[key]) if key else row


def _role_string(value: Any, tokenizer: Loaded) -> Any:
    """An option of the model, which may be the token of a role."""
    if not isinstance(value, dict):
        return value
    role = cast("dict[str, str]", value)["role"]
    return tokenizer.roles[role][0] if role in tokenizer.roles else "None"


@cache
def table() -> _Table:
    """What classes build, by name and the version from which on it holds."""
    return msgspec.json.decode(data.content("tokenizer-backends.json"), type=_Table)
