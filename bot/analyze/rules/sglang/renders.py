"""The prompts that sglang makes of conversations.

Source: sglang 0.5.23, entrypoints/openai/serving_chat.py:1793-2345 and entrypoints/openai/chat_encoding.py:20-59 (run). The token strings are those of
the tokenizer of transformers; what a template is given is in messages.py, what differs in older releases in requests.py (read).
"""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from bot.analyze.environment import dialect
from bot.analyze.model.config import FILE
from bot.analyze.model.folder import Model
from bot.analyze.render import Prompt, Renders, render
from bot.analyze.rules.renders import NO_TEMPLATE, Tokens, tokens_of, unsettled
from bot.analyze.rules.sglang.conversation import written
from bot.analyze.rules.sglang.messages import Given, given, second
from bot.analyze.rules.sglang.releases import Release
from bot.analyze.rules.sglang.requests import REQUESTS, Requests
from bot.analyze.rules.sglang.template import PARTS, content_format, conversation, text_in_use
from bot.analyze.rules.sglang.tokenizer import mistral_common, read_by
from bot.answer import Answer, Known, Unknown
from bot.probe import Probe

# What an architecture is called whose prompts an encoder in Python writes, whatever the template (chat_encoding.py:37-53); the last where there is none.
_ENCODED = ("DeepseekV4", "KimiK3", "InklingForConditionalGeneration")
_ENCODED_BARE = "DeepseekV3"
# Variables of these names are settings of the call itself, which sglang makes in part (serving_chat.py:2322, transformers 5.19.0 tokenization_utils_base.py:2951).
_SETTINGS = (
    *("conversation", "chat_template", "continue_final_message", "tokenize", "padding", "truncation", "max_length"),
    *("return_tensors", "return_dict", "return_assistant_tokens_mask", "tokenizer_kwargs", "sanitize_control_tokens"),
)
# A token of these names is handed over beside an argument that has the name.
_TAKEN = ("messages", "conversations", "tools", "documents", "chat_template", "add_generation_prompt", "continue_final_message")
_ASKED, _EFFORT = "add_generation_prompt", "reasoning_effort"


def renders(model: Model, release: Release, probes: tuple[Probe, ...], *, processor: bool | None) -> Renders:
    """The prompt of each conversation, by its name, for a tokenizer that loads. `processor` says whether one is loaded, None where that is not known."""
    requests = REQUESTS.get(release.name)
    if requests is None:
        return Unknown("what this release makes of a request was not looked up")
    if mistral_common(model):
        return Unknown("it depends on mistral-common, which reads tekken.json")
    return Known({probe.name: _prompt(model, release, requests, probe, processor=processor) for probe in probes})


def _prompt(model: Model, release: Release, requests: Requests, probe: Probe, *, processor: bool | None) -> Prompt | Unknown:
    closed = not probe.variables.get(_ASKED, False)
    if closed and not requests.closes:
        return Unknown("this release always begins a reply")
    setting = next((name for name in probe.variables if name in _SETTINGS), None)
    if setting is not None:
        return Unknown(f"the variable {setting} is a setting of the request")
    own = conversation(model, release)
    if own is not None:
        return written(own, probe.messages, requests, closed=closed)
    text = text_in_use(model, release, name=probe.template, processor=processor)
    if not isinstance(text, Known):
        return text if isinstance(text, Unknown) else Unknown("which template is in use is not known")
    if (encoder := _encoder(model, text.value)) is not None:
        return Unknown(f"sglang writes the prompts of {encoder} itself", (model.place(FILE, "/architectures"),))
    if _pairs_answers(model) and any(message.get("role") == "tool" for message in probe.messages):
        return Unknown(
            "the order of the answers of tools was not looked up for this model type", (model.place(FILE, "/model_type"),)
        )
    way = Known("string") if text.value is None else content_format(text.value)
    if not isinstance(way, Known):
        return way if isinstance(way, Unknown) else Unknown("the format of a content is not known")
    told = given(probe.messages, probe.variables.get("tools"), requests, parts=way.value == PARTS, closed=closed)
    if not isinstance(told, Given):
        return told
    if text.value is None:
        return NO_TEMPLATE
    tokens = _tokens(model, release, text.value, probe.variables)
    return (
        _rendered(text.value, told, tokens.value, probe, release, requests)
        if isinstance(tokens, Known)
        else cast("Unknown", tokens)
    )


def _rendered(text: str, told: Given, tokens: Tokens, probe: Probe, release: Release, requests: Requests) -> Prompt | Unknown:
    """Render it, and where that fails once more with the tools in another shape."""
    if twice := next((name for name in tokens if name in _TAKEN), None):
        return _raised(Prompt(None, f"TypeError: the token {twice} has the name of an argument", "failed", "TypeError"), requests)
    effort = {} if requests.effort is None else {_EFFORT: requests.effort}
    asked = bool(probe.variables.get(_ASKED, False))

    def attempt(tools: list[dict[str, Any]] | None) -> Prompt:
        variables = {**effort, **probe.variables, "tools": tools, _ASKED: asked}
        return render(text, told.messages, tokens, variables, dialect(release.transformers))

    found = attempt(told.tools)
    if found.text is None and found.kind != "limits" and told.tools is not None:
        found = attempt(second(told.tools, requests))
    return _raised(found, requests)


def _raised(prompt: Prompt, requests: Requests) -> Prompt:
    """With the exception that leaves the server's own code."""
    return msgspec.structs.replace(prompt, type="ValueError") if prompt.type in requests.plain else prompt


def _tokens(model: Model, release: Release, text: str, variables: Mapping[str, Any]) -> Answer[Tokens]:
    """The token strings that a template is given; where they are not known but not read either, none."""
    read = read_by(model, release)
    found = tokens_of(read, release.transformers) if isinstance(read, Model) else read
    if isinstance(found, Known):
        return found
    missing = unsettled(model, text, variables)
    if not missing:
        return Known({})
    why = found.reason if isinstance(found, Unknown) else "nothing states it"
    return Unknown(f"the template reads {missing}, and which token that is is not known: {why}", found.places)


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
