"""Ollama: what `ollama create` makes of a folder of safetensors, and what a chat with it stops on.

Source: ollama/ollama at fb30760 (2026-08-21, after release 0.32.7). The conversion is in rules/ollama/files.py. A chat goes to llama-server (b10488) with the
template of the GGUF file (server/routes.go:2357), unless a renderer of the architecture (server/create.go:793) or one of Ollama's own templates, less than
100 edits away from it (template/template.go:72), takes its place. chat_template.jinja and config.json's ids are not read; ids of
generation_config.json count for GLM-4.7-Flash alone (convert_glm4moelite.go:89). Stops are read in llama.cpp's src/llama-vocab.cpp, as in rules/llama_cpp/stops.py.
"""

import hashlib
import json
from collections import Counter
from functools import cache, lru_cache
from typing import Any

from bot.analyze import data
from bot.analyze.engines.prediction import Prediction
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import CONFIG as MLC
from bot.analyze.model.tokens import tokens
from bot.analyze.rules.llama_cpp.stops import of_texts
from bot.analyze.rules.ollama.files import CONFIG, SETTINGS, Refusal, Written, architecture, tokenizer
from bot.answer import Answer, Known, Unknown

ID = "ollama"
NAME = "Ollama"
VERSIONS = ("2026-08",)
ALIASES = {"fb30760": "2026-08"}
SOURCE = "ollama/ollama fb30760, convert/tokenizer.go:36, convert/convert.go:279, server/routes.go:2357, template/template.go:72"

_EDITS = 100
# Architectures whose prompt is written in Go (server/create.go:797; Laguna's template is not even kept, convert_laguna.go:285).
_RENDERERS = {
    "Gemma4ForCausalLM": "gemma4",
    "Gemma4ForConditionalGeneration": "gemma4",
    "LagunaForCausalLM": "laguna",
    "NemotronHForCausalLM": "nemotron-3-nano",
    "NemotronH_Nano_VL_V2": "nemotron-3-nano",
    "NemotronH_Nano_Omni_Reasoning_V3": "nemotron-3-nano",
}
# End tokens that a converter writes by number (convert_gemma.go:38, convert_gemma2.go:25), and EOS in place of the tokenizer's (convert_gptoss.go:74).
_EOT = {"GemmaForCausalLM": 107, "Gemma2ForCausalLM": 107}
_EOS = {"GptOssForCausalLM": 199999}
_EOS_LIST = "Glm4MoeLiteForCausalLM"  # the second id of the list is EOT, the third EOM
# EOT is what this token's id is (convert_glmocr.go:213); the kinds of vocabulary of these differ from what is modelled.
_OTHER = {"GlmOcrForConditionalGeneration", "BertModel", "NomicBertModel", "NomicBertMoEModel", "Gemma3TextModel"}
# What llama-vocab.cpp assumes where no EOS is written (:1976 and :2033 of llama.cpp at 0c1e57098).
_ASSUMED = {"llama": 2, "gpt2": 11}


def applies(model: Model) -> bool:
    """The converter reads config.json first; a folder that MLC-LLM compiled is none of its."""
    return model.has(CONFIG) and not model.has(MLC)


def predict(model: Model, version: str) -> Prediction:
    """Predict loads with the messages of the converter, ids of roles as written, `stops` and the template."""
    name = architecture(model)
    fields: dict[str, Answer[Any]] = {}
    if isinstance(name, str):
        fields["loads.config"] = Known(value=True)
        fields.update(_of_tokenizer(model, name))
    elif isinstance(name, Refusal):
        fields.update(_refused("config", name))
        fields["stops"] = Known(None, (name.place,))
    else:
        fields.update(dict.fromkeys(("loads.config", "loads.tokenizer", "stops", "template.sha256"), name))
    return Prediction(ID, version, fields, confidence="likely", source=SOURCE)


def _refused(step: str, refusal: Refusal) -> dict[str, Answer[Any]]:
    places = (refusal.place,)
    said: dict[str, Answer[Any]] = {f"errors.{step}.message": Known(refusal.message, places)} if refusal.message else {}
    return {f"loads.{step}": Known(value=False, places=places), **said}


def _of_tokenizer(model: Model, name: str) -> dict[str, Answer[Any]]:
    found = tokenizer(model)
    if isinstance(found, Unknown):
        return dict.fromkeys(("loads.tokenizer", "eos_token_id", "stops", "template.sha256", "template.file"), found)
    if isinstance(found, Refusal):
        return {**_refused("tokenizer", found), "stops": Known(None, (found.place,))}
    template, builtin = _template(model, name, found)
    ids: dict[str, Answer[Any]] = {f"{role}_token_id": Known(found.roles.get(role)) for role in ("eos", "bos", "pad")}
    ids["eos_token_id"] = Known(_EOS.get(name, found.roles.get("eos")), (model.place(SETTINGS, "/eos_token"),))
    return {
        "loads.tokenizer": Known(value=True),
        **ids,
        "stops": _stops(model, name, found, template),
        "template.sha256": template,
        "template.file": Known(SETTINGS if found.template else None, (model.place(SETTINGS, "/chat_template"),)),
        "template.builtin": builtin,
    }


def _template(model: Model, name: str, written: Written) -> tuple[Answer[str | None], Answer[str | None]]:
    """The digest of the template in force, None for none of the folder's, and the name of Ollama's own in its place."""
    place = (model.place(SETTINGS, "/chat_template"),)
    if name in _RENDERERS:
        return Known(None, place), Known(_RENDERERS[name], (model.place(CONFIG, "/architectures"),))
    if not written.template:
        return Known(None, place), Known(None, place)
    near = _near(written.template)
    if near:
        why = Unknown(f"Ollama's own template {near[0]} may take its place", place)
        return why, why
    return Known(hashlib.sha256(written.template.encode("utf-8", "surrogatepass")).hexdigest(), place), Known(None, place)


def _stops(model: Model, name: str, written: Written, template: Answer[str | None]) -> Answer[list[int] | None]:
    """The end-of-generation ids of llama.cpp for what is written."""
    place = (model.place(SETTINGS, "/eos_token"),)
    if name in _OTHER:
        return Unknown(f"the end tokens of {name} are not modelled", (model.place(CONFIG, "/architectures"),))
    if written.texts is None:
        return Unknown("the vocabulary has holes, behind which the converter shifts all ids", (model.place("tokenizer.json"),))
    by_text = of_texts(written.texts)
    if by_text is None:
        return Unknown("it depends on the order of a hash table which of several tokens ends a reply", place)
    found = {*by_text, _EOS.get(name, written.roles.get("eos", _ASSUMED[written.kind]))}
    found.update(number for number in (_EOT.get(name),) if number is not None)
    if name == _EOS_LIST:
        found.update(number for number in written.eos_ids[1:3] if number >= 0)
    if isinstance(template, Unknown) and not _harmless(model, written, found):
        return Unknown(f"{template.reason}, with stop strings of its own", template.places)
    return Known[list[int] | None](sorted(found), place)


def _harmless(model: Model, written: Written, found: set[int]) -> bool:
    """Whether the stop strings of every template that Ollama may take instead are no tokens, or end a reply anyhow."""
    table = tokens(model)
    if not isinstance(table, Known):
        return False
    strings = {string for name, _, strings in _own() if name in _near(written.template) for string in strings}
    return {table.value.id_of(string) for string in strings} <= {None, *found}


@lru_cache(maxsize=64)
def _near(text: str) -> tuple[str, ...]:
    """Names of Ollama's templates that may be less than 100 edits away: an edit changes the number of two characters at most, each by one."""
    counts = Counter(text)
    return tuple(name for name, other, _ in _own() if max((counts - other).total(), (other - counts).total()) < _EDITS)


@cache
def _own() -> tuple[tuple[str, Counter[str], tuple[str, ...]], ...]:
    """Ollama's own templates: name, number of each character, and the strings on which a chat then stops (tools/ollama_templates.py)."""
    table = json.loads(data.content("ollama-templates.json"))
    return tuple((row["name"], Counter[str](row["counts"]), tuple(row["stops"])) for row in table["templates"])
