"""The chat template prints None, or a list or an object as Python writes it, out of content or tools."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from bot.analyze.checks.check import Check, Seen
from bot.analyze.environment import NEWEST, dialect
from bot.analyze.model.calls import MOST_TEMPLATES, OLD, WORD, Calling, of_calls
from bot.analyze.model.folder import Model
from bot.analyze.model.templates import Template, in_force, place_of, sources
from bot.analyze.model.turns import role_strings
from bot.analyze.records import Severity
from bot.analyze.render import render
from bot.analyze.rules.content_format import content_format
from bot.analyze.rules.vllm.messages import Handed, for_template, handed
from bot.analyze.rules.vllm.release import release
from bot.analyze.wording import listed
from bot.answer import Known
from bot.probe import Message

_VLLM = "0.33.0"
CHECK = Check(
    title="The chat template prints Python values",
    says="prints Python's `None`, lists or dicts into the prompt",
    sees="messages are rendered whose content is null or a list of parts, role by role, and tools; also messages as vLLM hands them over: "
    "head's prompt holds `None` or a list or dict in Python's notation where base's did not",
    why="The model reads Python's notation in the place of a text; nothing fails, and answers get worse.",
    fix="Print content where `content is string`, else loop over its parts and print their `text`; print tools with `tojson`.",
    wrong_when="base's template printed it as well or did not render such a conversation, or the values are arguments of tool calls (tool-values-not-json)",
    severity="warning",
    of_added_models=True,
    weighed="A warning: rendered and certain, but only callers with such content are hit, unless vLLM makes parts of every text; a note in a new template, where base's prompt left the content out, and for null where clients send a text.",
)

_BY_VLLM = (
    f"vLLM {_VLLM} finds a loop over content in the template and makes parts of every text, so plain requests are hit; "
    "`--chat-template-content-format string` is the way around."
)
_ASKED: dict[str, Any] = {"add_generation_prompt": True}
_USER: Message = {"role": "user", "content": "Hi"}
_SYSTEM: Message = {"role": "system", "content": "Be brief."}
_REPLY: Message = {"role": "assistant", "content": "Hello."}
_CALL = {"type": "function", "id": "call00001", "function": {"name": "qxlook", "arguments": '{"at": "a"}'}}
_CALLING: Message = {"role": "assistant", "content": "", "tool_calls": [_CALL]}
_ANSWER: Message = {"role": "tool", "name": "qxlook", "tool_call_id": "call00001", "content": "blue"}


def _tools(**changes: Any) -> dict[str, Any]:
    place = {"type": "string", "description": "Where.", "enum": ["qxa", "qxb"]}
    parameters = {"type": "object", "properties": {"qxplace": place}, "required": ["qxplace"]}
    function = {"name": "qxlook", "description": "Look somewhere.", "parameters": parameters, **changes}
    return {**_ASKED, "tools": [{"type": "function", "function": function}]}


# Where a message of each role stands; `None` is its place.
_ROLES: dict[str, tuple[tuple[Message | None, ...], Message]] = {
    "user": ((None,), _USER),
    "system": ((None, _USER), _SYSTEM),
    "assistant": ((_USER, None, _USER), _REPLY),
    "tool": ((_USER, _CALLING, None), _ANSWER),
}
# Messages that clients leave out or fill; those with tool calls are without content as a rule.
_RARE = tuple(f"{role} messages of null" for role in ("user", "system", "assistant", "tool"))
_PART = {"type": "text", "text": WORD}
_IMAGES = ({"type": "image"}, {"type": "image_url", "image_url": {"url": "qx.png"}})
_NONE = re.compile(r"(?<!\w)None(?!\w)")
_LIST = re.compile(rf"'text': '{WORD}'")
_IMAGE = re.compile(r"'type': '(?:image|image_url)'")
_EMPTY = re.compile(r"\[\]")
_OF_TOOLS = re.compile(r"'name': 'qxlook'|'qxplace': \{|\['qxplace'\]|\['qxa', 'qxb'\]|'type': 'object'")


class _Trial(NamedTuple):
    """A conversation, the same without the value in question, and what the value looks like in Python's notation.

    `word` is in the prompt of a template that makes anything of the value.
    """

    group: str
    label: str
    given: Calling
    usual: Calling
    shows: re.Pattern[str]
    word: str = ""


def _with(role: str, **changes: Any) -> Calling:
    places, message = _ROLES[role]
    return Calling(tuple({**message, **changes} if each is None else each for each in places), _ASKED)


def _trials() -> Iterator[_Trial]:
    for role in _ROLES:
        usual = _with(role, content=WORD)
        yield _Trial("parts", f"{role} messages", _with(role, content=[_PART]), usual, _LIST, WORD)
    for answer, shown in (({"qxkey": WORD}, f"'qxkey': '{WORD}'"), ([WORD], rf"\['{WORD}'\]")):
        usual = _with("tool", content=WORD)
        yield _Trial("parts", "answers of tools", _with("tool", content=answer), usual, re.compile(shown), WORD)
    for image in _IMAGES:
        yield _Trial("parts", "images", _with("user", content=[_PART, image]), _with("user", content=WORD), _IMAGE, WORD)
    for version in (OLD, NEWEST):
        for role in _ROLES:
            null = _with(role, content=None)._replace(dialect=version)
            yield _Trial("null", f"{role} messages of null", null, _with(role, content=WORD)._replace(dialect=version), _NONE)
        thought = _with("assistant", reasoning_content=None)._replace(dialect=version)
        yield _Trial("null", "reasoning of null", thought, _with("assistant")._replace(dialect=version), _NONE)
        called, empty = (Calling((_USER, {**_CALLING, "content": text}, _ANSWER), _tools(), version) for text in (None, ""))
        yield _Trial("null", "tool calls", called, empty, _NONE)
    usual = Calling((_USER,), _tools())
    for conversation in ((_USER,), (_SYSTEM, _USER)):
        yield _Trial("tools", "tools", Calling(conversation, _tools()), Calling(conversation, _ASKED), _OF_TOOLS, "qxlook")
    for missing in ("description", "parameters"):
        yield _Trial("tools", f"tools without {missing}", Calling((_USER,), _tools(**{missing: None})), usual, _NONE, "qxlook")


_TRIALS = tuple(_trials())
# Ordinary requests, of which vLLM makes what it hands to the template.
_REQUESTS: dict[str, tuple[Message, ...]] = {
    "user messages": ({**_USER, "content": WORD},),
    "system messages": ({**_SYSTEM, "content": WORD}, _USER),
    "replies": (_USER, {**_REPLY, "content": WORD}, _USER),
    "tool calls": (_USER, {**_CALLING, "content": None}, _ANSWER),
}


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Render with both templates, and hold the prompts against each other."""
    before = {template.name: template for template in in_force(base)}
    of_tools = {new.name: old for old, new in of_calls(base, head)}
    unread = bool(sources(base).unread)  # then no template can be called new
    changed = [
        new
        for new in in_force(head)
        if new.name in of_tools or (before[new.name].text != new.text if new.name in before else not unread)
    ]
    for new in changed[:MOST_TEMPLATES]:
        old = before.get(new.name)
        of_vllm = [] if old is not None and old.text == new.text else _of_vllm(base, old, head, new)
        for group in ("parts", "null", "tools"):
            earlier = of_tools.get(new.name) if group == "tools" else old
            if earlier is not None and earlier.text != new.text:
                for seen in _of_group(base, earlier, head, new, group):
                    said = group == "parts" and seen.severity == "warning" and bool(of_vllm)
                    yield msgspec.structs.replace(seen, detail=f"{CHECK.why} {_BY_VLLM}") if said else seen
                    of_vllm = [] if said else of_vllm
        if of_vllm:
            yield Seen(
                key=f"{new.name} vllm",
                title=f"vLLM hands every text to this chat template as parts, and it prints them as Python writes them: {listed(of_vllm)}",
                detail=_BY_VLLM,
                places=(place_of(head, new),),
                severity="warning" if old is not None else "note",
                engines=("vllm",),
            )


def _of_group(base: Model, old: Template, head: Model, new: Template, group: str) -> Iterator[Seen]:
    """What head's template prints in Python's notation, and base's did not."""
    found: list[_Trial] = []
    severity: Severity = "note"
    for trial in _TRIALS:
        if trial.group != group:
            continue
        before, after = _printed(base, old, trial), _printed(head, new, trial)
        if before is None or after is None or before[1] or not after[1]:
            continue
        found.append(trial)
        if trial.word in before[0] and trial.label not in _RARE:
            severity = "warning"
    if found:
        yield _seen(head, new, found, severity)


def _printed(model: Model, template: Template, trial: _Trial) -> tuple[str, bool] | None:
    """The prompt, and whether the value stands in it in Python's notation; None where the conversation is not rendered."""
    strings = role_strings(model)
    given, usual = (
        render(template.text, each.messages, strings, each.variables, each.dialect).text for each in (trial.given, trial.usual)
    )
    return None if given is None else (given, len(trial.shows.findall(given)) > len(trial.shows.findall(usual or "")))


def _seen(head: Model, template: Template, found: list[_Trial], severity: Severity) -> Seen:
    group, labels = found[0].group, listed(dict.fromkeys(trial.label for trial in found))
    title = {
        "parts": f"The chat template prints content that is no text as Python writes it: {labels}",
        "null": f"The chat template prints `None` for what is null: {labels.replace(' of null', '')}",
        "tools": f"The chat template prints tools as Python writes them: {labels}",
    }[group]
    only_old = group == "null" and all(trial.given.dialect == OLD for trial in found)
    return Seen(
        key=f"{template.name} {group}",
        title=title,
        detail="transformers before 5.24.0 hands null on; 5.24.0, vLLM and sglang do not." if only_old else "",
        places=(place_of(head, template),),
        severity=severity,
        engines=("transformers < 5.24",) if only_old else None,
    )


def _of_vllm(base: Model, old: Template | None, head: Model, new: Template) -> list[str]:
    """The ordinary requests of which vLLM's prompt holds Python's notation, and did not in base."""
    before = _handed_leaks(base, old) if old is not None else {}
    return [label for label, leaks in _handed_leaks(head, new).items() if leaks and (old is None or before.get(label) is False)]


def _handed_leaks(model: Model, template: Template) -> dict[str, bool]:
    """For each ordinary request that is rendered as vLLM hands it over, whether Python's notation is in its prompt."""
    found = content_format(template.text, _VLLM)
    if not isinstance(found, Known):
        return {}
    of, strings = release(_VLLM), role_strings(model)
    version = dialect(of.transformers[-1])
    leaks: dict[str, bool] = {}
    for label, messages in _REQUESTS.items():
        given = handed(messages, None, found.value, of)
        if isinstance(given, Handed):
            turns = for_template(given.messages, template.text, of)
            shown = render(template.text, turns, strings, _ASKED, version)
            usual = render(
                template.text, [{**each, "content": each["content"] or ""} for each in turns], strings, _ASKED, version
            )
            if shown.text is not None:
                text, plain = shown.text, usual.text
                emptied = plain is not None and len(_EMPTY.findall(text)) > len(_EMPTY.findall(plain))
                leaks[label] = emptied or bool(_LIST.search(text))
    return leaks
