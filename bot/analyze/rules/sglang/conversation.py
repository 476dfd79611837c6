"""The conversations of sglang's own: how it writes a prompt for model types whose chat template it does not look at.

Source: sglang 0.5.23, parser/conversation.py:113-330 (how each style is written), 608-727 (what becomes of messages), 787-1109 (the conversations); run. The
conversations have the same texts in every release that has them, from 0.5.3 on (read).
"""

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from bot.analyze.render import Prompt
from bot.analyze.rules.sglang.messages import Item, RefusedError, answered, checked_messages
from bot.analyze.rules.sglang.requests import Requests
from bot.answer import Unknown
from bot.probe import Message


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """How a prompt is written.

    It begins with `system`, in which {} stands for the system message (`message` where the client sends none), and `after_system`; where `optional` is set, with neither
    for no message. A turn is the role's string (`user`, `assistant`), `between`, the text, and one of the two `ends`: of the first and second of
    two turns, or where `by_role` is set of the user's and of the assistant's. A turn without text is the role's string and `opened`.
    """

    system: str = "{}"
    message: str = ""
    after_system: str = ""
    optional: bool = False
    user: str = ""
    assistant: str = ""
    between: str = ""
    opened: str = ""
    ends: tuple[str, str] = ("", "")
    by_role: bool = False
    image: str = ""


_LINES = Conversation(
    optional=True,
    after_system="<|im_end|>\n",
    user="<|im_start|>user",
    assistant="<|im_start|>assistant",
    between="\n",
    opened="\n",
    ends=("<|im_end|>\n", "<|im_end|>\n"),
)
_NOTHING = Conversation(system="")
_END = "<｜end▁of▁sentence｜>"
CONVERSATIONS: dict[str, Conversation] = {
    "phi-4-mm": Conversation(user="<|user|>", assistant="<|assistant|>", ends=("<|end|>", "<|end|>")),
    "internvl-2-5": Conversation(
        system="<|im_start|>system\n{}",
        message="你是书生·万象，英文名是InternVL，是由上海人工智能实验室、清华大学及多家合作单位联合开发的多模态大语言模型。",
        after_system="<|im_end|>\n",
        user="<|im_start|>user\n",
        assistant="<|im_start|>assistant\n",
        ends=("<|im_end|>\n", "<|im_end|>\n"),
    ),
    "deepseek-ocr": _NOTHING,
    "unlimited-ocr": Conversation(),
    "paddle-ocr": Conversation(
        system="<|begin_of_sentence|>{}",
        user="User",
        assistant="Assistant",
        between=": ",
        opened=": ",
        ends=("\n", "<|end_of_sentence|>"),
        by_role=True,
        image="<|IMAGE_START|><|IMAGE_PLACEHOLDER|><|IMAGE_END|>",
    ),
    "deepseek-vl2": Conversation(
        after_system="\n\n",
        optional=True,
        user="<|User|>",
        assistant="<|Assistant|>",
        between=": ",
        opened=":",
        ends=("\n\n", _END),
    ),
    "minicpmv": msgspec.structs.replace(_LINES, system="<|im_start|>system\n{}.", message="You are a helpful assistant"),
    "minicpmo": msgspec.structs.replace(
        _LINES,
        system="<|im_start|>system\n{}",
        message="You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
    ),
    "moss-vl": msgspec.structs.replace(_LINES, system="<|im_start|>system\n{}"),
    "janus-pro": Conversation(
        system="{}.",
        message="You are a helpful language and vision assistant. You are able to understand the visual content that the user provides, and assist the user with a variety of tasks using natural language",
        after_system="\n\n",
        user="User",
        assistant="Assistant",
        between=": ",
        opened=":",
        ends=("\n\n", _END),
    ),
    "whisper": _NOTHING,
}
_PLACEHOLDER = "<image>"  # of deepseek-vl2, which counts it (conversation.py:591)


def written(name: str, messages: Sequence[Message], requests: Requests, *, closed: bool = False) -> Prompt | Unknown:
    """The prompt that a conversation of sglang's own makes of messages; `closed`: without the beginning of a reply, which it refuses."""
    conversation = CONVERSATIONS.get(name)
    if conversation is None:
        return Unknown(f"how the conversation {name} is written was not looked up")

    def work() -> str:
        if closed:
            raise RefusedError("ValueError", "add_generation_prompt is supported only with a Jinja chat template.")
        return _prompt(name, conversation, checked_messages(messages, requests), requests)

    found = answered(work)
    return Prompt(found) if isinstance(found, str) else found


def _prompt(name: str, conversation: Conversation, messages: list[Item], requests: Requests) -> str:
    system, turns = conversation.message, list[tuple[bool, str]]()
    for message in messages:
        content: Any = message["content"]
        match message["role"]:
            case "system":
                system = system if content is None else _single(content, "The system message should be a single text.")
            case "user":
                turns.append((True, _joined(name, content)))
            case "assistant":
                text = "" if content is None else _single(content, "The assistant's response should be a single text.")
                turns.append((False, text))
            case other:
                raise RefusedError("ValueError", f"Unknown role: {other}")
    begun = conversation.system.replace("{}", system) + conversation.after_system
    left_out = conversation.optional and not system and (requests.blanks or not conversation.system.replace("{}", ""))
    return ("" if left_out else begun) + "".join(_turns(conversation, [*turns, (False, "")]))


def _turns(conversation: Conversation, turns: list[tuple[bool, str]]) -> list[str]:
    rows: list[str] = []
    for i, (users, text) in enumerate(turns):
        role = conversation.user if users else conversation.assistant
        if not text:
            rows.append(role + conversation.opened)
            continue
        if users and conversation.image:
            text = text.replace(conversation.image + "\n", conversation.image)  # noqa: PLW2901 - the text of the turn from here on
        second = not users if conversation.by_role else i % 2 == 1
        rows.append(role + conversation.between + text + conversation.ends[second])
    return rows


def _single(content: Any, otherwise: str) -> str:
    """A content that is a text, or one part of text."""
    if isinstance(content, str):
        return content
    parts = cast("list[Item]", content)
    if len(parts) != 1 or parts[0]["type"] != "text":
        raise RefusedError("ValueError", otherwise)
    return parts[0]["text"]


def _joined(name: str, content: Any) -> str:
    """A user's content: its texts one after the other."""
    if isinstance(content, str):
        return content
    text = "".join(part["text"] for part in cast("list[Item]", content) if part["type"] == "text")
    if name == "deepseek-vl2" and _PLACEHOLDER in text:
        raise RefusedError(
            "ValueError", f"Found more '{_PLACEHOLDER}' placeholders in input prompt than actual multimodal data items."
        )
    return text
