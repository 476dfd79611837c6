"""Who puts a token at the beginning of a text: the tokenizer, or the chat template."""

from typing import Any

from bot.analyze.model.folder import Model, fact
from bot.analyze.model.pipeline import pipeline, prefix
from bot.analyze.model.templates import Template, in_force
from bot.analyze.model.tokens import role
from bot.analyze.model.turns import role_strings
from bot.analyze.probes import CORE
from bot.analyze.render import render
from bot.answer import Known

# Classes that build the post-processor from add_bos_token on transformers 4 (models/llama/tokenization_llama_fast.py:174 in 4.57.6, run),
# and for which sglang 0.5.23 restores it (utils/hf_transformers/tokenizer.py, run); the key left out means true.
FLAG_CLASSES = {"LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer", "CohereTokenizer"}
_CONFIG = "tokenizer_config.json"


def of_file(model: Model) -> tuple[str, ...]:
    """The tokens that the post-processor of tokenizer.json puts in front; none where the file cannot be read."""
    found = pipeline(model)
    return prefix(found) if found is not None else ()


def of_class(model: Model) -> str:
    """The BOS token that some classes put in front on transformers 4 and sglang because of add_bos_token; "" for none."""
    config = model.mapping(_CONFIG)
    name: Any = config.get("tokenizer_class")
    if (
        not isinstance(name, str)
        or name.removesuffix("Fast") not in FLAG_CLASSES
        or config.get("add_bos_token", True) is not True
    ):
        return ""
    string = role(model, "bos_token")
    return string.value if isinstance(string, Known) else ""


@fact
def prompts(model: Model) -> tuple[tuple[Template, str], ...]:
    """A prompt of a plain conversation for each template that chat goes through, without white space in front."""
    strings = role_strings(model)
    found: list[tuple[Template, str]] = []
    for template in in_force(model):
        rendered = (render(template.text, probe.messages, strings, probe.variables).text for probe in CORE)
        text = next((text for text in rendered if text is not None), None)
        if text is not None:
            found.append((template, text.lstrip()))
    return tuple(found)


def written(model: Model, token: str) -> Template | None:
    """The template whose prompt begins with a token."""
    return next((template for template, text in prompts(model) if token and text.startswith(token)), None)
