"""Whether vLLM hands a chat template text or parts, by what the template does with the content of messages."""

import pytest

from bot.analyze.rules.content_format import content_format
from bot.answer import shown

NEWEST = "0.33.0"

# The rows of facts that were run with 0.33.0, and what 0.23.0 and 0.8.5 make of them.
CONSTRUCTS = [
    ("{% for m in messages %}{{ m['content'] }}{% endfor %}", "string", "string", "string"),
    ("{% for m in messages %}{% for p in m['content'] %}{% endfor %}{% endfor %}", "openai", "openai", "openai"),
    ("{% for zz in messages %}{% for p in zz.content %}{% endfor %}{% endfor %}", "openai", "openai", "openai"),
    (
        "{% set rest = messages[1:] %}{% for q in rest %}{% for p in q['content'] %}{% endfor %}{% endfor %}",
        "openai",
        "openai",
        "openai",
    ),
    (
        "{% for m in messages %}{% set content = m['content'] %}{% for p in content %}{% endfor %}{% endfor %}",
        "openai",
        "openai",
        "string",
    ),
    (
        "{% for m in messages %}{% set body = m['content'] %}{% for p in body %}{% endfor %}{% endfor %}",
        "string",
        "string",
        "string",
    ),
    (
        "{% macro r(x) %}{% for p in x %}{% endfor %}{% endmacro %}{% for m in messages %}{{ r(m.content) }}{% endfor %}",
        "openai",
        "string",
        "string",
    ),
    (
        "{% macro r(content) %}{% for p in content %}{% endfor %}{% endmacro %}{{ r([]) }}",
        "string",
        "openai",
        "string",
    ),
    (
        "{% set ns = namespace(rest=messages) %}{% for m in ns.rest %}{% for p in m.content %}{% endfor %}{% endfor %}",
        "openai",
        "string",
        "string",
    ),
    ("{% for p in messages[0]['content'] %}{% endfor %}", "string", "string", "string"),
    ("{% for m in messages %}{% for p in m.get('content') %}{% endfor %}{% endfor %}", "string", "string", "string"),
    (
        "{% for m in messages %}{% if m.content is string %}{% else %}{% for p in m.content %}{% endfor %}{% endif %}{% endfor %}",
        "openai",
        "openai",
        "openai",
    ),
    (
        "{% for a, b in messages %}{% endfor %}{% for m in messages %}{% for p in m.content %}{% endfor %}{% endfor %}",
        "string",
        "string",
        "string",
    ),
    ("{% for m in messages %}{% for p in m.content", "string", "string", "string"),
    ("image audio video vision", "string", "string", "string"),
]


@pytest.mark.parametrize(("text", "newest", "older", "oldest"), CONSTRUCTS)
def test_how_content_is_handed_over(text: str, newest: str, older: str, oldest: str) -> None:
    assert [shown(content_format(text, version)) for version in (NEWEST, "0.23.0", "0.8.5")] == [newest, older, oldest]


def test_names_that_are_assigned_in_circles_end_the_search_of_the_newest_release_only() -> None:
    text = (
        "{% set a = messages %}{% set messages = a[1:] %}{% for m in messages %}{% for p in m.content %}{% endfor %}{% endfor %}"
    )
    assert shown(content_format(text, NEWEST)) == "openai"
    assert shown(content_format(text, "0.31.0")) == {"unknown": "this release never ends looking through the chat template"}
