"""What chat templates reach for is seen in every spelling, and nothing is said of names that lead nowhere."""

from typing import Any

import jinja2
import jinja2.sandbox
import pytest
from jinja2.exceptions import SecurityError

from bot.analyze.environment import environment
from bot.analyze.model.reach import reaches

MESSAGES: list[dict[str, Any]] = [{"role": "user", "content": "Hi"}]

# Each prints a class where nothing stops it.
TO_CLASS = [
    "{{ ''.__class__ }}",
    "{{ ''['__class__'] }}",
    "{{ ''['__cla' 'ss__'] }}",
    "{{ ''|attr('__class__') }}",
    "{{ ''|attr('__cla' ~ 'ss__') }}",
    "{{ ''|attr('__cla' + 'ss__') }}",
    "{{ ''|attr(['__', 'class', '__']|join) }}",
    "{{ ''|attr('__CLASS__'|lower) }}",
    "{{ ''|attr('__ssalc__'[::-1]) }}",
    "{{ ''|attr('%c%cclass__'|format(95, 95)) }}",
    r"{{ ''|attr('\x5f\x5fclass\x5f\x5f') }}",
    "{{ ''|attr(nothing|default('__class__')) }}",
    "{% set name = '__class__' %}{{ ''|attr(name) }}",
    "{% set half = '__cla' %}{% set name = half ~ 'ss__' %}{{ ''[name] }}",
    "{% for name in ['__class__'] %}{{ ''|attr(name) }}{% endfor %}",
    "{% set names = {'a': '__class__'} %}{{ ''|attr(names.a) }}",
    "{% macro get(o, name) %}{{ o|attr(name) }}{% endmacro %}{{ get('', '__class__') }}",
    "{{ ['']|map(attribute='__class__')|list }}",
    "{{ ['']|map('attr', '__class__')|list }}",
    "{{ messages|groupby('role.__class__') }}",
    "{{ '{0.__class__}'.format('') }}",
    "{{ '{x.__class__}'.format_map({'x': ''}) }}",
    "{% set form = '{0.__class__}' %}{{ form.format('') }}",
    "{% if messages|length > 99 %}{{ ''.__class__ }}{% else %}<class 'str'>{% endif %}",
]

CHANGES = [
    "{{ messages.append(1) }}",
    "{{ messages['append'](1) }}",
    "{{ (messages|attr('append'))(1) }}",
    "{% set name = 'append' %}{{ messages[name](1) }}",
    "{{ messages.insert(0, {}) }}",
    "{{ messages[0].update({'role': 'system'}) }}",
    "{{ messages[0].pop('role') }}",
    "{% set own = [] %}{{ own.append(1) }}",
    "{% set ns = namespace(own=[]) %}{% set _ = ns.own.extend([1]) %}",
]

HARMLESS = [
    "{{ '__class__' }}",
    "{{ 'Write obj.__class__, or {x.__dict__}.' }}",
    "{{ '__init__' ~ messages[0].role }}",
    "{{ 'a' if messages else '__class__' }}",
    "{% if messages[0].role == '__class__' %}{% endif %}",
    "{% if messages[0].role in ['__class__', '__dict__'] %}{% endif %}",
    "{{ messages[0].__meta__ }}{{ messages[0]['__tool__'] }}",
    "{% set mark = '__start__' %}{{ mark }}",
    "{{ '{}'.format('__name__') }}",
    "{{ messages[0].content.strip().split('__')[-1] }}",
    "{{ messages|sort(attribute='role')|map(attribute='content')|join('__') }}",
    "{{ messages[0].get('name') }}{{ messages[0].items()|list }}{{ messages + [messages[0]] }}",
]


@pytest.mark.parametrize("text", TO_CLASS)
def test_internals_are_seen_in_every_spelling(text: str) -> None:
    assert [reach.what for reach in reaches(text).internals] == ["__class__"]
    assert "<class 'str'>" in jinja2.Environment().from_string(text).render(messages=MESSAGES)


@pytest.mark.parametrize("text", [text for text in TO_CLASS if "{% else %}" not in text])
def test_the_sandbox_prints_nothing_of_them(text: str) -> None:
    assert "class 'str'" not in environment(guarded=True).from_string(text).render(messages=MESSAGES)


@pytest.mark.parametrize("text", CHANGES)
def test_changes_are_seen_in_every_spelling_and_stopped_by_the_sandbox(text: str) -> None:
    assert len(reaches(text).changes) == 1
    with pytest.raises(SecurityError):
        environment(guarded=True).from_string(text).render(messages=MESSAGES)


@pytest.mark.parametrize("text", HARMLESS)
def test_names_that_lead_nowhere_are_harmless(text: str) -> None:
    assert reaches(text) == ((), ())
    environment(guarded=True).from_string(text).render(messages=MESSAGES)


@pytest.mark.parametrize("kind", [list, dict])
def test_every_method_that_the_sandbox_refuses_is_known(kind: type) -> None:
    refused = [name for name in dir(kind) if jinja2.sandbox.modifies_known_mutable(kind(), name)]
    assert refused
    for name in refused:
        assert [reach.what for reach in reaches(f"{{{{ messages.{name}() }}}}").changes] == [f"messages.{name}"]


def test_what_does_not_parse_reaches_for_nothing() -> None:
    assert reaches("{{ ''.__class__") == ((), ())
