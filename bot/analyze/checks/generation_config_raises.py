"""A value of generation_config.json that makes loading raise."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.config import pointer
from bot.analyze.model.document import Document
from bot.analyze.model.folder import Model
from bot.analyze.rules.generation_config import refusals
from bot.analyze.wording import value
from bot.answer import Known

FILE = "generation_config.json"
CHECK = Check(
    title="generation_config.json holds a value that is refused",
    says="keeps some engines from loading the model",
    sees="a value that GenerationConfig of transformers raises for while it loads, such as max_new_tokens 0, several return sequences without "
    "sampling or beams, an unknown cache_implementation or an argument of generate()",
    why="The model does not load with transformers: ValueError or TypeError from `GenerationConfig`, and vLLM 0.33.0 and sglang 0.5.23 do not start, "
    "because they forgive only a file that is absent or no JSON.",
    fix="Correct the value, or take the key out.",
    wrong_when="the value is only ignored, such as a temperature without do_sample, or the file is no JSON, which engines take for an absent file",
    severity="error",
    engines=("transformers", "vllm", "sglang"),
    weighed="An error, and certain: the rule is compared with the real class on generated files, and it refuses no file of the real repositories it was run over.",
)


def find(model: Model) -> Iterator[Seen]:
    """Go through the rules of the class."""
    document = model.document(FILE)
    if not isinstance(document, Known) or not isinstance(document.value, Document):
        return
    for refusal in refusals(document.value.value):
        yield Seen(
            key=refusal.key or FILE,
            title=f"{refusal.why}: {value(FILE)} is refused" if refusal.key else f"{value(FILE)} {refusal.why} and is refused",
            places=(model.place(FILE, pointer(refusal.key) if refusal.key else ""),),
            engines=None if refusal.everywhere else ("transformers 5", "vllm", "sglang"),
            detail="" if refusal.everywhere else _ONLY_5,
        )


_ONLY_5 = "The model does not load with transformers 5.24.0, and vLLM and sglang releases on such a transformers do not start; 4.57.6 takes the value."
