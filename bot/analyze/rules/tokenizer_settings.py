"""What a tokenizer of transformers refuses beside its tokens: the sides that it pads and cuts, its chat templates, and a config.json that it reads again."""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, cast

from bot.analyze import data
from bot.analyze.model.document import NotJson
from bot.analyze.model.folder import Model
from bot.analyze.model.stated import RefusedError, json_error
from bot.analyze.model.templates import FILE, NAMED_FOLDER
from bot.analyze.model.tokenizer_classes import ClassRow
from bot.analyze.model.tokenizer_parts import Pipeline
from bot.analyze.tables import parts
from bot.answer import Known, Unknown

_AROUND = 100  # more tokens than a post-processor puts around a text
_SIDES = ("right", "left")
_VERSION = re.compile(r"v?\d+(\.\d+)*((\.?(dev|rc|a|b|post))\d*)*$")
_FILES_SINCE = (4, 47)  # the first version that reads templates from files


def read_templates(model: Model, version: str) -> None:
    """Template files are read first, by 4.47 and newer, and have to be UTF-8."""
    if parts(version) < _FILES_SINCE:
        return
    for name in _files(model):
        content = model.content(name)
        try:
            _ = content.value.decode("utf-8") if isinstance(content, Known) else ""
        except UnicodeDecodeError as error:
            raise RefusedError(f"{name} is not UTF-8 text ({error.reason})", "UnicodeDecodeError") from error


@cache
def _methods() -> dict[str, frozenset[str]]:
    """What can be called on a tokenizer in every version and in some (tools/tokenizer_methods.py)."""
    read = json.loads(data.content("tokenizer-methods.json"))
    return {key: frozenset(read[key]) for key in ("every", "some")}


def hold_names(values: Mapping[str, Any]) -> Unknown | None:
    """No setting may have the name of a method (5.24.0 tokenization_utils_base.py:1026, 4.57.6 :1425, 4.46.3 :1590; read and run)."""
    methods = _methods()
    if taken := next((name for name in values if name in methods["every"]), ""):
        raise RefusedError(f"the setting {taken!r} has the name of a method", "AttributeError")
    # all_special_ids is a property that 5.24.0 fails with where a setting has its name.
    if odd := next((name for name in values if name in methods["some"] or name == "all_special_ids"), ""):
        return Unknown(f"whether this version takes the setting {odd!r}, which has the name of a method of some versions")
    return None


def hold_truncation(file: Pipeline) -> Unknown | None:
    """What overlaps of cut texts may not be longer than what is left of a text once the tokens around it are in (tokenizers 0.20.3 to 0.23.3, run)."""
    block = cast("dict[str, Any]", file.truncation) if isinstance(file.truncation, dict) else {}
    longest, stride = block.get("max_length"), block.get("stride")
    if not isinstance(longest, int) or not isinstance(stride, int):
        return None
    if stride > longest:
        raise RefusedError(f"tokenizer.json cuts texts to {longest} tokens that overlap by {stride}", "ValueError")
    if file.post_processor is not None and stride > longest - _AROUND:
        return Unknown(f"whether texts cut to {longest} tokens leave room for an overlap of {stride} and the tokens around them")
    return None


def hold_settings(model: Model, values: Mapping[str, Any], version: str) -> None:
    """The sides, then a list of chat templates (5.24.0 tokenization_utils_base.py:1065-1097, 4.57.6 :1430-1467, 4.46.3 :1632; read and run).

    Version 4 looks at both before it looks at the roles, version 5 after that.
    """
    for name in ("padding_side", "truncation_side"):
        if values.get(name, "right") not in _SIDES:
            raise RefusedError(f"{name} is neither right nor left", "ValueError")
    listed: Any = values.get("chat_template")
    if not isinstance(listed, list) or (parts(version) >= _FILES_SINCE and _files(model)):
        return
    for i, entry in enumerate(cast("list[Any]", listed)):
        _hold_entry(i, entry)


def _hold_entry(i: int, entry: Any) -> None:
    """An entry is taken apart by its keys, of which none may be missing."""
    if not isinstance(entry, dict):
        raise RefusedError(f"entry {i} of chat_template is no object", "TypeError")
    row = cast("dict[str, Any]", entry)
    if "name" not in row:
        raise RefusedError(f"entry {i} of chat_template has no name", "KeyError")
    if "template" not in row:
        raise RefusedError(f"entry {i} of chat_template has no template", "KeyError")
    if isinstance(row["name"], list | dict):
        raise RefusedError(f"entry {i} of chat_template has a name that is no text", "TypeError")


def hold_prefix(row: ClassRow, values: Mapping[str, Any], version: str) -> None:
    """A class of version 5 that builds its own pipeline hands add_prefix_space to the library, which takes no null (run)."""
    if parts(version) >= (5,) and "add_prefix_space" in row.frail and values.get("add_prefix_space", "") is None:
        raise RefusedError("add_prefix_space is null", "TypeError")


def hold_ids(blank: Iterable[str], file: Pipeline, version: str) -> Unknown | None:
    """The ids of BOS and EOS are asked for at the end, and for want of one that of the unknown token, for want of which it is asked for again and again.

    5.24.0 tokenization_utils_tokenizers.py:532, 641 and 834 (run; the same in 5.0.0 to 5.22.2). Only an empty string is no token.
    """
    empty = {*blank}
    if parts(version) < (5,) or "unk_token" not in empty or not empty & {"bos_token", "eos_token"}:
        return None
    if file.post_processor is not None:
        return Unknown("whether the ids of roles that are an empty string are asked for depends on the class")
    raise RefusedError("the unknown token is an empty string, and so is another role", "RecursionError")


def hold_end(row: ClassRow, file: Pipeline | None, values: Mapping[str, Any], version: str, *, bos: bool) -> None:
    """What a class looks at last: parts of `file` (None without a tokenizer.json), or whether there is the `bos` token that is asked for.

    4.x classes write their options into a part (4.46.3 models/gpt2/tokenization_gpt2_fast.py:118, models/bert/tokenization_bert_fast.py:98); for
    the bos token see 5.0.0 tokenization_utils_tokenizers.py:427 (gone in 5.3.0); run.
    """
    for part in row.needs if file is not None else ():
        if getattr(file, part) is None:
            raise RefusedError(f"tokenizer.json has no {part}", "TypeError")
    step = cast("dict[str, Any]", file.pre_tokenizer) if file is not None and isinstance(file.pre_tokenizer, dict) else {}
    pushed = "pre_tokenizer" in row.needs and values.get("add_prefix_space", "") is None
    if parts(version) < (5,) and pushed and step.get("add_prefix_space") is not None:
        raise RefusedError("add_prefix_space is null", "TypeError")
    if (5,) <= parts(version) < (5, 3) and file is None and values.get("add_bos_token") and not bos:
        raise RefusedError("add_bos_token is set, and no token holds the role", "ValueError")


def config_read_again(model: Model) -> bool:
    """For a vocabulary of more than 100000 pieces config.json is read once more, to warn of old Mistral files (4.57.6 tokenization_utils_base.py:2404)."""
    document = model.document("config.json")
    if not isinstance(document, Known):
        return True
    if isinstance(document.value, NotJson):
        raise RefusedError(f"config.json {document.value.message}", json_error(document.value))
    if not isinstance(document.value.value, dict):
        raise RefusedError("config.json holds no JSON object", "AttributeError")
    written = document.value.mapping.get("transformers_version")
    return not written or (isinstance(written, str) and bool(_VERSION.match(written)))


def _files(model: Model) -> list[str]:
    """The template files that are looked for."""
    return [
        name
        for name in model.files
        if name == FILE or (name.rpartition("/")[0] + "/" == NAMED_FOLDER and name.endswith(".jinja"))
    ]
