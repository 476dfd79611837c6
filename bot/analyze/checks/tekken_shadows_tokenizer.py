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
    sees="tekken.json and tokenizer.json newly side by side in a folder whose model_type is one of Mistral's",
    why="transformers 5.15 and newer take `tekken.json` where mistral-common is installed, whatever `tokenizer_class` says "
    "(5.24.0 with mistral-common 1.13.1, run; 5.15.1 read), and sglang follows: `tokenizer.json` and the repository's chat template are then not read.",
    fix="Make sure that `tekken.json` holds the same tokens and that mistral-common's chat template is the one you mean, or leave the file out.",
    wrong_when="both files were there before, the model_type is not one of Mistral's, or the tokenizer is the repository's own code",
    severity="warning",
    engines=("transformers >= 5.15 with mistral-common", "sglang"),
    weighed="A warning, and a note where tokenizer.json is the new one, since nothing changes without mistral-common and Mistral's own repositories hold both files on purpose; no real pair of revisions added either file.",
)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Look whether the file newly hides another, whichever of the two came."""
    if not _hides(head) or _hides(base):
        return
    consolidated = any(n.startswith("consolidated") and n.endswith(".safetensors") for n in head.files)
    templates = " and the chat template" if sources(head).every else ""
    model_type = head.mapping("config.json").get("model_type")
    yield Seen(
        key=_FILE,
        title=f"{value(_FILE)} takes the place of {value('tokenizer.json')}{templates} for model_type {value(model_type)}",
        places=(head.place(_FILE),),
        # Where tekken.json was there before, nobody who has mistral-common gets another tokenizer than before.
        severity="note" if base.has(_FILE) and not base.has("tokenizer.json") else None,
        # vLLM turns to mistral-common when consolidated*.safetensors is there as well (tokenizers/registry.py of 0.33.0, read)
        engines=(*CHECK.engines, "vllm") if consolidated else None,
    )


def _hides(model: Model) -> bool:
    """Whether mistral-common would take the tokenizer from tekken.json although there is a tokenizer.json."""
    model_type = model.mapping("config.json").get("model_type")
    mistral = isinstance(model_type, str) and _is_mistral(model_type)
    return mistral and model.has(_FILE) and model.has("tokenizer.json") and not needs_remote_code(model)


def _is_mistral(model_type: str) -> bool:
    """Whether transformers gives the model type to mistral-common where it is installed."""
    return registered(model_type) == "MistralCommonBackend"
