"""vLLM: what a server does with a folder.

Source: vllm 0.33.0 with transformers 5.19.0 (run): tokenizers/registry.py:104-300 loads the tokenizer with AutoTokenizer, and
v1/engine/input_processor.py:489 stops on its EOS together with the ids of generation_config.json. The grammar of structured output gets the same ids.
Older releases do so too (read: 0.8.5 sampling_params.py:460, 0.23.0 sampling_params.py:590, 0.28.0 sampling_params.py:656); for the rest see the modules
of each part. Where a release allows several versions of transformers, an answer is what those that stand for them agree on.
"""

from collections.abc import Mapping
from typing import Any, cast

from bot.analyze.engines.prediction import Prediction
from bot.analyze.model.config import FILE
from bot.analyze.model.document import Document
from bot.analyze.model.eos import Ids
from bot.analyze.model.folder import Model
from bot.analyze.model.rope import ropes
from bot.analyze.model.tokens import needs_remote_code
from bot.analyze.render import Prompt, Renders
from bot.analyze.rules.borrowed import agreed
from bot.analyze.rules.config_faults import class_error
from bot.analyze.rules.config_outcome import config_error, config_loads
from bot.analyze.rules.from_transformers import config_needs_remote_code
from bot.analyze.rules.prompt_tokens import Tokens
from bot.analyze.rules.tokenizer_fields import fields_of_remote_code
from bot.analyze.rules.vllm import config as vllm_config
from bot.analyze.rules.vllm import prompt_tokens as vllm_tokens
from bot.analyze.rules.vllm import tokenizer as vllm_tokenizer
from bot.analyze.rules.vllm.generation import generation
from bot.analyze.rules.vllm.limits import dtype, max_model_len
from bot.analyze.rules.vllm.quantization import quantization
from bot.analyze.rules.vllm.release import TRANSFORMERS, Release, release
from bot.analyze.rules.vllm.renders import rendered
from bot.analyze.rules.vllm.template import FORMAT, SHA, template_fields
from bot.analyze.rules.vllm.tokenizer import fields_of_tokenizer, mistral, own
from bot.answer import Answer, Known, Unknown, shown
from bot.probe import Probe

ID = "vllm"
NAME = "vLLM"
VERSIONS = tuple(TRANSFORMERS)
SOURCE = "sampling_params.py update_from_generation_config, renderers/hf.py (entrypoints/chat_utils.py before 0.15) and config/model.py of the release"

Fields = dict[str, Answer[Any]]
_LOADS = "loads.tokenizer"
_OWN_MROPE = ("qwen2_vl", "qwen2_5_vl")  # their classes take mrope for the usual kind themselves


def applies(model: Model) -> bool:
    """A server needs a config.json."""
    return model.has(FILE)


def predict(model: Model, version: str) -> Prediction:
    """What the server does with the folder; `with_remote_code` is given where the tokenizer is the repository's own code."""
    of = release(version)
    fields, trusted = _agreed({each: _of(model, of, each) for each in of.transformers})
    fails = [_settled(fields[_LOADS], value=value) for value in (False, None)]
    template = _template(model, of)
    fields |= template if not any(fails) else {}
    trusted |= template if trusted else {}
    if not _settled(fields["loads.config"], value=False) and model.has(FILE):
        fields |= {
            "quantization": quantization(model, of),
            "max_model_len": max_model_len(model, of),
            "dtype": dtype(model, of),
        }
    return Prediction(ID, version, fields, trusted) if of.was_run else Prediction(ID, version, fields, trusted, "likely", SOURCE)


def encode(model: Model, version: str, texts: tuple[str, ...]) -> Answer[dict[str, list[int]]]:
    """The ids that texts become."""
    of = release(version)
    each = {tv: vllm_tokenizer.encode(model, of, _read(model, of, tv), tv, texts) for tv in of.transformers}
    told = {repr(shown(answer)) for answer in each.values()}
    return next(iter(each.values())) if len(told) == 1 else Unknown("the versions of transformers that its release allows differ")


def renders(model: Model, version: str, probes: tuple[Probe, ...]) -> Renders:
    """The prompt of each conversation, by its name; none where the tokenizer does not load."""
    of = release(version)
    loads = agreed({tv: fields_of_tokenizer(model, of, _read(model, of, tv), tv)[_LOADS] for tv in of.transformers})
    if not isinstance(loads, Known):
        return loads
    if not loads.value:
        return Known({}, loads.places)
    return Known({probe.name: _prompt({tv: rendered(model, of, tv, probe) for tv in of.transformers}) for probe in probes})


def prompt_tokens(model: Model, version: str, texts: tuple[str, ...]) -> Answer[Tokens]:
    """The tokens of prompts, where all versions of transformers that the release allows agree on them."""
    of = release(version)
    each = [vllm_tokens.prompt_tokens(model, of, _read(model, of, tv), tv, texts) for tv in of.transformers]
    known = [answer for answer in each if isinstance(answer, Known)]
    if len(known) < len(each):
        return next(answer for answer in each if not isinstance(answer, Known))
    alike = all(answer.value == known[0].value for answer in known)
    return known[0] if alike else Unknown("the versions of transformers that its release allows differ")


def _prompt(each: Mapping[str, Prompt | Unknown]) -> Prompt | Unknown:
    """What all versions of transformers make of a conversation."""
    told: dict[tuple[str | None, str], Prompt] = {}
    for prompt in each.values():
        if isinstance(prompt, Unknown):
            return prompt
        told.setdefault((prompt.text, prompt.type), prompt)
    return next(iter(told.values())) if len(told) == 1 else Unknown("the versions of transformers that its release allows differ")


def _template(model: Model, of: Release) -> Fields:
    if own(model) or mistral(model):
        return dict.fromkeys((SHA, FORMAT), Unknown("vLLM writes chats for this architecture in a way of its own"))
    return template_fields(model, of)


def _agreed(each: dict[str, tuple[Fields, Fields]]) -> tuple[Fields, Fields]:
    """What all versions of transformers say alike, without and with trust; a field that some of them do not have is not known."""
    if len(each) == 1:
        return next(iter(each.values()))
    merged: list[Fields] = []
    for at in (0, 1):
        sides = {version: pair[at] for version, pair in each.items()}
        keys = list(dict.fromkeys(key for fields in sides.values() for key in fields))
        lacking = Unknown("whether the tokenizer loads depends on the version of transformers")
        merged.append({key: agreed({v: fields.get(key, lacking) for v, fields in sides.items()}) for key in keys})
    without, trusted = merged
    if not _settled(without[_LOADS], value=False):
        without.pop("errors.tokenizer.type", None)
        without.pop("errors.tokenizer.message", None)
    return without, trusted


def _of(model: Model, of: Release, transformers: str) -> tuple[Fields, Fields]:
    """The fields that depend on the version of transformers, without and with trust in the repository's own code."""
    config = _read(model, of, transformers)
    made = generation(model, config, of, transformers)
    fields: Fields = {
        "loads.config": _loads(model, config),
        "loads.generation_config": made.loads,
        **fields_of_tokenizer(model, of, config, transformers),
        "sampling_defaults": made.sampling,
    }
    fields["stops"] = fields["stops_in_grammar"] = _stops(made.ids, fields[_LOADS], fields.get("eos_token_id"))
    trusted = _trusted(model, made.ids)
    if config_needs_remote_code(model) and vllm_config.model_type(model) not in of.names.registered:
        trusted["loads.config"] = config_loads(model, transformers, trusted=True)
    return fields, trusted


def _settled(answer: Answer[Any], *, value: bool | None) -> bool:
    return isinstance(answer, Known) and answer.value is value


def _read(model: Model, of: Release, version: str) -> Answer[str | None]:
    """The exception that config.json ends in, with what vLLM does after reading it, None for none."""
    return _patched(model, _config_error(model, of, version))


def _config_error(model: Model, of: Release, version: str) -> Answer[str | None]:
    """The exception that reading config.json ends in, None where it is read."""
    document = model.document(FILE)
    if isinstance(document, Known) and isinstance(document.value, Document) and not isinstance(document.value.value, dict):
        return Known("AttributeError", (model.place(FILE),))
    if vllm_config.model_type(model) not in of.names.registered:
        return config_error(model, version)
    # vLLM brings a configuration class of its own for the model type: the repository's code is not needed, nor need transformers know the type.
    row = vllm_config.top(model)
    if not isinstance(row, Known):
        return Unknown("the configuration class that vLLM brings for the model type is not modelled", (model.place(FILE),))
    return class_error(model, {**model.mapping(FILE), "model_type": row.value.row.kind}, version)


def _patched(model: Model, error: Answer[str | None]) -> Answer[str | None]:
    """What follows reading: vLLM refuses rope settings that say two things (transformers_utils/config.py:594-640; 0.8.5 transformers_utils/config.py)."""
    if not isinstance(error, Known) or error.value is not None:
        return error
    kind = vllm_config.model_type(model)
    for rope in ropes(model):
        values = rope.values or {}
        if ("gemma3" in kind and "type" in values) or (kind.startswith(_OWN_MROPE) and "mrope_section" not in values):
            return Unknown("the configuration class rewrites these rope settings", (rope.place(model),))
        new, old = values.get("rope_type"), values.get("type")
        both = "rope_type" in values and "type" in values
        if both and new != old and (old, new) not in (("su", "longrope"), ("mrope", "default")):
            return Known("ValueError", (rope.place(model, "rope_type"),))
        if (new if "rope_type" in values else old) == "mrope" and "mrope_section" not in values:
            return Known("ValueError", (rope.place(model),))
    return error


def _loads(model: Model, error: Answer[str | None]) -> Answer[bool | None]:
    if not model.has(FILE):
        return Known(None, (model.place(FILE),))
    return Known(error.value is None, error.places) if isinstance(error, Known) else error


def _stops(ids: Answer[Ids | None], loads: Answer[bool | None], primary: Answer[int | None] | None) -> Answer[list[int] | None]:
    """The ids that end a request; None where the server does not get so far."""
    for step in (ids, loads):
        if not isinstance(step, Known):
            return step
        if step.value is None or step.value is False:
            return Known(None, step.places)
    if not isinstance(primary, Known):
        return primary or Unknown("the id of the end token is not known")
    listed = cast("Known[Ids]", ids)
    return Known(sorted({*listed.value, *(() if primary.value is None else (primary.value,))}), (*listed.places, *primary.places))


def _trusted(model: Model, ids: Answer[Ids | None]) -> Fields:
    """What differs for an operator who trusts the repository's own code: the tokenizer then loads, with the roles that the files declare."""
    if not needs_remote_code(model):
        return {}
    fields = fields_of_remote_code(model)
    stops = _stops(ids, fields[_LOADS], fields["eos_token_id"])
    return {**fields, "stops": stops, "stops_in_grammar": stops}
