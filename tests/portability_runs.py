"""Ways to put a chat template before readers of them that run here, and to see what of it a rendering reaches."""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn, cast

import minijinja
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from bot.analyze.environment import environment
from bot.analyze.rules.portability import found
from bot.analyze.rules.portability_readers import Construct
from tests import javascript

RUNS = Path(__file__).parent / "engine_runs/portability.json"
Question = tuple[str, Mapping[str, Any]]
Answers = list[str | None]
"""The error of each question, None where there is a prompt."""


def refuse(message: str) -> NoReturn:
    raise ValueError(message)


def now(form: str) -> str:
    return form


def answers(questions: list[Question], render_one: Callable[[str, Mapping[str, Any]], str]) -> Answers:
    said: Answers = []
    for text, context in questions:
        try:
            render_one(text, json.loads(json.dumps(context)))
            said.append(None)
        except Exception as error:  # noqa: BLE001 - whatever a reader raises is its refusal
            said.append(f"{type(error).__name__}: {error}")
    return said


def by_minijinja(questions: list[Question], *, with_functions: bool = True) -> Answers:
    env = cast("Any", minijinja).Environment(pycompat=True)
    env.trim_blocks = env.lstrip_blocks = True
    env.add_global("raise_exception", refuse)
    if with_functions:
        env.add_global("strftime_now", now)
    return answers(questions, lambda text, context: env.render_str(text, **context))


def by_jinja(questions: list[Question]) -> Answers:
    """Jinja without extensions and with its own filters, as LiteLLM sets it up."""
    env = ImmutableSandboxedEnvironment()
    cast("dict[str, Any]", env.globals).update(raise_exception=refuse, strftime_now=now)
    return answers(questions, lambda text, context: env.from_string(text).render(context))


def by_old_transformers(questions: list[Question]) -> Answers:
    """As 4.44.2 does: with the filter tojson and the generation tag, and without loop controls and strftime_now."""
    ours = environment(guarded=True)
    tag = next(each for name, each in ours.extensions.items() if name.endswith("_Generation"))
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[type(tag)])
    env.filters["tojson"] = ours.filters["tojson"]
    cast("dict[str, Any]", env.globals).update(raise_exception=refuse)
    return answers(questions, lambda text, context: env.from_string(text).render(context))


def by_javascript(questions: list[Question]) -> Answers:
    return [answer.get("error") for answer in javascript.render(questions)]


def recorded(name: str) -> Callable[[list[Question]], Answers]:
    refused: list[str] = json.loads(RUNS.read_text("utf-8"))[name]
    return lambda questions: ["recorded" if text in refused else None for text, _ in questions]


def instrumented(text: str) -> tuple[Any, set[Construct]]:
    """The template as Jinja renders it, and a set that fills with the constructs that a rendering reaches."""
    env = environment(guarded=True).overlay()
    env.filters = dict(env.filters)
    root = env.parse(text)
    reached: set[Construct] = set()
    marks: dict[int, list[Construct]] = defaultdict(list)
    kept: list[nodes.Node] = []  # an id() is that of no other node as long as the node is there
    for construct, _, node in found(root, text):
        if node is not None:
            kept.append(node)
            marks[id(node)].append(construct)

    def mark(value: Any, of: int) -> Any:
        reached.update(marks[of])
        return value

    class Marking(NodeTransformer):
        def generic_visit(self, node: nodes.Node, *args: Any, **words: Any) -> Any:
            of = id(node)
            done = super().generic_visit(node, *args, **words)
            shown = isinstance(node, nodes.Expr) and not isinstance(node, nodes.Slice) and getattr(node, "ctx", "load") == "load"
            if of not in marks or (isinstance(node, nodes.Filter) and node.node is None):
                return done
            given = [nodes.Const(of)]
            if shown:
                return nodes.Filter(done, "_mark", given, [], None, None)
            if isinstance(node, nodes.Stmt) and not isinstance(node, nodes.Macro):
                return [nodes.Output([nodes.Filter(nodes.Const(""), "_mark", given, [], None, None)]), done]
            return done

    env.filters["_mark"] = mark
    changed = Marking().visit(root)
    for node in (changed, *changed.find_all(nodes.Node)):
        node.environment = env
        if "lineno" in node.attributes and node.lineno is None:
            node.lineno = 1
    return env.from_string(changed), reached
