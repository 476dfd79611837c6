"""add_bos_token was dropped, and nothing else adds BOS."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.bos import FLAG_CLASSES, of_file, prompts, written
from bot.analyze.model.edits import Put, diff
from bot.analyze.model.folder import Model
from bot.analyze.model.pipeline import pipeline
from bot.analyze.model.templates import in_force, sources
from bot.analyze.model.tokens import role
from bot.analyze.records import Finding
from bot.analyze.wording import value
from bot.answer import Known

_CONFIG = "tokenizer_config.json"
_OFF = (
    "Llama, Gemma and Cohere classes of transformers 4 build the post-processor from the key (4.57.6 models/llama/tokenization_llama_fast.py:174, run), "
    "and native runtimes read it: prompts begin without BOS from then on."
)
CHECK = Check(
    title="add_bos_token was dropped, and nothing else adds BOS",
    says="takes BOS away from engines that read `add_bos_token`",
    sees="add_bos_token true in tokenizer_config.json of base and no such key in head, or false in head with a class that goes by it (Llama, Gemma, Cohere), where neither the post-processor of tokenizer.json nor the chat template adds BOS",
    why="Native runtimes and converters that go by `add_bos_token` start prompts without BOS. transformers 5 ignores the key when there is a tokenizer.json "
    "(tokenization_utils_base.py:1795 in 5.0.0, :1819 in 5.24.0, run) and drops it when saving.",
    fix="Keep `add_bos_token`, or let the post-processor of `tokenizer.json` add BOS.",
    wrong_when="the post-processor or the chat template adds BOS, the key is false and the class never went by it, or there is no BOS token",
    severity="note",
    weighed="A note, since most engines go by the post-processor; no pair of real revisions dropped the key alone.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Look for anything that adds BOS in the place of the key."""
    if base.mapping(_CONFIG).get("add_bos_token") is not True or not head.readable(_CONFIG):
        return
    unread = bool(sources(head).unread) or ("tokenizer.json" in head.files and pipeline(head) is None)
    now = head.mapping(_CONFIG).get("add_bos_token")
    off = now is False and _class(head) in FLAG_CLASSES
    if unread or not (off or now is None):
        return
    string = role(head, "bos_token")
    if not isinstance(string, Known) or string.value in of_file(head) or _in_template(head, string.value):
        return
    yield Seen(
        key="add_bos_token",
        title=f"{value('add_bos_token')} is {'false' if off else 'gone'}, and nothing else adds {value(string.value)}",
        detail=_OFF if off else "",
        places=(head.place(_CONFIG, "/add_bos_token") if off else head.place(_CONFIG),),
    )


def _class(model: Model) -> str:
    name = model.mapping(_CONFIG).get("tokenizer_class")
    return name.removesuffix("Fast") if isinstance(name, str) else ""


def _in_template(model: Model, token: str) -> bool:
    """Whether a prompt begins with the token; a template that could not be rendered is taken by its words."""
    shown = {template for template, _ in prompts(model)}
    unseen = [template.text for template in in_force(model) if template not in shown]
    return written(model, token) is not None or any("bos_token" in text or token in text for text in unseen)


def patch(base: Model, head: Model, finding: Finding) -> str:
    """Set the key as base has it."""
    del base, finding
    return diff(head, {_CONFIG: [Put("/add_bos_token", value=True)]})
