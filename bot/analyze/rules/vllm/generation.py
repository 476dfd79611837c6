"""What vLLM takes from generation_config.json: further ids to stop on, and defaults for sampling.

Source: vllm 0.33.0, transformers_utils/config.py:1275-1301, config/model.py:1820-1917, sampling_params.py:775-800 (run): where the file is absent or
is not JSON, transformers makes a GenerationConfig of the loaded config.json (generation/configuration_utils.py:1293-1340 in 5.19.0), class defaults included.
Older releases do the same (read: 0.8.5 config.py:1181-1230 and sampling_params.py:460, 0.23.0 config/model.py:1425-1490 and sampling_params.py:590,
0.28.0 config/model.py:1634-1700 and sampling_params.py:656) with fewer settings.
"""

from collections.abc import Mapping
from math import isfinite
from typing import Any

import msgspec

from bot.analyze.model.config import FILE
from bot.analyze.model.document import Document
from bot.analyze.model.eos import Ids, stated
from bot.analyze.model.folder import Model
from bot.analyze.rules.from_transformers import generation_config_refused, generation_ids
from bot.analyze.rules.vllm import config as vllm_config
from bot.analyze.rules.vllm.config import Settings
from bot.analyze.rules.vllm.release import Release
from bot.analyze.tables import parts
from bot.answer import Answer, Known, Missing, Unknown
from bot.place import Place

NAME = "generation_config.json"
# The settings that become defaults (config/model.py:1884-1894); those of OTHERS, with the release since when they count, are no attributes of
# GenerationConfig and come from a file of its own only.
SETTINGS = ("repetition_penalty", "temperature", "top_k", "top_p", "min_p", "max_new_tokens")
_LONGEST_PATH = 1024
# Composite classes that pass over the end token of the top level where text_config is there (each class of 5.19.0 was run).
_INNER_FIRST = ("paddleocr_vl", "qwen2_5_vl", "qwen2_vl")
OTHERS = {"presence_penalty": "0.31.0", "frequency_penalty": "0.31.0", "skip_special_tokens": "0.33.0"}
# What GenerationConfig of transformers 4 has by itself, and drops where a file states the same (run with 4.57.6).
_DEFAULTS_OF_4 = {"repetition_penalty": 1.0, "temperature": 1.0, "top_k": 50, "top_p": 1.0}


class Generation(msgspec.Struct, frozen=True):
    """What a server has of it: whether the file loads (None for no file), the further ids, the defaults. Known(None) where it stops over the file."""

    loads: Answer[bool | None]
    ids: Answer[Ids | None]
    sampling: Answer[dict[str, Any] | None]


def generation(model: Model, config: Answer[str | None], release: Release, transformers: str) -> Generation:
    """Of a folder whose config.json gives the error `config`, None for one that loads; `transformers` is the version beside the release."""
    five = parts(transformers) >= (5,)
    document = model.document(NAME)
    if isinstance(document, Unknown):
        unread = Unknown(f"{NAME} {document.reason}", document.places)
        return Generation(unread, unread, unread)
    there = (model.place(NAME),)
    if isinstance(document, Known) and _parses(model):
        if not model.readable(NAME) or generation_config_refused(model.mapping(NAME), five=five) is not None:
            return Generation(Known(value=False, places=there), Known(None, there), Known(None, there))
        listed = generation_ids(model)
        ids: Answer[Any] = Known((), there) if listed is None or isinstance(listed, Missing) else listed
        return Generation(Known(value=True, places=there), ids, _finite(_of_file(model.mapping(NAME), release, five=five), there))
    if isinstance(document, Known) and _link(model):
        link = Unknown(f"{NAME} holds a path, as a symbolic link does that was checked out as text", there)
        return Generation(link, link, link)
    loads = Known[bool | None](False if model.has(NAME) else None, there)  # the engine goes on without it
    if not isinstance(config, Known):
        return Generation(loads, config, config)
    where = (model.place(FILE),)
    if config.value == "OSError":  # it goes on without either
        return Generation(loads, Known((), where), Known(dict[str, Any](), where))
    from_config = {**model.mapping(FILE), "_from_model_config": True}
    if config.value is not None or generation_config_refused(from_config, five=five) is not None:
        return Generation(loads, Known(None, where), Known(None, where))
    return Generation(loads, _ids_of_config(model), _sampling_of_config(model, five=five))


def _finite(settings: dict[str, Any], places: tuple[Place, ...]) -> Answer[dict[str, Any] | None]:
    """The settings, where JSON can state them."""
    if any(isinstance(value, float) and not isfinite(value) for value in settings.values()):
        return Unknown("a setting is no finite number, which JSON cannot state", places)
    return Known(settings, places)


def _parses(model: Model) -> bool:
    document = model.document(NAME)
    return isinstance(document, Known) and isinstance(document.value, Document)


def _link(model: Model) -> bool:
    """Whether the file looks like the target of a link: one line that ends as the file's name does."""
    content = model.content(NAME)
    return isinstance(content, Known) and len(content.value) < _LONGEST_PATH and content.value.endswith(NAME.encode())


def _of_file(values: Mapping[str, Any], release: Release, *, five: bool) -> dict[str, Any]:
    others = () if values.get("_from_model_config") else (key for key, version in OTHERS.items() if release.since(version))
    return _named({key: values[key] for key in (*SETTINGS, *others) if values.get(key) is not None}, five=five)


def _named(settings: dict[str, Any], *, five: bool) -> dict[str, Any]:
    """As requests name them, without what transformers 4 takes for unset."""
    kept = {key: value for key, value in settings.items() if five or key not in _DEFAULTS_OF_4 or value != _DEFAULTS_OF_4[key]}
    return {"max_tokens" if key == "max_new_tokens" else key: value for key, value in kept.items()}


def _both(model: Model) -> tuple[Settings, Settings] | Unknown:
    """The whole configuration and the language model's."""
    whole, inner = vllm_config.top(model), vllm_config.text(model)
    if isinstance(whole, Known) and isinstance(inner, Known):
        return whole.value, inner.value
    reason = next(answer for answer in (whole, inner) if not isinstance(answer, Known))
    return reason if isinstance(reason, Unknown) else Unknown("config.json does not say", reason.places)


def _ids_of_config(model: Model) -> Answer[Ids | None]:
    found: tuple[Settings, ...] | Unknown = _both(model)
    if isinstance(found, Unknown):
        return found
    if found[0].row.kind in _INNER_FIRST and found[1].path:
        found = (found[1],)
    listed: list[Answer[Any]] = [stated(model, FILE, *holder.path) for holder in found]
    if (
        len(found) > 1
        and found[1].path
        and not any(isinstance(each, Missing) for each in listed)
        and _values(listed[0]) != _values(listed[1])
    ):
        return Unknown("which of two lists in config.json counts depends on the class", (found[-1].place(model, "eos_token_id"),))
    for holder, answer in zip(found, listed, strict=True):
        if not isinstance(answer, Missing):
            return answer
        default = holder.row.eos
        # A list is set again where the file says null.
        if default is not None and ("eos_token_id" not in holder.values or isinstance(default, list)):
            return Known(tuple(default) if isinstance(default, list) else (default,), (holder.place(model, "model_type"),))
    return Known((), (model.place(FILE),))


def _values(answer: Answer[Any]) -> Any:
    return answer.value if isinstance(answer, Known) else None


def _sampling_of_config(model: Model, *, five: bool) -> Answer[dict[str, Any] | None]:
    """Configurations of transformers 5 pass over such settings (configuration_utils.py:358 in 5.19.0)."""
    found = _both(model)
    if isinstance(found, Unknown):
        return found
    if any(holder.row.sampling for holder in found):
        return Unknown("the configuration class brings settings of its own along", (model.place(FILE),))
    settings: dict[str, Any] = {}
    for holder in () if five else reversed(found):
        settings |= {key: value for key in SETTINGS if (value := holder.values.get(key)) is not None}
    return _finite(_named({key: settings[key] for key in SETTINGS if key in settings}, five=five), (model.place(FILE),))
