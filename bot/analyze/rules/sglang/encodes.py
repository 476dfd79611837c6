"""Whether the tokenizer can encode a prompt, which sglang does together with rendering it: one that cannot fails the request.

Source: sglang 0.5.23, entrypoints/openai/serving_chat.py:2259-2345; tokenizers 0.23.3: a model without a token for what it does not know raises a plain
Exception, a text with half a surrogate pair a TypeError (run).
"""

from typing import Any

import msgspec

from bot.analyze.model.folder import Model
from bot.analyze.model.tokens import panics
from bot.analyze.render import Prompt
from bot.analyze.rules.backend import Backend, Failed, encode
from bot.analyze.rules.backend_parts import too_large
from bot.analyze.rules.encoding import LARGEST, backend_of
from bot.analyze.rules.loaded import loaded
from bot.analyze.rules.sglang.releases import Release
from bot.analyze.rules.sglang.tokenizer import read_by
from bot.answer import Known, Unknown

_FILE = "tokenizer.json"
# What the library says of a text with something unknown in it.
_UNKNOWN = (" error: Missing ", "Unk token `", "`unk_id` is missing")


class _Pieces(msgspec.Struct):
    """The part of a model that says what becomes of something unknown."""

    vocab: dict[str, Any] | list[Any]
    type: Any = None
    unk_token: Any = None
    unk_id: Any = None


class _File(msgspec.Struct):
    model: msgspec.Raw


def doubt(model: Model, release: Release) -> Backend | Unknown | None:
    """What every prompt has to be tried with, for a tokenizer that may not encode it; None for one that encodes every text."""
    if panics(model) is not None:
        return Unknown("the tokenizers library panics over every text", (model.place(_FILE),))
    read = read_by(model, release)
    if isinstance(read, Model) and not too_large(model, LARGEST):
        made = backend_of(model, loaded(read, release.transformers), release.transformers)
        if isinstance(made, Known):
            return made.value if _lacks(made.value.model) else None
    content = model.content(_FILE)
    if not isinstance(content, Known):
        return None
    try:
        lacks = _lacks(bytes(msgspec.json.decode(content.value, type=_File).model))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None  # a tokenizer that loads all the same does without the file
    return Unknown("whether its tokenizer can encode the prompt is not known", (model.place(_FILE),)) if lacks else None


def _lacks(model: bytes) -> bool:
    """Whether a model of the library has no token for what it does not know, and may come to need one."""
    pieces = msgspec.json.decode(model, type=_Pieces)
    if isinstance(pieces.vocab, list):
        return pieces.unk_id is None
    if pieces.unk_token is None:
        return pieces.type in ("WordLevel", "WordPiece")  # BPE passes over it
    return pieces.unk_token not in pieces.vocab


def encoded(prompt: Prompt, tried: Backend | Unknown | None) -> Prompt | Unknown:
    """A prompt, or what comes of encoding it; `tried` is what `doubt` says of the tokenizer."""
    if prompt.text is None:
        return prompt
    try:
        _ = prompt.text.encode()
    except UnicodeEncodeError:
        return Prompt(None, "TypeError: the tokenizer takes no half of a surrogate pair", "failed", "TypeError", prompt.dated)
    if not isinstance(tried, Backend):
        return prompt if tried is None else tried
    ids = encode(tried, (prompt.text,))
    if not isinstance(ids, Failed):
        return prompt
    if any(words in ids.reason for words in _UNKNOWN):
        return Prompt(None, f"Exception: {ids.reason}", "failed", "Exception", prompt.dated)
    return Unknown(f"whether the tokenizer can encode the prompt is not known: {ids.reason}")
