"""The tokenizer that a vLLM server ends up with: that of AutoTokenizer, which is given the configuration that vLLM has read.

Source: vllm 0.33.0, tokenizers/registry.py:24-70 and 104-300, tokenizers/hf.py:171-225, config/model.py:740-770 (run with transformers 5.19.0).
"""

from fnmatch import fnmatch
from typing import Any

import msgspec

from bot.analyze.model.config import FILE
from bot.analyze.model.folder import Model
from bot.analyze.model.tokenizer_class import FILE as BACKEND
from bot.analyze.model.tokenizer_classes import release as tokenizers_of
from bot.analyze.rules.borrowed import does_not_load
from bot.analyze.rules.encoding import encoded
from bot.analyze.rules.loaded import Refused, loaded
from bot.analyze.rules.tokenizer_fields import tokenizer_fields
from bot.analyze.rules.vllm import config as vllm_config
from bot.analyze.rules.vllm.release import Release
from bot.analyze.tables import knows_type
from bot.answer import Answer, Known, Unknown

Fields = dict[str, Answer[Any]]

SETTINGS = "tokenizer_config.json"
_LOADS, _ERROR, _CLASS = "loads.tokenizer", "errors.tokenizer.type", "tokenizer_class"
_OTHERS = (_CLASS, "eos_token_id", "bos_token_id", "pad_token_id", "all_special_ids", "added_tokens", "len_tokenizer")
# Architectures with a tokenizer of vLLM's own around that of transformers, whatever the release; it renders chats without the repository's template.
OWN = ("Alpamayo2Super", "DeepseekV32ForCausalLM", "DeepseekV4", "MoonshotKimiaForCausalLM")
SENTENCES = "sentence_bert_config.json"


def fields_of_tokenizer(model: Model, of: Release, config: Answer[str | None], transformers: str) -> Fields:
    """The fields of records that the tokenizer gives, for an operator who trusts nobody's code.

    `config` is the exception that reading config.json ends in, None for none, `transformers` the version beside the release.
    """
    if mistral(model):
        return _unknown("the files are those of Mistral's own format, which mistral-common reads")
    if isinstance(config, Known) and config.value not in (None, "ValueError", "OSError"):
        return does_not_load(
            config.value, *config.places
        )  # any other exception over config.json ends the loading of the tokenizer
    if not isinstance(config, Known) and vllm_config.model_type(model) in of.names.registered:
        return _unknown(config.reason if isinstance(config, Unknown) else "config.json is not there")
    asked = asked_of(model, of, transformers)
    if isinstance(asked, str):
        return _unknown(asked)
    fields = _renamed(asked, dict(tokenizer_fields(asked, transformers)), transformers)
    found = fields.get(_CLASS)
    if vllm_config.model_type(model) in of.names.backend and not (isinstance(found, Known) and found.value == BACKEND):
        return _unknown("vLLM takes another class than transformers for the model type")
    if model.mapping(SENTENCES).get("do_lower_case") is True and isinstance(found, Known):
        return {**fields, **dict.fromkeys(_OTHERS, Unknown(f"{SENTENCES} has special tokens written small"))}
    if own(model) and isinstance(found, Known):
        return {**fields, _CLASS: Unknown("vLLM puts a tokenizer of its own around it for the architecture")}
    return fields


def encode(
    model: Model, of: Release, config: Answer[str | None], transformers: str, texts: tuple[str, ...]
) -> Answer[dict[str, list[int]]]:
    """The ids of texts in the tokenizer of `fields_of_tokenizer`, special tokens included."""
    fields = fields_of_tokenizer(model, of, config, transformers)
    for answer in (fields[_LOADS], fields.get("added_tokens")):
        if not isinstance(answer, Known):
            return answer if isinstance(answer, Unknown) else Unknown("the tokenizer does not load")
    asked = asked_of(model, of, transformers)
    return Unknown(asked) if isinstance(asked, str) else encoded(asked, transformers, texts)


def mistral(model: Model) -> bool:
    """Whether the folder is taken for one of Mistral's own format (transformers_utils/repo_utils.py:174-245)."""
    names = [name.rpartition("/")[2] for name in model.files if model.has(name)]
    tokenizer = any(name == "tekken.json" or fnmatch(name, "tokenizer.model.v*") for name in names)
    return tokenizer and any(fnmatch(name, "consolidated*.safetensors") for name in names)


def own(model: Model) -> bool:
    """Whether vLLM brings a tokenizer, and its own way to write a chat, for the architecture."""
    return any(name.startswith(OWN) for name in (vllm_config.architectures(model) or ())[:1])


def asked_of(model: Model, of: Release, transformers: str) -> Model | str:
    """The folder as AutoTokenizer sees it within vLLM, or why that cannot be told.

    A model type that only vLLM knows has a configuration there. AutoTokenizer finds no class by the name of such a type, but a class of transformers that
    reads it may be one for which it has a tokenizer: then the tokenizer's own code is not asked for.
    """
    kind, row = vllm_config.model_type(model), vllm_config.top(model)
    if kind not in of.names.registered or knows_type(kind, transformers):
        return model
    if not isinstance(row, Known):
        return "the configuration class that vLLM brings for the model type is not modelled"
    declared = model.mapping(SETTINGS).get("tokenizer_class")
    if model.mapping(FILE).get("tokenizer_class") and not declared:
        return "config.json names the tokenizer class"
    by_config = tokenizers_of(transformers).by_config.get(row.value.row.kind, "")
    if by_config not in ("", BACKEND) and not declared:
        return "the class of the tokenizer is that of the configuration which vLLM brings"
    files = {name: file for name, file in model.files.items() if name != FILE}
    file = files.get(SETTINGS)
    if by_config and file is not None and file.content is not None and "auto_map" in model.mapping(SETTINGS):
        content = model.reader.raw(file.content).replace(b'"auto_map"', b'"without"')
        key = f"{file.content} without auto_map"
        model.reader.contents[key] = lambda: content
        files[SETTINGS] = msgspec.structs.replace(file, content=key)
    return msgspec.structs.replace(model, files=files, _facts={})


def _renamed(model: Model, fields: Fields, transformers: str) -> Fields:
    """With the ValueError about a class that does not exist turned into a RuntimeError (tokenizers/hf.py:188-207)."""
    error, found = fields.get(_ERROR), loaded(model, transformers)
    reason = found.value.reason if isinstance(found, Known) and isinstance(found.value, Refused) else ""
    named = isinstance(error, Known) and error.value == "ValueError" and "does not exist or is not currently imported" in reason
    return {**fields, _ERROR: Known("RuntimeError", error.places)} if named and isinstance(error, Known) else fields


def _unknown(reason: str) -> Fields:
    return dict.fromkeys((_LOADS, *_OTHERS), Unknown(reason))
