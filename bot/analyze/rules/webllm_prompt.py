"""The prompt that WebLLM makes of a conversation with conv_template.

Source: npm @mlc-ai/web-llm 0.2.86, lib/index.js: the request (:14277-14343), its conversation (:10876-10921, :10374-10543, :10713-10745), the last message
and the reply's header (:12347-12370, :19079-19113), and what comes first (:13866); for its size see webllm_window. All but the first were run.

Left out is what the application decides and not the repository: a model with tools is refused unless the application loads it under one of five names
(:14386), content in parts unless it registers the model as one that sees (:14281), and a package manifest, which it has to ask for (:18233), splits
prompts in another way. The chat_template of tokenizer_config.json is never read.
"""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from bot.analyze.render import LONGEST, Prompt
from bot.analyze.rules.javascript_values import (
    UNDEFINED,
    ThrownError,
    TooLongError,
    UntoldError,
    get,
    plus,
    replaced,
    text,
    truthy,
    written,
)
from bot.answer import Unknown
from bot.probe import Message, Probe

# What `enable_thinking: false` puts in front of the reply, whatever the model (:12363).
_NO_THOUGHT = "<think>\n\n</think>\n\n"
_SYSTEM, _FUNCTION = "{system_message}", "{function_string}"


class Parts(msgspec.Struct, frozen=True):
    """A prompt in the pieces that are turned into tokens one by one: the system's, and one for each message."""

    pieces: tuple[str, ...]

    @property
    def text(self) -> str:
        """The whole prompt."""
        return "".join(self.pieces)


class _Turn(msgspec.Struct, frozen=True):
    """A message of a conversation: its role, what is written for the role, its content."""

    role: str
    written: Any
    content: Any


def prompt_of(conversation: Mapping[str, Any], probe: Probe) -> Parts | Prompt | Unknown:
    """The prompt of a conversation under a conversation template, or the error that WebLLM throws instead.

    A reply is always asked for: there is no add_generation_prompt.
    """
    if "__proto__" in conversation:
        return Unknown("conv_template sets __proto__, which JavaScript takes for more than a key")
    try:
        _check_request(probe.messages)
        system, turns = _turns(conversation, probe.messages)
        last = _last(conversation, probe)
        _spread(conversation.get("system_prefix_token_ids"))
        return Parts(tuple(map(written, _pieces(conversation, _system(conversation, system), turns, last))))
    except ThrownError as error:
        return Prompt(None, f"{error.kind}: {error}", "failed", error.kind)
    except TooLongError:
        return Prompt(None, f"makes a text that is longer than {LONGEST} characters", "limits")
    except UntoldError as error:
        return Unknown(f"the prompt is not modelled: {error}")


def _check_request(messages: tuple[Message, ...]) -> None:
    """What is looked at before anything else (:14277, :14336)."""
    for index, message in enumerate(messages):
        if message["role"] == "user" and not isinstance(message.get("content"), str):
            raise UntoldError("whether a user may send anything but text is the application's word")
        if message["role"] == "system" and index:
            raise ThrownError("SystemMessageOrderError", "System prompt should always be the first message in `messages`.")
    if not messages:
        raise ThrownError("TypeError", "Cannot read properties of undefined (reading 'role')")
    if messages[-1]["role"] not in ("user", "tool"):
        raise ThrownError("MessageOrderError", "Last message should be from either `user` or `tool`.")


def _turns(conversation: Mapping[str, Any], messages: tuple[Message, ...]) -> tuple[Any, list[_Turn]]:
    """The request's own system message, and every other message (:10889)."""
    system: Any = UNDEFINED
    turns: list[_Turn] = []
    for message in messages:
        role, content, name = message["role"], message.get("content", UNDEFINED), message.get("name")
        if role == "system":
            system = content
            continue
        if role not in ("user", "assistant", "tool"):
            raise ThrownError("UnsupportedRoleError", f"Unsupported role of message: {role}")
        if role == "assistant" and not isinstance(content, str):
            raise ThrownError("ContentTypeError", "assistant's message should have string content.")
        if turns and turns[-1].content in (None, UNDEFINED):
            raise ThrownError("Error", "Have unfinished reply")
        called = _role(conversation, role)
        turns.append(_Turn(role, name if truthy(name) and role != "tool" else called, content))
    return system, turns


def _role(conversation: Mapping[str, Any], role: str) -> Any:
    """What is written for a role that the template has (:10722)."""
    roles: Any = conversation.get("roles", UNDEFINED)
    if not isinstance(roles, list | dict):
        raise ThrownError("TypeError", f"Cannot use 'in' operator to search for '{role}' in {text(roles)[:100]}")
    if role not in roles or isinstance(roles, list):
        raise ThrownError("Error", f"Role is not supported: {role}")
    return cast("dict[str, Any]", roles)[role]


def _last(conversation: Mapping[str, Any], probe: Probe) -> str:
    """The header of the reply; with thinking switched off, the empty thought as well (:10420, :10432)."""
    if probe.variables.get("enable_thinking") is False:  # whether there is such a role is then not asked
        called = get(conversation.get("roles"), "assistant")
        return plus(called, _separator(conversation, "role_content_sep")) + _NO_THOUGHT
    return plus(_role(conversation, "assistant"), _separator(conversation, "role_empty_sep"))


def _separator(conversation: Mapping[str, Any], key: str) -> Any:
    """What stands between a role and its content: ": " unless the template says otherwise (:10426, :10485)."""
    value: Any = conversation.get(key, UNDEFINED)
    return ": " if value is None or value is UNDEFINED else value


def _spread(ids: Any) -> None:
    """[...system_prefix_token_ids], null aside (:13866): the ids come first and are no part of the text."""
    if ids is not None and not isinstance(ids, list | str):
        raise ThrownError("TypeError", "Spread syntax requires ...iterable[Symbol.iterator] to be a function")


def _system(conversation: Mapping[str, Any], override: Any) -> str:
    """The system prompt: the request's message, else the template's (:10395)."""
    message: Any = conversation.get("system_message", UNDEFINED) if override is None or override is UNDEFINED else override
    if _length(conversation.get("seps", UNDEFINED)) == 0:
        raise ThrownError("Error", "Need seps to work")
    if message == "" and conversation.get("render_empty_system_message") is False:
        return ""
    return replaced(_method(conversation.get("system_template", UNDEFINED)), _SYSTEM, message)


def _method(template: Any) -> str:
    """A template as that on which replace is called."""
    if not isinstance(template, str):
        raise ThrownError("TypeError", "replace is not a function of a template that is no text")
    return template


def _length(seps: Any) -> int | None:
    """seps.length, None where it is no number; throws for null and undefined (:10407)."""
    if seps is None or seps is UNDEFINED:
        raise ThrownError("TypeError", f"Cannot read properties of {text(seps)} (reading 'length')")
    if isinstance(seps, dict):
        raise UntoldError("seps is an object")
    return len(cast("list[Any] | str", seps)) if isinstance(seps, list | str) else None


def _pieces(conversation: Mapping[str, Any], system: str, turns: list[_Turn], last: str) -> list[str]:
    """The prompt, piece by piece (:10405-10543)."""
    seps: Any = conversation.get("seps", UNDEFINED)
    count = _length(seps)
    if isinstance(seps, str) and any(letter > "\uffff" for letter in seps):
        raise UntoldError("seps is a text with characters of two units")
    pieces = [system] if system else []
    for index, turn in enumerate(turns):
        if turn.content is UNDEFINED:
            raise ThrownError("Error", "InternalError: Only expect message to be undefined for last message for a reply header.")
        separator: Any = seps[index % count] if count else UNDEFINED
        content = _content(conversation, turn)
        first = index == 0 and bool(system) and conversation.get("add_role_after_system_message") is False
        prefix = "" if first else plus(turn.written, _separator(conversation, "role_content_sep"))
        pieces.append(prefix + content + text(separator))
        if sum(map(len, pieces)) > LONGEST:
            raise TooLongError
    return [*pieces, last]


def _content(conversation: Mapping[str, Any], turn: _Turn) -> str:
    """The content in its role's template; the place for functions is emptied afterwards, wherever it stands (:10474-10483)."""
    content = _text_part(turn.content)
    templates: Any = conversation.get("role_templates", UNDEFINED)
    if templates is UNDEFINED:
        return text(content)
    template = get(templates, turn.role)
    if template is None or template is UNDEFINED:
        return text(content)
    return replaced(replaced(_method(template), f"{{{turn.role}_message}}", content), _FUNCTION, "")


def _text_part(content: Any) -> Any:
    """The only text among the parts of a tool's answer, "" without one (:10447-10472)."""
    if not isinstance(content, list):
        return content
    found: Any = ""
    seen = False
    for part in cast("list[Any]", content):
        if get(part, "type") != "text":
            raise UntoldError("an answer holds more than text")
        if seen:
            raise ThrownError(
                "MultipleTextContentError", "Each message can have at most one text contentPart, but received more than 1."
            )
        found, seen = get(part, "text"), True
    return found
