"""What AutoConfig of a version of transformers does with config.json: loads it, or raises which exception.

Source: models/auto/configuration_auto.py (get_config_dict, from_pretrained) of 4.46.3 to 5.24.0, read and run; what the classes themselves raise see config_faults.py.
"""

from typing import Any, cast

from bot.analyze.model.config import FILE
from bot.analyze.model.document import Document
from bot.analyze.model.folder import Model
from bot.analyze.rules.config_faults import class_error
from bot.analyze.tables import knows_type, parts
from bot.answer import Answer, Known, Missing, Unknown

# get_config_dict puts its own keys into whatever the file holds; since 5.19 it copies the object and looks for keys instead (configuration_utils.py).
_ANY_CONTAINER = (5, 19)


def config_error(model: Model, version: str, *, trusted: bool = False) -> Answer[str | None]:
    """The name of the exception that AutoConfig.from_pretrained raises, or None where it loads; "" where it raises one that we cannot name.

    Without a config.json it raises as well. `trusted` is for an operator who trusts the repository's own code, which then reads the file.
    The folder's path says nothing: versions before 5.2 guess a model type from it where the file names none.
    """
    where = (model.place(FILE),)
    document = model.document(FILE)
    if isinstance(document, Unknown):
        return Unknown(f"{FILE} {document.reason}", document.places)
    if isinstance(document, Missing):
        return Known("ValueError", where)
    if not isinstance(document.value, Document):
        return Known("OSError", where)
    config = document.value.value
    if not isinstance(config, dict):
        looks = parts(version) >= _ANY_CONTAINER and isinstance(config, list | str)
        return Known("ValueError" if looks else "TypeError", where)
    return _of_object(model, cast("dict[str, Any]", config), version, trusted=trusted)


def config_loads(model: Model, version: str, *, trusted: bool = False) -> Answer[bool | None]:
    """Whether AutoConfig loads config.json, None where there is no such file."""
    if not model.has(FILE):
        return Known(None, (model.place(FILE),))
    error = config_error(model, version, trusted=trusted)
    return Known(error.value is None, error.places) if isinstance(error, Known) else error


def _of_object(model: Model, config: dict[str, Any], version: str, *, trusted: bool) -> Answer[str | None]:
    kind = config.get("model_type")
    hashable = not isinstance(kind, list | dict)
    known = isinstance(kind, str) and knows_type(kind, version)
    remote = _remote(config, version)
    if isinstance(remote, Known):
        return Known(remote.value, (model.place(FILE, "/auto_map"),))
    if not hashable:
        return Known("TypeError", (model.place(FILE, "/model_type"),))
    if remote is not None and trusted:
        return _by_own_code(model, remote)
    if not known:
        return Known("ValueError", (model.place(FILE, "/auto_map" if remote else "/model_type"),))
    return class_error(model, config, version)


def _by_own_code(model: Model, reference: str) -> Answer[str | None]:
    """What reading config.json with the repository's own class comes to: it is taken to load where the code is there."""
    place = (model.place(FILE, "/auto_map"),)
    repository, dashes, name = reference.rpartition("--")
    if dashes:
        return Unknown(f"the code is in another repository, {repository}", place)
    return Known(None if model.has(f"{name.rpartition('.')[0]}.py") else "OSError", place)


def _remote(config: dict[str, Any], version: str) -> Known[str] | str | None:
    """The class that auto_map names for AutoConfig, None where it names none, or the exception that looking for it raises."""
    if "auto_map" not in config:
        return None
    auto_map = config["auto_map"]
    if not isinstance(auto_map, dict | list | str):
        return Known("TypeError")
    if "AutoConfig" not in auto_map:
        return None
    looks = parts(version) >= (4, 57)  # for "--" in the reference (dynamic_module_utils.py)
    if not isinstance(auto_map, dict):
        return Known("TypeError") if looks else "AutoConfig"
    reference = cast("dict[str, Any]", auto_map)["AutoConfig"]
    if looks and not isinstance(reference, str | list | dict):
        return Known("TypeError")
    return reference if isinstance(reference, str) else "AutoConfig"
