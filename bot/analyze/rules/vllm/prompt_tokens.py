"""The tokens that vLLM makes of a prompt.

Source: vllm 0.33.0, entrypoints/openai/chat_completion/protocol.py:350 and 697, renderers/params.py:385-391: a chat is encoded without special tokens, which
is the default in 0.20.0 (:234) and 0.8.5 (entrypoints/openai/protocol.py:308) as well. All three were read; the other releases have the same field, whose
default was not looked at in each.
"""

from bot.analyze.model.folder import Model
from bot.analyze.rules import prompt_tokens as of_transformers
from bot.analyze.rules.prompt_tokens import Tokens
from bot.analyze.rules.vllm.release import Release
from bot.analyze.rules.vllm.tokenizer import asked_of, fields_of_tokenizer
from bot.answer import Answer, Known, Unknown


def prompt_tokens(
    model: Model, of: Release, config: Answer[str | None], transformers: str, texts: tuple[str, ...]
) -> Answer[Tokens]:
    """The tokens of prompts in the tokenizer of `fields_of_tokenizer`, whose parameters these are."""
    fields = fields_of_tokenizer(model, of, config, transformers)
    for answer in (fields["loads.tokenizer"], fields.get("added_tokens")):
        if not isinstance(answer, Known):
            return answer if isinstance(answer, Unknown) else Unknown("the tokenizer does not load")
    asked = asked_of(model, of, transformers)
    return Unknown(asked) if isinstance(asked, str) else of_transformers.prompt_tokens(asked, transformers, texts)
