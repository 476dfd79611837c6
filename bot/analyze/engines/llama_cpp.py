"""llama.cpp: what the conversion to GGUF takes from a folder, and on which tokens the runtime stops.

Sources: gguf-py as in rules/llama_cpp/gguf_vocab.py (run), the converter and the runtime as in rules/llama_cpp/stops.py (read). generation_config.json is not asked.
"""

import hashlib
from collections.abc import Iterable
from typing import Any, cast

from bot.analyze.engines.prediction import Prediction
from bot.analyze.model.folder import Model, fact
from bot.analyze.rules.llama_cpp.gguf_vocab import JINJA, NAMED, ROLES, Refusal, SpecialVocab, special_vocab
from bot.analyze.rules.llama_cpp.stops import ENDS, converts, stops
from bot.answer import Answer, Known, Unknown
from bot.place import Place

ID = "llama.cpp"
NAME = "llama.cpp"
# Build b11312, commit 0c1e57098bba43ac29e6e3b677cdceebdd22334f, is dated 2026-10-01 in its container image.
VERSIONS = ("2026-10-01",)
ALIASES = {"0c1e57098": "2026-10-01", "b11312": "2026-10-01"}
# What gguf-py and the template engine were run for; the ends of replies were read.
_COMPARED = frozenset({"template.sha256", "template.named", "eos_token_id", "bos_token_id", "pad_token_id"})
_SOURCE = "src/llama-vocab.cpp:2891-3026 at ggml-org/llama.cpp 0c1e57098, for stops"


def applies(model: Model) -> bool:
    """The converter wants a configuration and a tokenizer."""
    return model.has("config.json") and any(
        model.has(name) for name in ("tokenizer_config.json", "tokenizer.json", "tokenizer.model")
    )


def predict(model: Model, version: str) -> Prediction:
    """Predict what the converter writes, and `stops`."""
    found = _readings(model)
    unread = next((each for each in found if isinstance(each, Unknown)), None)
    if unread is not None:
        keys = ("loads.special_vocab", *(f"{role}_token_id" for role in (*ROLES, "eot", "eom")), "template.sha256", "stops")
        return Prediction(ID, version, dict.fromkeys(keys, unread), source=_SOURCE)
    refused = [each for each in found if isinstance(each, Refusal)]
    if refused:
        return Prediction(ID, version, _stopped(found, refused), confidence="likely", source=_SOURCE, compared=_COMPARED)
    package, tree = cast("list[SpecialVocab]", found)
    fields: dict[str, Answer[Any]] = {"loads.special_vocab": Known(value=True)}
    for role in (*ROLES, "eot", "eom"):
        places = (tree.places[role],) if role in tree.places else ()
        fields[f"{role}_token_id"] = _same(package.ids.get(role), tree.ids.get(role), f"the {role.upper()} token", places)
    fields["gguf_add_special"] = _same(dict(package.adds), dict(tree.adds), "whether special tokens are added")
    fields.update(_template(model, tree))
    loads = converts(model)
    fields["loads.config"] = loads
    if isinstance(loads, Known):
        ends = {role: fields[f"{role}_token_id"] for role in ENDS}
        fields["stops"] = stops(model, ends) if loads.value else Known(None, loads.places)
    else:
        fields["stops"] = loads
    return Prediction(ID, version, fields, confidence="likely", source=_SOURCE, compared=_COMPARED)


@fact
def _readings(model: Model) -> list[SpecialVocab | Refusal | Unknown]:
    return [special_vocab(model, tree=tree) for tree in (False, True)]


def _stopped(found: Iterable[object], refused: list[Refusal]) -> dict[str, Answer[Any]]:
    """The conversion ends with an exception, so nothing is written."""
    places = (refused[0].place,)
    if not all(isinstance(each, Refusal) for each in found):
        return {"loads.special_vocab": Unknown("it depends on the version of gguf-py", places)}
    nothing = Known(None, places)
    return {
        "loads.special_vocab": Known(value=False, places=places),
        "errors.special_vocab.type": _same(refused[0].error, refused[-1].error, "the exception"),
        **{f"{role}_token_id": nothing for role in (*ROLES, "eot", "eom")},
        "template.file": nothing,
        "template.sha256": nothing,
        "stops": nothing,
    }


def _same(package: Any, tree: Any, what: str, places: tuple[Place, ...] = ()) -> Answer[Any]:
    if package == tree:
        return Known(tree, places)
    return Unknown(f"{what} depends on which gguf-py converts, the package 0.19.0 or the one in the tree of llama.cpp", places)


def _template(model: Model, written: SpecialVocab) -> dict[str, Answer[Any]]:
    if written.templates is None:
        why = Unknown("the list of chat templates has entries of another shape", (model.place(written.file),))
        return {"template.file": why, "template.sha256": why, "template.named": why}
    places = (model.place(written.file, "/chat_template" if written.file.endswith(".json") else ""),) if written.file else ()
    hashes = {name: hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for name, text in written.templates.items()}
    fields: dict[str, Answer[Any]] = {
        "template.file": Known(
            f"{JINJA} + {NAMED[:-1]}" if written.listed and written.file == JINJA else written.file or None, places
        ),
        "template.sha256": Known(hashes.get("default"), places),
    }
    if written.listed:
        fields["template.named"] = Known(hashes, places)
    return fields
