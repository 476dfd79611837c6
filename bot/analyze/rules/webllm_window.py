"""Whether a prompt fits into the window of WebLLM, which refuses one that does not and cuts off nothing.

Source: npm @mlc-ai/web-llm 0.2.86, lib/index.js:13936-13940 (read); the tokens of each piece are counted without special tokens (run).
"""

from typing import Any

from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import config, conversation, table
from bot.analyze.model.tokenizer_file import TokenizerFile
from bot.analyze.render import Prompt
from bot.analyze.rules.encoding import encoded_by_webllm
from bot.analyze.rules.webllm_prompt import Parts, prompt_of
from bot.answer import Known, Unknown
from bot.probe import Probe

# NFKC makes eighteen letters of U+FDFA; nothing grows more.
_GROWTH = 18
# Letters of a prompt whose tokens are counted.
_LONGEST_COUNTED = 100_000


def window_of(model: Model) -> float | None:
    """How many tokens a prompt may have where the chat is set up, None where nothing is counted: a sliding window has no end."""
    settings = config(model)
    size: Any = settings.get("context_window_size", "absent")
    if settings.get("sliding_window_size") != -1:
        return None
    if size is None:
        return 0  # null is 0 where it is compared with a number
    return size if isinstance(size, int | float) and not isinstance(size, bool) else None


def prompt_within(model: Model, probe: Probe, window: float | None) -> Prompt | Unknown:
    """The prompt of a conversation, or the error that WebLLM throws instead; one that is larger than the window is an error too."""
    made = prompt_of(conversation(model), probe)
    if not isinstance(made, Parts):
        return made
    if window is None or _fits(model, made, window):
        return Prompt(made.text)
    tokens = _count(model, made)
    if isinstance(tokens, Unknown):
        return tokens
    return Prompt(made.text) if tokens <= window else _too_long(tokens, window)


def _too_long(tokens: int, window: float) -> Prompt:
    said = f"Prompt tokens exceed context window size: number of prompt tokens: {tokens}; context window size: {window}"
    return Prompt(None, f"ContextWindowSizeExceededError: {said}", "failed", "ContextWindowSizeExceededError")


def _fits(model: Model, made: Parts, window: float) -> bool:
    """Whether the prompt is too short to be too long, however it is cut: a token for every byte, and one in front of each piece."""
    tokens = table(model)
    if isinstance(tokens, Known) and isinstance(tokens.value.vocabulary, TokenizerFile) and tokens.value.vocabulary.parts.padding:
        return False  # it adds tokens whatever the length
    return len(made.text.encode()) * (1 if made.text.isascii() else _GROWTH) + len(made.pieces) <= window


def _count(model: Model, made: Parts) -> int | Unknown:
    """The tokens of all pieces, each by itself."""
    if len(made.text) > _LONGEST_COUNTED:
        return Unknown("whether the prompt fits into context_window_size is not counted for one this long")
    found = encoded_by_webllm(model, tuple(dict.fromkeys(made.pieces)))
    if isinstance(found, Known):
        return sum(len(found.value[piece]) for piece in made.pieces)
    reason = found.reason if isinstance(found, Unknown) else "no tokenizer is there"
    return Unknown(f"whether the prompt fits into context_window_size cannot be told: {reason}", found.places)
