"""What a prompt becomes: the tokens that a tokenizer makes of it, with nothing put around it, for the template has written that already.

apply_chat_template of transformers calls the tokenizer with add_special_tokens=False and neither cuts nor pads (tokenization_utils_base.py:3190-3200
of 5.24.0, run; :1682-1691 of 4.57.6, read). vLLM and sglang ask for the same (vllm 0.33.0 entrypoints/openai/chat_completion/protocol.py:350; sglang 0.5.23
srt/entrypoints/openai/serving_chat.py:455-467: with special tokens where these are none; both read).
"""

from collections.abc import Mapping
from typing import TypeAlias

from bot.analyze.model.folder import Model
from bot.analyze.renderings import Token
from bot.analyze.rules.backend import Failed, tokens
from bot.analyze.rules.backend_parts import too_large
from bot.analyze.rules.encoding import Engine, backend_of
from bot.analyze.rules.loaded import Loaded, Refused, loaded
from bot.answer import Answer, Known, Unknown

# Reading one tokenizer of 11 MB takes less than a second; fetch takes no larger file than this.
LARGEST = 64 << 20
Tokens: TypeAlias = Mapping[str, tuple[Token, ...]]
"""The tokens of each prompt, by its text."""


def prompt_ids(model: Model, text: str, version: str) -> Answer[list[int]]:
    """The ids of a prompt in the tokenizer that AutoTokenizer of a version of transformers makes of a folder.

    Where files of packages are out of reach afterwards, `encoding.warm` has to come first. A large tokenizer takes a second each time, but for the
    same text once more: ask for several prompts at once with `prompt_tokens`.
    """
    found = prompt_tokens(model, version, (text,))
    return Known([token.id for token in found.value[text]], found.places) if isinstance(found, Known) else found


def prompt_tokens(model: Model, version: str, texts: tuple[str, ...]) -> Answer[Tokens]:
    """The tokens of prompts in the tokenizer that AutoTokenizer of a version of transformers makes of a folder."""
    if why := too_large(model, LARGEST):
        return Unknown(why, (model.place("tokenizer.json"),))
    return tokens_of(model, loaded(model, version), version, texts)


def tokens_of(
    model: Model, found: Answer[Loaded | Refused], version: str, texts: tuple[str, ...], engine: Engine = "transformers"
) -> Answer[Tokens]:
    """As `prompt_tokens`, for what loading was found to give, and with what `engine` puts right after it."""
    made = backend_of(model, found, version, engine=engine, largest=LARGEST)
    if not isinstance(made, Known):
        return made
    told = tokens(made.value, texts)
    return Unknown(told.reason, made.places) if isinstance(told, Failed) else Known(told, made.places)
