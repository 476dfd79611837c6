"""The chat template moved out of tokenizer_config.json into chat_template.jinja."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.templates import FILE, Template, sources
from bot.analyze.wording import value

_CONFIG = "tokenizer_config.json"
CHECK = Check(
    title="The chat template stands in chat_template.jinja alone",
    says="hides the chat template from engines that read `tokenizer_config.json` only",
    sees="a chat template in tokenizer_config.json of base, and in head one in chat_template.jinja alone",
    why="TGI, transformers 4.46 and older, transformers.js (for text models) and Ollama do not read the file and are left without a chat template; "
    "transformers 4.47 and newer, vLLM and sglang read it.",
    fix="Keep a copy as `chat_template` in `tokenizer_config.json`.",
    wrong_when="a copy stays in tokenizer_config.json or chat_template.json, base had none there, or tokenizer_config.json cannot be read",
    severity="warning",
    engines=("tgi", "transformers < 4.47", "transformers.js", "ollama"),
    weighed="A warning: saving with transformers 5 does this, and the engines that lose the template are in use; of the real pairs of revisions Kimi's did it.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Look where a template is left."""
    before, after = sources(base), sources(head)
    old, new = _usable(before.inline), _usable(tuple(t for t in after.files if t.file == FILE))
    elsewhere = after.inline or after.processor or after.unread
    broken = _CONFIG in head.files and not head.readable(_CONFIG)
    if old is None or new is None or elsewhere or broken:
        return
    null = "chat_template" in head.mapping(_CONFIG)
    yield Seen(
        key="chat_template",
        title=f"The chat template of {value(old.file)} is gone, and {value(FILE)} is the only one left",
        places=(head.place(FILE),),
        # gguf takes the key before the file even when it is null (gguf-py/gguf/vocab.py:335, run)
        engines=(*CHECK.engines, "llama.cpp") if null else None,
    )


def _usable(templates: tuple[Template, ...]) -> Template | None:
    """The template that is taken by default, where it is not empty."""
    return next((t for t in templates if t.name == "default" and t.text.strip()), None)
