"""sglang: what a server does with a folder.

Source: sglang 0.5.23 with transformers 5.19.0 (run without an accelerator). srt/managers/schedule_batch.py:1855: a request ends on the ids of config.json and
generation_config.json together, the tokenizer's EOS and a few named tokens; srt/constrained/xgrammar_backend.py:233: the grammar of structured output gets
those of the two files only. Older releases: see rules/sglang/releases.py.
"""

from typing import Any, cast

from bot.analyze.engines.prediction import Prediction
from bot.analyze.model.config import FILE
from bot.analyze.model.eos import Ids, stated
from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import needs_remote_code
from bot.analyze.render import Renders
from bot.analyze.rules.from_transformers import config_needs_remote_code
from bot.analyze.rules.prompt_tokens import Tokens
from bot.analyze.rules.sglang import renders as sglang_renders
from bot.analyze.rules.sglang import tokenizer as sglang_tokenizer
from bot.analyze.rules.sglang.config import config_error, config_ids, file_ids, generation_loads, generation_stops, sampling
from bot.analyze.rules.sglang.limits import dtype, max_model_len
from bot.analyze.rules.sglang.prompt_tokens import prompt_tokens as tokens_of_prompts
from bot.analyze.rules.sglang.quantization import quantization
from bot.analyze.rules.sglang.releases import NEWEST, RELEASES, Release
from bot.analyze.rules.sglang.start import processor_loads, starts
from bot.analyze.rules.sglang.template import template_fields
from bot.analyze.rules.sglang.tokenizer import always_stops, fields_of_tokenizer, mistral_common
from bot.analyze.rules.tokenizer_fields import fields_of_remote_code
from bot.answer import Answer, Known, Missing, Unknown
from bot.probe import Probe

ID = "sglang"
NAME = "sglang"
VERSIONS = tuple(RELEASES)

Fields = dict[str, Answer[Any]]


def applies(model: Model) -> bool:
    """A server needs a config.json."""
    return model.has(FILE)


def predict(model: Model, version: str) -> Prediction:
    """What the server does with the folder; `with_remote_code` is given where the tokenizer or the configuration is the repository's own code."""
    release = RELEASES[version]
    config = config_error(model, release)
    tokenizer = fields_of_tokenizer(model, release)
    stopped = generation_stops(model, release)
    method = quantization(model, release)
    ids = _of_files(config, stopped, file_ids(model, config_ids(model, release), release))
    fields: Fields = {
        "loads.config": _loads(model, config),
        "loads.generation_config": generation_loads(model, release),
        **tokenizer,
        "sampling_defaults": sampling(model, release),
        "stops": _stops(ids, method, tokenizer, always_stops(model, tokenizer, release)),
        "stops_in_grammar": _in_grammar(ids, release),
    }
    if isinstance(config, Known) and config.value:
        fields["errors.config.type"] = config
    processor = processor_loads(model, release, config)
    if not _refused(tokenizer["loads.tokenizer"]):
        fields |= _template(model, release, processor)
    if not isinstance(config, Known) or config.value is None:
        fields |= _of_config(model, release, stopped, method)
        fields |= {} if processor is None else {"loads.processor": processor}
    certain = version == NEWEST
    trusted = _trusted(model, fields, release)
    return Prediction(ID, version, fields, trusted, "certain" if certain else "likely", release.source)


def encode(model: Model, version: str, texts: tuple[str, ...]) -> Answer[dict[str, list[int]]]:
    """The ids of each text, special tokens included."""
    return sglang_tokenizer.encode(model, RELEASES[version], texts)


def renders(model: Model, version: str, probes: tuple[Probe, ...]) -> Renders:
    """The prompt of each conversation, by its name; none where the tokenizer does not load."""
    release = RELEASES[version]
    loads = fields_of_tokenizer(model, release)["loads.tokenizer"]
    if isinstance(loads, Known) and not loads.value:
        return Known({}, loads.places)
    processor = _has(processor_loads(model, release, config_error(model, release)))
    return sglang_renders.renders(model, release, probes, processor=processor)


def prompt_tokens(model: Model, version: str, texts: tuple[str, ...]) -> Answer[Tokens]:
    """The tokens of prompts."""
    return tokens_of_prompts(model, RELEASES[version], texts)


def _of_config(model: Model, release: Release, stopped: Answer[bool], method: Answer[str | None]) -> Fields:
    """What only a server that starts has."""
    begins = starts(model, release, stopped, method)
    if isinstance(begins, Known) and not begins.value:
        return {"loads.model_config": begins}
    return {
        "loads.model_config": begins,
        "quantization": method,
        "max_model_len": max_model_len(model, release),
        "dtype": dtype(model, release),
    }


def _template(model: Model, release: Release, processor: Answer[bool] | None) -> Fields:
    if mistral_common(model):
        return dict.fromkeys(
            ("template.sha256", "template.content_format"), Unknown("it depends on mistral-common, which reads tekken.json")
        )
    return template_fields(model, release, processor=_has(processor))


def _has(processor: Answer[bool] | None) -> bool | None:
    """Whether there is a processor, None where that is not known; `processor` says whether it loads, None for a model without one."""
    return False if processor is None else processor.value if isinstance(processor, Known) else None


def _refused(loads: Answer[Any]) -> bool:
    return isinstance(loads, Known) and not loads.value


def _loads(model: Model, error: Answer[str | None]) -> Answer[bool | None]:
    if not model.has(FILE):
        return Known(None, (model.place(FILE),))
    return Known(error.value is None, error.places) if isinstance(error, Known) else error


def _of_files(config: Answer[str | None], stopped: Answer[bool], ids: Answer[Ids]) -> Answer[Ids | None]:
    """The ids of the files, None where sglang does not start because of one of them."""
    if isinstance(config, Known) and config.value is not None:
        return Known(None, config.places)
    if isinstance(stopped, Known) and stopped.value:
        return Known(None, stopped.places)
    unknown = next((step for step in (config, stopped, ids) if not isinstance(step, Known)), None)
    return unknown if unknown is not None else Known(cast("Known[Ids]", ids).value, cast("Known[Ids]", ids).places)


def _in_grammar(ids: Answer[Ids | None], release: Release) -> Answer[list[int] | None]:
    if not release.generation:
        return Unknown("xgrammar guesses them from the tokenizer in this release")
    return Known(None if ids.value is None else sorted(ids.value), ids.places) if isinstance(ids, Known) else ids


def _stops(
    ids: Answer[Ids | None], method: Answer[str | None], tokenizer: Fields, always: Answer[Ids]
) -> Answer[list[int] | None]:
    """The ids that end a request; None where the server does not get so far."""
    loads, primary = tokenizer["loads.tokenizer"], tokenizer.get("eos_token_id", Unknown("the id of the end token is not known"))
    ends = (
        isinstance(ids, Known) and ids.value is None,
        isinstance(method, Known) and method.value == "",
        _refused(loads),
    )
    for step, end in zip((ids, method, loads), ends, strict=True):
        if end:
            return Known(None, cast("Known[Any]", step).places)
    steps = (ids, method, loads, always, primary)
    unknown = next((step for step in steps if not isinstance(step, Known)), None)
    if unknown is not None:
        return unknown
    listed, named, end = (cast("Known[Any]", step) for step in (ids, always, primary))
    found = {*listed.value, *named.value, *(() if end.value is None else (end.value,))}
    return Known(sorted(found), (*listed.places, *end.places))


def _trusted(model: Model, fields: Fields, release: Release) -> Fields:
    """What differs for an operator who trusts the repository's own code: the configuration loads as its class has it, the tokenizer as tokenizer_config.json declares it."""
    code, tokenizer = config_needs_remote_code(model), needs_remote_code(model)
    if not code and not tokenizer:
        return {}
    changed: Fields = {}
    own = code and not (isinstance(fields["loads.config"], Known) and fields["loads.config"].value)
    if own:
        changed["loads.config"] = Unknown("the repository's own code reads config.json", (model.place(FILE),))
    config = stated(model, FILE) if own else config_ids(model, release)
    ids = file_ids(
        model, Unknown("the ids of the repository's own class are not known") if isinstance(config, Missing) else config, release
    )
    if tokenizer:
        changed |= {
            **fields_of_remote_code(model),
            **_template(model, release, Unknown("the processor may be the repository's own code")),
        }
    seen = {**fields, **changed}
    ends = _of_files(Known(None), generation_stops(model, release), ids)
    method = quantization(model, release) if not own else Known[str | None](None)
    changed["stops"] = _stops(ends, method, seen, Known(()))
    changed["stops_in_grammar"] = _in_grammar(ends, release)
    return changed
