"""The conversation template of mlc-chat-config.json has no stop ids."""

from collections.abc import Iterator
from typing import Any

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model import eos
from bot.analyze.model.edits import Put, diff
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import (
    CONFIG,
    chats,
    conversation,
    conversation_place,
    named,
    stop_ids,
    stop_strings,
    table,
    tokenizer_eos,
)
from bot.analyze.records import Finding
from bot.analyze.wording import listed, value
from bot.answer import Known

CHECK = Check(
    title="The conversation template has no stop ids",
    says="leaves WebLLM without a stop id",
    sees="a conv_template of `mlc-chat-config.json`, with conv_config laid over it, whose stop_token_ids is absent, empty or no list of ids",
    why="Without the list WebLLM raises at the first token of every reply; with an empty one no id ends a reply, and JSON mode has no legal token "
    "after the value (web-llm 0.2.86 lib/index.js:12548 and the xgrammar in it, run).",
    fix="List the ids of the tokens that end a reply in `conv_template.stop_token_ids`.",
    wrong_when="the template is only named, as in files of 2023, or the model computes embeddings only",
    severity="error",
    engines=("webllm",),
    weighed="Both shapes were run and break every reply or every JSON request; every real file that holds a template lists an id.",
)


def find(model: Model) -> Iterator[Seen]:
    """Look at the list in force."""
    ids = stop_ids(model)
    if not chats(model) or named(model) or not conversation(model) or ids:
        return
    stops = conversation(model).get("stop_token_ids")
    if ids is None:
        state = (
            "is absent"
            if "stop_token_ids" not in conversation(model)
            else f"is {value(stops)}"
            if stops is not None
            else "is null"
        )
        effect = "the first token of every reply raises in WebLLM"
        if isinstance(stops, str):
            effect = "WebLLM stops on no id"
    else:
        strings = [value(string) for string in stop_strings(model)]
        state = "is empty" if not stops else "lists no id"
        effect = "no id ends a reply in WebLLM" + (
            f", only the text {listed(strings)} does, and JSON mode has no end" if strings else ""
        )
    yield Seen(
        key="stop_token_ids",
        title=f"{value('stop_token_ids')} {state}: {effect}",
        places=(conversation_place(model, "stop_token_ids"),),
    )


def patch(base: Model, head: Model, finding: Finding) -> str:
    """Put back the list of base, if every id in it still is the token that it was and the tokenizer's EOS is one of them."""
    del finding  # there is one at most
    ids, own = stop_ids(base) or (), tokenizer_eos(head)
    before, now = table(base), table(head)
    if not ids or not isinstance(own, Known) or not isinstance(before, Known) or not isinstance(now, Known):
        return ""
    kept = all(now.value.text(number) == before.value.text(number) is not None and number < now.value.size for number in ids)
    if not kept or own.value[0] not in ids or _listed(base) != _listed(head):
        return ""
    overlaid = conversation_place(head, "stop_token_ids").pointer.startswith("/conv_config/")
    return diff(head, {CONFIG: [Put(f"/{'conv_config' if overlaid else 'conv_template'}/stop_token_ids", list(ids))]})


def _listed(model: Model) -> Any:
    """What the other files list as ends, wherever it stands."""
    return getattr(eos.listed(model), "value", None)
