"""The chat template that vLLM takes from a folder.

Source: vllm 0.33.0, renderers/hf.py:263-357 (run): the processor's template wherever AutoProcessor of transformers gives a processor and the request
has no tools, then the tokenizer's, then one of vLLM's own by model type. What a processor reads: processing_utils.py:1277-1451 in 5.19.0.
The order is the same in 0.8.5 (entrypoints/chat_utils.py:327), 0.23.0 (renderers/hf.py:265) and 0.28.0 (renderers/hf.py:266), read; 0.8.5 has no
templates of its own.
"""

from collections.abc import Mapping
from typing import Any, cast

from bot.analyze.model.config import FILE
from bot.analyze.model.folder import Model
from bot.analyze.model.templates import DEFAULT, NAMED_FOLDER, Template, of_tokenizer, place_of, sources
from bot.analyze.rules.content_format import content_format
from bot.analyze.rules.template_fields import digest, text
from bot.analyze.rules.vllm import config as vllm_config
from bot.analyze.rules.vllm.release import Release
from bot.answer import Answer, Known, Unknown

SHA, NAMED, FORMAT = "template.sha256", "template.named", "template.content_format"
_WITH_TOOLS = "tool_use"
# Files that a processor is built from beside the tokenizer: without any it does not load (run with twelve classes), whatever names it.
_PARTS = ("processor_config.json", "preprocessor_config.json", "video_preprocessor_config.json")
# Files that name a processor's class (models/auto/processing_auto.py:240-310 in 5.19.0).
_NAMING = (*_PARTS, "tokenizer_config.json", FILE)


def template_fields(model: Model, release: Release) -> dict[str, Answer[Any]]:
    """The digest of the template of a request without tools (and of one with tools where that differs), of all named ones, and how content is handed over."""
    found = sources(model)
    for unread in found.unread:
        return dict.fromkeys((SHA, FORMAT), unread)
    named = {template.name: template for template in of_tokenizer(model)}
    default = of_processor(model, named.get(DEFAULT))
    if isinstance(default, Unknown):
        return dict.fromkeys((SHA, FORMAT), default)
    if default is None and vllm_config.model_type(model) in release.names.fallback:
        own = Unknown("vLLM brings a template of its own along for the model type", (model.place(FILE, "/model_type"),))
        return dict.fromkeys((SHA, FORMAT), own)
    fields = _of(model, default, release)
    tools = named.get(_WITH_TOOLS)
    if tools is not None and (default is None or text(tools) != text(default)):
        fields["template.sha256_with_tools"] = Known(digest(tools), (place_of(model, tools),))
    if named and not _single(found.files, model):
        places = tuple(place_of(model, template) for template in named.values())
        fields[NAMED] = Known({name: digest(template) for name, template in sorted(named.items())}, places)
    return fields


def _of(model: Model, default: Template | None, release: Release) -> dict[str, Answer[Any]]:
    if default is None:
        return {SHA: Known(None), FORMAT: Known(None)}
    place = (place_of(model, default),)
    way = content_format(text(default), release.version)
    return {SHA: Known(digest(default), place), FORMAT: Known(way.value, place) if isinstance(way, Known) else way}


def _single(files: tuple[Template, ...], model: Model) -> bool:
    """Whether the tokenizer has one template and no names: one file alone, or text in tokenizer_config.json."""
    inline = model.mapping("tokenizer_config.json").get("chat_template")
    return [template.name for template in files] == [DEFAULT] if files else isinstance(inline, str)


def of_processor(model: Model, of_tokenizer: Template | None) -> Template | Unknown | None:
    """The template without tools: that of the tokenizer, unless a processor has another."""
    # A processor takes chat_template.jinja as well; only a file of its own, or named files, can make a difference.
    found = sources(model)
    own = next((each for each in reversed(found.processor) if each.name == DEFAULT), None)
    several = any(each.file.startswith(NAMED_FOLDER) for each in found.files)
    if (own is None and not several) or (own is not None and of_tokenizer is not None and text(own) == text(of_tokenizer)):
        return of_tokenizer
    if _names_processor(model):
        return Unknown("it depends on whether the processor loads", (place_of(model, own) if own else model.place(FILE),))
    return of_tokenizer


def _names_processor(model: Model) -> bool:
    """Whether some file, or the model type, may lead AutoProcessor to a processor that loads."""
    if not any(model.has(name) for name in _PARTS):
        return False
    for name in _NAMING:
        values = cast("Mapping[str, Any]", model.mapping(name))
        auto_map = values.get("auto_map")
        if values.get("processor_class") or (isinstance(auto_map, dict) and "AutoProcessor" in auto_map):
            return True
    return vllm_config.model_type(model) in vllm_config.table().processors
