"""The BOS that WebLLM puts before a prompt is gone."""

from collections.abc import Iterator
from typing import Any

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import asked, chats, config, conversation, conversation_place, numbers, table
from bot.analyze.model.tokens import role
from bot.analyze.wording import value
from bot.answer import Known

CHECK = Check(
    title="The prompt of WebLLM loses its BOS",
    says="lets WebLLM begin a prompt without the BOS token",
    sees="a conv_template.system_prefix_token_ids of `mlc-chat-config.json` that named the BOS token in base and does not in head, while the tokenizer still has one",
    why="Encoding adds no special tokens in WebLLM, so this list is how the BOS comes in: without it every prompt starts as the model was not trained "
    "(web-llm 0.2.86 lib/index.js:13866, run).",
    fix="Put the id of the BOS token back into `conv_template.system_prefix_token_ids`.",
    wrong_when="the template now writes the text of the BOS token itself, the tokenizer names no BOS or sets add_bos_token to false, or the list never held it",
    severity="warning",
    engines=("webllm",),
    weighed="The prompt ids were recorded with and without the list; replies get worse and do not fail, so it is a warning. No real change was seen with it.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare the ids that come before the prompt."""
    if not chats(base) or not chats(head) or not conversation(head):
        return
    before, after = (_prefix(model) for model in (base, head))
    bos = _bos(head)
    if bos is None or head.mapping("tokenizer_config.json").get("add_bos_token") is False:
        return
    number = _id(base, bos)
    if number is None or number not in before or _id(head, bos) in after or _writes(head, bos):
        return
    yield Seen(
        key="system_prefix_token_ids",
        title=f"{value('system_prefix_token_ids')} no longer holds {value(bos)} {number}: WebLLM begins the prompt without it",
        places=(conversation_place(head, "system_prefix_token_ids"), conversation_place(base, "system_prefix_token_ids")),
    )


def _bos(model: Model) -> str | None:
    """The BOS token: as the tokenizer names it, or where no file could, as the configuration numbers it."""
    bos = role(model, "bos_token")
    if isinstance(bos, Known):
        return bos.value
    tokens = table(model)
    stated = numbers(config(model).get("bos_token_id"))
    if model.has("tokenizer_config.json") or not stated or not isinstance(tokens, Known):
        return None
    return tokens.value.text(stated[0])


def _prefix(model: Model) -> tuple[int, ...]:
    return numbers(conversation(model).get("system_prefix_token_ids"))


def _id(model: Model, text: str) -> int | None:
    """The id of the BOS token in the loaded file; where that cannot be read, the one that the configuration states."""
    tokens = table(model)
    if isinstance(tokens, Known):
        return tokens.value.id_of(text)
    stated = numbers(config(model).get("bos_token_id"))
    return stated[0] if stated else None


def _writes(model: Model, text: str) -> bool:
    """Whether the prompt begins with the text of the token, which only tokenizer.json makes a token of (web-tokenizers 0.1.6, run)."""
    template: Any = conversation(model).get("system_template")
    roles: Any = conversation(model).get("roles")
    user = roles.get("user") if isinstance(roles, dict) else None
    starts = [start for start in (template, user) if isinstance(start, str) and start]
    if isinstance(template, str) and not template.startswith("{system_message}"):
        starts = [template]
    return asked(model) == "tokenizer.json" and any(start.startswith(text) for start in starts)
