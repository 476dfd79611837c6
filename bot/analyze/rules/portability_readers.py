"""What readers of chat templates other than transformers do not know of Jinja, construct by construct.

Every row was run with a template of one line; tests/test_portability.py runs them again. The universe is what Jinja 3.1.6 itself knows: whatever is
a filter, a test or a method there and is not among those that a reader knows is lacking in it. Sources, where a reader keeps its lists:
transformers.js 4.3.2: @huggingface/jinja 0.5.11, src/parser.ts:107-220 (tags), src/runtime.ts:120-250 and :420-480 (methods), :560-630 (tests),
:1240-1430 and :1430-1620 (filters without and with arguments). llama.cpp 0c1e57098: common/jinja/parser.cpp:116-212, common/jinja/value.cpp:410-1400.
minijinja 3.1.0 with every feature, trim and lstrip on and Python's methods. TGI 3.3.7: router/src/infer/chat_template.rs:29-63 (its rewrites of
the text), run with minijinja 2.9.0, the first after its 2.8.0 that PyPI has with Python's methods.
"""

import msgspec
from jinja2.filters import FILTERS as JINJA_FILTERS
from jinja2.tests import TESTS as JINJA_TESTS


class Construct(msgspec.Struct, frozen=True):
    """Something of Jinja that a template uses. `kind` is one of the keys of _SPELLED; `name` says which one, or is the whole spelling ("syntax")."""

    kind: str
    name: str

    def __str__(self) -> str:
        if self.kind == "escape" and not (self.name.isascii() and self.name.isalnum()):
            return "a backslash in a string before a character that needs none"
        return _SPELLED[self.kind].format(self.name)


_SPELLED = {
    "tag": "`{{% {} %}}`",
    "filter": "`| {}`",
    "filter call": "`| {}(…)`",
    "filter without arguments": "`| {}()`",
    "test": "`is {}`",
    "test call": "`is {}(…)`",
    "test of an attribute": "`selectattr(…, '{}', …)`",
    "method": "`.{}()`",
    "function": "`{}()`",
    "escape": "`\\{}` in a string",
    "syntax": "{}",
}

TRIMMED_GENERATION = "`generation` other than as `{% generation %}`"
SIGN = "a `+` that keeps white space, as in `{%+`"
RECURSIVE = "`{% for … recursive %}`"
CALL_PATH = "`{% call a.b() %}`"
SET_FILTER = "`{% set … | … %}`"
UNPACKED = "`{% set a, b = … %}`"
NUMBER = "a number such as `1e3` or `1_000`"
SHORT_TUPLE = "`()` or `(…,)`"
KEYS = "`{1: …}`, a key that is no string"
PERCENT = "`'…' % …`"
FLOOR = "`//`"
POWER = "`**`"
PLUS = "`+` in front of a value"
CHAIN = "`a < b < c`"
TIMES_TEXT = "`'…' * n`"
TIMES_LIST = "`[…] * n`"
STAR = "`*` in front of an argument"
STARS = "`**` in front of an argument"
DOT_NUMBER = "`a.0`"
KEYWORD_IF = "`name=… if … else …`"
STEP_BACK = "a slice that goes backwards, other than `[::-1]`"
RANGE_BELOW = "`range()` below zero"
EXTRA = "`varargs` or `kwargs` of a macro"
FEW = "a macro that is given too few arguments"
ONLY_ITERABLE = "`tools is iterable` as the only guard of `tools | length`"
LAZY = "a filter on `tools` where no tools are given"
MAP_FILTER = "`| map('…')`"
TOJSON_NAMED = "`| tojson({}=…)`"
ATTRIBUTE_VALUE = "`selectattr(…)` with a value that is no string"
ATTRIBUTE_TEST = "`selectattr(…, '…')` with a test alone"
REPLACE_COUNT = "`replace(…)` with a count"
FILTER_REPLACE_COUNT = "`| replace(…)` with a count"
DEFAULT_WORD = "`| default` without `(…)`"
DEFAULT_BARE = "`| default` without a value"
DEFAULT_NAMED = "`| default(…, boolean=…)`"
INDENT_NAMED = "`| indent(…=…)`"
JOIN_MORE = "`| join(attribute=…)`"
SORT_POSITION = "`| sort(true)`"
SPLIT_NAMED = "`.split(…, maxsplit=…)`"
STARTS_TUPLE = "`.startswith((…, …))`"
PLACEHOLDER = "`'{…}'.format(…)` with names, numbers or widths"


def syntax(name: str) -> Construct:
    """A construct that has no name of its own: one of the spellings above."""
    return Construct("syntax", name)


class Reader(msgspec.Struct, frozen=True, eq=False):
    """A program that renders chat templates: its name among a finding's engines, in sentences with the version that was looked at, and what it lacks.

    `parsing` are constructs for which it refuses the whole template, `running` those that fail where they are reached. `escapes` are the letters
    that may follow a backslash in a string, None where all may; another refuses the whole template.
    """

    name: str
    said: str
    version: str
    parsing: frozenset[Construct] = frozenset()
    running: frozenset[Construct] = frozenset()
    escapes: str | None = None

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def refuses(self, construct: Construct) -> bool:
        """Whether it fails on the construct."""
        return self.whole(construct) or construct in self.running

    def whole(self, construct: Construct) -> bool:
        """Whether it does so for every conversation."""
        if construct.kind == "escape":
            return self.escapes is not None and construct.name not in self.escapes
        return construct in self.parsing


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _each(kind: str, names: str | frozenset[str]) -> frozenset[Construct]:
    return frozenset(Construct(kind, name) for name in (_words(names) if isinstance(names, str) else names))


def _syntax(*names: str) -> frozenset[Construct]:
    return frozenset(map(syntax, names))


FILTERS = frozenset(JINJA_FILTERS)
TESTS = frozenset(name for name in JINJA_TESTS if name.isidentifier())
# Methods of the values that a template meets, as far as the sandbox of transformers lets it call them, and of `loop` and `cycler`.
METHODS = (
    frozenset(n for kind in (str, int, float, list, dict) for n in dir(kind) if not n.startswith("_"))
    | _words("cycle changed next")
) - _words("append clear extend insert pop popitem remove reverse setdefault sort update real imag numerator denominator")
_TOJSON_WORDS = ("ensure_ascii", "separators", "sort_keys")
_OTHER_TAGS = "with block raw autoescape"

_JS_FILTERS = _words(
    "safe tojson list first last length reverse sort join string unique upper lower title capitalize trim indent int float abs"
    " items dictsort"
)
_JS_CALLS = _words("tojson join int float default sort selectattr rejectattr map indent replace items dictsort")
_JS_TESTS = _words(
    "boolean callable odd even false true none string number integer iterable mapping sequence lower upper defined undefined"
    " equalto eq"
)
_JS_METHODS = _words("upper lower strip title capitalize rstrip lstrip startswith endswith split replace get items keys values")

TRANSFORMERS_JS = Reader(
    "transformers.js",
    "transformers.js",
    "@huggingface/jinja 0.5.11",
    parsing=_each("tag", _OTHER_TAGS) | _each("test call", TESTS) | _syntax(SIGN, RECURSIVE, CALL_PATH, NUMBER, SHORT_TUPLE),
    running=_each("filter", FILTERS - _JS_FILTERS - {"default"})
    | _each("filter call", FILTERS - _JS_CALLS)
    | _each("filter without arguments", FILTERS - _JS_CALLS)
    | _each("test", TESTS - _JS_TESTS)
    | _each("test of an attribute", frozenset(JINJA_TESTS) - _JS_TESTS)
    | _each("method", METHODS - _JS_METHODS)
    | _each("function", "dict joiner cycler lipsum")
    | _syntax(
        DEFAULT_WORD, SET_FILTER, KEYS, PERCENT, CHAIN, TIMES_TEXT, TIMES_LIST, LAZY, MAP_FILTER, ATTRIBUTE_VALUE, SPLIT_NAMED
    ),
    escapes="ntrbfv'\"\\xu",
)

_CPP_LACKS = (
    "attr batch center e escape filesizeformat forceescape groupby pprint random round slice striptags sum truncate unique urlencode urlize"
    " wordcount wordwrap xmlattr"
)
_CPP_METHODS = _words(
    "upper lower strip rstrip lstrip title capitalize startswith endswith split rsplit replace format get keys values items"
)

LLAMA_CPP = Reader(
    "llama.cpp",
    "llama.cpp",
    "0c1e57098",
    parsing=_each("tag", _OTHER_TAGS) | _syntax(SIGN, RECURSIVE, CALL_PATH, NUMBER, SHORT_TUPLE, FLOOR, POWER, STARS),
    running=_each("filter", _CPP_LACKS + " select reject")
    | _each("filter call", _CPP_LACKS)
    | _each("filter without arguments", _CPP_LACKS)
    | _each("test", "escaped filter")
    | _each("test call", "le")
    | _each("test of an attribute", "== != < <= > >= le escaped filter")
    | _each("method", METHODS - _CPP_METHODS)
    | _each("function", "joiner cycler lipsum")
    | _syntax(SET_FILTER, PERCENT, CHAIN, TIMES_LIST, STAR, FEW, MAP_FILTER, ATTRIBUTE_TEST, REPLACE_COUNT, FILTER_REPLACE_COUNT)
    | _syntax(DEFAULT_BARE, SPLIT_NAMED, STARTS_TUPLE, PLACEHOLDER, TOJSON_NAMED.format("sort_keys")),
    escapes="ntrbfv'\"\\",
)

_RUST_METHODS = _words(
    "upper lower islower isupper isspace isdigit isnumeric isalnum isalpha isascii strip lstrip rstrip replace title split splitlines"
    " capitalize find rfind startswith endswith join format count get items keys values cycle changed next"
)
_RUST_RUNNING = (
    _each("filter", "center forceescape random urlize wordcount xmlattr")
    | _each("filter call", "center forceescape random urlize wordcount xmlattr truncate")
    | _each("filter without arguments", "center forceescape random urlize wordcount xmlattr")
    | _each("test", "callable")
    | _each("method", METHODS - _RUST_METHODS)
    | _each("function", "cycler lipsum")
    | _syntax(PERCENT, EXTRA, ONLY_ITERABLE, DEFAULT_NAMED, SORT_POSITION, SPLIT_NAMED)
    | _syntax(*(TOJSON_NAMED.format(name) for name in _TOJSON_WORDS))
)

MINIJINJA = Reader(
    "minijinja",
    "minijinja",
    "3.1.0",
    parsing=_each("tag", "generation") | _syntax(PLUS),
    running=_RUST_RUNNING,
)
TGI = Reader(
    "tgi",
    "TGI",
    "3.3.7",
    parsing=_syntax(TRIMMED_GENERATION, PLUS, UNPACKED, DOT_NUMBER, KEYWORD_IF),
    running=_RUST_RUNNING
    | _each("filter", "format wordwrap indent")
    | _each("filter call", "format wordwrap int float sum min max")
    | _each("filter without arguments", "format wordwrap indent")
    | _each("method", "format")
    | _syntax(STEP_BACK, RANGE_BELOW, FILTER_REPLACE_COUNT, INDENT_NAMED, JOIN_MORE),
    escapes="ntrbf'\"\\/u",
)
# minijinja/Cargo.toml of 3.0.0-alpha at mitsuhiko/minijinja eb17be5 (read): `loop_controls` is none of the default features, and the library has no
# strftime_now; each server adds what it wants. What other minijinja lacks is not repeated.
PLAIN_MINIJINJA = Reader(
    "minijinja by default",
    "minijinja without additions",
    "3.1.0",
    parsing=_each("tag", "break continue"),
    running=_each("function", "strftime_now"),
)
# litellm/litellm_core_utils/prompt_templates/factory.py:654 of litellm 1.110.2 (read): Jinja without extensions and with its own
# filters, with raise_exception and strftime_now.
LITELLM = Reader(
    "litellm",
    "LiteLLM",
    "1.110.2",
    parsing=_each("tag", "break continue generation"),
    running=_syntax(*(TOJSON_NAMED.format(name) for name in _TOJSON_WORDS)),
)
# tokenization_utils_base.py:1904-1990 of 4.43.4, :1915-1990 of 4.44.2 and :4722-4730 of 4.45.2 (read).
OLD_TRANSFORMERS = Reader(
    "transformers < 4.45",
    "transformers before 4.45",
    "4.44.2",
    parsing=_each("tag", "break continue"),
    running=_each("function", "strftime_now"),
)

READERS = (TRANSFORMERS_JS, LLAMA_CPP, TGI, MINIJINJA, PLAIN_MINIJINJA, LITELLM, OLD_TRANSFORMERS)
