"""Which tokenizer class AutoTokenizer of a version of transformers picks for an operator who does not trust the repository's code.

Source: models/auto/tokenization_auto.py, AutoTokenizer.from_pretrained of 4.46.3, 4.57.6 (1040-1180) and 5.0.0 to 5.24.0, read and run.
"""

from typing import Any, cast

from bot.analyze.model.document import Document
from bot.analyze.model.folder import Model
from bot.analyze.model.picks import is_byte_level, is_incorrect, known, pick, registered
from bot.analyze.model.stated import RefusedError, json_error
from bot.analyze.model.tokenizer_classes import FILE, release
from bot.analyze.rules.config_outcome import config_error
from bot.analyze.rules.plain_config import plain_config_error
from bot.analyze.tables import parts
from bot.answer import Known, Unknown

_CONFIG = "tokenizer_config.json"


def auto_class(model: Model, version: str) -> tuple[str, ...] | Unknown:
    """The class, and behind it the one that is tried when the first one raises. Raises RefusedError where AutoTokenizer finds none."""
    if parts(version) >= (5,):
        return _of_5(model, version)
    name = _of_4(model, version)
    return name if isinstance(name, Unknown) else (name,)


def _of_5(model: Model, version: str) -> tuple[str, ...] | Unknown:
    loads = _config(model, version)
    if isinstance(loads, Unknown):
        return loads
    tokenizer, config = _tokenizer_config(model, version), model.mapping("config.json")
    names: tuple[Any, Any] = (tokenizer.get("tokenizer_class"), config.get("tokenizer_class"))
    if any(name is not None and not isinstance(name, str) for name in names):
        return Unknown("tokenizer_class is no text", (model.place(_CONFIG, "/tokenizer_class"),))
    declared, other = (cast("str", name or "").removesuffix("Fast") for name in names)
    kind: Any = config.get("model_type")
    model_type = kind if isinstance(kind, str) else ""
    code = _code(tokenizer)
    if isinstance(code, Unknown):
        return code
    if isinstance(kind, list | dict) and (parts(version) >= (5, 3) if code else names[0] is not None):
        raise RefusedError("model_type of config.json is no text, and is looked up", "TypeError")
    if code:
        if not (parts(version) >= (5, 3) and is_incorrect(model_type, version)):
            _hold_local(model_type if loads else "", declared, version)
        default = release(version).by_config.get(model_type, "") if loads else ""
        return (known(declared or _existing(names[1], version) or default, version),)
    mapped, at = registered(model_type, version), parts(version)
    if not declared and not (at >= (5, 10) and mapped and mapped != other):
        _existing(names[1], version)
    spoiled = "LlamaTokenizer" in (declared or other) and is_byte_level(model)
    found = pick(version, declared, other, model_type, byte_level=spoiled) if declared or other or loads else FILE
    # 5.0 to 5.5 take the file as it stands where the declared class is not that of the model type, and try the class when that raises.
    differs = bool(mapped and mapped != declared) or (at < (5, 3) and kind not in (None, "") and not mapped)
    tried = at < (5, 6) and bool(declared) and differs
    return (FILE, release(version).as_is(names[0])) if tried else (found,)


def _existing(name: str | None, version: str) -> str:
    """A class that config.json names; AutoTokenizer does not look whether it found any, nor whether it is the base of those in Python."""
    if not name:
        return ""
    found = release(version).as_is(name)
    if not found:
        raise RefusedError(f"config.json names the tokenizer class {name}, which does not exist", "AttributeError")
    if found == "PythonBackend":
        raise RefusedError(f"config.json names the tokenizer class {name}, which is only a base", "NotImplementedError")
    return name.removesuffix("Fast")


def _config(model: Model, version: str) -> bool | Unknown:
    """Whether the configuration is that of a known model type. Raises RefusedError for an exception that AutoTokenizer lets pass."""
    error = config_error(model, version)
    if not isinstance(error, Known):
        return error if isinstance(error, Unknown) else Unknown("config.json could not be read")
    if error.value is None:
        return True
    caught = error.value in ("ValueError", "OSError")
    if parts(version) >= (5, 4) and not caught:
        raise RefusedError("config.json is read first, and its class raises", error.value)
    plain = plain_config_error(model, version)
    if not isinstance(plain, Known):
        return plain if isinstance(plain, Unknown) else Unknown("config.json could not be read")
    if plain.value is not None:
        raise RefusedError("config.json is read first, and raises", plain.value)
    return False


def _tokenizer_config(model: Model, version: str) -> dict[str, Any]:
    document = model.document(_CONFIG)
    if not isinstance(document, Known):
        return {}
    if not isinstance(document.value, Document):
        raise RefusedError(f"{_CONFIG} {document.value.message}", json_error(document.value))
    if not isinstance(document.value.value, dict):
        raise RefusedError(f"{_CONFIG} holds no JSON object", "AttributeError" if parts(version) >= (5, 16) else "TypeError")
    return document.value.mapping


def _code(tokenizer: dict[str, Any]) -> bool | Unknown:
    """Whether auto_map names code for the tokenizer; a list is the older form of its entry."""
    if "auto_map" not in tokenizer:
        return False
    stated = tokenizer["auto_map"]
    if isinstance(stated, dict):
        stated = cast("dict[str, Any]", stated).get("AutoTokenizer")
        if stated is None:
            return False
    if not isinstance(stated, list | str) or len(cast("list[Any]", stated)) < 2:
        return Unknown("auto_map names no pair of classes for AutoTokenizer")
    return True


def _hold_local(model_type: str, declared: str, version: str) -> None:
    """Without trust, code of the repository is passed over only where there is a class in the library as well."""
    tables = release(version)
    local = model_type in tables.by_config and model_type not in tables.lent
    if not local and not (declared and tables.named(declared)):
        raise RefusedError("the tokenizer is code of the repository, which is not trusted", "ValueError")


def _of_4(model: Model, version: str) -> str | Unknown:
    tokenizer, tables = _tokenizer_config(model, version), release(version)
    declared, kind = tokenizer.get("tokenizer_class"), ""
    code = _code(tokenizer)
    if isinstance(code, Unknown):
        return code
    if declared is None:
        error = config_error(model, version)
        if not isinstance(error, Known):
            return error if isinstance(error, Unknown) else Unknown("config.json could not be read")
        if error.value is not None:
            raise RefusedError("no tokenizer_class is stated, and config.json does not load", error.value)
        config = model.mapping("config.json")
        kind, declared = cast("str", config["model_type"]), config.get("tokenizer_class")
        auto_map = config.get("auto_map")
        code = code or (isinstance(auto_map, dict) and "AutoTokenizer" in auto_map)
    if declared is not None and not isinstance(declared, str):
        return Unknown("tokenizer_class is no text")
    named = next((name for name in _spellings(declared or "") if name in tables.spelled), "")
    if code and not (kind in tables.by_config and kind not in tables.lent) and not named:
        raise RefusedError("the tokenizer is code of the repository, which is not trusted", "ValueError")
    if declared is not None:
        if not named:
            raise RefusedError(f"Tokenizer class {declared} does not exist or is not currently imported", "ValueError")
        return tables.spelled[named]
    found = tables.by_config.get(kind)
    if not found:
        error_type = "ValueError" if found == "" else "KeyError"
        raise RefusedError(f"no tokenizer_class is stated, and {version} has none for the model type", error_type)
    return tables.spelled[found]


def _spellings(declared: str) -> tuple[str, ...]:
    return (declared,) if declared.endswith("Fast") or not declared else (f"{declared}Fast", declared)
