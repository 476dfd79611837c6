"""Rules of transformers that its users (generate(), vLLM, sglang) share: which ids the config files give them.

Sources: transformers 4.46.3 to 5.24.0 (generation/configuration_utils.py, models/auto), run; for its users see their modules.
"""

from typing import Any, cast

from bot.analyze.model.document import Document
from bot.analyze.model.eos import Ids, nested, of_role, stated
from bot.analyze.model.folder import Model
from bot.analyze.model.tokenizer_class import candidates, rebuilds
from bot.analyze.model.tokenizer_file import AddedToken, number
from bot.analyze.model.tokens import needs_remote_code, rebuilt_id, role, tokens
from bot.analyze.rules.generation_config import refusals
from bot.analyze.tables import NEWEST, config_eos
from bot.answer import Answer, Known, Missing, Unknown

_NEWEST_4 = "4.57.6"


def generation_config_refused(content: Any, *, five: bool = True) -> str | None:
    """Why GenerationConfig.from_pretrained raises for the JSON value of a file, or None; `five` is for the newest transformers 5, else 4.57.6."""
    found = next(refusals(content, NEWEST if five else _NEWEST_4), None)
    return f"`{found.key}` {found.why}" if found else None


def generation_ids(model: Model) -> Answer[Ids] | None:
    """The ids of generation_config.json; None when the loader behaves as if there were no such file (absent, or not JSON)."""
    document = model.document("generation_config.json")
    if isinstance(document, Unknown):
        return Unknown(f"generation_config.json {document.reason}", document.places)
    return stated(model, "generation_config.json") if model.readable("generation_config.json") else None


def config_ids(model: Model, *, class_default: bool, text_config: bool) -> Answer[Ids]:
    """The ids that a loaded config.json gives.

    With `class_default` a key that is absent (not one that is null) has the default of the class of `model_type`.
    With `text_config` the nested language model's ids count where the top level has none.
    """
    top = _with_default(model, (), "top", class_default)
    if not isinstance(top, Missing) or not text_config:
        return top
    inner = nested(model)
    if inner:
        return next(iter(inner.values()))
    return _with_default(model, ("text_config",), "text", class_default) if class_default else top


def _with_default(model: Model, path: tuple[str, ...], which: str, class_default: bool) -> Answer[Ids]:  # noqa: FBT001
    answer = stated(model, "config.json", *path)
    if not isinstance(answer, Missing) or not class_default or not model.readable("config.json"):
        return answer
    holder: Any = model.mapping("config.json")
    for part in path:
        holder = cast("dict[str, Any]", holder).get(part)
    if isinstance(holder, dict) and "eos_token_id" in holder:
        return answer  # null is a statement
    model_type = model.mapping("config.json").get("model_type")
    row = config_eos().get(model_type) if isinstance(model_type, str) else None
    place = (model.place("config.json", "/model_type"),)
    if row is None or "unknown" in row:
        # An unknown type takes the plain config class, whose default is None, when it loads at all.
        return answer
    default = row.get(which)
    if default is None:
        return answer
    return Known(tuple(default) if isinstance(default, list) else (default,), place)


def config_needs_remote_code(model: Model) -> bool:
    """Whether the config class is the repository's own (auto_map.AutoConfig)."""
    auto_map = model.mapping("config.json").get("auto_map")
    return isinstance(auto_map, dict) and bool(cast("dict[str, Any]", auto_map).get("AutoConfig"))


def tokenizer_id(model: Model, name: str = "eos_token") -> Answer[int]:
    """The id of a role of the loaded tokenizer, by default EOS, on transformers 5, where the files allow to tell it.

    Missing when the tokenizer has no such token. A role string without an id is appended behind the last token. A class that rebuilds its
    backend numbers differently from one that takes the file; where the class depends on the version, so may the id, and it is Unknown.
    """
    string, table = role(model, name), tokens(model)
    if not isinstance(string, Known):
        return string
    if not isinstance(table, Known) or table.value.declared:
        answer = of_role(model, name)
        if isinstance(answer, Known) and not _vocabulary(model):
            return Unknown("no vocabulary file could be read, so the ids of the loaded tokenizer cannot be told", answer.places)
        return answer
    plain = table.value.id_of(string.value)
    if plain is None:
        plain = number(
            table.value.file, (AddedToken(string.value, 0, special=True),), {t.text: t.id for t in table.value.added.values()}
        )[string.value]
    ids = {rebuilt_id(model, string.value) if rebuilds(name) else plain for name in candidates(model) or ("",)}
    if len(ids) == 1 and None not in ids:
        return Known(cast("int", ids.pop()), string.places)
    return Unknown(f"the id of {string.value} depends on the class that the version of transformers picks", string.places)


def _vocabulary(model: Model) -> bool:
    """Whether there is a vocabulary besides tokenizer.json; remote code brings its own reading of one."""
    names = [
        name for name in model.files if name.endswith((".model", ".tiktoken", "vocab.json", "vocab.txt")) and model.has(name)
    ]
    return bool(names) and (needs_remote_code(model) or not all(model.is_pointer(name) for name in names))


def generation_config_loads(model: Model, *, five: bool = True) -> Answer[bool]:
    """False where GenerationConfig raises ValueError or TypeError; a file that is absent or not JSON hinders nobody."""
    document = model.document("generation_config.json")
    read = document.value if isinstance(document, Known) else None
    raises = isinstance(read, Document) and generation_config_refused(read.value, five=five) is not None
    return Known(value=not raises, places=(model.place("generation_config.json"),))
