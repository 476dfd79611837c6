"""The chat template is gone."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.templates import in_force, sources
from bot.analyze.wording import value
from bot.place import Place

CHECK = Check(
    title="There is no chat template any more",
    says="leaves the model without a chat template",
    sees="a chat template in base (file or inline) and none anywhere in head",
    why="Chat requests fail: `Cannot use chat template functions because tokenizer.chat_template is not set`.",
    fix="Keep the template in `chat_template.jinja` or in `tokenizer_config.json`.",
    wrong_when="the template moved to another source or folder, nobody takes it from here (adapters, GGUF and MLC folders), or base had none (base models)",
    severity="error",
    weighed="An error, for chat requests then fail. It fires on the two real pairs that lose their template, and on no base model.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Compare the sources; one that is there and cannot be read is not called missing."""
    before, after = in_force(base), sources(head)
    if not before or after.every or after.unread or _elsewhere(head):
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


def _elsewhere(model: Model) -> bool:
    """Whether chat takes the template from elsewhere: from an adapter's base model, or, without weights for transformers, from GGUF or MLC."""
    if any(name.endswith(".safetensors") for name in model.files):
        return model.has("adapter_config.json")
    gguf = any(name.endswith(".gguf") for name in model.files)
    return gguf or model.has("adapter_config.json") or bool(model.mapping("mlc-chat-config.json").get("conv_template"))
