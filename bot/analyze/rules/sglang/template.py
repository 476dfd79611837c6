"""Which chat template sglang takes, and whether it hands it a message's content as text or as a list of parts.

Source: sglang 0.5.23, parser/template_manager.py:165-225 and 405-449, parser/jinja_template_utils.py:22-128, parser/conversation.py:1112-1250,
parser/python_chat_template.py:74-115 (run).
"""

import hashlib
from typing import Any, cast

from jinja2 import nodes

from bot.analyze.model.config import FILE
from bot.analyze.model.folder import Model
from bot.analyze.model.templates import DEFAULT, Template, of_tokenizer, place_of, sources
from bot.analyze.render import Prompt, examined
from bot.analyze.rules.sglang.releases import Release
from bot.answer import Answer, Known, Unknown

SHA, NAMED, FORMAT = "template.sha256", "template.named", "template.content_format"
STRING, PARTS = "string", "openai"
_MEDIA = ("image", "audio", "video", "vision")  # anywhere in the text, comments included (jinja_template_utils.py:95)
_MESSAGE = ("message", "msg", "m")
# Architectures whose GLM-5.3 template gives way to a renderer in Python, and what marks such a template (python_chat_template.py:74).
_GLM = ("GlmMoeDsaForCausalLM", "Glm5NextForConditionalGeneration")
_GLM_MARKS = ("[gMASK]<sop>", "Reasoning Effort:", "<tool_call>", "<arg_key>", "<arg_value>")
_INLINE = "tokenizer_config.json"


def template_fields(model: Model, release: Release, *, processor: bool | None) -> dict[str, Answer[Any]]:
    """The digest of the template in use, those of all named ones, and how content is handed over.

    `processor` says whether a processor is loaded, whose template then comes first; None where that is not known.
    """
    found = sources(model)
    for unread in found.unread:
        return dict.fromkeys((SHA, FORMAT), unread)
    if release.builtin is None:
        return dict.fromkeys((SHA, FORMAT), Unknown("which template this release takes was not looked up"))
    builtin = conversation(model, release)
    if builtin is not None:
        place = (model.place(FILE, "/model_type"),)
        return {SHA: Known(None, place), FORMAT: Known(None, place), "template.builtin": Known(builtin, place)}
    taken = _taken(model, processor=processor)
    if isinstance(taken, Unknown):
        return dict.fromkeys((SHA, FORMAT), taken)
    named = _named(model)
    if named and not release.names:
        return dict.fromkeys((SHA, FORMAT), Unknown("what this release makes of named templates is not known"))
    fields = _of(model, taken)
    if named and processor is False:
        places = tuple(place_of(model, template) for template in named)
        fields[NAMED] = Known({template.name: digest(template) for template in named}, places)
    return fields


def conversation(model: Model, release: Release) -> str | None:
    """The conversation of sglang's own that a model type has, which comes before any template of the folder."""
    return (release.builtin or {}).get(str(model.mapping(FILE).get("model_type")))


def text_in_use(model: Model, release: Release, *, name: str = "", processor: bool | None) -> Answer[str | None]:
    """The text of the template that every request goes through, None for none; for a folder without a conversation of sglang's own.

    `name` is that of a named template, as an operator may choose it (--hf-chat-template-name).
    """
    found = sources(model)
    for unread in found.unread:
        return unread
    if release.builtin is None:
        return Unknown("which template this release takes was not looked up")
    taken, named = _taken(model, processor=processor), _named(model)
    if isinstance(taken, Unknown):
        return taken
    if named and not release.names:
        return Unknown("what this release makes of named templates is not known")
    if name and (named or name != DEFAULT):
        taken = next((template for template in named if template.name == name), None)
        if taken is None:
            return Unknown(f"there is no chat template called {name}")
    if taken is None:
        return Known(None)
    if _python(model, taken.text):
        return Unknown("sglang may render it in Python instead", (place_of(model, taken),))
    return Known(as_read(taken), (place_of(model, taken),))


def as_read(template: Template) -> str:
    """The text, with the line ends that Python gives a file that it reads as text."""
    return template.text if template.pointer else template.text.replace("\r\n", "\n").replace("\r", "\n")


def digest(template: Template) -> str:
    """The sha256 of the text."""
    return hashlib.sha256(as_read(template).encode("utf-8", "surrogatepass")).hexdigest()


def _of(model: Model, template: Template | None) -> dict[str, Answer[Any]]:
    if template is None:
        return {SHA: Known(None), FORMAT: Known(None)}
    place = (place_of(model, template),)
    if not template.text:
        return {SHA: Unknown("the template is empty", place), FORMAT: Known(STRING, place)}
    if _python(model, template.text):
        return {SHA: Unknown("sglang may render it in Python instead", place), FORMAT: Known(PARTS, place)}
    way = content_format(template.text)
    return {SHA: Known(digest(template), place), FORMAT: Known(way.value, place) if isinstance(way, Known) else way}


def _python(model: Model, text: str) -> bool:
    names: Any = model.mapping(FILE).get("architectures")
    first = cast("list[Any]", names)[0] if isinstance(names, list) and names else None
    return first in _GLM and all(mark in text for mark in _GLM_MARKS) and "enable_thinking" not in text


def _named(model: Model) -> tuple[Template, ...]:
    """The templates of a tokenizer that has them by name; empty for one with a single template or none."""
    found = sources(model)
    if found.files:
        return () if [template.name for template in found.files] == [DEFAULT] else found.files
    return () if isinstance(model.mapping(_INLINE).get("chat_template"), str) else found.inline


def _first(model: Model) -> Template | Unknown | None:
    """The tokenizer's template: of several the first, whatever it is called (template_manager.py:427-449)."""
    templates = of_tokenizer(model)
    if not templates:
        stated: Any = model.mapping(_INLINE).get("chat_template")
        empty = stated is None or stated in ("", [], {})
        return None if empty else Unknown("chat_template of tokenizer_config.json holds no template", (model.place(_INLINE),))
    # transformers puts the default file first; the others come in the order of the folder on the disk.
    if sources(model).files and templates[0].name != DEFAULT:
        default = next((template for template in templates if template.name == DEFAULT), None)
        if default is not None or len(templates) == 1:
            return default or templates[0]
        return Unknown("it is the first of several named templates that the disk gives", (place_of(model, templates[0]),))
    return templates[0]


def _taken(model: Model, *, processor: bool | None) -> Template | Unknown | None:
    """The processor's template where there is one, else the tokenizer's.

    A processor takes chat_template.jinja and named files as a tokenizer does, and else its own files (processing_utils.py:1277-1451 in transformers 5.19.0).
    """
    first = _first(model)
    found = sources(model)
    own = next((each for each in reversed(found.processor) if each.name == DEFAULT), None)
    if processor is False or isinstance(first, Unknown) or found.files or own is None:
        return first
    if first is not None and first.text == own.text:
        return first
    return own if processor else Unknown("it depends on whether the processor loads", (place_of(model, own),))


def content_format(text: str) -> Answer[str]:
    """Give "openai" (a list of parts) for a template that names media or loops over the content of `message`, `msg` or `m`, else "string"."""
    if any(word in text for word in _MEDIA):
        return Known(PARTS)
    found = examined(text, _of_tree)
    if isinstance(found, Prompt):
        return Known(STRING) if found.kind == "syntax" else Unknown(f"the chat template {found.error}")
    return Known(found)


def _of_tree(root: nodes.Template) -> str:
    loops = root.find_all(nodes.For)
    return PARTS if any(_is_content(loop.iter) for loop in loops) else STRING


def _is_content(node: nodes.Node | None) -> bool:
    """Whether an expression is the content of a message, also through filters, tests and slices."""
    while isinstance(node, nodes.Filter | nodes.Test) or (isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice)):
        node = node.node
    if isinstance(node, nodes.Getitem):
        return isinstance(node.arg, nodes.Const) and node.arg.value == "content" and _is_message(node.node)
    return isinstance(node, nodes.Getattr) and node.attr == "content" and _is_message(node.node)


def _is_message(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Name) and node.ctx == "load" and node.name in _MESSAGE
