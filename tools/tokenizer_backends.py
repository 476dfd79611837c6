"""Write down what each tokenizer class of transformers 5 builds around a vocabulary: `python -m tools.tokenizer_backends`.

Run in an environment that has the version; its rows are entered in bot/analyze/engines/data/tokenizer-backends.json beside those of the versions
that are there. A test makes the rows of the installed version again.
"""

import inspect
import itertools
import json
import logging
from pathlib import Path
from typing import Any

import tokenizers
import transformers
from transformers.models.auto import tokenization_auto

PATH = Path(__file__).parent.parent / "bot/analyze/engines/data/tokenizer-backends.json"
ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_STRINGS = {role: f"<|{role}|>" for role in ROLES}
_OTHERS = ("vocab", "merges", "additional_special_tokens")
_OPTIONS = (
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "fuse_unk",
    "byte_fallback",
    "max_input_chars_per_word",
)
_PROBE = tokenizers.processors.TemplateProcessing(single="probe:0 $A:0", pair="$A:0 $B:0", special_tokens=[("probe", 0)])


def rows() -> dict[str, Any]:
    """The row of every class with an __init__ of its own that builds a BPE or WordPiece model of the vocabulary that it is given."""
    transformers.logging.set_verbosity(logging.CRITICAL)
    mapped: Any = tokenization_auto.TOKENIZER_MAPPING_NAMES
    names = {name for name in mapped.values() if isinstance(name, str)}
    found: dict[str, Any] = {}
    for name in sorted(names):
        cls: Any = tokenization_auto.tokenizer_class_from_name(name)
        if cls is None or "__init__" not in vars(cls) or transformers.TokenizersBackend not in cls.__bases__:
            continue  # one that is made by the __init__ of another takes that one's options as well
        row = _row(cls)
        if row and "_spm_precompiled_charsmap" not in inspect.signature(cls.__init__).parameters:  # it depends on the file
            found[cls.__name__] = row
    return found


def _row(cls: Any) -> dict[str, Any]:
    """What a class builds by default, and with the options of tokenizer_config.json that change it, by "option=true;other=false".

    `options` names those and says whether null is the same to it as leaving the option out.
    """
    plain = _built(cls, {})
    if not plain or "unk_token" in {*(plain["ends"] or ()), *plain["ends_without_file"]}:
        return {}  # a token that the plain vocabulary lacks was looked up
    changing: dict[str, list[Any]] = {}
    for name, parameter in inspect.signature(cls.__init__).parameters.items():
        plainly = parameter.default is None or isinstance(parameter.default, bool)
        if plainly and name not in _OTHERS and not name.endswith(("_file", *_STRINGS)):
            values = [value for value in (True, False) if _built(cls, {name: value}) != plain]
            if values:
                changing[name] = values
    others: dict[str, Any] = {}
    for values in itertools.product(*([None, *values] for values in changing.values())):
        given = {name: value for name, value in zip(changing, values, strict=True) if value is not None}
        built = _built(cls, given)
        if given:
            key = ";".join(f"{name}={json.dumps(value)}" for name, value in given.items())
            others[key] = {key: value for key, value in built.items() if value != plain[key]}
    options = {name: _built(cls, {name: None}) == plain for name in changing}
    return {**plain, "options": options, "with": others}


def _built(cls: Any, given: dict[str, Any]) -> dict[str, Any]:
    """What the backend of a class holds; empty where it cannot be made of a plain vocabulary or changes that."""
    vocab = {"a": 0, "b": 1, "ab": 2, **{string: i for i, string in enumerate(_STRINGS.values(), 3)}}
    merges: dict[str, Any] = {"merges": [("a", "b")]} if "merges" in inspect.signature(cls.__init__).parameters else {}
    try:
        made = cls(vocab=vocab, **merges, **_STRINGS, **given, post_processor=_PROBE)
        bare_ends = _bare(cls, vocab, {**merges, **given})
    except Exception:  # noqa: BLE001 - a class that is made otherwise: nothing is said of it
        return {}
    state = json.loads(made.backend_tokenizer.to_str())
    model = state["model"]
    if model["type"] not in ("BPE", "WordPiece") or model["vocab"] != vocab or len(model.get("merges", ())) != len(merges):
        return {}
    template = state["post_processor"]
    kept = template == json.loads(_PROBE.__getstate__())
    ends = None if kept else _ends(template)
    if (ends is None and not kept) or bare_ends is None:
        return {}
    flagged = [_bare(cls, vocab, {**merges, **given, "add_bos_token": on, "add_eos_token": on}) for on in (True, False)]
    return {
        "model": model["type"],
        "model_options": {name: _role(model[name]) for name in _OPTIONS if name in model},
        "normalizer": state["normalizer"],
        "pre_tokenizer": state["pre_tokenizer"],
        # What it puts around a text: by role, null for the text; null as a whole where the post-processor of the file stays.
        "ends": ends,
        "ends_without_file": bare_ends,
        # Whether add_bos_token and add_eos_token decide where there is no file.
        "flags": flagged == [["bos_token", None, "eos_token"], [None]],
    }


def _bare(cls: Any, vocab: dict[str, int], given: dict[str, Any]) -> list[str | None] | None:
    """What a class puts around a text where no file gives it a post-processor."""
    return _ends(json.loads(cls(vocab=vocab, **_STRINGS, **given).backend_tokenizer.to_str())["post_processor"])


def _role(value: Any) -> Any:
    """A token of a role by its name, as {"role": ...}."""
    return next(({"role": role} for role, string in _STRINGS.items() if value == string), value)


def _ends(processor: Any) -> list[str | None] | None:
    """The roles that a template puts around a single text, None standing for the text; None for any other processor."""
    if processor is None:
        return [None]
    if processor["type"] != "TemplateProcessing":
        return None
    by_string: dict[str | None, str] = {string: role for role, string in _STRINGS.items()}
    found: list[str | None] = []
    for piece in processor["single"]:
        token = piece.get("SpecialToken", {}).get("id")
        if token is not None and token not in by_string:
            return None
        found.append(by_string.get(token))
    return found


def entered(table: dict[str, Any], version: str, made: dict[str, Any]) -> dict[str, Any]:
    """The table with the rows of one version: a row stands at the version from which on it holds, null where there is none any more."""
    versions: list[str] = sorted({*table.get("versions", ()), version}, key=lambda text: [int(part) for part in text.split(".")])
    before: dict[str, dict[str, Any]] = table.get("classes", {})
    classes: dict[str, Any] = {}
    for name in sorted({*before, *made}):
        runs: dict[str, Any] = {}
        last = held = None
        for each in versions:
            held = before.get(name, {}).get(each, held)
            value = made.get(name) if each == version else held
            if value != last:
                runs[each] = last = value
        if runs:
            classes[name] = runs
    return {"versions": versions, "classes": classes}


def text(table: dict[str, Any]) -> str:
    """The table as it is committed, a class a line."""
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(runs)}" for name, runs in table["classes"].items())
    return f'{{\n"versions": {json.dumps(table["versions"])},\n"classes": {{\n{lines}\n}}\n}}\n'


if __name__ == "__main__":
    known: dict[str, Any] = json.loads(PATH.read_text("utf-8")) if PATH.exists() else {}
    PATH.write_text(text(entered(known, transformers.__version__, rows())), encoding="utf-8")
    print(PATH)
