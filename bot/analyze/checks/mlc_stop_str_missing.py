"""The conversation template of mlc-chat-config.json has no list of stop strings."""

from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model import eos
from bot.analyze.model.edits import Put, diff
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import CONFIG, chats, conversation, conversation_place, named, tokenizer_eos
from bot.analyze.records import Finding
from bot.analyze.wording import value

CHECK = Check(
    title="The conversation template has no list of stop strings",
    says="breaks every reply in WebLLM",
    sees="a conv_template of `mlc-chat-config.json`, with conv_config laid over it, whose stop_str is absent, no list, or holds an empty text",
    why="WebLLM goes through `stop_str` after every token: without a list it raises at the first one, a text is taken character by character, and an empty "
    "text is found in every reply (web-llm 0.2.86 lib/index.js:12563, run).",
    fix="Give `conv_template.stop_str` a list of texts; it may be empty.",
    wrong_when="the list is empty, the template is only named, as in files of 2023, or the model computes embeddings only",
    severity="error",
    engines=("webllm",),
    weighed="All shapes were run and break every reply; every real file that holds a template has a list.",
)


def find(model: Model) -> Iterator[Seen]:
    """Look at the list in force."""
    if not chats(model) or named(model) or not conversation(model):
        return
    strings: Any = conversation(model).get("stop_str")
    if isinstance(strings, list):
        if "" not in strings:
            return
        place = conversation_place(model, "stop_str", f"/{cast('list[Any]', strings).index('')}")
        what, effect = "holds an empty text", "every reply ends after one token in WebLLM"
    elif strings != "":  # a text without a character stops nothing and raises nothing
        place = conversation_place(model, "stop_str")
        what = "is absent" if "stop_str" not in conversation(model) else "is null" if strings is None else f"is {value(strings)}"
        effect = "the first token of every reply raises in WebLLM"
        if isinstance(strings, str):
            what, effect = f"is the text {value(strings)}", "each of its characters ends a reply in WebLLM"
    else:
        return
    yield Seen(key="stop_str", title=f"{value('stop_str')} {what}: {effect}", places=(place,))


def patch(base: Model, head: Model, finding: Finding) -> str:
    """Give it the list of base, the text that stands there as a list, or an empty one."""
    del finding  # there is one at most
    old, now = (conversation(model).get("stop_str") for model in (base, head))
    if _ends(base) != _ends(head):  # what changes there besides may need other texts
        return ""
    if isinstance(now, list):
        texts = [text for text in cast("list[Any]", now) if text != ""]
    elif isinstance(now, str):
        texts = [now]
    else:
        texts = cast("list[Any]", old) if isinstance(old, list) and "" not in old else []
    overlaid = conversation_place(head, "stop_str").pointer.startswith("/conv_config/")
    return diff(head, {CONFIG: [Put("/conv_config/stop_str" if overlaid else "/conv_template/stop_str", texts)]})


def _ends(model: Model) -> tuple[Any, Any]:
    """The ids that the other files name as ends."""
    own, others = tokenizer_eos(model), eos.listed(model)
    return getattr(own, "value", None), getattr(others, "value", None)
