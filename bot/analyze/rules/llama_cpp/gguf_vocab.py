"""What the converter of llama.cpp writes into a GGUF file about special tokens and the chat template.

Source: class SpecialVocab of gguf-py (gguf/vocab.py). There are two versions of it in use: the gguf package 0.19.0 (run) and the copy in the tree of
llama.cpp at 0c1e57098 (run). convert_hf_to_gguf.py takes the tree's own unless NO_LOCAL_GGUF is set. They differ in what follows from the post-processor.
"""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import ROLES as _TOKENS
from bot.analyze.rules.llama_cpp.gguf_files import (
    TOKENIZER,
    StopError,
    UnreadError,
    get,
    iterated,
    json_file,
    text_file,
    tokenizer_json,
)
from bot.answer import Unknown
from bot.place import Place

ROLES = tuple(name.removesuffix("_token") for name in _TOKENS)
CONFIG = "tokenizer_config.json"
JINJA = "chat_template.jinja"
NAMED = "additional_chat_templates/"


class Refusal(msgspec.Struct, frozen=True):
    """The exception that stops the conversion, by the name of its type, and the file that it is about."""

    error: str
    place: Place


class SpecialVocab(msgspec.Struct, frozen=True):
    """What is written: ids by role ("eos", and "eot" or "eom" where the post-processor gives one), whether each is added to a text, the templates by name.

    `places` are those that state the ids, by role.

    `file` is the one that the template comes from, "" for none; `listed` tells a list of templates from a single one; `templates` is None for a list
    whose entries are something else.
    """

    ids: Mapping[str, int]
    adds: Mapping[str, bool]
    templates: Mapping[str, str] | None
    places: Mapping[str, Place]
    file: str = ""
    listed: bool = False


def special_vocab(model: Model, *, tree: bool) -> SpecialVocab | Refusal | Unknown:
    """What SpecialVocab finds in a folder; with `tree` that of llama.cpp itself, else that of the package."""
    work = _Work(model, tree=tree)
    try:
        work.tokenizer_files()
        work.config()
    except StopError as stop:
        return Refusal(stop.error, model.place(stop.file))
    except UnreadError as unread:
        return unread.answer
    return SpecialVocab(work.ids, work.adds, work.templates, work.places, work.file, work.listed)


class _Work:
    """One run of the converter over a folder, in its order: the first exception ends it."""

    def __init__(self, model: Model, *, tree: bool) -> None:
        self.model = model
        self.tree = tree
        self.roles = list(ROLES)
        self.ids: dict[str, int] = {}
        self.adds: dict[str, bool] = {}
        self.places: dict[str, Place] = {}
        self.templates: dict[str, str] | None = {}
        self.file = ""
        self.listed = False
        self.settings: Any = None
        self.strings: dict[str, Any] = {}

    def tokenizer_files(self) -> None:
        """tokenizer.json and tokenizer_config.json; without the second nothing is taken but what the post-processor says."""
        tokenizer: Any = {}
        if self.model.has(TOKENIZER):
            tokenizer = tokenizer_json(self.model)
        added: Any = get(tokenizer, "added_tokens", TOKENIZER, {})
        if self.model.has(CONFIG):
            self.settings = json_file(self.model, CONFIG)
        if isinstance(self.settings, dict):  # some keys are overwritten on the way
            self.settings = dict(cast("dict[str, Any]", self.settings))
        if tokenizer:
            self.pipeline(get(tokenizer, "post_processor", TOKENIZER))
        if not self.settings:
            return
        self.template()
        for role in self.roles:
            self.add_flag(role, get(self.settings, f"add_{role}_token", CONFIG))
            entry: Any = get(self.settings, f"{role}_token", CONFIG)
            content = cast("dict[str, Any]", entry).get("content") if isinstance(entry, dict) else entry
            if isinstance(content, str):
                self.set_id(role, _declared(added, content), CONFIG, f"/{role}_token")

    def config(self) -> None:
        """config.json fills in the ids that are still missing; text_config where the top level has none."""
        if not self.model.has("config.json"):
            return
        config = json_file(self.model, "config.json")
        for role in self.roles:
            key = f"{role}_token_id"
            number: Any = get(config, key, "config.json")
            inner = number is None and "text_config" in config
            if inner:
                number = get(config["text_config"], key, "config.json")
            self.set_id(role, number, "config.json", f"/text_config/{key}" if inner else f"/{key}")

    def set_id(self, role: str, number: Any, file: str, pointer: str) -> None:
        """Only whole numbers count, lists do not; the first one stays, and a negative one is refused all the same."""
        if isinstance(number, int):
            if number < 0:
                raise StopError("ValueError", file)
            if role not in self.ids:
                self.ids[role] = number
                self.places[role] = self.model.place(file, pointer)

    def add_flag(self, role: str, stated: Any) -> None:
        """add_bos_token and the like: the package takes it over what the post-processor says, the tree leaves that alone."""
        if isinstance(stated, bool) and not (self.tree and role in self.adds):
            self.adds[role] = stated

    def pipeline(self, post_processor: Any) -> None:
        """The post-processor decides whether tokens are added, and may name another EOS than tokenizer_config.json."""
        stated: Any = self.settings or {}
        self.strings = {role: get(stated, f"{role}_token", CONFIG) for role in ("bos", "cls", "eos", "sep")}
        for role, other in (("bos", "cls"), ("eos", "sep")):
            if not self.strings[role] and self.strings[other]:
                self.name(role, self.strings[other])
        if not post_processor:
            return
        for step in iterated(get(post_processor, "processors", TOKENIZER, [post_processor]), TOKENIZER):
            kind = get(step, "type", TOKENIZER)
            if kind == "ByteLevel" and self.tree:
                self.adds.setdefault("bos", False)
                self.adds.setdefault("eos", False)
            elif kind == "RobertaProcessing":
                self.adds.update(bos=True, eos=True, sep=True)
                for role, other in (("cls", "bos"), ("sep", "eos")):
                    if not self.strings[role] and self.settings:
                        self.name(role, _first(get(step, role, TOKENIZER, [self.strings[other]])))
            elif kind == "TemplateProcessing":
                self.single(step)

    def name(self, role: str, string: Any) -> None:
        """Give a role to a token, as if tokenizer_config.json said so."""
        self.strings[role] = string
        if self.settings:
            self.settings[f"{role}_token"] = string

    def single(self, step: Any) -> None:
        """The template of a single text, and that of a pair for the separator."""
        single = _parts(get(step, "single", TOKENIZER, []))
        pair = _parts(get(step, "pair", TOKENIZER, []))
        first = last = None
        if len(single) > 1:
            first, last = _special(single[0]), _special(single[-1])
            if first:
                self.first(first)
            if last:
                self.last(last)
        if pair:
            self.pair(pair, first, last)

    def first(self, first: Any) -> None:
        """A special token in front is BOS (or CLS)."""
        if not self.settings:
            self.strings["bos"] = first
        elif self.tree and first not in (self.strings["bos"], self.strings["cls"]):
            for role in ("bos", "cls"):
                if not self.strings[role]:
                    self.name(role, first)
        self.adds["bos"] = first in (self.strings["bos"], self.strings["cls"])

    def last(self, last: Any) -> None:
        """A special token behind takes the place of EOS, and what was EOS becomes the end of a turn."""
        if not self.settings:
            self.strings["eos"] = last
        elif last != self.strings["eos"]:
            spare = next((role for role in ("eot", "eom") if role not in self.roles), "")
            if spare:
                self.roles.append(spare)
                self.settings[f"{spare}_token"] = self.strings["eos"]
            self.name("eos", last)
        self.adds["eos"] = last == self.strings["eos"]

    def pair(self, pair: list[Any], first: Any, last: Any) -> None:
        """One or two special tokens between the texts of a pair are a separator, if they are known as one."""
        start = 1 if first and _special(pair[0]) == first else 0
        stop = -1 if last and _special(pair[-1]) == last else None
        inner = pair[start:stop]
        if not inner:
            return
        ends = [get(get(part, "Sequence", TOKENIZER, {}), "id", TOKENIZER) for part in (inner[0], inner[-1])]
        between = inner[1:-1]
        if ends != ["A", "B"] or not between:
            return
        separators = (self.strings["sep"], self.strings["eos"])
        entry = _special(between[0])
        adds = bool(entry) and entry in separators and not last
        if len(between) == 2:
            second = _special(between[1])
            adds = adds or (bool(second) and second in separators)
        self.adds["sep"] = adds
        if adds and not self.strings["sep"] and self.settings:
            self.settings["sep_token"] = self.strings["eos"]

    def template(self) -> None:
        """The key chat_template of tokenizer_config.json wins, be it null; then chat_template.jinja, then chat_template.json."""
        other, file = self.template_file()
        value: Any = get(self.settings, "chat_template", CONFIG, other)
        self.file = CONFIG if "chat_template" in self.settings else file
        if isinstance(value, str):
            self.templates = {"default": value}
        elif isinstance(value, list):
            self.listed = True
            rows = [_row(row) for row in cast("list[Any]", value)]
            self.templates = None if None in rows else dict(row for row in rows if row is not None)
        if self.templates == {}:
            self.file = ""

    def template_file(self) -> tuple[Any, str]:
        """The template that stands beside tokenizer_config.json, and the file."""
        if self.model.has(JINJA):
            text = text_file(self.model, JINJA)
            names = [n for n in self.model.files if n.startswith(NAMED) and n.endswith(".jinja") and n.count("/") == 1]
            if not names:
                return text, JINJA
            rows = [{"name": n.removeprefix(NAMED).removesuffix(".jinja"), "template": text_file(self.model, n)} for n in names]
            return [{"name": "default", "template": text}, *rows], JINJA
        if self.model.has("chat_template.json"):
            return get(json_file(self.model, "chat_template.json"), "chat_template", "chat_template.json"), "chat_template.json"
        return None, ""


def _row(row: Any) -> tuple[str, str] | None:
    """An entry of a list of templates. Other characters than letters and digits become underscores (gguf_writer.py:1303 at 0c1e57098)."""
    entry = cast("dict[str, Any]", row) if isinstance(row, dict) else {}
    name, text = entry.get("name"), entry.get("template")
    if not isinstance(name, str) or not isinstance(text, str):
        return None
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in name), text


def _declared(added: Any, content: str) -> Any:
    """The id that the first entry of that content declares."""
    found = (token for token in iterated(added, TOKENIZER) if get(token, "content", TOKENIZER) == content)
    return get(next(found, {}), "id", TOKENIZER)


def _parts(value: Any) -> list[Any]:
    """A template of the post-processor."""
    if not isinstance(value, list):
        raise UnreadError(Unknown("the post_processor of tokenizer.json has a template that is no list"))
    return cast("list[Any]", value)


def _special(part: Any) -> Any:
    return get(get(part, "SpecialToken", TOKENIZER, {}), "id", TOKENIZER)


def _first(value: Any) -> Any:
    try:
        return value[0]
    except (TypeError, KeyError, IndexError) as error:
        raise StopError(type(error).__name__, TOKENIZER) from None
