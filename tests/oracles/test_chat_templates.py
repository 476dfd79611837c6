"""Our renderer against the one of the installed transformers, on every stored chat template and on written ones."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, cast

import jinja2
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

from bot.analyze.environment import NOW
from bot.analyze.model import turns as turns_room
from bot.analyze.probes import CORE
from bot.analyze.render import Prompt, render, syntax_error
from tests.conftest import SHARED

TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
TURNS: Any = turns_room
NULLS = (
    {"role": "user", "content": "Hi", "name": None},
    {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": {"name": "look", "arguments": None}}]},
    {"role": "tool", "content": [{"type": "text", "text": "x", "image": None}]},
    {"role": "assistant", "content": "y", "reasoning": "r", "thinking": None},
    {"role": "user", "content": None},
)
USER = ({"role": "user", "content": 'Hi "there" <&> é\u2028'},)


class Clock(datetime):
    """The real clock, stopped where ours stands."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "Clock":
        return cls(*NOW.timetuple()[:6], tzinfo=tz)


@pytest.fixture(autouse=True)
def stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_template_utils, "datetime", Clock)


TOKENIZER = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({"x": 0}, unk_token="x")), **TOKENS)


def theirs(text: str, messages: Sequence[Mapping[str, Any]], **variables: Any) -> tuple[str | None, str]:
    """What transformers makes of it, or the type of the exception that it raises."""
    try:
        shown = cast("Any", TOKENIZER).apply_chat_template([*messages], chat_template=text, tokenize=False, **variables)
    except Exception as error:  # noqa: BLE001 - a template may raise anything
        return None, type(error).__name__
    return shown, ""


def same(text: str, messages: Sequence[Mapping[str, Any]], variables: Mapping[str, Any], ours: Prompt) -> bool:
    return (ours.text, ours.type) == theirs(text, messages, **variables)


def conversations() -> Iterator[tuple[Sequence[Mapping[str, Any]], dict[str, Any]]]:
    for probe in CORE:
        yield probe.messages, dict(probe.variables)
    yield TURNS._TURNS, {}
    yield TURNS._WITH_TOOL, {"tools": TURNS._TOOLS}
    yield TURNS._WITH_TOOL[:2], {"tools": TURNS._TOOLS}
    yield (), {}
    yield NULLS, {"tools": TURNS._TOOLS, "documents": [{"title": "a", "text": "b"}]}


def stored() -> list[str]:
    """Every distinct chat template of the corpus and of the cases."""
    found: dict[str, None] = {}
    for path in sorted((*(SHARED / "corpus").rglob("*"), *(SHARED / "cases").rglob("*"))):
        if ENDLESS in path.parts:
            continue
        if path.suffix == ".jinja" and path.is_file():
            found[path.read_bytes().decode("utf-8", "replace")] = None
        elif path.suffix == ".json" and path.name != "tokenizer.json" and path.is_file():
            found.update(dict.fromkeys(_inline(path)))
    return list(found)


def _inline(path: Path) -> Iterator[str]:
    try:
        value: Any = json.loads(path.read_bytes())
    except ValueError:
        return
    template = value.get("chat_template") if isinstance(value, dict) else None
    if isinstance(template, str):
        yield template
    elif isinstance(template, list | dict):
        rows: Any = template if isinstance(template, list) else [{"template": text} for text in template.values()]
        yield from (row["template"] for row in rows if isinstance(row, dict) and isinstance(row.get("template"), str))


# Templates that are there to overrun every limit: the real renderer has none.
ENDLESS = "ugly-hostile-template"


@pytest.mark.needs("shared")
def test_every_stored_template_renders_as_in_transformers() -> None:
    templates = stored()
    assert len(templates) >= 150
    wrong: list[Any] = []
    seen = failing = 0
    for text in templates:
        for messages, variables in conversations():
            ours = render(text, messages, TOKENS, variables)
            seen += 1
            failing += ours.text is None
            if not same(text, messages, variables, ours):
                wrong.append((text[:80], messages, ours.kind, ours.error))
    assert wrong == []
    assert seen > 1200
    assert failing > 50


WRITTEN = {
    "generation tag": "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}",
    "generation tag with trimming": "a\n{%- generation -%}\n b \n{%- endgeneration -%}\n c",
    "break inside generation": "{% for i in range(9) %}{% generation %}{% break %}{% endgeneration %}{% endfor %}",
    "loop inside generation": "{% for m in messages %}{% generation %}{% for c in m.role %}{{ loop.index }}{% continue %}{% endfor %}{% endgeneration %}{% endfor %}",
    "namespace with an underscore": "{% set ns = namespace() %}{% set ns._a = 1 %}{{ ns._a }}",
    "namespace made with an underscore": "{% set ns = namespace(_a=1) %}",
    "namespace of what is no mapping": "{% set ns = namespace(1) %}",
    "namespace with self": "{% set ns = namespace(self=1) %}{{ ns.self }}",
    "fromkeys": "{{ dict.fromkeys(['a'], 1) }}",
    "attribute of dict": "{{ dict.items({}) }}",
    "dict is defined": "{{ dict is callable }}{{ dict is mapping }}",
    "reasoning": "{% for m in messages %}{{ m.reasoning_content }}|{{ m.thinking }}|{{ m.reasoning }}|{{ m | length }}{% endfor %}",
    "nulls": "{% for m in messages %}{{ m.content }}{{ m.content is none }}{{ 'content' in m }}{{ m.name is defined }}{% endfor %}",
    "joined with null": "{% for m in messages %}{{ 'a' + m.content }}{% endfor %}",
    "set inside generation": "{% set x = 1 %}{% generation %}{% set x = 2 %}{{ x }}{% endgeneration %}{{ x }}",
    "generation in a loop": "{% for m in messages %}{% generation %}{{ loop.index }}{{ m.role }}{% endgeneration %}{% endfor %}",
    "generation without an end": "{% generation %}x",
    "break": "{% for i in range(9) %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "continue": "{% for i in range(9) %}{% if i % 2 %}{% continue %}{% endif %}{{ i }}{% endfor %}",
    "do tag": "{% do messages %}",
    "translation": "{% trans %}x{% endtrans %}",
    "tojson": "{{ messages | tojson }}",
    "tojson indent": "{{ messages | tojson(indent=2) }}",
    "tojson by position": "{{ messages | tojson(True, 1) }}",
    "tojson sorted": "{{ {'b': 1, 'a': [none, true, 1.5]} | tojson(sort_keys=true, separators=(',', ':')) }}",
    "tojson html": "{{ '<b>&\\'' | tojson }}",
    "tojson unknown argument": "{{ messages | tojson(colour=1) }}",
    "tojson of undefined": "{{ nothing | tojson }}",
    "tojson of nan": "{{ ('nan' | float) | tojson }}",
    "raise_exception": "{{ raise_exception('no') }}",
    "raise_exception with markup": "{{ raise_exception('{{ no }}\\n`') }}",
    "raise_exception without text": "{{ raise_exception() }}",
    "namespace": "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
    "namespace of a mapping": "{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a }}{{ ns.b }}{{ ns.c }}",
    "white space": "  {% if true %}\n  x\n  {% endif %}\n\n y {#- c -#} z\n",
    "white space kept": "  {%+ if true %}\n  x\n  {%+ endif +%}\n",
    "last line end": "x\n",
    "two last line ends": "x\n\n",
    "carriage returns": "a\r\n{% if true %}\r\nb\r\n{% endif %}\r\nc",
    "undefined": "{{ nothing }}",
    "undefined attribute": "{{ nothing.at.all }}",
    "undefined method": "{{ messages[0].content.nothing() }}",
    "missing key": "{{ messages[0].nothing }}",
    "missing role token": "{{ bos_token + sep_token }}",
    "role token": "{{ bos_token + eos_token }}",
    "none is defined": "{{ tools is none }}{{ documents is defined }}{{ add_generation_prompt }}",
    "mutation": "{{ messages.append(1) }}",
    "mutation of a mapping": "{{ messages[0].update(a=1) }}",
    "dunder": "{{ ''.__class__.__mro__ }}",
    "dunder by filter": "{{ '' | attr('__class__') }}",
    "format": "{{ '{0.__class__}'.format(1) }}",
    "format plain": "{{ '%s-%s' | format(1, 2) }}{{ '{}'.format('x') }}",
    "strftime_now": "{{ strftime_now('%Y-%m-%d %H:%M:%S %A %j') }}",
    "strftime_now without a format": "{{ strftime_now() }}",
    "loop": "{% for m in messages %}{{ loop.first }}{{ loop.last }}{{ loop.previtem }}{% endfor %}",
    "macro": "{% macro m(x, y=2) -%} {{ x }}{{ y }} {%- endmacro %}{{ m(1) }}{{ m(1, y=3) }}",
    "call": "{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}x{% endcall %}",
    "include": "{% include 'x' %}",
    "import": "{% import 'x' as x %}",
    "extends": "{% extends 'x' %}",
    "slices": "{{ messages[::-1] }}{{ messages[1:] }}{{ 'abc'[-1] }}",
    "filters": "{{ [3, 1] | sort | join(',') }}{{ messages | map(attribute='role') | list }}{{ ' a ' | trim }}",
    "rejectattr": "{{ messages | rejectattr('role', 'equalto', 'user') | list | length }}",
    "text methods": "{{ 'a b'.split(' ') }}{{ 'ab'.startswith('a') }}{{ 'x'.upper() }}{{ 'abc'.replace('b', '') }}",
    "items": "{% for k, v in messages[0].items() %}{{ k }}={{ v }};{% endfor %}",
    "division by zero": "{{ 1 // 0 }}",
    "range too long": "{{ range(100001) | length }}",
    "dict": "{{ dict(a=1) }}{{ dict([('b', 2)]) }}",
    "cycler": "{% set c = cycler(1, 2) %}{{ c.next() }}{{ c.next() }}{{ c.next() }}",
    "joiner": "{% set j = joiner(',') %}{{ j() }}a{{ j() }}b",
    "lipsum": "{{ lipsum | string | length > 0 }}",
    "self": "{% block b %}x{% endblock %}{{ self.b() }}",
    "unclosed": "{% if true %}x",
    "unclosed expression": "{{ x",
    "unknown tag": "{% nothing %}",
    "unknown filter": "{{ 1 | nothing }}",
    "unknown test": "{{ 1 is nothing }}",
    "raw": "{% raw %}{{ x }}{% endraw %}",
    "line statement look-alike": "# for x in y\n## comment\n",
    "empty": "",
    "null byte": "a\x00b",
    "right to left": "\u202e\u200b{{ messages[0].content }}",
    "astral": "😀{{ '😀' | length }}{{ '😀' | tojson }}",
    "print of a list": "{{ messages }}",
    "big number": "{{ 2 ** 64 }}",
    "float": "{{ 0.1 + 0.2 }}{{ 1e300 * 1e300 }}",
    "boolean": "{{ true }}{{ True }}{{ none }}{{ None }}",
    "tilde": "{{ 1 ~ none ~ 'x' }}",
    "text plus number": "{{ 'x' + 1 }}",
    "text plus none": "{{ 'x' + none }}",
    "recursive loop": "{% for m in [[1, [2]]] recursive %}{{ m }}{{ loop(m) if m is iterable and m is not string }}{% endfor %}",
    "safe and escape": "{{ '<' | safe }}{{ '<' | escape }}{{ '<' | e ~ '<' }}",
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_written_template_renders_as_in_transformers(name: str) -> None:
    text = WRITTEN[name]
    for messages in (USER, TURNS._TURNS, NULLS, ()):
        assert same(text, messages, {}, render(text, messages, TOKENS)), theirs(text, messages)


@pytest.mark.parametrize("name", WRITTEN)
def test_a_syntax_error_is_one_in_transformers_too(name: str) -> None:
    text = WRITTEN[name]
    try:
        cast("Any", chat_template_utils)._compile_jinja_template(text)
        real = False
    except (jinja2.TemplateSyntaxError, SyntaxError):
        real = True
    assert (syntax_error(text) is not None) == real
