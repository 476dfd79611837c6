"""The tokens that WebLLM makes of its prompts: the ids that come first, and those of each piece, which are encoded one by one.

Source: npm @mlc-ai/web-llm 0.2.86, lib/index.js:13866-13927 (read), with @mlc-ai/web-tokenizers 0.1.6 (run).
"""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from bot.analyze.model.folder import Model
from bot.analyze.model.mlc import conversation, token_text
from bot.analyze.renderings import Token
from bot.analyze.rules.backend import Failed, tokens
from bot.analyze.rules.encoding import backend_of_webllm
from bot.analyze.rules.prompt_tokens import LARGEST
from bot.analyze.rules.webllm_prompt import Parts, prompt_of
from bot.answer import Answer, Known, Unknown
from bot.probe import Probe

_FIRST = "system_prefix_token_ids"


def probe_tokens(model: Model, probes: tuple[Probe, ...]) -> Answer[Mapping[str, tuple[Token, ...]]]:
    """The tokens of the prompt of each conversation, by its name. What comes first stands for no letters."""
    first: Any = conversation(model).get(_FIRST)
    listed = cast("list[Any]", first) if isinstance(first, list) else []
    if (first is not None and not isinstance(first, list)) or not all(type(each) is int for each in listed):
        return Unknown(f"{_FIRST} is no list of ids")
    begun = tuple(Token(number, token_text(model, number), 0, 0) for number in cast("list[int]", listed))
    made = {probe.name: prompt_of(conversation(model), probe) for probe in probes}
    parts = {name: prompt.pieces for name, prompt in made.items() if isinstance(prompt, Parts)}
    backend = backend_of_webllm(model, largest=LARGEST)
    if not isinstance(backend, Known):
        return backend
    found = tokens(backend.value, tuple(dict.fromkeys(piece for pieces in parts.values() for piece in pieces)))
    if isinstance(found, Failed):
        return Unknown(found.reason, backend.places)
    return Known({name: (*begun, *_joined(pieces, found)) for name, pieces in parts.items()}, backend.places)


def _joined(pieces: tuple[str, ...], found: Mapping[str, tuple[Token, ...]]) -> list[Token]:
    """The tokens of pieces in a row, their letters counted through."""
    row: list[Token] = []
    at = 0
    for piece in pieces:
        row += [msgspec.structs.replace(token, start=token.start + at, end=token.end + at) for token in found[piece]]
        at += len(piece)
    return row
