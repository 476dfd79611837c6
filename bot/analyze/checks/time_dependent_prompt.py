"""The clock decides part of the prompt."""

from collections.abc import Iterator
from functools import lru_cache

import msgspec
from jinja2 import nodes

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.calls import MOST_TEMPLATES, of_calls
from bot.analyze.model.folder import Model
from bot.analyze.model.prompt_change import RARER
from bot.analyze.model.prompting import probes_for, prompt, same_name
from bot.analyze.model.templates import Template, place_of
from bot.analyze.render import Prompt, examined
from bot.analyze.wording import listed, value
from bot.probe import Probe

_CLOCK = "strftime_now"
CHECK = Check(
    title="The prompt depends on the clock",
    says="makes the prompt depend on the clock",
    sees="conversations are rendered with every variable that the template reads: one whose prompt shows what `strftime_now` gives, where base's did not read the clock; also a call of `strftime_now` in a branch that no conversation enters",
    why="Prompts change from day to day: caches of their beginnings are lost, runs cannot be repeated, and servers in other time zones send other prompts.",
    fix="Print a date only where the caller gives one, such as `date_string`.",
    wrong_when="base's template read the clock for the same conversation, the date is a constant, or what the clock says is never printed",
    severity="note",
    weighed="A note: certain where it is rendered, and often wanted; Llama 3.2 and gpt-oss print the date.",
)

# A clock that always says the same, in front of a template; the empty print keeps the line feed that a tag would swallow.
_STOPPED = "{%- macro strftime_now(form) -%}qxclock{%- endmacro -%}{{ '' }}"
_BESIDE_TOOLS = tuple(probe for probe in RARER if probe.variables.get("tools"))
_MOST = 3


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Render with both templates; where nothing shows, look for the clock in the new one."""
    pairs = same_name(base, head)
    fresh = tuple((old, new) for old, new in of_calls(base, head) if new.name not in {each.name for _, each in pairs})
    for old, new in (*pairs, *fresh)[:MOST_TEMPLATES]:
        asked = _asks(old.text)
        probes = (*probes_for(new, old), *_BESIDE_TOOLS)
        prompts = [(probe, prompt(base, old, probe), prompt(head, new, probe)) for probe in probes]
        shown = [
            probe
            for probe, before, after in prompts
            if not (before.text is None and asked) and _shows(head, new, probe, after) and not _shows(base, old, probe, before)
        ]
        if shown:
            names = listed((value(probe.name) for probe in shown), _MOST)
            everywhere = len(shown) == len([after for _, _, after in prompts if after.text is not None])
            yield _seen(head, new, "The prompt now depends on the clock" + ("" if everywhere else f", as for {names}"))
        elif not asked and _asks(new.text) and not any(after.dated and after.text is not None for _, _, after in prompts):
            yield _seen(head, new, "The prompt now depends on the clock in a branch that no built-in conversation enters")


def _seen(head: Model, template: Template, title: str) -> Seen:
    return Seen(key=template.name, title=title, places=(place_of(head, template),))


def _shows(model: Model, template: Template, probe: Probe, found: Prompt) -> bool:
    """Whether a prompt would be another one with another clock."""
    if found.text is None or not found.dated:
        return False
    stopped = msgspec.structs.replace(template, text=_STOPPED + template.text)
    return prompt(model, stopped, probe).text != found.text


@lru_cache(maxsize=256)
def _asks(text: str) -> bool:
    """Whether a template uses the clock anywhere, other than to ask whether there is one."""
    return examined(text, _uses) is True


def _uses(root: nodes.Template) -> bool:
    asked = {id(test.node) for test in root.find_all(nodes.Test)}
    return any(name.name == _CLOCK and name.ctx == "load" and id(name) not in asked for name in root.find_all(nodes.Name))
