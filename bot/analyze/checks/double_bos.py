"""The chat template writes BOS, and the tokenizer adds it once more."""

from collections.abc import Iterator

import msgspec

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.bos import of_class, of_file, written
from bot.analyze.model.folder import Model
from bot.analyze.model.pipeline import pipeline
from bot.analyze.model.templates import Template, place_of, sources
from bot.analyze.wording import value

CHECK = Check(
    title="BOS is added twice",
    says="makes prompts begin with BOS twice",
    sees="a chat template whose prompt begins with a token that the post-processor of tokenizer.json (or on transformers 4 the tokenizer class) adds as well, where base had it once",
    why="Whoever renders a chat and tokenises the text gets the token twice: `tokenizer(text)` of transformers (4.46.3 to 5.24.0, run) and vLLM's completions. "
    "`apply_chat_template` and the chat endpoints of vLLM and sglang tokenise without special tokens and are not hit.",
    fix="Let one of both write it: take it out of the template, or out of the post-processor.",
    wrong_when="base had it twice as well (Llama 3 is published so), only one of both adds it, or tokenizer.json of base cannot be read",
    severity="warning",
    engines=("transformers", "vllm"),
    weighed="A warning: chat endpoints add it once, and Llama 3 lives with it on purpose; told where it is new. A note where only the class of transformers 4 adds it.",
)


class _Twice(msgspec.Struct, frozen=True):
    token: str
    template: Template
    by_file: bool


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare what both sides put in front."""
    after, before = _twice(head), _twice(base)
    if after is None or (before is not None and (before.by_file or not after.by_file)) or _unknown(base):
        return
    place = (
        head.place("tokenizer.json", "/post_processor")
        if after.by_file
        else head.place("tokenizer_config.json", "/tokenizer_class")
    )
    who = f"the post-processor of {value('tokenizer.json')}" if after.by_file else "the tokenizer class on transformers 4"
    yield Seen(
        key="bos",
        title=f"{who[0].upper()}{who[1:]} adds {value(after.token)}, and the prompt of {value(after.template.file)} begins with it as well",
        places=(place, place_of(head, after.template)),
        severity=None if after.by_file else "note",
        engines=None if after.by_file else ("transformers < 5",),
    )


def _twice(model: Model) -> _Twice | None:
    """The token that both put in front."""
    for token in of_file(model)[:1]:
        template = written(model, token)
        if template is not None:
            return _Twice(token, template, by_file=True)
    token = of_class(model)
    template = written(model, token)
    return _Twice(token, template, by_file=False) if template is not None and not of_file(model) else None


def _unknown(model: Model) -> bool:
    """Whether a file that would tell cannot be read."""
    config, file = "tokenizer_config.json", "tokenizer.json"
    broken = (config in model.files and not model.readable(config)) or (file in model.files and pipeline(model) is None)
    return broken or bool(sources(model).unread)
