"""What `render` answers: the prompts that engines make of conversations, letter by letter and, where that is asked for, token by token.

`Renderings` is what `render --format json` prints (schema 1, published in schema/renderings-1.json).
"""

from typing import Literal

import msgspec

from bot.analyze.records import Unchecked
from bot.probe import Probe

Outcome = Literal["text", "error", "none", "limits", "unknown"]


class Token(msgspec.Struct, frozen=True):
    """A token of a prompt: its id, its string in the vocabulary, and the letters that it stands for by the `tokenizers` library, from `start` up to `end` of the prompt.

    A letter of several bytes may be that of several tokens. `special` says whether it is an added token with that flag.
    """

    id: int
    piece: str
    start: int
    end: int
    special: bool = False


class Rendering(msgspec.Struct, frozen=True, kw_only=True):
    """What a version of an engine makes of one conversation.

    `engine` is as in "vllm@0.33.0"; "" stands for the chat template by itself, which is shown where no engine gets to a prompt. `outcome` says
    what it is: "text", "error" (`type` is the exception that the engine raises, `reason` its words), "none" (the engine does not get to a chat, and
    `reason` says what keeps it), "limits" (rendering did not end) and "unknown" (`reason` says why). `text` is the exact prompt; a lone surrogate, which no UTF-8 text can hold, is written as its escape. `dated` says that the
    prompt depends on the clock; the text is that of a fixed day. `special` are the strings of special tokens that stand in the text. `tokens` is None where
    they were not asked for or cannot be told: then `untold` says why.
    """

    folder: str
    engine: str
    probe: str
    outcome: Outcome
    text: str | None = None
    type: str = ""
    reason: str = ""
    dated: bool = False
    special: tuple[str, ...] = ()
    tokens: tuple[Token, ...] | None = None
    untold: str = ""


class Renderings(msgspec.Struct, frozen=True, kw_only=True):
    """The prompts of one run, folder by folder, the conversations that were rendered, and what could not be read. `date` is the day of the facts behind the rules."""

    schema: int = 1
    date: str
    probes: tuple[Probe, ...]
    rows: tuple[Rendering, ...]
    unchecked: tuple[Unchecked, ...] = ()
