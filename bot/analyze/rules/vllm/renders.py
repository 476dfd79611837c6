"""The prompt that a release of vLLM makes of a request.

Source: vllm 0.33.0 (run): renderers/hf.py:306-357 (which template), 764-833 (which variables), 868-930 (what is raised), renderers/params.py:38-50.
Older releases, read: entrypoints/chat_utils.py and openai/serving_engine.py in 0.8.5 to 0.12.0 (327 and 1178, 434 and 1437, 474 and 1602, 489 and
1734; 410 and 1113), renderers/hf.py in 0.15.0 to 0.31.0 (94 and 434, 102 and 442, 96 and 460, 96 and 460, 265 and 694, 265 and 694, 257 and 699,
266 and 710, 263 and 778).
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from jinja2 import meta

from bot.analyze.model.folder import Model
from bot.analyze.model.templates import DEFAULT, of_tokenizer
from bot.analyze.render import Prompt, examined
from bot.analyze.rules.content_format import content_format
from bot.analyze.rules.renders import ARGUMENTS, NO_TEXT, applied, chosen
from bot.analyze.rules.vllm import config as vllm_config
from bot.analyze.rules.vllm.messages import REFUSAL, Refused, for_template, handed
from bot.analyze.rules.vllm.release import Release
from bot.analyze.rules.vllm.template import of_processor
from bot.analyze.rules.vllm.tokenizer import SENTENCES, asked_of, mistral, own
from bot.answer import Known, Unknown
from bot.probe import Probe

_DECLARED = ("tools", "documents", "add_generation_prompt")  # parameters of apply_chat_template that reach the template
_DEFAULT = ("continue_final_message", False)  # what every request states
# What the engine's own look at a template raises; anything else comes up while rendering.
_UNPARSED = ("TemplateSyntaxError", "TemplateAssertionError")
_NONE = "As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template if the tokenizer does not define one."


def rendered(model: Model, of: Release, transformers: str, probe: Probe) -> Prompt | Unknown:
    """The prompt of a conversation with one of the versions of transformers that a release runs with, for a tokenizer that loads."""
    asked = _asked(model, of, transformers)
    if isinstance(asked, Unknown):
        return asked
    template = _template(model, asked, of, transformers, probe)
    if isinstance(template, Unknown):
        return template
    way = content_format(template or "", of.version)
    if not isinstance(way, Known):
        return way if isinstance(way, Unknown) else Unknown("the format of content is not known")
    given = handed(probe.messages, probe.variables.get("tools"), way.value, of)
    if isinstance(given, Refused):
        return _raised(given.type, given.reason)
    if isinstance(given, Unknown):
        return given
    if template is None:
        return _raised("ChatTemplateResolutionError" if of.since("0.15.0") else "ValueError", _NONE)
    variables = _variables(template, probe.variables, of)
    if isinstance(variables, Prompt):
        return _told(variables, of)
    if given.tools is not None:
        variables["tools"] = [*given.tools]
    messages = for_template(given.messages, template, of)
    prompt = applied(asked, transformers, template, Probe(probe.name, messages, variables))
    return _told(prompt, of) if isinstance(prompt, Prompt) else prompt


def _asked(model: Model, of: Release, transformers: str) -> Model | Unknown:
    """The folder as the tokenizer sees it, where vLLM renders a template at all."""
    if own(model) or mistral(model):
        return Unknown("vLLM writes chats for this architecture in a way of its own")
    if vllm_config.model_type(model) == "gpt_oss":  # renderers/online_renderer.py:186
        return Unknown("vLLM writes chats for gpt_oss in the harmony format, without a template")
    if model.mapping(SENTENCES).get("do_lower_case") is True:
        return Unknown(f"{SENTENCES} has special tokens written small")
    asked = asked_of(model, of, transformers)
    return Unknown(asked) if isinstance(asked, str) else asked


def _template(model: Model, asked: Model, of: Release, transformers: str, probe: Probe) -> str | Unknown | None:
    """The text of the template that a request takes, None where there is none."""
    if probe.template and not of.since("0.19.0"):
        return Unknown("this release takes the name of a chat template for its text")
    if not probe.template and probe.variables.get("tools") is None:
        default = next((template for template in of_tokenizer(model) if template.name == DEFAULT), None)
        found = of_processor(model, default)
        if isinstance(found, Unknown):
            return found
    text = chosen(asked, transformers, probe)
    if isinstance(text, str | Unknown):
        return text
    if text == NO_TEXT:
        return Unknown("the chat template is no text")
    if vllm_config.model_type(model) in of.names.fallback:
        return Unknown("vLLM brings a template of its own along for the model type")
    return None


def _variables(template: str, given: Mapping[str, Any], of: Release) -> dict[str, Any] | Prompt:
    """The variables that reach a template: since 0.11.0 only those that it reads without setting them itself."""
    # A field of the request that is null is not passed on (renderers/params.py:38-50).
    named = {name: given[name] for name in _DECLARED if given.get(name) is not None}
    others = {name: value for name, value in given.items() if name not in _DECLARED and (name, value) != _DEFAULT}
    if not others or not of.since("0.11.0"):
        return {**others, **named}
    read = examined(template, meta.find_undeclared_variables)
    if isinstance(read, Prompt):
        return read
    return {name: value for name, value in others.items() if name in read or name in ARGUMENTS} | named


def _told(prompt: Prompt, of: Release) -> Prompt:
    """A prompt with the exception that the release makes of the template's: since 0.12.0 one that does not parse is told as it is."""
    plain = prompt.text is not None or prompt.kind == "limits"
    if plain or (prompt.type in _UNPARSED and prompt.kind == "syntax" and of.since("0.12.0")):
        return prompt
    return msgspec.structs.replace(prompt, type=REFUSAL if of.since("0.31.0") else "ValueError")


def _raised(kind: str, reason: str) -> Prompt:
    return Prompt(None, f"{kind}: {reason}", "failed", kind)
