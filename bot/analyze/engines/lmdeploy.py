"""LMDeploy: what a chat request stops on and which template it goes by.

Source: lmdeploy 0.18.0 (run without weights or accelerator: model.py, tokenizer.py, utils.py, messages.py). The stop ids are the tokenizer's EOS, the ids of
transformers' GenerationConfig and every piece of the vocabulary that contains the text of EOS. A template that does not render two short conversations is
replaced by none at all (model.py:869 and :890); the server starts all the same. Rules that go by the name of the folder are left out.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from bot.analyze.engines.prediction import Prediction
from bot.analyze.model import templates
from bot.analyze.model.document import NotJson
from bot.analyze.model.folder import Model, fact
from bot.analyze.model.mlc import CONFIG as MLC
from bot.analyze.model.tokenizer_file import TokenizerFile
from bot.analyze.model.tokens import ROLES, needs_remote_code, role, tokenizer_file, tokens
from bot.analyze.render import render
from bot.analyze.rules import borrowed
from bot.analyze.rules.borrowed import EOS, ERROR, LOADS, Fields, does_not_load
from bot.analyze.rules.config_outcome import config_loads
from bot.analyze.rules.from_transformers import config_ids, generation_config_loads, generation_ids
from bot.answer import Answer, Known, Missing, Unknown, shown

ID = "lmdeploy"
NAME = "LMDeploy"
VERSIONS = ("0.18.0",)
SOURCE = "lmdeploy 0.18.0, messages.py:241, serve/core/async_engine.py:403, tokenizer.py:49, model.py:765"

# What the release allows: transformers from 4.56.0 on but 5.0 to 5.5.0 and 5.7 to 5.9.
_TRANSFORMERS = ("4.57.6", "5.24.0")
_GENERATION = "generation_config.json"
# Architectures whose prompt is written by Python code of LMDeploy, whatever the template says (model.py:587-720).
_IN_PYTHON = {"DeepseekV4ForCausalLM", "DeepseekV32ForCausalLM"}
_PROBES = (
    [{"role": "user", "content": "sentinel"}],
    [{"role": "user", "content": "placeholder"}, {"role": "assistant", "content": "sentinel"}],
)
_MOST = 5  # tokens that may stand for one stop word; of more, some are picked by decoding them (tokenizer.py:40 and :175)


def applies(model: Model) -> bool:
    """LMDeploy reads config.json first; a folder that MLC-LLM compiled is none of its."""
    return model.has("config.json") and not model.has(MLC)


def predict(model: Model, version: str) -> Prediction:
    """Predict loads, ids of roles, `stops` and the template."""
    template = _template(model)
    fields = borrowed.with_template(_tokenizer(model, lambda: borrowed.tokenizer(model, _TRANSFORMERS)), template)
    fields["stops"] = _stops(model, fields, template)
    trusted: Fields = {}
    if needs_remote_code(model):
        trusted = borrowed.with_template(_tokenizer(model, lambda: borrowed.of_remote_code(model)), template)
        trusted["stops"] = _stops(model, trusted, template)
    return Prediction(ID, version, fields, trusted, confidence="likely", source=SOURCE)


def _tokenizer(model: Model, loaded: Callable[[], Fields]) -> Fields:
    """The tokenizer, which needs a config.json that names an architecture (archs.py:134); without EOS it takes that of generation_config.json."""
    place = model.place("config.json")
    config = model.document("config.json")
    if isinstance(config, Unknown):
        unread = Unknown(f"config.json {config.reason}", config.places)
        return {LOADS: unread, EOS: unread}
    if isinstance(config, Known) and isinstance(config.value, NotJson):
        return does_not_load("OSError", place)
    if isinstance(config, Known) and not model.readable("config.json"):
        return {
            **does_not_load("", place),
            ERROR: Unknown("config.json holds no object, and what that ends in was not looked at", (place,)),
        }
    if not _architecture(model):
        return does_not_load("RuntimeError", place)
    fields = loaded()
    if not isinstance(model.mapping("config.json").get("quantization_config", {}), dict):
        fields = _refused_by_4(model, fields)
    if (
        isinstance(fields[LOADS], Known)
        and EOS in fields
        and borrowed.ids(fields[EOS]) == set()
        and isinstance(fields[EOS], Known)
    ):
        return _without_eos(model, fields)
    return fields


def _refused_by_4(model: Model, fields: Fields) -> Fields:
    """Transformers 4 cannot write a configuration whose quantization_config is null, which LMDeploy asks for (archs.py:144)."""
    old, new = _TRANSFORMERS
    refused = does_not_load("AttributeError", model.place("config.json", "/quantization_config"))
    loads = borrowed.agreed({old: refused[LOADS], new: fields[LOADS]})
    if not isinstance(loads, Known):
        return {LOADS: loads, EOS: loads}
    return {LOADS: loads, ERROR: borrowed.agreed({old: refused[ERROR], new: fields.get(ERROR, Missing())})}


def _architecture(model: Model) -> str:
    """The name of the class, "" for none."""
    config = model.mapping("config.json")
    named = config.get("architectures")
    if isinstance(named, list) and named:
        return str(cast("list[Any]", named)[0])
    for holder in (config, config.get("language_config")):
        auto_map = cast("dict[str, Any]", holder).get("auto_map") if isinstance(holder, dict) else None
        if isinstance(auto_map, dict) and "AutoModelForCausalLM" in auto_map:
            return str(cast("dict[str, Any]", auto_map)["AutoModelForCausalLM"])
    return ""


def _without_eos(model: Model, fields: Fields) -> Fields:
    """tokenizer.py:53: generation_config.json has to state one id then, where the file is there."""
    document = model.document(_GENERATION)
    if isinstance(document, Missing):
        return fields
    place = model.place(_GENERATION)
    if isinstance(document, Unknown):
        return {**fields, EOS: Unknown(f"{_GENERATION} {document.reason}", document.places)}
    if isinstance(document.value, NotJson):
        return does_not_load("JSONDecodeError", place)
    stated = model.mapping(_GENERATION)
    if "eos_token_id" not in stated:
        return does_not_load("KeyError", place)
    value = stated["eos_token_id"]
    if isinstance(value, list):  # it has to be the text of one token
        return does_not_load("ValueError", place)
    place = model.place(_GENERATION, "/eos_token_id")
    if value is None:
        return fields
    if isinstance(value, bool) or not isinstance(value, int):
        return {**fields, EOS: Unknown(f"{_GENERATION} gives eos_token_id a value that is no token id", (place,))}
    table = tokens(model)
    if not isinstance(table, Known) or value not in table.value.texts:
        return {
            **fields,
            EOS: Unknown("whether the tokenizer has the token that generation_config.json names cannot be told", (place,)),
        }
    return {**fields, EOS: Known(value, (place,))}


def _stops(model: Model, tokenizer: Fields, template: Answer[str | None]) -> Answer[list[int] | None]:
    for step in (tokenizer[LOADS], generation_config_loads(model)):
        if isinstance(step, Known) and not step.value:
            return Known(None, step.places)
    listed = generation_ids(model)
    if listed is None:
        listed = _config_ids(model)
    if not isinstance(template, Known):
        words: Answer[list[int]] = Unknown(template.reason if isinstance(template, Unknown) else "no template was found")
        # The words only add tokens that contain the text of EOS: mostly there are none, whatever the template.
        words = Known([]) if _stop_words(model) == Known([]) else words
    else:
        words = _stop_words(model) if template.value is not None else Known([])
    return borrowed.stops(tokenizer, borrowed.eos(tokenizer), listed, words)


def _config_ids(model: Model) -> Answer[Any]:
    """Without generation_config.json the ids of the loaded config.json count, with the default of its class (utils.py:251)."""
    plain = config_ids(
        model, class_default=False, text_config=False
    )  # what does not load is read by a class that takes everything
    full = config_ids(model, class_default=True, text_config=True)
    loads = borrowed.agreed({version: config_loads(model, version) for version in _TRANSFORMERS})
    if isinstance(loads, Known):
        return full if loads.value else plain
    return full if shown(full) == shown(plain) else loads


@fact
def _stop_words(model: Model) -> Answer[list[int]]:
    """The ids that the stop words of a model with a template give besides that of EOS itself (model.py:783)."""
    found: set[int] = set()
    table = tokens(model)
    eos = role(model, "eos_token")
    file = tokenizer_file(model)
    if isinstance(eos, Known) and isinstance(file, Known) and isinstance(file.value, TokenizerFile):
        pieces = file.value.holding(eos.value)
        if len(pieces) > _MOST:
            return Unknown(f"more than {_MOST} pieces of the vocabulary contain the text of EOS", eos.places)
        found.update(pieces)
        # EOS itself is counted with the tokenizer, by the id that the loaded one has
        found.discard(file.value.vocab.get(eos.value, -1))
    more = ["<|call|>"] if _architecture(model) == "GptOssForCausalLM" else []
    settings = model.mapping("tokenizer_config.json")
    extra = settings.get("extra_special_tokens")
    for holder in (settings, extra):  # eot_token is an attribute of the tokenizer then, on 4.57 only from extra_special_tokens
        stated: Any = cast("dict[str, Any]", holder).get("eot_token") if isinstance(holder, dict) else None
        if isinstance(stated, str):
            more.append(stated)
    for text in more:
        number = table.value.id_of(text) if isinstance(table, Known) else None
        if number is None:
            return Unknown(f"the id of {text}, a stop word, cannot be told", table.places)
        found.add(number)
    return Known(sorted(found))


def _template(model: Model) -> Answer[str | None]:
    """The digest of the tokenizer's template, None where none is used."""
    place = (model.place("config.json", "/architectures"),)
    if _architecture(model) in _IN_PYTHON or model.mapping("config.json").get("model_type") in ("deepseek_v4", "deepseek_v32"):
        return Known(None, place)
    found = borrowed.template(model)
    if not isinstance(found, Known):
        return found
    if found.value is None:
        if templates.sources(model).processor and not templates.of_tokenizer(model):
            return Unknown("it is the processor's, if that loads", found.places)
        return found
    default = next(each for each in templates.of_tokenizer(model) if each.name == templates.DEFAULT)
    strings = {name: answer.value for name in ROLES if isinstance(answer := role(model, name), Known)}
    return _rendered(default.text, strings, found)


def _rendered(text: str, strings: Mapping[str, str], found: Known[str | None]) -> Answer[str | None]:
    """The template if it renders both conversations that LMDeploy tries it with, else none."""
    for messages in _PROBES:
        prompt = render(text, messages, strings)
        if prompt.error and prompt.kind == "limits":
            return Unknown(f"the chat template {prompt.error}", found.places)
        if prompt.error:
            return Known(None, found.places)
    return found
