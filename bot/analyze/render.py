"""Render a chat template as transformers does, within limits."""

import hashlib
import json
import math
import signal
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from typing import Any, NoReturn, TypeVar, cast

import jinja2
import msgspec
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

T = TypeVar("T")

SECONDS = 2.0
LONGEST = 4_000_000
ALL_SECONDS = 20.0  # of all templates of one comparison that overran theirs
# Templates print the date; a fixed one makes base and head comparable (2026-01-02 03:04:05, local time as transformers uses).
NOW = datetime(2026, 1, 2, 3, 4, 5)  # noqa: DTZ001 - transformers' strftime_now is naive local time


class Prompt(msgspec.Struct, frozen=True):
    """What a template made of a conversation: `text`, or `error` with `kind`.

    Kinds: "syntax" (it does not parse), "declined" (raise_exception: the author's own refusal), "failed" (any other error while rendering),
    "limits" (it did not finish; says nothing about the template being right or wrong).
    """

    text: str | None
    error: str = ""
    kind: str = ""


class _Declined(jinja2.TemplateError):
    """What raise_exception raises."""


class _TooLongError(BaseException):
    """Raised by the timer; no template can catch it."""


class _Generation(Extension):
    """The tag {% generation %}…{% endgeneration %}, which marks the assistant's text and prints it unchanged."""

    tags = {"generation"}  # noqa: RUF012 - declared so by jinja2

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body).set_lineno(line)


def _raise_exception(message: str) -> NoReturn:
    raise _Declined(message)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,  # noqa: FBT001, FBT002 - templates may pass it by position
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,  # noqa: FBT001, FBT002
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _environment() -> ImmutableSandboxedEnvironment:
    """The environment of transformers' utils/chat_template_utils.py (line 662 in 5.24.0, the same since 4.46.3 for what is used here)."""
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols])
    env.filters["tojson"] = _tojson
    variables = cast("dict[str, Any]", env.globals)
    variables.update(raise_exception=_raise_exception, strftime_now=NOW.strftime)
    return env


_ENV = _environment()


@lru_cache(maxsize=256)
def _compiled(text: str) -> jinja2.Template | Prompt:
    try:
        return _ENV.from_string(text)
    except jinja2.TemplateSyntaxError as error:
        return Prompt(None, f"{error.message} (line {error.lineno})", "syntax")
    except (RecursionError, MemoryError) as error:
        return Prompt(None, f"could not be compiled within limits ({type(error).__name__})", "limits")
    except Exception as error:  # noqa: BLE001 - a template may break the compiler in any way; that is its syntax error
        return Prompt(None, f"{type(error).__name__}: {error}", "syntax")


def syntax_error(text: str) -> str | None:
    """Why a template does not parse in the reference environment, or None. Within the limits of `render`."""
    compiled = _limited(text, lambda: _compiled(text))
    return compiled.error if isinstance(compiled, Prompt) and compiled.kind == "syntax" else None


def examined(text: str, work: Callable[[nodes.Template], T]) -> T | Prompt:
    """What `work` says of the syntax tree of a template, or why the template has none (see Prompt). Within the limits of `render`."""

    def whole() -> T | Prompt:
        compiled = _compiled(text)
        if isinstance(compiled, Prompt):
            return compiled
        try:
            return work(_ENV.parse(text))
        except (RecursionError, MemoryError) as error:
            return Prompt(None, f"could not be examined within limits ({type(error).__name__})", "limits")

    return _limited(text, whole)


def render(text: str, messages: Sequence[Mapping[str, Any]], tokens: Mapping[str, str], **variables: Any) -> Prompt:
    """Render a conversation. `tokens` are the strings of the roles (bos_token …), which the template may print.

    As in transformers, `tools` and `documents` are always defined (None) and `add_generation_prompt` is False by default.
    """
    given = {"tools": None, "documents": None, "add_generation_prompt": False, **tokens, **variables}

    def work() -> Prompt:
        compiled = _compiled(text)
        if isinstance(compiled, Prompt):
            return compiled
        try:
            shown = compiled.render(messages=json.loads(json.dumps(messages)), **given)
        except _Declined as error:
            return Prompt(None, str(error), "declined")
        except (RecursionError, MemoryError) as error:
            return Prompt(None, f"could not be rendered within limits ({type(error).__name__})", "limits")
        except Exception as error:  # noqa: BLE001 - whatever a template raises is its outcome, told with its type
            return Prompt(None, f"{type(error).__name__}: {error}", "failed")
        return Prompt(shown) if len(shown) <= LONGEST else Prompt(None, f"its text is longer than {LONGEST} characters", "limits")

    return _limited(text, work)


class Watch(msgspec.Struct):
    """What the process that owns this one tells and is told.

    `note` is given the sha256 of each template before work on it starts and "" after it; `refused` are the templates that made it
    kill a process. `seconds` are left for templates that overrun their time.
    """

    note: Callable[[str], None] = lambda _: None
    refused: frozenset[str] = frozenset()
    seconds: float = math.inf


WATCH = Watch()


def _limited(text: str, work: Callable[[], T]) -> T | Prompt:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    if digest in WATCH.refused:
        return Prompt(None, "could not be rendered within limits (it had to be killed)", "limits")
    if WATCH.seconds <= 0:
        return Prompt(None, f"was not rendered, because others took more than {ALL_SECONDS:g} s", "limits")
    WATCH.note(digest)
    try:
        with _timer(SECONDS):
            return work()
    except _TooLongError:
        WATCH.seconds -= SECONDS
        return Prompt(None, f"could not be rendered within {SECONDS:g} s", "limits")
    finally:
        WATCH.note("")


@contextmanager
def _timer(seconds: float) -> Generator[None]:
    """Interrupt Python code after some seconds; code in C is the parent's to kill. Needs the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def expired(*_: object) -> NoReturn:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
