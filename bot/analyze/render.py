"""Render a chat template as transformers does, within limits."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar

import jinja2
import msgspec
from jinja2 import nodes

from bot.analyze.environment import CLOCK, NEWEST, DeclinedError, Dialect, code, environment, template
from bot.analyze.watch import OverrunError, limited
from bot.answer import Answer, Unknown

T = TypeVar("T")

LONGEST = 4_000_000
"""Letters of a prompt."""
_KEPT = 50_000
_MOST_KEPT = 4096
# Letters of an error: a template may put anything into one.
_LONGEST_ERROR = 2000
# The names that a message's reasoning goes by; the first is the one that templates read (utils/chat_template_utils.py:692 in 5.24.0).
_REASONING = ("reasoning_content", "thinking", "reasoning")


class Prompt(msgspec.Struct, frozen=True):
    """What a template made of a conversation: `text`, or `error` with `kind`.

    Kinds: "syntax" (it does not parse), "declined" (raise_exception: the author's own refusal), "failed" (any other error while rendering),
    "limits" (it did not finish; says nothing about the template being right or wrong). `type` is the name of the exception that transformers
    raises, "" for a text and for "limits"; `dated` says that the clock was read.
    """

    text: str | None
    error: str = ""
    kind: str = ""
    type: str = ""
    dated: bool = False


Renders: TypeAlias = Answer[dict[str, Prompt | Unknown]]
"""The prompts that an engine makes of conversations, by the names of the probes; a Prompt's `type` is the exception that the engine itself raises."""


def syntax_error(text: str) -> str | None:
    """Why a template does not parse in the reference environment, or None. Within the limits of `render`."""
    found = _within(text, lambda: _broken(text))
    return found.error if found is not None and found.kind == "syntax" else None


def examined(text: str, work: Callable[[nodes.Template], T]) -> T | Prompt:
    """What `work` says of the syntax tree of a template, or why the template has none (see Prompt). Within the limits of `render`."""
    return _within(text, lambda: _broken(text) or work(environment(guarded=True).parse(text)))


def render(
    text: str,
    messages: Sequence[Mapping[str, Any]],
    tokens: Mapping[str, Any],
    variables: Mapping[str, Any] = {},
    dialect: Dialect = NEWEST,
) -> Prompt:
    """Render a conversation; the same one twice is rendered once.

    `tokens` are the strings of the roles (bos_token …), which the template may print. As in transformers, `tools` and `documents` are always
    defined (None) and `add_generation_prompt` is False by default; `variables` are these and all others.
    """
    given = {"messages": [*messages], "tools": None, "documents": None, "add_generation_prompt": False, **tokens, **variables}
    key = text, json.dumps(given), dialect
    found = _MEMO.get(key)
    if found is None:
        found = (
            _nothing(dialect)
            if not messages
            else _within(text, lambda: _broken(text) or _rendered(text, key[1], dialect), "render")
        )
        if len(found.text or "") <= _KEPT and len(_MEMO) < _MOST_KEPT:
            _MEMO[key] = found
    return found


_MEMO: dict[tuple[str, str, Dialect], Prompt] = {}


def _within(text: str, work: Callable[[], T], kind: str = "") -> T | Prompt:
    try:
        return limited(text, work, kind)
    except OverrunError as error:
        return Prompt(None, str(error), "limits")


@lru_cache(maxsize=256)
def _broken(text: str) -> Prompt | None:
    """Why a template does not compile, None where it does."""
    try:
        code(text)
    except jinja2.TemplateSyntaxError as error:
        return Prompt(None, f"{_cut(error.message or '')} (line {error.lineno})", "syntax", type(error).__name__)
    except (RecursionError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - a template may break the compiler in any way; that is its syntax error
        return Prompt(None, _cut(f"{type(error).__name__}: {error}"), "syntax", type(error).__name__)
    return None


def _cut(error: str) -> str:
    left = len(error) - _LONGEST_ERROR
    return error if left <= 0 else f"{error[:_LONGEST_ERROR]}… and {left} more characters"


def _nothing(dialect: Dialect) -> Prompt:
    """What comes of a conversation without messages, whatever the template."""
    if not dialect.refuses_nothing:
        return Prompt(None, "IndexError: list index out of range", "failed", "IndexError")
    said = "Cannot apply chat template to an empty conversation. Provide at least one message."
    return Prompt(None, f"ValueError: {said}", "failed", "ValueError")


def _rendered(text: str, given: str, dialect: Dialect) -> Prompt:
    variables: dict[str, Any] = json.loads(given)
    variables["messages"] = [_message(message, dialect) for message in variables["messages"]]
    reads = CLOCK.reads
    try:
        shown = template(text, guarded=dialect.guarded).render(variables)
    except DeclinedError as error:
        return Prompt(None, _cut(str(error)), "declined", "TemplateError", CLOCK.reads > reads)
    except (RecursionError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever a template raises is its outcome, told with its type
        return Prompt(None, _cut(f"{type(error).__name__}: {error}"), "failed", type(error).__name__, CLOCK.reads > reads)
    if len(shown) > LONGEST:
        raise OverrunError(f"could not be rendered within limits (its text is longer than {LONGEST} characters)")
    return Prompt(shown, dated=CLOCK.reads > reads)


def _message(message: dict[str, Any], dialect: Dialect) -> dict[str, Any]:
    """A message as the version hands it on."""
    if dialect.drops_none:
        message = {key: value for key, value in message.items() if value is not None}
    if dialect.guarded:
        reasoning = next((message[key] for key in _REASONING if message.get(key) is not None), None)
        if reasoning is not None:
            message = {"thinking": reasoning, **message, "reasoning_content": reasoning}
    return message
