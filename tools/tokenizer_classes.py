"""Write what each tokenizer class of a release of transformers brings along: `python -m tools.tokenizer_classes`, in an environment with it.

The release is added to bot/analyze/engines/data/transformers-tokenizer-classes.json, or replaced there; a test makes the rows of the installed
one again. All that is said of a class was seen by making it, or stands in the signature of its __init__.
"""

import importlib.util
import inspect
import json
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any, cast

import transformers
from transformers.models.auto import configuration_auto, tokenization_auto

PATH = Path(__file__).parent.parent / "bot/analyze/engines/data/transformers-tokenizer-classes.json"
_MARKED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_LONGEST = 10
_TABLES = ("by_config", "lent", "classes", "spelled")
_FRONTS = (
    "object",
    "PreTrainedTokenizerFast",
    "TokenizersBackend",
    "PreTrainedTokenizerBase",
    "PreTrainedTokenizer",
    "PythonBackend",
)
_OWN_ERRORS = (
    "TypeError",
    "KeyError",
    "UnboundLocalError",
)  # of these, in the fifth series, the kind of vocabulary alone is the reason
_GENERIC = {"PreTrainedTokenizerBase", "PreTrainedTokenizer", "PreTrainedTokenizerFast", "PythonBackend"}
_VOCABULARIES: dict[str, Any] = {
    "BPE": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]},
    "WordPiece": {
        "type": "WordPiece",
        "vocab": {"a": 0, "b": 1, "[UNK]": 2},
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
    },
    "Unigram": {"type": "Unigram", "vocab": [["<unk>", 0.0], ["a", -1.0], ["b", -1.0]], "unk_id": 0},
}


def five() -> bool:
    """Whether the installed transformers is of the fifth series."""
    return transformers.__version__.split(".")[0] == "5"


def spelled() -> dict[str, str]:
    """The class that is found under each name that tokenizer_class may spell."""
    transformers.logging.set_verbosity(logging.CRITICAL)
    mapped: Any = tokenization_auto.TOKENIZER_MAPPING_NAMES
    rows = [(row,) if isinstance(row, str) else row or () for row in mapped.values()]
    names = {*(str(name) for row in rows for name in row if name), *dir(transformers), "BloomTokenizer", "BloomTokenizerFast"}
    # Names of earlier releases are found without standing in the list of names.
    names |= set(held().get("spelled", ()))
    found: dict[str, str] = {}
    for name in sorted(names):
        if "Tokenizer" not in name and not name.endswith("Backend"):
            continue
        cls: Any = tokenization_auto.tokenizer_class_from_name(name)
        if inspect.isclass(cls) and not name.startswith("TF"):
            found[name] = cls.__name__
    return found


def row(cls: Any) -> dict[str, Any]:
    """What is said of a class.

    `kind` is "file" for one that takes tokenizer.json as it stands, "built" for one that builds its own pipeline, "python" for one that is no
    front of the `tokenizers` library, "absent" for one whose package is not installed. `roles` are its default role strings; `no_pad` says that it leaves the padding role empty whatever a
    padding block says, `more` that it brings further special tokens. Without any vocabulary it holds the entries of `minimal`, roles by their
    name, or raises an error of the type `empty`. `files` are the vocabulary files besides tokenizer.json, `pair` says that vocab.json and
    merges.txt make its vocabulary, `again` that it makes every special token special at the end,
    `frail` names the settings that may not be stated as null, `needs` names the parts of tokenizer.json without which it raises TypeError,
    `refuses` the kinds of vocabulary that it raises for, with the type of the error, "" where that depends on more than the kind.
    """
    if type(cls).__name__ == "DummyObject":
        return {"kind": "absent"}
    backed = issubclass(cls, transformers.TokenizersBackend if five() else transformers.PreTrainedTokenizerFast)
    makers = _makers(cls)
    builds = five() and "__init__" in vars(cls) and cls in makers
    found: dict[str, Any] = {
        "kind": "python" if not backed else "built" if builds else "file",
        "files": sorted(name for name in getattr(cls, "vocab_files_names", {}).values() if name != "tokenizer.json"),
    }
    if not backed:
        return found
    defaults: dict[str, Any] = {}
    for each in makers:
        defaults = {name: p.default for name, p in inspect.signature(each.__init__).parameters.items()} | defaults
    roles = {name: value for name, value in defaults.items() if name.endswith("_token") and isinstance(value, str)}
    if roles:
        found["roles"] = roles
    if "pad_token" in defaults and defaults["pad_token"] is None:
        found["no_pad"] = True
    source = "".join(inspect.getsource(each.__init__) for each in makers)
    if "additional_special_tokens" in source or "extra_special_tokens" in source:
        found["more"] = True
    return {**found, **_empty(cls), **_pair(cls), **_again(cls), **_frail(cls, roles), **_needs(cls), **_refuses(cls)}


def _makers(cls: Any) -> list[Any]:
    """The class and those above it, up to the common front, that have an __init__: what one does not name it hands on to the next."""
    found: list[Any] = []
    for each in cls.__mro__:
        if each.__name__ in _FRONTS:
            break
        if "__init__" in vars(each):
            found.append(each)
    return found


def _load(cls: Any, config: dict[str, Any], **files: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
        for name, content in files.items():
            path = Path(folder, {"vocab": "vocab.json", "merges": "merges.txt", "tokenizer": "tokenizer.json"}[name])
            path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return cls.from_pretrained(folder)


def _empty(cls: Any) -> dict[str, Any]:
    marks = {f"[{name}]": name for name in _MARKED}
    try:
        made = _load(cls, {name: mark for mark, name in marks.items()})
    except Exception as error:  # noqa: BLE001 - the type of whatever it raises is what is asked for
        return {} if _starts(cls) else {"empty": type(error).__name__}
    vocab = made.backend_tokenizer.get_vocab(with_added_tokens=False)
    more = {"more": True} if set(made.all_special_tokens) - set(marks) else {}
    pieces = [marks.get(piece, piece) for piece in sorted(vocab, key=lambda piece: vocab[piece])]
    return {**({"minimal": pieces} if len(pieces) < _LONGEST else {}), **more}


def _starts(cls: Any) -> bool:
    """Whether a class loads without a vocabulary where nothing is stated."""
    try:
        _load(cls, {})
    except Exception:  # noqa: BLE001 - that it raises is what is asked for
        return False
    return True


def _pair(cls: Any) -> dict[str, Any]:
    vocab = {"a": 0, "b": 1, "ab": 2}
    try:
        made = _load(cls, {}, vocab=vocab, merges="#version: 0.2\na b\n")
    except Exception:  # noqa: BLE001 - one that does not load makes nothing of the files
        return {}
    return {"pair": True} if made.backend_tokenizer.get_vocab(with_added_tokens=False) == vocab else {}


def _small(cls: Any) -> dict[str, Any]:
    """A tokenizer.json with a vocabulary of the kind that a class takes."""
    kind = getattr(getattr(cls, "model", None), "__name__", "BPE")
    return {"version": "1.0", "added_tokens": [], "model": _VOCABULARIES.get(kind, _VOCABULARIES["BPE"])}


def _again(cls: Any) -> dict[str, Any]:
    flags = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False, "special": False}
    config = {"added_tokens_decoder": {"3": {"content": "<|x|>", **flags}}, "additional_special_tokens": ["<|x|>"]}
    try:
        made = _load(cls, config, tokenizer=_small(cls))
    except Exception:  # noqa: BLE001 - it may ask for other vocabularies
        return {}
    return (
        {"again": True} if five() and any(t.content == "<|x|>" and t.special for t in made.added_tokens_decoder.values()) else {}
    )


def _frail(cls: Any, roles: dict[str, str]) -> dict[str, Any]:
    frail: list[str] = []
    for role in ("", "add_prefix_space", *(role for role in _MARKED if role in roles)):
        try:
            made = _load(cls, {role: None} if role else {}, tokenizer=_small(cls))
        except Exception:  # noqa: BLE001 - that it raises is what is asked for
            frail.append(role)
        else:
            frail += [role] if role in roles and getattr(made, role) else []
    return {"frail": frail} if frail and "" not in frail else {}


def _needs(cls: Any) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    }
    needed: list[str] = []
    for name in ("", *parts):
        try:
            _load(cls, {}, tokenizer={**_small(cls), **parts, **({name: None} if name else {})})
        except TypeError:
            needed.append(name)
        except Exception:  # noqa: BLE001 - it asks for another vocabulary
            return {}
    return {"needs": needed} if needed and "" not in needed else {}


def _refuses(cls: Any) -> dict[str, Any]:
    pieces = [
        "<s>",
        "</s>",
        "<unk>",
        "<pad>",
        "<mask>",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[PAD]",
        "[MASK]",
        "a",
        "b",
        "ab",
        "\u2581",
        "\u0120",
    ]
    models: dict[str, Any] = {
        "table": {**_VOCABULARIES["BPE"], "vocab": {piece: i for i, piece in enumerate(pieces)}},
        "list": {"type": "Unigram", "vocab": [[piece, -1.0 * i] for i, piece in enumerate(pieces)], "unk_id": 2},
    }
    parts: dict[str, Any] = {
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    }
    found: dict[str, str] = {}
    for kind, model in models.items():
        try:
            _load(cls, {}, tokenizer={"version": "1.0", "added_tokens": [], "model": model, **parts})
        except Exception as error:  # noqa: BLE001 - the type of whatever it raises is what is asked for
            name = type(error).__name__
            found[kind] = name if five() and name in _OWN_ERRORS else ""
    return {"refuses": found} if found else {}


def rows() -> dict[str, dict[str, Any]]:
    """The rows of every class of the installed release, by its name."""
    found: dict[str, dict[str, Any]] = {}
    for name, target in spelled().items():
        cls: Any = tokenization_auto.tokenizer_class_from_name(name)
        if target not in found and target not in _GENERIC - {"PreTrainedTokenizerFast"}:
            found[target] = row(cls)
    return found


def by_config() -> tuple[dict[str, str], dict[str, bool]]:
    """The class of a model type where no file names one: that of its configuration class, which several model types may share.

    "" for one that has none; a model type that is not in the table has no tokenizer of its own. The second table holds the model types that
    have theirs through another one: AutoTokenizer uses it, but does not count it as local code.
    """
    known: Any = tokenization_auto.TOKENIZER_MAPPING
    named: Any = tokenization_auto.TOKENIZER_MAPPING_NAMES
    module: Any = configuration_auto
    configs = {str(kind): str(config) for kind, config in dict(module.CONFIG_MAPPING_NAMES).items()}
    found: dict[str, str] = {}
    lent: dict[str, bool] = {}
    for kind, config in sorted(configs.items()):
        owner = known._reverse_config_mapping.get(config)  # noqa: SLF001 - the mapping tells this nowhere else
        others = [other for other, each in configs.items() if each == config and other in named]
        if owner in named or others:
            value: Any = named[owner if owner in named else others[0]]
            found[kind] = str(value if isinstance(value, str) else (value and (value[1] or value[0])) or "")
            if owner not in named:
                lent[kind] = True
    return found, lent


def unfolded(runs: dict[str, dict[str, Any]], versions: list[str]) -> dict[str, dict[str, Any]]:
    """The values by version of a table that holds them by name and version from which on they hold."""
    found: dict[str, dict[str, Any]] = {version: {} for version in versions}
    for name, since in runs.items():
        value = None
        for version in versions:
            value = since.get(version, value)
            if value is not None:
                found[version][name] = value
    return found


def folded(values: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The reverse of `unfolded`; None where a name is gone."""
    found: dict[str, dict[str, Any]] = {}
    for name in sorted({name for each in values.values() for name in each}):
        runs: dict[str, Any] = {}
        before = None
        for version, each in values.items():
            if each.get(name) != before:
                runs[version] = before = each.get(name)
        found[name] = runs
    return found


def held() -> dict[str, Any]:
    """The table as it is written down; one without rows where there is none yet."""
    if PATH.exists():
        return json.loads(PATH.read_text("utf-8"))
    return {"versions": [], **dict.fromkeys(_TABLES, cast("dict[str, Any]", {}))}


def text() -> str:
    """The table with the installed release in it, a name a line."""
    table = held()
    version = transformers.__version__
    before: list[str] = table["versions"]
    versions = sorted({*before, version}, key=lambda each: [int(part) for part in each.split(".")])
    parts: list[str] = [f'"versions": {json.dumps(versions)}']
    for key, now in zip(_TABLES, (*by_config(), rows(), spelled()), strict=True):
        values = {**unfolded(table[key], before), version: now}
        runs = folded({each: values[each] for each in versions})
        lines = (f"{json.dumps(name)}: {json.dumps(since)}" for name, since in runs.items())
        parts.append(f'"{key}": {{\n' + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    if importlib.util.find_spec("sentencepiece") is None:
        sys.exit("sentencepiece is needed as well: a class that reads its files would be written down as absent")
    PATH.write_text(text(), encoding="utf-8")
    print(PATH)
