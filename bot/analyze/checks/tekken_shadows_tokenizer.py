"""tekken.json takes the place of tokenizer.json."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.picks import registered
from bot.analyze.model.templates import sources
from bot.analyze.model.tokens import needs_remote_code
from bot.analyze.wording import value

_FILE = "tekken.json"
CHECK = Check(
    title="tekken.json takes the place of tokenizer.json",
    says="makes some users' tokenizer come from another file",
    sees="a new tekken.json beside tokenizer.json in a folder whose model_type is one of Mistral's",
    why="transformers 5.15 and newer take `tekken.json` where mistral-common is installed, whatever `tokenizer_class` says "
    "(5.24.0 with mistral-common 1.13.1, run; 5.15.1 read), and sglang follows: `tokenizer.json` and the repository's chat template are then not read.",
    fix="Make sure that `tekken.json` holds the same tokens and that mistral-common's chat template is the one you mean, or leave the file out.",
    wrong_when="tekken.json was in force before, the model_type is not one of Mistral's, or the tokenizer is the repository's own code",
    severity="warning",
    engines=("transformers >= 5.15 with mistral-common", "sglang"),
    weighed="A warning, since nothing changes without mistral-common and Mistral's own repositories hold both files on purpose; no real pair of revisions added the file.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Look whether the file newly counts, and hides another."""
    if not _in_force(head) or _in_force(base) or not head.has("tokenizer.json"):
        return
    consolidated = any(n.startswith("consolidated") and n.endswith(".safetensors") for n in head.files)
    templates = " and the chat template" if sources(head).every else ""
    model_type = head.mapping("config.json").get("model_type")
    yield Seen(
        key=_FILE,
        title=f"{value(_FILE)} takes the place of {value('tokenizer.json')}{templates} for model_type {value(model_type)}",
        places=(head.place(_FILE),),
        # vLLM turns to mistral-common when consolidated*.safetensors is there as well (tokenizers/registry.py of 0.33.0, read)
        engines=(*CHECK.engines, "vllm") if consolidated else None,
    )


def _in_force(model: Model) -> bool:
    """Whether mistral-common would take the tokenizer from tekken.json."""
    model_type = model.mapping("config.json").get("model_type")
    return model.has(_FILE) and isinstance(model_type, str) and _is_mistral(model_type) and not needs_remote_code(model)


def _is_mistral(model_type: str) -> bool:
    """Whether transformers gives the model type to mistral-common where it is installed."""
    return registered(model_type) == "MistralCommonBackend"
