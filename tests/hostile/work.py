"""Templates that work without end, make what does not fit, go deep, or search for long."""

from typing import Final

from tests.hostile.kinds import Hostile, ends, runs

_WIDE = "{% set n = namespace(a=%s) %}{% for i in range(99) %}{% set n.a = %s %}{% endfor %}{{ n.a | length }}"
_NEVER = "{% for i in range(99999) %}{% for j in range(99999) %}{% set x = i %}{% endfor %}{% endfor %}"


def _growing(start: str, step: str) -> str:
    return _WIDE.replace("%s", start, 1).replace("%s", step, 1)


# Work without an end.
LOOPS: Final[dict[str, Hostile]] = {
    "two loops": runs(_NEVER),
    "a loop within a loop within a loop": runs(
        "{% for i in range(9999) %}{% for j in range(9999) %}{% for k in range(9999) %}{% endfor %}{% endfor %}{% endfor %}"
    ),
    "a loop that writes": runs("{% for i in range(99999) %}{% for j in range(99999) %}x{% endfor %}{% endfor %}"),
    "a loop that writes much": runs(
        "{% for i in range(99999) %}{% for j in range(99999) %}{{ 'x' * 1000 }}{% endfor %}{% endfor %}"
    ),
    "a loop of continues": runs("{% for i in range(99999) %}{% for j in range(99999) %}{% continue %}{% endfor %}{% endfor %}"),
    "a loop behind a filter": runs("{% for i in range(99999) %}{% for j in range(99999) if j < 0 %}{% endfor %}{% endfor %}"),
    "a macro in a loop": runs(
        "{% macro f(x) %}{{ x }}{% endmacro %}{% for i in range(99999) %}{% for j in range(99999) %}{% set x = f(j) %}{% endfor %}{% endfor %}"
    ),
    "a cycler that is turned for ever": runs(
        "{% set c = cycler(1, 2) %}{% for i in range(99999) %}{% for j in range(99999) %}{% set x = c.next() %}{% endfor %}{% endfor %}"
    ),
    "macros that call each other twice": runs(
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}"
    ),
    "a recursive loop of two branches": runs(
        "{% for x in [40] recursive %}{% if x %}{{ loop([x - 1]) }}{{ loop([x - 1]) }}{% endif %}{% endfor %}"
    ),
    "a loop of loops that look ahead": runs(
        "{% for i in range(99999) %}{% for j in range(99999) %}{{ loop.nextitem and loop.changed(j) }}{% endfor %}{% endfor %}"
    ),
    "a call of a caller that calls": runs(
        "{% macro m() %}{{ caller() }}{{ caller() }}{% endmacro %}" + "{% call m() %}" * 40 + "x" + "{% endcall %}" * 40
    ),
    "maps in maps": runs("{{ range(99999) | map('string') | map('length') | list | length }}" * 2000),
    "sorting for ever": runs("{% for i in range(99999) %}{% set x = range(99999) | sort(reverse=true) %}{% endfor %}"),
    "grouping for ever": runs("{% for i in range(99999) %}{% set x = range(99999) | map('string') | groupby(0) %}{% endfor %}"),
    "unique for ever": runs("{% for i in range(99999) %}{% set x = range(99999) | unique | list %}{% endfor %}"),
    "dates for ever": runs(
        "{% for i in range(99999) %}{% for j in range(99999) %}{% set x = strftime_now('%c') %}{% endfor %}{% endfor %}"
    ),
    "keys of one hash": runs("{{ dict.fromkeys(range(0, (2**61 - 1) * 99999, 2**61 - 1)) | length }}"),
    "JSON for ever": runs("{% set x = range(99999) | list %}{% for i in range(99999) %}{% set y = x | tojson %}{% endfor %}"),
}

# Texts, lists and numbers that do not fit, or that Python makes in C in one go.
SIZES: Final[dict[str, Hostile]] = {
    "a text of ten billion letters": ends("{{ 'x' * 10**10 }}", "limits"),
    "a text of a billion letters": runs("{{ 'x' * 10**9 }}", "limits"),
    "a text that is only measured": ends("{% set n = messages | length %}{{ ('x' * n * 10**10) | length }}", "limits"),
    "a text just beyond the longest prompt": ends("{{ 'x' * 4000001 }}", "limits"),
    "a list of ten billion": ends("{{ [0] * 10**10 }}", "limits"),
    "a list of conversations": ends("{{ ([messages] * 10**10) | length }}", "limits"),
    "a text that doubles": runs(_growing("'x'", "n.a ~ n.a"), "limits"),
    "a text that is formatted into itself": runs(_growing("'x'", "'{0}{0}'.format(n.a)"), "limits"),
    "a text that is put into itself": ends(_growing("'xx'", "n.a.replace('x', n.a)"), "limits"),
    "a text that is joined by itself": runs(_growing("'xx'", "n.a.join([n.a, n.a])"), "limits"),
    "a list that doubles": runs(_growing("[0]", "n.a + n.a"), "limits"),
    "a tuple that doubles": runs(_growing("(0,)", "n.a + n.a"), "limits"),
    "a list that holds itself twice": runs(
        "{% set n = namespace(a=[0]) %}{% for i in range(99) %}{% set n.a = [n.a, n.a] %}{% endfor %}{{ n.a }}", "limits"
    ),
    "a number that is squared": runs(_growing("10", "n.a * n.a")),
    "a power": runs("{{ 10**(10**8) }}"),
    "a power of powers": runs("{{ 9**(9**(9**9)) }}"),
    "the rest of a power": runs("{% set n = (messages | length) * 10**8 %}{{ (3 ** n) % 7 }}"),
    "a number of too many digits": ends("{{ 10**5000 }}", "syntax"),
    "a number of many digits": ends("{{ '%x' % 16**20 }}", "= 1" + "0" * 20),
    "a number that is read": ends("{{ ('9' * 10**6) | int(7) }}", "= 7"),
    "a number beyond all floats": ends("{{ 10**400 * 1.0 }}", "OverflowError"),
    "a wide number": runs("{{ '%1000000000d' % 1 }}", "limits"),
    "a wider number": ends("{{ '%099999999999d' % 1 }}", "limits"),
    "a number of a width that is none": ends("{{ '%99999999999999999999d' % 1 }}", "ValueError"),
    "a width from a star": runs("{{ '%*d' % (10**9, 1) }}", "limits"),
    "a precise number": runs("{{ '%.999999999f' % 0.1 }}", "limits"),
    "a format that is wide": ends("{{ '{:>99999999}'.format(1) }}", "limits"),
    "a format that is wider": ends("{{ '{:>99999999999}'.format(1) }}", "limits"),
    "a format within a format": runs("{{ '{:{}}'.format(1, 10**9) }}", "limits"),
    "formats within formats": ends("{{ '{:{:{:{}}}}'.format(1, 2, 3, 4) }}", "ValueError"),
    "center": ends("{{ 'x' | center(99999999999) }}", "limits"),
    "ljust": runs("{{ 'x'.ljust(10**9) }}", "limits"),
    "zfill": ends("{{ 'x'.zfill(10**11) }}", "limits"),
    "expandtabs": ends("{{ ('\\t' * 10**6).expandtabs(10**6) }}", "limits"),
    "translate": runs("{{ ('x' * 10**6).translate({120: 'y' * 10**6}) | length }}", "limits"),
    "replace": ends("{{ ('a' * 10**6).replace('a', 'b' * 10**6) }}", "limits"),
    "replace of nothing": ends("{{ ('a' * 10**6) | replace('', 'b' * 10**6) }}", "limits"),
    "join": runs("{{ (['x' * 10**6] * 10**5) | join }}", "limits"),
    "indent": runs("{{ ('x\\n' * 10**7) | indent(1000) | length }}", "limits"),
    "JSON with a wide indent": runs("{{ messages | tojson(indent=10**9) }}", "limits"),
    "batch": ends("{{ range(5) | batch(10**10, 'x') | list | length }}", "limits"),
    "slice": runs("{{ range(9) | slice(10**9) | list | length }}"),
    "slices that are far away": ends("{{ 'abc'[:10**30:10**30] }}{{ [1, 2][10**30:] }}", "= a[]"),
    "a huge range": ends("{{ range(10**12) | list | length }}", "OverflowError"),
    "lipsum": runs("{{ lipsum(n=99999999) }}"),
    "a date of many parts": runs("{{ strftime_now('%c' * 10**6) }}", "limits"),
    "a date of a billion letters": runs("{{ strftime_now('x' * 10**9) }}", "limits"),
    "a date with a width": ends("{{ strftime_now('%999999999d') | length < 10**7 }}", "= True"),
}

# Deep things, which end in Python's own limits.
DEPTHS: Final[dict[str, Hostile]] = {
    "a macro that calls itself": ends("{% macro f(x) %}{{ f(x + 1) }}{% endmacro %}{{ f(0) }}", "limits"),
    "a macro that is given itself": ends("{% macro f(g) %}{{ g(g) }}{% endmacro %}{{ f(f) }}", "limits"),
    "a block that prints itself": ends("{% block a %}{{ self.a() }}{% endblock %}", "limits"),
    "a block above which there is none": ends("{% block a %}{{ super() }}{% endblock %}", "UndefinedError"),
    "a loop that is given itself": ends("{% for x in [[1]] recursive %}{{ loop([x]) }}{% endfor %}", "limits"),
    "a loop over the conversation in itself": ends("{% for m in messages recursive %}{{ loop(messages) }}{% endfor %}", "limits"),
    "a caller that calls itself": ends(
        "{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{{ m() }}", "limits"
    ),
    "includes itself": ends("{% include 'chat_template.jinja' %}", "TypeError"),
    "extends itself": ends("{% extends 'chat_template.jinja' %}", "TypeError"),
    "imports a file": ends("{% import '/etc/passwd' as p %}{{ p }}", "TypeError"),
    "brackets": ends("{{ " + "(" * 20_000 + "1" + ")" * 20_000 + " }}", "limits"),
    "lists": ends("{{ " + "[" * 5_000 + "]" * 5_000 + " }}", "limits"),
    "objects": ends("{{ " + "{1:" * 5_000 + "1" + "}" * 5_000 + " }}", "limits"),
    "negations": ends("{{ " + "not " * 20_000 + "1 }}", "limits"),
    "signs": ends("{{ " + "- " * 20_000 + "1 }}", "limits"),
    "filters": runs("{{ 'x'" + " | trim" * 20_000 + " }}", "limits"),
    "attributes": runs("{{ messages" + ".x" * 20_000 + " }}", "limits"),
    "calls": runs("{{ messages" + "()" * 20_000 + " }}", "limits"),
    "choices": ends("{{ " + "1 if messages else " * 20_000 + "1 }}", "limits"),
    "a long sum": runs("{{ " + " + ".join(["messages"] * 20_000) + " }}", "limits"),
    "a long concatenation of sums": ends("{{ " + "(1 ~ " * 5_000 + "1" + ")" * 5_000 + " }}", "limits"),
    "conditions": ends("{% if 1 %}" * 3_000 + "{% endif %}" * 3_000, "limits"),
    "a hundred conditions": ends("{% if messages %}" * 120 + "{% endif %}" * 120, "syntax"),
    "twenty loops": ends("{% for i in [1] %}" * 25 + "x" + "{% endfor %}" * 25, "syntax"),
    "generation in generation": ends("{% generation %}" * 2_000 + "x" + "{% endgeneration %}" * 2_000, "limits"),
    "many ends of a condition": runs("{% if 0 %}" + "{% elif 0 %}" * 5_000 + "{% endif %}", "limits"),
    "a list in a list in a list": runs(
        "{% set n = namespace(a=[]) %}{% for i in range(99999) %}{% set n.a = [n.a] %}{% endfor %}{{ n.a }}", "limits"
    ),
    "JSON of a list in a list in a list": runs(
        "{% set n = namespace(a=[]) %}{% for i in range(99999) %}{% set n.a = [n.a] %}{% endfor %}{{ n.a | tojson }}", "limits"
    ),
    "deep lists that are compared": runs(
        "{% set n = namespace(a=[], b=[]) %}{% for i in range(99999) %}{% set n.a = [n.a] %}{% set n.b = [n.b] %}{% endfor %}{{ n.a == n.b }}",
        "limits",
    ),
    "a refusal that is deep": runs(
        "{% set n = namespace(a=[]) %}{% for i in range(99999) %}{% set n.a = [n.a] %}{% endfor %}{{ raise_exception(n.a) }}",
        "limits",
    ),
    "a namespace within itself": ends(
        "{% set n = namespace() %}{% set n.a = n %}{{ n }}", "= <Namespace {'a': <Namespace {...}>}>"
    ),
}

# Filters that search texts.
SEARCHES: Final[dict[str, Hostile]] = {
    "urlize of dots": ends("{{ (('a.' * 10**5) | urlize) | length > 0 }}", "= True"),
    "urlize of brackets": ends("{{ ('(' * 10**5 ~ 'http://a.b' ~ ')' * 10**5) | urlize | length > 0 }}", "= True"),
    "urlize of addresses": ends("{{ ('@a.b' * 10**5) | urlize | length > 0 }}", "= True"),
    "urlize of many words": runs("{{ ('http://a.b/<&> ' * 10**7) | urlize | length > 0 }}"),
    "wordwrap": runs("{{ ('x' * 3 * 10**7) | wordwrap(1) | length > 0 }}"),
    "striptags of comments": runs("{{ ('<!---->' * 10**7) | striptags | length }}", "limits"),
    "striptags of brackets": ends("{{ ('<' * 10**6 ~ '>') | striptags | length }}", "= 0"),
    "pprint": runs("{{ (range(99999) | list) | pprint | length > 0 }}" * 300),
    "urlencode": runs("{{ ('é' * 10**8) | urlencode | length > 0 }}"),
    "title": runs("{{ ('x ' * 10**8) | title | length > 0 }}"),
    "wordcount": runs("{{ ('x ' * 5 * 10**7) | wordcount > 0 }}"),
    "an unfinished raw block": ends("{% raw %}" + ("{%" + " " * 1000) * 500, "syntax"),
    "spaces before a tag": ends((" " * 2000 + "\n") * 500 + "{% if 1 %}x{% endif %}", "= " + (" " * 2000 + "\n") * 500 + "x"),
    "spaces within a tag": ends("{{" + " " * 10**6 + "1 }}", "= 1"),
    "comments that never end": ends("{# " * 10**5, "syntax"),
}

# Work in C that nothing interrupts: whoever started the process has to kill it.
STUCK: Final[dict[str, Hostile]] = {
    "lists that are added up": runs("{{ ([[0] * 100] * 10**5) | sum(start=[]) | length }}"),
    "JSON of a list that holds itself twice": runs(
        "{% set n = namespace(a=[0]) %}{% for i in range(40) %}{% set n.a = [n.a, n.a] %}{% endfor %}{{ n.a | tojson }}"
    ),
}
