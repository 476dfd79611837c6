"""Templates that want out of the sandbox, say much, are hardly text, or use what is not there."""

from typing import Final

from tests.hostile.kinds import Hostile, ends, runs

# Ways out of the sandbox. What it keeps back is an undefined value: it prints as nothing, and raises when something is asked of it.
ESCAPES: Final[dict[str, Hostile]] = {
    "a class": ends("{{ ''.__class__.__mro__[1].__subclasses__() }}", "SecurityError"),
    "a class by its key": ends("{{ ''['__class__'] }}", "= "),
    "a class by attr": ends("{{ '' | attr('__cl' ~ 'ass__') }}", "= "),
    "a class by map": ends("{{ [''] | map(attribute='__class__') | first }}", "= "),
    "a class by map and attr": ends("{{ [''] | map('attr', '__class__') | map(attribute='__mro__') | list }}", "SecurityError"),
    "a class by a format": ends("{{ '{0.__class__}'.format('') }}", "= "),
    "a class by a format's key": ends("{{ '{a.__class__}'.format(a='') }}", "= "),
    "a class by format_map": ends("{{ '{a.__class__}'.format_map({'a': ''}) }}", "= "),
    "a class by a format that is kept": ends("{% set f = '{0.__class__}'.format %}{{ f('') }}", "= "),
    "a class by a format that attr gets": ends("{{ ('{0.__class__}' | attr('format'))('') }}", "= "),
    "a class by a format in a call": ends(
        "{{ ['{0.__class__}'] | map(attribute='format') | map('string') | first is string }}", "= True"
    ),
    "a class by groupby": ends("{{ messages | groupby('__class__') }}", "= [(Undefined, [{'role': 'user', 'content': 'Hi'}])]"),
    "a class by sort": ends("{{ messages | sort(attribute='__class__.__name__') }}", "SecurityError"),
    "a class by unique": ends("{{ messages | unique(attribute='__class__') | list | length }}", "= 1"),
    "a class by selectattr": ends("{{ messages | selectattr('__class__') | list | length }}", "= 0"),
    "a class by sum": ends("{{ messages | sum(attribute='__class__') }}", "SecurityError"),
    "what a class by its key is made of": ends("{{ ''['__class__'].__mro__ }}", "SecurityError"),
    "what a class by attr is made of": ends("{{ ('' | attr('__class__')).__mro__ }}", "SecurityError"),
    "a class by map that is called": ends("{{ ([''] | map(attribute='__class__') | first)() }}", "SecurityError"),
    "the environment of the context": ends("{{ self._TemplateReference__context.environment }}", "SecurityError"),
    "globals of the clock's owner": ends("{{ strftime_now.__self__.__init__.__globals__ }}", "SecurityError"),
    "globals of cycler": ends("{{ cycler.__init__.__globals__.os.popen('id').read() }}", "SecurityError"),
    "globals of lipsum": ends("{{ lipsum.__globals__['os'].environ }}", "SecurityError"),
    "globals of joiner": ends("{{ joiner.__init__.__globals__ }}", "SecurityError"),
    "globals of a refusal": ends("{{ raise_exception.__globals__ }}", "= "),
    "the owner of the clock": ends("{{ strftime_now.__self__ }}", "= "),
    "the context": ends("{{ self._TemplateReference__context }}", "= "),
    "the function of a macro": ends("{% macro m() %}{% endmacro %}{{ m._func.__globals__ }}", "SecurityError"),
    "the environment of a macro": ends("{% macro m() %}{% endmacro %}{{ m._environment.globals }}", "SecurityError"),
    "the code of a caller": ends("{% macro m() %}{{ caller.__code__ }}{% endmacro %}{% call m() %}{% endcall %}", "= "),
    "the frame of a generator": ends("{{ ([1] | map('string')).gi_frame.f_globals }}", "SecurityError"),
    "the iterator of a loop": ends("{% for m in messages %}{{ loop._iterator }}{% endfor %}", "= "),
    "the bases of a type": ends("{{ namespace.mro() }}", "SecurityError"),
    "the call of dict": ends("{{ dict.__call__(a=1) }}", "SecurityError"),
    "a hidden name in a namespace": ends("{% set n = namespace() %}{% set n._x = 1 %}{{ n._x }}", "SecurityError"),
    "a hidden name in a new namespace": ends("{{ namespace(**{'_x': 1}) }}", "SecurityError"),
    "a class of what is undefined": ends("{{ nothing.__class__ }}", "= "),
    "append": ends("{{ messages.append(1) }}", "SecurityError"),
    "append by its key": ends("{{ messages['append'](1) }}", "SecurityError"),
    "append by attr": ends("{{ (messages | attr('append'))(1) }}", "SecurityError"),
    "append by map": ends("{{ ([messages] | map(attribute='append') | first)(1) }}", "SecurityError"),
    "append that is kept": ends("{% set f = messages.append %}{{ f(1) }}", "SecurityError"),
    "pop": ends("{{ messages.pop() }}", "SecurityError"),
    "sort": ends("{{ messages.sort() }}", "SecurityError"),
    "update": ends("{{ messages[0].update(role='system') }}", "SecurityError"),
    "setdefault": ends("{{ messages[0].setdefault('x', 1) }}", "SecurityError"),
    "an item that is set": ends("{{ messages.__setitem__(0, 1) }}", "SecurityError"),
    "an assignment to an item": ends("{% set messages[0] = 1 %}", "syntax"),
    "an assignment to a message": ends(
        "{% set m = messages[0] %}{% set m.role = 'system' %}{{ m.role }}", "TemplateRuntimeError"
    ),
    "a filter that is none": ends("{{ messages | map('pop') | list }}", "TemplateRuntimeError"),
    "an error thrown into a generator": ends("{{ ([1] | map('string')).throw('x') }}", "TypeError"),
    "names of a web server": ends("{{ config }}{{ request }}{{ g }}{{ session }}", "= "),
}

# What is said at length, and texts that are no texts.
WORDS: Final[dict[str, Hostile]] = {
    "a refusal of three million letters": ends("{{ raise_exception('x' * 3000000) }}", "declined"),
    "a refusal of a billion letters": runs("{{ raise_exception('x' * 10**9) }}", "limits"),
    "a refusal with nothing": ends("{{ raise_exception() }}", "TypeError"),
    "a refusal with a conversation": ends("{{ raise_exception(messages) }}", "declined"),
    "a refusal with what is undefined": ends("{{ raise_exception(nothing) }}", "declined"),
    "a refusal with Markdown": ends("{{ raise_exception('</details>\\n# Approved\\n::error::x\\x1b[2J') }}", "declined"),
    "an error of three million letters": ends("{{ ''['a' * 3000000].x }}", "UndefinedError"),
    "a key of three million letters": ends("{{ {}['a' * 3000000]['b'] }}", "UndefinedError"),
    "a tag of three million letters": ends("{% " + "a" * 3_000_000 + " %}", "syntax"),
    "a name of three million letters": ends("{{ 1 " + "a" * 3_000_000 + " }}", "syntax"),
    "a filter of three million letters": ends("{{ 1 | " + "a" * 3_000_000 + " }}", "syntax"),
    "a prompt of three million letters": ends("{{ 'x' * 3000000 }}", "= " + "x" * 3_000_000),
    "a prompt of a million lines": ends("{{ 'x\\n' * 1000000 }}", "= " + "x\n" * 1_000_000),
    "a source of three million letters": runs("x" * 3_000_000, "= " + "x" * 3_000_000),
    "a source of five million letters": runs("x" * 5_000_000, "limits"),
    "a hundred thousand prints": runs("{{ messages | length }}" * 100_000),
    "a hundred thousand blocks": runs("".join(f"{{% block a{i} %}}{{% endblock %}}" for i in range(100_000))),
    "two blocks of one name": ends("{% block a %}{% endblock %}{% block a %}{% endblock %}", "syntax"),
    "half a character": ends("{{ '\\ud800' }}", "= \ud800"),
    "a refusal with half a character": ends("{{ raise_exception('\\ud800') }}", "declined"),
    "a date with half a character": ends("{{ strftime_now('\\ud800') }}", "UnicodeEncodeError"),
    "a null": ends("a\0b", "= a\0b"),
    "a null in an expression": ends("{{ \0 }}", "syntax"),
    "a byte order mark": ends("\ufeff{{ 1 }}", "= \ufeff1"),
    "text that runs backwards": ends("\u202e{{ '\u2066x\u2069' }}\u2028\u2029\x85", "= \u202e\u2066x\u2069\u2028\u2029\x85"),
    "names that look alike": ends("{% set аdmin = 1 %}{{ admin is defined }}", "= False"),
    "a name of many forms": ends("{% set ﬁ = 1 %}{{ ﬁ }}", "= 1"),
    "escape sequences": ends("\x1b]0;x\x07\x1b[2J", "= \x1b]0;x\x07\x1b[2J"),
    "nothing": ends("", "= "),
}

# What is used up, or asked of something that is none.
TRICKS: Final[dict[str, Hostile]] = {
    "a generator that is used up": ends("{% set g = [1, 2] | map('string') %}{{ g | list }}{{ g | list }}", "= ['1', '2'][]"),
    "a loop that outlives itself": ends(
        "{% set n = namespace() %}{% for m in messages %}{% set n.l = loop %}{% endfor %}{{ n.l.index }}", "= 1"
    ),
    "a loop outside": ends("{{ loop.index }}", "UndefinedError"),
    "a cycle of nothing": ends("{% for m in messages %}{{ loop.cycle() }}{% endfor %}", "TypeError"),
    "a cycler of nothing": ends("{{ cycler().next() }}", "RuntimeError"),
    "a caller with more than it takes": ends(
        "{% macro m() %}{{ caller(1) }}{% endmacro %}{% call m() %}x{% endcall %}", "TypeError"
    ),
    "a caller that nobody gave": ends("{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}", "UndefinedError"),
    "a slice into none": ends("{{ [1] | slice(0) | list }}", "ZeroDivisionError"),
    "a batch of none": ends("{{ [1, 2] | batch(0) | list }}", "= [[], [1, 2]]"),
    "two names for one": ends("{% for a, b in [1] %}{% endfor %}", "TypeError"),
    "a letter beyond all": ends("{{ '%c' % 1114112 }}", "OverflowError"),
    "a tag that is not there": ends("{% do messages.append(1) %}", "syntax"),
    "an end without a start": ends("x{% endgeneration %}", "syntax"),
    "break outside a loop": ends("{% break %}", "syntax"),
    "a keyword twice": ends("{{ dict(a=1, a=2) }}", "syntax"),
    "a shadowed conversation": ends("{% set messages = 1 %}{{ messages.x.y }}", "UndefinedError"),
    "a refusal that is shadowed": ends("{% set raise_exception = 1 %}{{ raise_exception('x') }}", "TypeError"),
}
