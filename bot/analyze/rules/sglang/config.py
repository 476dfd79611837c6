"""What sglang makes of config.json and generation_config.json: whether it starts with them, the ids that they give, the defaults for sampling.

Source: sglang 0.5.23 with transformers 5.19.0, utils/hf_transformers/config.py:150-360, common.py:697-731, configs/model_config.py:2190-2238 (run).
Older releases: see releases.py.
"""

from math import isfinite
from typing import Any

from bot.analyze.model.config import FILE, holders
from bot.analyze.model.document import Document
from bot.analyze.model.eos import Ids, stated
from bot.analyze.model.folder import Model
from bot.analyze.model.link_text import is_link_text
from bot.analyze.model.rope import Rope, lacking, ropes
from bot.analyze.rules.config_outcome import config_error as error_of_transformers
from bot.analyze.rules.from_transformers import generation_config_refused, generation_ids
from bot.analyze.rules.sglang.releases import NEWEST, Release
from bot.analyze.rules.sglang.types import Read, has_class, reading, row_of
from bot.analyze.tables import knows_type
from bot.answer import Answer, Known, Missing, Unknown

GENERATION = "generation_config.json"
_SAMPLING = ("repetition_penalty", "temperature", "top_k", "top_p", "min_p")
# What GenerationConfig of transformers 4 has where a file says nothing (generation/configuration_utils.py of 4.57.6, to_dict, run with 4.57.1).
_OF_FOUR = {"repetition_penalty": 1.0, "temperature": 1.0, "top_k": 50, "top_p": 1.0}


def config_error(model: Model, release: Release) -> Answer[str | None]:
    """The exception that reading config.json ends in, None where it is read, "" for one without a known name."""
    document = model.document(FILE)
    read = document.value if isinstance(document, Known) else None
    place = (model.place(FILE),)
    newest = release.name == NEWEST
    if isinstance(read, Document) and not isinstance(read.value, dict):
        # The architectures are looked for before AutoConfig is asked (utils/hf_transformers/config.py:151).
        kind = "AttributeError" if isinstance(read.value, list | str) else "TypeError"
        return Known(kind, place) if newest else Unknown("config.json holds no object", place)
    own = _own_error(model, release) if model.mapping(FILE) else None
    return own if own is not None else error_of_transformers(model, release.transformers)


def _own_error(model: Model, release: Release) -> Answer[str | None] | None:
    """What sglang does otherwise than AutoConfig; None for nothing."""
    config, place = model.mapping(FILE), (model.place(FILE),)
    names, kind = config.get("architectures"), config.get("model_type")
    if names is not None and not isinstance(names, list | str):
        odd = isinstance(names, bool | int | float) and release.name == NEWEST
        return Known("TypeError", place) if odd else Unknown("architectures is no list", place)
    if not kind and not names and "d_model" in config and "ssm_cfg" in config:
        return Unknown("it is read as a Mamba checkpoint", place)
    known = isinstance(kind, str) and knows_type(kind, release.transformers)
    has = has_class(kind, release.name)
    if not known and has is not True:
        newest = has_class(kind, NEWEST)
        return Unknown("whether sglang has a class for the model type is not known", place) if has is None and newest else None
    first = error_of_transformers(model, release.transformers) if known else None
    row = row_of(kind, release.name) if isinstance(kind, str) else None
    if row is not None and "all" in row.unknown:
        return Unknown("what sglang's class for the model type needs is not known", place)
    if isinstance(first, Known) and first.value not in (None, "KeyError"):
        return first
    found = reading(model, release.name)
    if isinstance(found, str):
        return Unknown(found, place) if release.tables else first
    odd = next(
        (rope for rope in ropes(model) if _unclear(rope, found) or (not known and rope.keys[0] == "rope_parameters")), None
    )
    if odd is not None:
        return Unknown(f"what the class of the model type makes of {odd.name} is not known", (odd.place(model),))
    if not release.five and any(
        "quantization_config" in held.values and held.values["quantization_config"] is None for held in holders(model)
    ):
        return Unknown("what transformers 4 makes of a quantization_config that is null is not known", place)
    lacks = next((rope for rope in ropes(model) if lacking(rope)), None)
    if lacks is not None and not known:
        return (
            Known("KeyError", (lacks.place(model),))
            if release.five
            else Unknown("the rope settings lack one", (lacks.place(model),))
        )
    if isinstance(first, Known) and first.value is not None:
        return first
    if names == []:
        return Known("IndexError", place)
    return first if known else Known(None, place)


def _unclear(rope: Rope, read: Read) -> bool:
    """Whether the class has to supply what rope settings lack, or is none that reads such settings: it may then refuse them."""
    values, held = rope.values or {}, rope.holder.values
    if lacking(rope):
        return rope.holder.path != read.row.path or (rope.kind == "linear" and rope.kind in read.row.bare)  # else it is refused
    if rope.kind not in ("yarn", "llama3", "longrope"):
        return read.row.rope == "?" and rope.kind in ("linear", "dynamic")
    if rope.holder.path != read.row.path or (read.row.rope == "?" and rope.kind != "longrope"):
        return True
    base = "rope_theta" in values or "rope_theta" in held
    stated = {"yarn": "original_max_position_embeddings" in values, "llama3": base and read.row.context is not None}
    return not stated.get(rope.kind, read.row.context is not None) and rope.kind not in read.row.bare


def config_ids(model: Model, release: Release) -> Answer[Ids]:
    """The ids of the loaded config.json: its own, the language model's where the top level has none, else those of the class."""
    top, key, place = stated(model, FILE), "eos_token_id", (model.place(FILE),)
    read = reading(model, release.name)
    if isinstance(read, str) or not read.row.knows("eos"):
        return (
            top
            if isinstance(top, Known) and not _holds_text(model)
            else Unknown("the ids of the class of the model type are not known", place)
        )
    row = read.row
    inner = stated(model, FILE, *row.path) if read.nested and row.eos_from != "top" else Missing()
    within = row.eos_from == "nested" and row.path[0] in read.top  # then the top level's ids count for nothing
    if read.top.get(key) in (0, []) and row.eos_null and not within:
        return Unknown("the class of the model type may take its own ids in place of none", (read.place(model, key),))
    if key in read.top and not within:
        return Known(row.eos_null, (read.place(model, key),)) if isinstance(top, Missing) else top
    if read.nested and row.eos_from != "top" and key in read.inner:
        return Known((), (read.place(model, key, inner=True),)) if isinstance(inner, Missing) else inner
    if not read.usual:
        return Unknown("the ids of the class of the nested model type are not known", place)
    return Known(row.eos, (model.place(FILE, "/model_type"),))


def _holds_text(model: Model) -> bool:
    """Whether a nested configuration states ids, which some classes prefer."""
    return any(isinstance(value, dict) and "eos_token_id" in value for value in model.mapping(FILE).values())


def generation_loads(model: Model, release: Release) -> Answer[bool | None]:
    """Whether generation_config.json loads; None where it is absent. One that is not JSON does not, and sglang goes on without it."""
    if not release.generation:
        return Known(None, (model.place(GENERATION),))
    document = model.document(GENERATION)
    if isinstance(document, Unknown):
        return Unknown(f"{GENERATION} {document.reason}", document.places)
    if is_link_text(model, GENERATION):
        return Unknown(f"{GENERATION} holds a path, as a symbolic link does that was checked out as text", document.places)
    place = (model.place(GENERATION),)
    if not model.has(GENERATION) or isinstance(document, Missing):
        return Known(None, place)
    if not isinstance(document.value, Document):
        return Known(value=False, places=place)
    return Known(generation_config_refused(document.value.value, five=release.five) is None, place)


def generation_stops(model: Model, release: Release) -> Answer[bool]:
    """Whether sglang does not start because of generation_config.json."""
    loads = generation_loads(model, release)
    if not isinstance(loads, Known):
        return Unknown(loads.reason, loads.places) if isinstance(loads, Unknown) else Known(value=False)
    return Known(loads.value is False and _parses(model), loads.places)


def file_ids(model: Model, config: Answer[Ids], release: Release) -> Answer[Ids]:
    """The ids of config.json (`config`) and generation_config.json together; what Python takes for false in the latter (0, an empty list) is ignored."""
    if not release.generation:
        zero = isinstance(config, Known) and model.mapping(FILE).get("eos_token_id") in (0, [])
        return Known((), config.places) if zero else config
    listed = generation_ids(model)
    if isinstance(listed, Unknown):
        return listed
    if not isinstance(config, Known):
        return config
    more = listed.value if isinstance(listed, Known) and model.mapping(GENERATION).get("eos_token_id") else ()
    places = (*config.places, *(listed.places if isinstance(listed, Known) else ()))
    return Known(tuple(sorted({*config.value, *more})), places)


def sampling(model: Model, release: Release) -> Answer[dict[str, Any] | None]:
    """The defaults of chat requests. On transformers 4 the file brings those of GenerationConfig along for what it does not state."""
    stops = generation_stops(model, release)
    if not isinstance(stops, Known):
        return Unknown(stops.reason, stops.places) if isinstance(stops, Unknown) else Known({})
    if stops.value:
        return Known(None, stops.places)
    if not _parses(model) or not release.sampling:
        return Known({}, stops.places)
    values = model.mapping(GENERATION) if release.five else {**_OF_FOUR, **model.mapping(GENERATION)}
    settings = {key: values[key] for key in _SAMPLING if values.get(key) is not None}
    if any(isinstance(number, float) and not isfinite(number) for number in settings.values()):
        return Unknown(f"{GENERATION} gives a number that no report can hold", stops.places)
    return Known(settings, stops.places)


def _parses(model: Model) -> bool:
    document = model.document(GENERATION)
    return isinstance(document, Known) and isinstance(document.value, Document)
