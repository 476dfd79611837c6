"""The tokens that sglang makes of a prompt.

Source: sglang 0.5.23, srt/entrypoints/openai/serving_chat.py:2180-2195 (read): the text is encoded without special tokens where the tokenizer puts any
around it. What other releases put right in the tokenizer after loading it was not looked up.
"""

from bot.analyze.model.folder import Model
from bot.analyze.rules.backend_parts import too_large
from bot.analyze.rules.loaded import loaded
from bot.analyze.rules.prompt_tokens import LARGEST, Tokens, tokens_of
from bot.analyze.rules.sglang.releases import NEWEST, Release
from bot.analyze.rules.sglang.template import conversation
from bot.analyze.rules.sglang.tokenizer import fields_of_tokenizer, read_by
from bot.answer import Answer, Known, Unknown


def prompt_tokens(model: Model, release: Release, texts: tuple[str, ...]) -> Answer[Tokens]:
    """The tokens of prompts, told of the newest release only."""
    if release.name != NEWEST:
        return Unknown("what this release puts right in the tokenizer was not looked up")
    if conversation(model, release) is not None:
        # serving_chat.py:2401 (read) calls the tokenizer as it is.
        return Unknown("special tokens are put around the prompts of its own conversations, which is not modelled")
    if why := too_large(model, LARGEST):
        return Unknown(why, (model.place("tokenizer.json"),))
    loads = fields_of_tokenizer(model, release)["loads.tokenizer"]
    if not isinstance(loads, Known):
        return loads
    if not loads.value:
        return Unknown("the tokenizer does not load", loads.places)
    read = read_by(model, release)
    if not isinstance(read, Model):
        return read
    return tokens_of(model, loaded(read, release.transformers), release.transformers, texts, "sglang")
