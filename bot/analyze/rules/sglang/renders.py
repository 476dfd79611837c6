"""The prompts that sglang makes of conversations.

Source: sglang 0.5.23, entrypoints/openai/serving_chat.py:1793-2345 and entrypoints/openai/chat_encoding.py:20-59 (run). What a template is given is in
messages.py, what differs in older releases in requests.py (run as well); the rest is apply_chat_template of the transformers that a release pins.
"""

from typing import Any, cast

import msgspec

from bot.analyze.model.config import FILE
from bot.analyze.model.folder import Model
from bot.analyze.render import Prompt, Renders
from bot.analyze.rules.backend import Backend
from bot.analyze.rules.renders import NO_TEMPLATE, applied
from bot.analyze.rules.sglang.conversation import written
from bot.analyze.rules.sglang.encodes import doubt, encoded
from bot.analyze.rules.sglang.messages import Given, Item, given, second
from bot.analyze.rules.sglang.releases import Release
from bot.analyze.rules.sglang.requests import REQUESTS, Requests
from bot.analyze.rules.sglang.template import PARTS, content_format, conversation, text_in_use
from bot.analyze.rules.sglang.tokenizer import mistral_common, read_by
from bot.answer import Known, Unknown
from bot.probe import Probe

# What an architecture is called whose prompts an encoder in Python writes, whatever the template (chat_encoding.py:37-53); the last where there is none.
_ENCODED = ("DeepseekV4", "KimiK3", "InklingForConditionalGeneration")
_ENCODED_BARE = "DeepseekV3"
_ASKED, _EFFORT = "add_generation_prompt", "reasoning_effort"


class _Server(msgspec.Struct, frozen=True):
    """A server of a release with a folder; `read` is the folder as its tokenizer reads it, `tried` what `doubt` says of that."""

    model: Model
    release: Release
    requests: Requests
    processor: bool | None
    read: Model
    tried: Backend | Unknown | None


def renders(model: Model, release: Release, probes: tuple[Probe, ...], *, processor: bool | None) -> Renders:
    """The prompt of each conversation, by its name, for a tokenizer that loads. `processor` says whether one is loaded, None where that is not known."""
    requests = REQUESTS.get(release.name)
    if requests is None:
        return Unknown("what this release makes of a request was not looked up")
    if mistral_common(model):
        return Unknown("it depends on mistral-common, which reads tekken.json")
    own, read = conversation(model, release), read_by(model, release)
    if own is not None:
        prompts = {probe.name: written(own, probe.messages, requests, closed=_closed(probe)) for probe in probes}
    elif isinstance(read, Unknown):
        return read
    else:
        server = _Server(model, release, requests, processor, read, doubt(model, release))
        prompts = {probe.name: _prompt(server, probe) for probe in probes}
    refused = {probe.name: Unknown("this release always begins a reply") for probe in probes if _closed(probe)}
    return Known(prompts if requests.closes else {**prompts, **refused})


def _closed(probe: Probe) -> bool:
    """Whether the conversation alone is asked for, without the beginning of a reply."""
    return not probe.variables.get(_ASKED, False)


def _prompt(server: _Server, probe: Probe) -> Prompt | Unknown:
    model, requests = server.model, server.requests
    text = text_in_use(model, server.release, name=probe.template, processor=server.processor)
    if not isinstance(text, Known):
        return text if isinstance(text, Unknown) else Unknown("which template is in use is not known")
    if (encoder := _encoder(model, text.value)) is not None:
        return Unknown(f"sglang writes the prompts of {encoder} itself", (model.place(FILE, "/architectures"),))
    if _pairs_answers(model) and any(message.get("role") == "tool" for message in probe.messages):
        place = (model.place(FILE, "/model_type"),)
        return Unknown("the order of the answers of tools was not looked up for this model type", place)
    way = Known("string") if text.value is None else content_format(text.value)
    if not isinstance(way, Known):
        return way if isinstance(way, Unknown) else Unknown("the format of a content is not known")
    told = given(probe.messages, probe.variables.get("tools"), requests, parts=way.value == PARTS, closed=_closed(probe))
    if not isinstance(told, Given):
        return told
    return NO_TEMPLATE if text.value is None else _rendered(server, text.value, told, probe)


def _rendered(server: _Server, text: str, told: Given, probe: Probe) -> Prompt | Unknown:
    """Render and encode it, and where that fails once more with the tools in another shape."""
    requests = server.requests
    effort = {} if requests.effort is None else {_EFFORT: requests.effort}

    def attempt(tools: list[Item] | None) -> Prompt | Unknown:
        variables = {**effort, **probe.variables, "tools": tools, _ASKED: not _closed(probe)}
        found = applied(server.read, server.release.transformers, text, Probe(probe.name, tuple(told.messages), variables))
        return encoded(found, server.tried) if isinstance(found, Prompt) else found

    found = attempt(told.tools)
    if isinstance(found, Prompt) and found.type and told.tools is not None:
        found = attempt(second(told.tools, requests))
    if isinstance(found, Prompt) and found.type in requests.plain:
        return msgspec.structs.replace(found, type="ValueError")
    return found


def _encoder(model: Model, text: str | None) -> str | None:
    """The architecture, where an encoder in Python writes the prompts."""
    config = model.mapping(FILE)
    names: Any = config.get("architectures")
    first = cast("list[Any]", names)[0] if isinstance(names, list) and names else None
    if config.get("model_type") == "deepseek_v41":
        return "deepseek_v41"
    if not isinstance(first, str):
        return None
    marks = (*_ENCODED, *((_ENCODED_BARE,) if text is None else ()))
    return first if any(mark in first for mark in marks) else None


def _pairs_answers(model: Model) -> bool:
    """Whether the answers of tools are put in the order of their calls (serving_chat.py:2127)."""
    return model.mapping(FILE).get("model_type") == "minimax_m3_vl"
