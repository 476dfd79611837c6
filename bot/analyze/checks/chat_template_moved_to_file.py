"""The chat template moved out of tokenizer_config.json into chat_template.jinja."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.templates import FILE, Template, sources
from bot.analyze.wording import value

_CONFIG, _OF_PROCESSORS = "tokenizer_config.json", ("chat_template.json", "processor_config.json")
# TGI takes chat_template.json, tokenizer_config.json, processor_config.json in this order (router/src/server.rs of 3.3.7, read).
_LOST_TO_PROCESSORS = (
    "TGI and the processors of transformers 4.46.3 (run) read the JSON file and not `chat_template.jinja`, and are left without a chat template; "
    "the processors of 4.57.6 and 5.24.0 read it (run)."
)
_LOST_TO_TGI = (
    "TGI reads the JSON file and not `chat_template.jinja`, and is left without a chat template; other engines take the file."
)
CHECK = Check(
    title="The chat template stands in chat_template.jinja alone",
    says="hides the chat template from engines that do not read `chat_template.jinja`",
    sees="a chat template in tokenizer_config.json, chat_template.json or processor_config.json of base, and in head one in chat_template.jinja alone",
    why="TGI, transformers 4.46 and older, transformers.js (for text models) and Ollama do not read the file and are left without a chat template; "
    "transformers 4.47 and newer, vLLM and sglang read it.",
    fix="Keep a copy as `chat_template` in `tokenizer_config.json`.",
    wrong_when="a copy stays in one of the JSON files, base had none there, or one of them cannot be read",
    severity="warning",
    engines=("tgi", "transformers < 4.47", "transformers.js", "ollama"),
    weighed="A warning: saving with transformers 5 does this, and the engines that lose the template are in use; of the real pairs of revisions Kimi's did it. A note where only TGI read the JSON file, as in three pairs of gpt-oss.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Look where a template is left."""
    before, after = sources(base), sources(head)
    inline, new = _usable(before.inline), _usable(tuple(t for t in after.files if t.file == FILE))
    old = inline or _usable(before.processor)
    elsewhere = after.inline or after.processor or after.unread
    broken = any(name in head.files and not head.readable(name) for name in (_CONFIG, *_OF_PROCESSORS))
    if old is None or new is None or elsewhere or broken:
        return
    null = "chat_template" in head.mapping(_CONFIG)
    processed = any(base.has(name) for name in ("processor_config.json", "preprocessor_config.json"))
    engines = CHECK.engines if inline else ("tgi", "transformers < 4.47") if processed else ("tgi",)
    yield Seen(
        key="chat_template",
        title=f"The chat template of {value(old.file)} is gone, and {value(FILE)} is the only one left",
        places=(head.place(FILE),),
        severity=None if inline or processed else "note",  # nothing but TGI reads the JSON file where there is no processor
        detail="" if inline else _LOST_TO_PROCESSORS if processed else _LOST_TO_TGI,
        fix="" if inline else f"Keep a copy as {value('chat_template')} in {value(old.file)}.",
        # gguf takes the key before the file even when it is null (gguf-py/gguf/vocab.py:335, run)
        engines=(*engines, "llama.cpp") if null else engines,
    )


def _usable(templates: tuple[Template, ...]) -> Template | None:
    """The template that is taken by default, where it is not empty."""
    return next((t for t in templates if t.name == "default" and t.text.strip()), None)
