"""A template file takes the place of a working inline template and brings no usable default."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.templates import DEFAULT, FILE, NAMED_FOLDER, Template, place_of, sources
from bot.analyze.model.turns import role_strings
from bot.analyze.probes import CORE
from bot.analyze.render import render
from bot.analyze.wording import listed, value

_JSON = "chat_template.json"
CHECK = Check(
    title="A template file hides the chat template",
    says="hides the working chat template",
    sees="a chat template in tokenizer_config.json beside an empty chat_template.jinja, or beside files in additional_chat_templates/ of which none is a default; an empty template in chat_template.json beside a working one",
    why="transformers 4.52 and newer take template files instead of the key, whatever they hold (tokenization_utils_base.py:1826 in 5.24.0, run): "
    "chat is then sent without a prompt, or refused for want of a default template; vLLM and sglang follow.",
    fix="Put the default template into `chat_template.jinja`, or take the other files away.",
    wrong_when="the file prints a prompt, or there is no working template that it could hide",
    severity="error",
    engines=("transformers >= 4.52", "vllm", "sglang"),
    weighed="Certain, since loading and rendering were run with several versions; no real repository was in this state. A warning for an empty chat_template.json, which only TGI and processors take.",
)


def find(model: Model) -> Iterator[Seen]:
    """Compare the files with the key."""
    found = sources(model)
    inline = _default(found.inline)
    if found.unread:
        return
    if inline is not None and _prints(model, inline):
        yield from _hidden(model, inline)
    yield from _hidden_by_json(model)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """The same where the key went away as the files came."""
    before, after = sources(base), sources(head)
    inline = _default(before.inline)
    if inline is None or before.files or after.inline or after.unread or not _readable(head) or not _prints(base, inline):
        return
    yield from _hidden(head, inline)


def _hidden(model: Model, inline: Template) -> Iterator[Seen]:
    """What the files of a folder leave of a template, when it is nothing."""
    # Only files right below the folder count: transformers globs "*.jinja" there.
    files = [t for t in sources(model).files if t.file == FILE or "/" not in t.file.removeprefix(NAMED_FOLDER)]
    default = _default(tuple(files))
    if default is not None and not _prints(model, default, also_failing=True):
        yield Seen(
            key="chat_template",
            title=f"{value(default.file)} prints nothing and takes the place of the template in {value(inline.file)}",
            places=(place_of(model, default),),
        )
    if files and default is None:
        names = listed(value(t.file) for t in files)
        yield Seen(
            key="chat_template",
            title=f"The template in {value(inline.file)} is not taken beside {names}, and no default is left",
            places=tuple(place_of(model, t) for t in files),
        )


def _hidden_by_json(model: Model) -> Iterator[Seen]:
    """An empty template in chat_template.json.

    TGI takes it instead of the key (router/src/server.rs:1686 of 3.3.7, read), a processor instead of chat_template.jinja, where its own
    configuration has none (transformers 4.57.6 and 5.24.0, run; processing_utils.py:1468-1521). A tokenizer does not read it.
    """
    found = sources(model)
    empty = _default(tuple(t for t in found.processor if t.file == _JSON))
    if empty is None or _prints(model, empty, also_failing=True):
        return
    inline, file = _default(found.inline), _default(tuple(t for t in found.files if t.file == FILE))
    processed = any(model.has(name) for name in ("processor_config.json", "preprocessor_config.json"))
    named = any(t.file != _JSON for t in found.processor)
    of_tgi = inline is not None and _prints(model, inline)
    of_processor = file is not None and processed and not named and _prints(model, file)
    if of_tgi or of_processor:
        engines = (*(("TGI",) if of_tgi else ()), *(("transformers processors",) if of_processor else ()))
        hidden = listed(value(t.file) for t, counts in ((inline, of_tgi), (file, of_processor)) if t is not None and counts)
        yield Seen(
            key=_JSON,
            title=f"{value(_JSON)} prints nothing and takes the place of the template in {hidden} for {listed(engines)}",
            detail="TGI takes the template of `chat_template.json` before any other, and sends chat without a prompt."
            if not of_processor
            else "A processor takes `chat_template.json` before `chat_template.jinja`, and is left without a chat template (transformers 4.57.6 and 5.24.0, run).",
            fix="Put the template into `chat_template.json`, or take the file away.",
            places=(place_of(model, empty),),
            severity="warning",
            engines=tuple(engine.lower().partition(" ")[0] for engine in engines),
        )


def _default(templates: tuple[Template, ...]) -> Template | None:
    return next((t for t in templates if t.name == DEFAULT), None)


def _readable(model: Model) -> bool:
    return "tokenizer_config.json" not in model.files or model.readable("tokenizer_config.json")


def _prints(model: Model, template: Template, *, also_failing: bool = False) -> bool:
    """Whether a template makes any prompt of a plain conversation; one that fails is told by other checks."""
    if not template.text.strip():
        return False
    strings = role_strings(model)
    prompts = (render(template.text, probe.messages, strings, probe.variables) for probe in CORE)
    return any(prompt.text.strip() if prompt.text is not None else also_failing for prompt in prompts)
