"""Which chat template the tokenizer of transformers has.

Source: tokenization_utils_base.py:1826-1845 in 5.24.0, :2187 in 4.57.6 (run): since 4.47 files replace what stands inline (since 4.52 also named ones),
4.46 reads only what stands inline. Files are read as text, so that every line ends in one line feed.
"""

import hashlib
from typing import Any

from bot.analyze.model.folder import Model
from bot.analyze.model.templates import DEFAULT, Template, of_old_readers, of_tokenizer, place_of, sources
from bot.analyze.tables import parts
from bot.answer import Answer, Known

WITH_TOOLS = "tool_use"  # the named template that a request with tools takes
FILES_SINCE = (4, 47)  # the first version that reads templates from files


def text(template: Template) -> str:
    """The text of a template as it is read."""
    if not template.file.endswith(".jinja"):
        return template.text
    return template.text.replace("\r\n", "\n").replace("\r", "\n")


def digest(template: Template) -> str:
    """The sha256 of the text of a template."""
    return hashlib.sha256(text(template).encode("utf-8", "surrogatepass")).hexdigest()


def template_fields(model: Model, version: str) -> dict[str, Answer[Any]]:
    """`template.sha256` of the text that a request takes, None where it gets none; `template.sha256_with_tools` where one with tools takes another.

    `template.named` gives the digests of all by name, where there are names.
    """
    unread = sources(model).unread
    if unread:
        return {"template.sha256": unread[0]}
    old = parts(version) < FILES_SINCE
    templates = {each.name: each for each in (of_old_readers(model) if old else of_tokenizer(model))}
    chosen, tools = templates.get(DEFAULT), templates.get(WITH_TOOLS)
    places = tuple(place_of(model, each) for each in templates.values()) or (model.place("tokenizer_config.json"),)
    fields: dict[str, Answer[Any]] = {
        "template.sha256": Known(digest(chosen), (place_of(model, chosen),)) if chosen else Known(None, places)
    }
    if not _named(model, list(templates.values())):
        return fields
    if tools and (chosen is None or text(tools) != text(chosen)):
        fields["template.sha256_with_tools"] = Known(digest(tools), (place_of(model, tools),))
    fields["template.named"] = Known({name: digest(templates[name]) for name in sorted(templates)}, places)
    return fields


def _named(model: Model, templates: list[Template]) -> bool:
    """Whether templates have names: more than one file, or an object or a list inline."""
    if templates and templates[0].file.endswith(".jinja"):
        return [each.name for each in templates] != [DEFAULT]
    return bool(templates) and not isinstance(model.mapping("tokenizer_config.json").get("chat_template"), str)
