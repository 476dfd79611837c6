"""A control marker that the chat template writes is not one token."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.declared import Declared, by_text, declared, spelled
from bot.analyze.model.folder import Model, fact
from bot.analyze.model.prompting import probes_for, prompt
from bot.analyze.model.templates import Template, in_force, place_of, sources
from bot.analyze.model.tokens import TokenTable, tokens
from bot.analyze.model.turns import role_strings
from bot.analyze.render import render
from bot.analyze.wording import listed, value
from bot.answer import Known
from bot.place import Place

CHECK = Check(
    title="A control marker of the chat template is not one token",
    says="splits a control marker of the chat template into pieces",
    sees="conversations with tools and thinking are rendered: a marker in them that was one token in base and is none in head, or one that the "
    "template of base did not write, while the other markers of the prompt are tokens",
    why="The model sees pieces that it was not trained on instead of the one token that opens or closes a turn, a thought or a call.",
    fix="Put the token back into `tokenizer.json` (and into `added_tokens_decoder`), or write the marker that the tokenizer has.",
    wrong_when="no marker of the family is a token (Llama 2's `[INST]`, Zephyr's `<|user|>`), the string is an ordinary tag such as `<tools>`, "
    "or the template wrote it before and it was no token then",
    severity="warning",
    weighed="A warning: the strings are certainly split; how much it costs depends on what the model was trained with. The run over real pairs of revisions met none.",
)

_CALL = {"type": "function", "id": "call00001", "function": {"name": "look", "arguments": {"at": "sky"}}}
_TOOLS = [
    {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object", "properties": {}}}}
]
_SYSTEM = {"role": "system", "content": "qxsystem"}
_USER = {"role": "user", "content": "qxuser"}
_REPLY = {"role": "assistant", "content": "qxreply"}
_THOUGHT = {"role": "assistant", "content": "qxreply", "reasoning_content": "qxthought"}
_CALLING = {"role": "assistant", "content": "", "tool_calls": [_CALL]}
_ANSWER = {"role": "tool", "name": "look", "tool_call_id": "call00001", "content": "qxanswer"}
_CONVERSATIONS: tuple[tuple[list[dict[str, Any]], dict[str, Any]], ...] = (
    ([_USER, _REPLY, _USER], {"add_generation_prompt": True}),
    ([_SYSTEM, _USER, _THOUGHT], {}),
    ([_USER, _CALLING, _ANSWER], {"add_generation_prompt": True, "tools": _TOOLS}),
    ([_USER], {"add_generation_prompt": True, "enable_thinking": False, "thinking": False}),
    ([_USER], {"add_generation_prompt": True, "enable_thinking": True, "thinking": True}),
)
_RARE_ROLES = ("developer", "tool")
_ROLES = (*_RARE_ROLES, "system", "user", "assistant")
_MOST_TEMPLATES = 8
_MOST_TOKENS = 200  # of those that went and have no brackets around them

# Shapes that are meant as one token: <|user|>, <｜User｜>, [INST], [gMASK], <think>, <start_of_turn>.
_CONTROL = re.compile(
    r"<\|[^|<>\s]{1,60}\|>|<｜[^｜<>\s]{1,60}｜>|\[/?[A-Za-z_]{0,40}[A-Z]{3}[A-Z_]{0,40}\]|</?think>|<(?:start|end)_of_[a-z_]{1,40}>"
)
# The markers of Mistral, Llama 2 and GLM; other words in capitals and brackets may be prose.
_IN_BRACKETS = {
    *("[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]"),
    *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CONTENT]", "[THINK]", "[/THINK]", "[gMASK]", "[sMASK]"),
}
_TAG = re.compile(r"[<\[][^\s<>\[\]]{1,80}[>\]]")

# Parsers of vLLM 0.33.0 that look the string up when they are built and refuse to start without it (run).
_PARSERS = {
    "<think>": "deepseek_r1",
    "</think>": "deepseek_r1",
    "[TOOL_CALLS]": "mistral",
    "<|python_tag|>": "llama3_json",
    "<|tool_call_start|>": "lfm2",
    "<|tool_call_end|>": "lfm2",
    "<｜tool▁calls▁begin｜>": "deepseek_v3",
    "<｜tool▁calls▁end｜>": "deepseek_v3",
}


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Look for markers that head's prompts have and its tokenizer has not, and for what changed."""
    before, after = tokens(base), tokens(head)
    if not isinstance(after, Known):
        return
    old = before.value if isinstance(before, Known) else None
    written = _written(head)
    named = {row.text for row in declared(head) if row.read and row.table in ("roles", "extra")}  # loading appends those
    split = [text for text in _candidates(old, after.value, written) if text not in named and not spelled(head, text)]
    yield from _lost(base, head, [text for text in split if old is not None and text in old.added])
    if sources(base).unread or (in_force(base) and not _written(base)):
        return  # whether base wrote a marker cannot be seen
    known, words = _words(_written(base)), _words(written)
    tables = [table for table in (old, after.value) if table is not None]
    fresh = [
        text
        for text in split
        if (old is None or text not in old.added)
        and text not in known
        and text in words
        and not _of_role(head, text, complete=after.value.complete)
        and not _is_prose(text, [word for word in known | words if any(word in table.added for table in tables)])
    ]
    replaced = old is not None and any(word in old.added for word in known - words)
    if fresh and (replaced or _are_tokens(head, after.value) or (old is not None and _are_tokens(base, old))):
        for template, texts in _by_template(written, fresh):
            yield Seen(
                key=f"{template.file}{template.pointer}",
                title=f"The chat template now writes {listed(map(value, texts))}, which {_no_token(texts)}",
                detail=_detail(texts),
                places=(place_of(head, template),),
                confidence="certain" if after.value.complete else "likely",
            )


def _lost(base: Model, head: Model, texts: list[str]) -> Iterator[Seen]:
    """Markers that were tokens, by the file that had them."""
    rows = by_text(row for row in declared(base) if row.read and row.id is not None)
    files: dict[str, list[Declared]] = {}
    for text in texts:
        for row in rows.get(text, [])[:1]:
            files.setdefault(row.file, []).append(row)
    for file, lost in files.items():
        names = [row.text for row in lost]
        yield Seen(
            key=file,
            title=f"The chat template writes {listed(map(value, names))}, which {_no_token(names)} any more",
            detail=_detail(names),
            places=(
                head.place(file, lost[0].pointer.rpartition("/")[0]) if head.has(file) else Place("base", base.path(file)),
                *(row.place(base) for row in lost[:2]),
            ),
        )


@fact
def _written(model: Model) -> tuple[tuple[Template, str], ...]:
    """What each template in force writes around turns, thinking and calls, as far as it can be rendered."""
    strings = role_strings(model)
    written: list[tuple[Template, str]] = []
    for template in in_force(model)[:_MOST_TEMPLATES]:
        prompts = [render(template.text, messages, strings, variables).text for messages, variables in _CONVERSATIONS]
        prompts += [prompt(model, template, probe).text for probe in probes_for(template)]
        text = "\n".join(dict.fromkeys(shown for shown in prompts if shown))
        if text:
            written.append((template, text))
    return tuple(written)


def _words(written: tuple[tuple[Template, str], ...]) -> set[str]:
    """The strings in prompts that look like control markers."""
    return {word for _, text in written for word in _CONTROL.findall(text)}


def _candidates(old: TokenTable | None, after: TokenTable, written: tuple[tuple[Template, str], ...]) -> list[str]:
    """What is written and looks like a marker, or was a token of base, and is no added token of head; in a fixed order."""
    found = dict.fromkeys(sorted(_words(written)))
    if old is not None:
        found.update(dict.fromkeys(sorted({tag for _, text in written for tag in _TAG.findall(text)} & old.added.keys())))
        lost = (text for text, token in old.added.items() if token.special and text.strip() and text not in after.added)
        found.update(dict.fromkeys(t for t in islice(lost, _MOST_TOKENS) if any(t in text for _, text in written)))
    return [text for text in found if text not in after.added]


def _is_prose(text: str, markers: list[str]) -> bool:
    """Whether a word in brackets is one that people write as well, as [NOTE]: the family has no other marker of that kind."""
    return text.startswith("[") and text not in _IN_BRACKETS and not any(m.startswith("[") and m.isupper() for m in markers)


def _are_tokens(model: Model, table: TokenTable) -> bool:
    """Whether the template writes a marker that is a token and holds no role: the mark of a family that has tokens for its markers."""
    roles = set(role_strings(model).values())
    return any(word in table.added and word not in roles for word in _words(_written(model)))


def _of_role(model: Model, text: str, *, complete: bool) -> bool:
    """Whether a marker is only made of the name of a role: `'<|' + message.role + '|>'` makes one of any, also of those that few conversations have.

    A tokenizer that was written for its model may know those of all roles without declaring them.
    """
    return any(role in text for role in (_RARE_ROLES if complete else _ROLES)) and not any(
        text in template.text for template in in_force(model)
    )


def _by_template(written: tuple[tuple[Template, str], ...], texts: list[str]) -> Iterator[tuple[Template, list[str]]]:
    """The first template that writes each marker."""
    left = set(texts)
    for template, shown in written:
        here = [text for text in texts if text in left and text in shown]
        left.difference_update(here)
        if here:
            yield template, here


def _no_token(texts: list[str]) -> str:
    return "is no token" if len(texts) == 1 else "are no tokens"


def _detail(texts: list[str]) -> str:
    parsers = sorted({_PARSERS[text] for text in texts if text in _PARSERS})
    return (
        f"{CHECK.why} vLLM's parser {listed(map(value, parsers))} refuses to start without it (0.33.0, run)." if parsers else ""
    )
