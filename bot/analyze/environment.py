"""The Jinja environment that transformers renders chat templates in, by version.

Source: transformers, utils/chat_template_utils.py: 422 in 4.46.3, 457 in 4.57.6, 455 in 5.0.0, 487 in 5.5.0, 573-664 in 5.24.0 (run). The syntax is
the same in all, so a text is compiled once.
"""

import json
import warnings
from datetime import datetime
from functools import cache, lru_cache
from types import CodeType
from typing import Any, NoReturn, cast

import jinja2
import msgspec
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

# Templates print the date; a fixed one makes base and head comparable (2026-01-02 03:04:05, local time as transformers uses).
NOW = datetime(2026, 1, 2, 3, 4, 5)  # noqa: DTZ001 - transformers' strftime_now is naive local time


class Dialect(msgspec.Struct, frozen=True):
    """What a version of transformers does around a template.

    `guarded`: `namespace` refuses names with an underscore in front and `dict` is a callable without attributes; reasoning is given under each of
    its names (5.22.2; not yet in 5.21.1). `drops_none`: keys of messages whose value is null are taken out (5.24.0; not yet in 5.22.2).
    `refuses_nothing`: a conversation without messages is a ValueError (5.15.1), an IndexError before (5.12.1).
    `lists_additional`: `additional_special_tokens` is given as a list (4.x).
    """

    guarded: bool = True
    drops_none: bool = True
    refuses_nothing: bool = True
    lists_additional: bool = False


NEWEST = Dialect()


def dialect(version: str) -> Dialect:
    """The dialect of a version of transformers ("5.24.0")."""
    at = tuple(int(part) for part in version.split(".")[:2])
    return Dialect(guarded=at >= (5, 22), drops_none=at >= (5, 24), refuses_nothing=at >= (5, 15), lists_additional=at < (5, 0))


class DeclinedError(jinja2.TemplateError):
    """What raise_exception raises."""


class _Clock:
    """Stands still, and counts how often it was looked at."""

    reads = 0

    def strftime(self, form: str) -> str:
        self.reads += 1
        return NOW.strftime(form)


CLOCK = _Clock()


class _Generation(Extension):
    """The tag {% generation %}…{% endgeneration %}, which marks the assistant's text and prints it unchanged; to Jinja it is a call block."""

    tags = {"generation"}  # noqa: RUF012 - declared so by jinja2

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_printed"), [], [], body).set_lineno(line)

    def _printed(self, caller: Macro) -> str:
        return caller()


def _raise_exception(message: str) -> NoReturn:
    raise DeclinedError(message)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,  # noqa: FBT001, FBT002 - templates may pass it by position
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,  # noqa: FBT001, FBT002
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


class _Dict:
    """`dict` where it is guarded: it can be called, and has one method."""

    def __call__(self, *given: Any, **words: Any) -> dict[Any, Any]:
        return dict(*given, **words)

    def fromkeys(self, *given: Any) -> dict[Any, Any]:
        return dict.fromkeys(*given)


class _Namespace(Namespace):
    """`namespace` where it is guarded."""

    def __init__(*given: Any, **words: Any) -> None:
        attributes: dict[Any, Any] = dict(*given[1:], **words)
        for name in attributes:
            _refuse_underscored(name)
        Namespace.__init__(given[0], attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _refuse_underscored(name)
        super().__setitem__(name, value)


def _refuse_underscored(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(
            f"Chat templates cannot store underscore-prefixed attributes on a namespace, but got {name!r}. Please rename the attribute."
        )


@cache
def environment(*, guarded: bool) -> ImmutableSandboxedEnvironment:
    """The environment of the versions that guard `namespace` and `dict`, or of those that do not."""
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols])
    env.filters["tojson"] = _tojson
    variables = cast("dict[str, Any]", env.globals)
    variables.update(raise_exception=_raise_exception, strftime_now=CLOCK.strftime)
    if guarded:
        variables.update(dict=_Dict(), namespace=_Namespace)
    return env


@lru_cache(maxsize=256)
def code(text: str) -> CodeType:
    """A template compiled for every dialect. Raises what Jinja raises for one that does not parse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of escapes in strings that it does not know, and keeps them as they are
        return environment(guarded=True).compile(text)


@lru_cache(maxsize=512)
def template(text: str, *, guarded: bool) -> jinja2.Template:
    """A template ready to be rendered. Raises what Jinja raises for one that does not parse."""
    env = environment(guarded=guarded)
    return jinja2.Template.from_code(env, code(text), env.make_globals(None))
