"""The chat templates of a model folder: every source, and the ones that a reader takes."""

from typing import Any, cast

import msgspec

from bot.analyze.model.folder import Model, fact
from bot.answer import Known, Unknown
from bot.place import Place

FILE = "chat_template.jinja"
NAMED_FOLDER = "additional_chat_templates/"
DEFAULT = "default"
MOST = 256
"""Templates that are read of one source; real models have up to a dozen, and each costs up to hundreds of prompts."""
_TAKEN_FOR_DEFAULT = f"{NAMED_FOLDER}file.jinja"


class Template(msgspec.Struct, frozen=True):
    """A chat template: its name ("default" or the name in a list or file), its text, the file and pointer that hold it."""

    name: str
    text: str
    file: str
    pointer: str = ""


class Sources(msgspec.Struct, frozen=True):
    """Where a folder keeps chat templates.

    `files` come from chat_template.jinja and additional_chat_templates/, `inline` from tokenizer_config.json, `processor` from
    chat_template.json or processor_config.json, which only processors read. `unread` are sources that are there and could not be read,
    or were read in part, for they hold more than MOST templates.
    """

    files: tuple[Template, ...]
    inline: tuple[Template, ...]
    processor: tuple[Template, ...]
    unread: tuple[Unknown, ...]

    @property
    def every(self) -> tuple[Template, ...]:
        """All of them."""
        return self.files + self.inline + self.processor


@fact
def sources(model: Model) -> Sources:
    """Every chat template of a folder.

    An inline template is a string, an object of named templates or a list of {name, template}; an entry of another shape is no template.
    """
    unread: list[Unknown] = []
    files: list[Template] = []
    for name in sorted(model.files):
        if name == FILE or (name.startswith(NAMED_FOLDER) and name.endswith(".jinja")):
            if len(files) == MOST:
                unread.append(
                    Unknown(f"more than {MOST} files hold chat templates; the others were not read", (model.place(name),))
                )
                break
            text = model.text(name)
            if isinstance(text, Known):
                called = DEFAULT if name == FILE else name.removeprefix(NAMED_FOLDER).removesuffix(".jinja")
                files.append(Template(called, text.value, name))
            elif isinstance(text, Unknown):
                unread.append(Unknown(f"{name} {text.reason}", text.places))
    inline: dict[str, list[Template]] = {}
    for name in ("tokenizer_config.json", "chat_template.json", "processor_config.json"):
        document = model.document(name)
        if isinstance(document, Unknown):
            unread.append(Unknown(f"{name} {document.reason}", document.places))
        found = _inline(model, name)
        if len(found) > MOST:
            reason = f"{name} holds more than {MOST} chat templates; the others were not read"
            unread.append(Unknown(reason, (model.place(name, "/chat_template"),)))
        inline[name] = found[:MOST]
    of_tokenizer, *of_processors = inline.values()
    processor = tuple(template for each in of_processors for template in each)
    return Sources(tuple(files), tuple(of_tokenizer), processor, tuple(unread))


@fact
def of_tokenizer(model: Model) -> tuple[Template, ...]:
    """The templates that a tokenizer of transformers >= 4.52 (and so vLLM and sglang) takes.

    Any template file replaces everything inline, also when it is empty and also when there are only named files, which leaves no
    default (tokenization_utils_base.py:1826 in 5.24.0, run with 4.57.6 and 5.x). Named files are those right in their folder; `default` replaces
    chat_template.jinja, and so does `file`, whose key is that of chat_template.jinja (:1702, run).
    """
    found = sources(model)
    direct = [template for template in found.files if "/" not in template.file.removeprefix(NAMED_FOLDER)]
    direct.sort(key=lambda template: (template.file != FILE, template.file != _TAKEN_FOR_DEFAULT))
    read = {
        name: template for template in direct for name in (DEFAULT if template.file == _TAKEN_FOR_DEFAULT else template.name,)
    }
    return tuple(msgspec.structs.replace(template, name=name) for name, template in read.items()) or found.inline


def of_old_readers(model: Model) -> tuple[Template, ...]:
    """The templates that transformers 4.46, llama.cpp, TGI, transformers.js and Ollama take: only those inline."""
    return sources(model).inline


@fact
def in_force(model: Model) -> tuple[Template, ...]:
    """The templates that somebody's chat goes through: the tokenizer's, or for lack of any the processor's."""
    return of_tokenizer(model) or sources(model).processor


def place_of(model: Model, template: Template) -> Place:
    """Where a template stands."""
    return model.place(template.file, template.pointer)


def _inline(model: Model, name: str) -> list[Template]:
    value: Any = model.mapping(name).get("chat_template")
    if isinstance(value, str):
        return [Template(DEFAULT, value, name, "/chat_template")]
    found: list[Template] = []
    if isinstance(value, dict):
        for key, text in cast("dict[str, Any]", value).items():
            if isinstance(text, str):
                found.append(Template(key, text, name, "/chat_template/" + key.replace("~", "~0").replace("/", "~1")))
    if isinstance(value, list):
        for i, entry in enumerate(cast("list[Any]", value)):
            row = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
            called, text = row.get("name"), row.get("template")
            if isinstance(called, str) and isinstance(text, str):
                found.append(Template(called, text, name, f"/chat_template/{i}/template"))
    return found
