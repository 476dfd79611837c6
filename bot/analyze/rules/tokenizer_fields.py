"""The fields of a record that the loaded tokenizer gives, for every engine that calls AutoTokenizer of transformers."""

import hashlib
import json
from typing import Any

from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import role, role_sources
from bot.analyze.rules.from_transformers import tokenizer_id
from bot.analyze.rules.loaded import Loaded, Refused, loaded
from bot.answer import Answer, Known, Missing, Unknown

_ROLES = ("eos", "bos", "pad")
_OF_LOADED = (
    "tokenizer_class",
    *(f"{role}_token{what}" for role in _ROLES for what in ("", "_id")),
    "all_special_ids",
    "added_tokens",
    "len_tokenizer",
)
# Without any of these there is nothing to load: a record then says null instead of false.
_FILES = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "special_tokens_map.json", "tiktoken.model", "vocab.json")
_LONGEST = 2000
LOADS = "loads.tokenizer"
ERROR = "errors.tokenizer.type"
MESSAGE = "errors.tokenizer.message"  # in words of ours: the library's differ by version
HOLLOW = "hollow"  # only of a tokenizer that loads without a vocabulary


def tokenizer_fields(model: Model, version: str) -> dict[str, Answer[Any]]:
    """`loads.tokenizer` and what follows from it, for a version of transformers and an operator who does not trust remote code.

    `loads.tokenizer` is None where nothing loads and there is no tokenizer file either. The fields of a loaded tokenizer are left out for one
    that does not load, `errors.tokenizer.type` and a message for one that does.
    """
    answer = loaded(model, version)
    if not isinstance(answer, Known):
        why = answer if isinstance(answer, Unknown) else Unknown("there is no tokenizer", answer.places)
        return dict.fromkeys(("loads.tokenizer", *_OF_LOADED), why)
    places = answer.places
    if isinstance(answer.value, Refused):
        there = any(model.has(name) for name in _FILES)
        kind = answer.value.error
        return {
            "loads.tokenizer": Known(False if there else None, places),
            ERROR: Known(kind, places) if kind else Unknown("the type of the error is not known", places),
            MESSAGE: Known(answer.value.reason, places),
        }
    return {
        "loads.tokenizer": Known(value=True, places=places),
        **{key: value if isinstance(value, Unknown) else Known(value, places) for key, value in _of(answer.value).items()},
        **({HOLLOW: Known(value=True, places=places)} if answer.value.hollow else {}),
    }


def _of(found: Loaded) -> dict[str, Any]:
    roles: dict[str, Any] = {}
    for each in _ROLES:
        text, number = found.roles.get(f"{each}_token", (None, None))
        roles |= {f"{each}_token": text, f"{each}_token_id": number}
    blank = any(not text for text, _ in found.roles.values())
    return {
        "tokenizer_class": found.cls,
        **roles,
        # An empty string is no token of the vocabulary, so what it adds to the list depends on the version.
        "all_special_ids": Unknown("a role is an empty string") if blank else sorted(found.special),
        "added_tokens": _added(found),
        "len_tokenizer": found.size,
    }


def _added(found: Loaded) -> dict[str, Any]:
    """The added tokens by id; of a long list their count and the digest of its canonical JSON, as the records have it."""
    rows = {str(token.id): {"content": token.text, "special": token.special} for token in found.added}
    if len(rows) <= _LONGEST:
        return rows
    canonical = json.dumps(rows, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return {"count": len(rows), "sha256": hashlib.sha256(canonical.encode()).hexdigest()}


def fields_of_remote_code(model: Model) -> dict[str, Answer[Any]]:
    """The fields of a tokenizer that is the repository's own code, for an operator who trusts it: taken to load, with the roles and ids that the files declare.

    Classes written in Python keep the ids of added_tokens_decoder (transformers 5.24.0, tokenization_python.py:431, read). A role that no file states
    may have a default in the class, which is not looked into.
    """
    fields: dict[str, Answer[Any]] = {LOADS: Known(value=True, places=(model.place("tokenizer_config.json"),))}
    for each in _ROLES:
        name = f"{each}_token"
        text, number = role(model, name), tokenizer_id(model, name)
        stated = any(name in model.mapping(source) for source in role_sources(model))
        for key, answer in ((name, text), (f"{name}_id", number)):
            none = (
                Known(None, answer.places)
                if stated
                else Unknown("no file states it, and the class is the repository's own", answer.places)
            )
            fields[key] = none if isinstance(answer, Missing) else answer
    return fields
