"""The chat template is gone."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.prompting import prompt
from bot.analyze.model.templates import DEFAULT, Sources, Template, in_force, place_of, sources
from bot.analyze.probes import CORE
from bot.analyze.wording import value
from bot.place import Place

CHECK = Check(
    title="There is no chat template any more",
    says="leaves the model without a chat template",
    sees="a chat template in base (file or inline), and none anywhere in head, only ones that are not called `default`, or one that prints nothing",
    why="Chat requests fail: `Cannot use chat template functions because tokenizer.chat_template is not set`.",
    fix="Keep the template in `chat_template.jinja` or in `tokenizer_config.json`.",
    wrong_when="the template moved to another source or folder, nobody takes it from here (adapters, GGUF and MLC folders), or base had none (base models)",
    severity="error",
    weighed="An error, for chat requests then fail. It fires on the two real pairs that lose their template, and on no base model.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare the sources; one that is there and cannot be read is not called missing."""
    before, after = in_force(base), sources(head)
    if not before or after.unread or _elsewhere(head):
        return
    if after.every:
        yield from _of_default(base, head)
        return
    template = before[0]
    broken = template.file.endswith(".json") and template.file in head.files and not head.readable(template.file)
    if template.file not in head.went and not broken:  # a file that does not parse may still hold it, and is told of by itself
        gone = template.file not in head.files
        place = Place("base", base.path(template.file)) if gone else head.place(template.file)
        yield Seen(
            key="chat_template",
            title=f"The chat template of {value(template.file)} is gone and nothing takes its place",
            places=(place,),
        )


def _of_default(base: Model, head: Model) -> Iterator[Seen]:
    """A default that is left without its name or its text; where files hide the one that is inline, chat-template-shadowed tells of it."""
    old, new = _default(in_force(base)), _default(in_force(head))
    if old is None or _hidden(sources(base), sources(head)):
        return
    if new is None:
        gone = old.file not in head.files
        yield Seen(
            key="default",
            title=f"No chat template is called {value(DEFAULT)} any more",
            detail="Chat requests fail: transformers 5.24.0 refuses to choose among templates without it (tokenization_utils_base.py:3373, read).",
            fix=f"Give the template for plain chat the name {value(DEFAULT)}.",
            places=(place_of(base, old) if gone else head.place(old.file, "/chat_template" if old.pointer else ""),),
        )
    elif _prints(base, old) and not _prints(head, new):
        yield Seen(
            key="empty",
            title=f"The chat template of {value(new.file)} prints nothing any more",
            detail="Chat is sent without a prompt, and nothing fails.",
            places=(place_of(head, new),),
        )


def _hidden(before: Sources, after: Sources) -> bool:
    """Whether files stand before an inline default, which may have gone as they came."""
    gone = _default(before.inline) is not None and not before.files and not after.inline
    return bool(after.files) and (_default(after.inline) is not None or gone)


def _default(templates: tuple[Template, ...]) -> Template | None:
    return next((template for template in templates if template.name == DEFAULT), None)


def _prints(model: Model, template: Template) -> bool:
    """Whether a template makes any prompt of a plain conversation, or fails, which other checks tell of."""
    return any(made.text is None or bool(made.text.strip()) for made in (prompt(model, template, probe) for probe in CORE))


def _elsewhere(model: Model) -> bool:
    """Whether chat takes the template from elsewhere: from an adapter's base model, or, without weights for transformers, from GGUF or MLC."""
    if any(name.endswith(".safetensors") for name in model.files):
        return model.has("adapter_config.json")
    gguf = any(name.endswith(".gguf") for name in model.files)
    return gguf or model.has("adapter_config.json") or bool(model.mapping("mlc-chat-config.json").get("conv_template"))
