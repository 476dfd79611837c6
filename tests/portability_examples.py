"""A chat template of one line for each construct that other readers of chat templates may refuse, which Jinja itself renders.

tests/engine_runs/portability.json holds which of them two readers that no test can run refused: "llama.cpp" is common/jinja of 0c1e57098, compiled by
itself, "tgi" is minijinja 2.9.0 with the rewrites of TGI 3.3.7 in front, without trim and lstrip.
"""

from typing import Any

CONTEXT: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Hi there"}, {"role": "assistant", "content": "Yo"}],
    "tools": None,
    "documents": None,
    "add_generation_prompt": True,
    "x": "a b",
    "n": 5,
    "l": [3, 1, 2],
    "d": {"b": 1, "a": 2},
    "s": ["b", "a"],
    "o": [{"k": "u", "v": 1}, {"k": "w", "v": 2}],
}

# Filters of Jinja, without arguments, on a value that they are for.
_FILTERED = {
    "attr": "d|attr('b') is defined",
    "batch": "l|batch(2)|list|length",
    "format": "'x'|format",
    "groupby": "o|groupby('k')|list|length",
    "map": "o|map(attribute='k')|join",
    "rejectattr": "o|rejectattr('k')|list|length",
    "replace": "x|replace('a', 'b')",
    "selectattr": "o|selectattr('k')|list|length",
    "slice": "l|slice(2)|list|length",
    **dict.fromkeys(("first", "last", "length", "count", "list", "max", "min", "sum", "unique", "reverse", "sort"), "l"),
    **dict.fromkeys(("random", "join", "select", "reject"), "l"),
    **dict.fromkeys(("abs", "filesizeformat", "float", "int", "round"), "n"),
    **dict.fromkeys(("dictsort", "items", "xmlattr", "tojson"), "d"),
    "string": "n",
}
_CALLS = {
    "center": "x|center(9)",
    "d": "nope|d('z')",
    "default": "nope|default('z')",
    "dictsort": "d|dictsort(by='value')|length",
    "filesizeformat": "n|filesizeformat(true)",
    "float": "x|float(1.0)",
    "format": "'%s'|format(x)",
    "indent": "x|indent(2)",
    "int": "x|int(1)",
    "join": "s|join(',')",
    "max": "o|max(attribute='v') is mapping",
    "min": "o|min(attribute='v') is mapping",
    "reject": "l|reject('odd')|list is iterable",
    "rejectattr": "o|rejectattr('k', 'equalto', 'u')|list|length",
    "round": "1.5|round(1)",
    "select": "l|select('odd')|list is iterable",
    "selectattr": "o|selectattr('k', 'equalto', 'u')|list|length",
    "sort": "l|sort(reverse=true)|join",
    "sum": "o|sum(attribute='v')",
    "tojson": "d|tojson(indent=2)",
    "trim": "x|trim('a')",
    "truncate": "x|truncate(9)",
    "unique": "o|unique(attribute='k')|list|length",
    "urlize": "x|urlize(9)",
    "wordwrap": "x|wordwrap(width=9)",
    "xmlattr": "d|xmlattr(false)",
}
_TESTED = {
    **dict.fromkeys(("even", "odd", "number", "integer", "float"), "n"),
    **dict.fromkeys(("false", "true", "boolean"), "true"),
}
_COMPARED = {
    **dict.fromkeys(
        ("divisibleby", "eq", "equalto", "ge", "gt", "greaterthan", "le", "lessthan", "lt", "ne", "sameas"), "n is {}(2)"
    ),
    "in": "n is in([2])",
}
_OF_LISTS = {"count": "[1].count(1)", "index": "[1].index(1)", "copy": "[1].copy()|length"}
_OF_DICTS = {
    "fromkeys": "{'a': 1}.fromkeys(['a'])|length",
    **{name: f"d.{name}()|list|length" for name in ("items", "keys", "values")},
    "get": "d.get('a')",
}
_OF_NUMBERS = {
    **{name: f"(5).{name}()" for name in ("as_integer_ratio", "bit_length", "bit_count", "conjugate")},
    "hex": "1.5.hex()",
    "is_integer": "1.5.is_integer()",
    "to_bytes": "(5).to_bytes(2, 'big')",
    "from_bytes": "(5).from_bytes(x.encode(), 'big')",
    "fromhex": "1.5.fromhex('0x1p+0')",
}
_METHOD_ARGUMENTS = {
    **dict.fromkeys(("center", "ljust", "rjust", "zfill"), "5"),
    **dict.fromkeys(
        ("endswith", "find", "rfind", "rindex", "startswith", "partition", "rpartition", "removeprefix", "removesuffix"), "'a'"
    ),
    **dict.fromkeys(("format_map", "translate", "maketrans"), "{}"),
    "join": "['a']",
    "replace": "'a', 'b'",
    "split": "' '",
    "rsplit": "' '",
}

# Whatever else readers differ in, and what looks like it and is no matter to any.
_WRITTEN = """
{% for i in l %}{% if i == 1 %}{% break %}{% endif %}{{ i }}{% endfor %}
{% for i in l %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% endfor %}
{% generation %}a{% endgeneration %}
{%- generation -%}a{%- endgeneration -%}
{% generation %}a{%endgeneration%}
{% with a=1 %}{{ a }}{% endwith %}
{% block b %}x{% endblock %}
{% raw %}x{% endraw %}
{% autoescape false %}x{% endautoescape %}
{% filter upper %}x{% endfilter %}
{% filter center(9) %}x{% endfilter %}
{% set a %}x{% endset %}{{ a }}
{% set a | upper %}x{% endset %}{{ a }}
{% set a, b = 1, 2 %}{{ a }}
{% macro m(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, b=3) }}
{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(*[1]) }}
{% macro m(a) %}{{ a }}{% endmacro %}{{ m(**{'a': 1}) }}
{% macro m(a) %}{{ caller() }}{% endmacro %}{% call m(1) %}x{% endcall %}
{% macro m(a) %}{{ caller(2) }}{% endmacro %}{% call(z) m(1) %}{{ z }}{% endcall %}
{% macro m() %}{{ varargs|length }}{% endmacro %}{{ m(1, 2) }}
{% macro m() %}{{ kwargs|length }}{% endmacro %}{{ m(a=1) }}
{% macro m(a=1 if true else 2) %}{{ a }}{% endmacro %}{{ m() }}
{% macro m() %}{{ caller() }}{% endmacro %}{% set ns = namespace(m=m) %}{% call ns.m() %}x{% endcall %}
{% for a in l recursive %}{{ a }}{% endfor %}
{% for a in l if a > 1 %}{{ a }}{{ loop.index }}{% else %}e{% endfor %}
{% for a in l %}{{ loop.cycle('a', 'b') }}{% endfor %}
{% for a in l %}{{ loop.changed(a) }}{% endfor %}
{% for a in l %}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.revindex0 }}{% endfor %}
{% for k, v in d.items() %}{{ k }}{{ v }}{% endfor %}
{%+ if true %}x{% endif %}
{% if true +%}x{% endif %}
{#+ c #}{#- c -#}x
{% set ns = namespace(a=1) %}{% set ns.a = 2 %}{{ ns.a }}
{% set ns = namespace(a=1 if true else 2) %}{{ ns.a }}
{% set ns = namespace(a=(1 if true else 2)) %}{{ ns.a }}
{% set q = {'a': 1 if true else 2} %}{{ q.a }}
{% set q = 1 if true else 2 %}{{ q }}
{% for i in range(3) %}{{ i }}{% endfor %}
{% for i in range(2, -1, -1) %}{{ i }}{% endfor %}
{{ dict(a=1).a }}
{{ dict(**d)|length }}
{{ joiner(',')() }}
{% set c = cycler('a', 'b') %}{{ c.next() }}
{{ lipsum(n=1) is string }}
{{ strftime_now('%Y') is string }}
{{ (strftime_now('%Y') is string) if strftime_now is defined }}
{% if strftime_now is defined %}{{ strftime_now('%Y') is string }}{% endif %}
{% if strftime_now is not defined %}x{% else %}{{ strftime_now('%Y') is string }}{% endif %}
{% if not (strftime_now is defined and strftime_now('%Y')) %}x{% endif %}y
{% macro strftime_now(f) %}{{ f }}{% endmacro %}{{ strftime_now('x') }}
{{ 'a' 'b' }}
{{ 'a' ~ 1 }}
{{ '%s' % x }}
{{ n % 2 }}
{{ n // 2 }}
{{ n ** 2 }}
{{ n / 2 }}
{{ +n }}
{{ -n }}
{{ 1 < 2 < 3 }}
{{ 1e3 }}
{{ 1_000 }}
{{ 0x1f }}
{{ 1.5 }}
{{ 'a' * 3 }}
{{ ([1] * 3)|length }}
{{ ('a', 'b')|join }}
{{ ()|length }}
{{ (1,)|length }}
{{ {1: 2}|length }}
{{ {none: 2}|length }}
{{ {x: 2}|length }}
{{ {'a': {'b': 1}}|length }}
{{ l[::-1]|join }}
{{ l[1:][::-1]|join }}
{{ l[1::2]|join }}
{{ l[-2:]|join }}
{{ l[2:0:-1]|join }}
{{ l[::-2]|join }}
{{ x[:1] }}
{{ l.0 }}
{{ o.0.k }}
{{ o[0].k }}
{{ 'yes' if x }}
{{ '\\u00e9' }}
{{ '\\x41' }}
{{ '\\d'|length }}
{{ 'a\\n\\t\\'\\\\'|length }}
{{ range(*[3])|list|length }}
{{ d|tojson(ensure_ascii=false)|length }}
{{ d|tojson(separators=(',', ':')) }}
{{ d|tojson(sort_keys=true) }}
{{ s|map('upper')|join }}
{{ o|map(attribute='k')|join }}
{{ o|selectattr('k', 'defined')|list|length }}
{{ o|selectattr('v', 'gt', 1)|list|length }}
{{ o|selectattr('k', 'in', ['u'])|list|length }}
{{ x|replace('a', 'b', 1) }}
{{ x.replace('a', 'b', 1) }}
{{ nope|default }}
{{ nope|default() }}
{{ nope|d }}
{{ nope|default('q', boolean=true) }}
{{ x|indent(width=2) }}
{{ x|indent(2, true) }}
{{ s|join(d=',') is string }}
{{ o|join(',', attribute='k') is string }}
{{ l|sort(true)|join }}
{{ d|dictsort(true)|length }}
{{ x.split(' ', 1)|length }}
{{ x.split(' ', maxsplit=1)|length }}
{{ x.startswith(('a', 'b')) }}
{{ '{}'.format(x) }}
{{ '{0}'.format(x) }}
{{ '{a}'.format(a=x) }}
{% if tools is iterable and tools|length > 0 %}a{% endif %}b
{% if tools is defined and tools is iterable %}{{ tools|length }}{% endif %}b
{% if tools is iterable %}a{% endif %}b
{% if tools and tools is iterable and tools|length > 0 %}a{% endif %}b
{% if tools is not none and tools is iterable and tools|length > 0 %}a{% endif %}b
{% if tools %}{{ tools|length }}{% endif %}b
{% set f = tools|selectattr('type', 'equalto', 'x') %}a
{% set f = tools|map(attribute='x') %}a
{% set f = tools|default([], true)|selectattr('type', 'equalto', 'x') %}a
{% if tools %}{% set f = tools|selectattr('type', 'equalto', 'x') %}{% endif %}a
{{ messages|selectattr('role', 'equalto', 'user')|list|length }}
{{ messages[messages|length - 1].role }}
{{ raise_exception is defined }}{{ x is string and x is not mapping }}
"""


def examples(filters: frozenset[str], tests: frozenset[str], methods: frozenset[str]) -> tuple[str, ...]:
    """All templates, with one for each filter, test and method of these names."""
    found = [line for line in _WRITTEN.splitlines() if line]
    for name in sorted(filters):
        given = _FILTERED.get(name, "x")
        found.append(f"{{{{ {given} }}}}" if "|" in given else f"{{{{ ({given}|{name}) is defined }}}}")
        if "|" not in given:
            found.append(f"{{{{ ({given}|{name}()) is defined }}}}")
        if name in _CALLS:
            found.append(f"{{{{ {_CALLS[name]} }}}}")
    found.extend(f"{{{{ {_COMPARED.get(name, _TESTED.get(name, 'x') + ' is {}').format(name)} }}}}" for name in sorted(tests))
    for name in sorted(methods - {"cycle", "changed", "next"}):
        call = {**_OF_LISTS, **_OF_DICTS, **_OF_NUMBERS}.get(name, f"x.{name}({_METHOD_ARGUMENTS.get(name, '')})")
        found.append(f"{{{{ ({call}) is defined }}}}")
    return tuple(found)
