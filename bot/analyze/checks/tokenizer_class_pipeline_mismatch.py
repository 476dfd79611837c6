"""tokenizer_class stands for another pipeline than tokenizer.json holds."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.picks import OF_SERVERS, built, picks, ranges
from bot.analyze.model.pipeline import pipeline, tokens_of
from bot.analyze.model.rebuilt import Difference, difference
from bot.analyze.model.tokens import refusal
from bot.analyze.records import Severity
from bot.analyze.wording import listed, value

_CONFIG, _FILE = "tokenizer_config.json", "tokenizer.json"
CHECK = Check(
    title="tokenizer_class stands for another pipeline than tokenizer.json holds",
    says="gives some transformers versions a tokenizer with other ids",
    sees="a tokenizer class that some version of transformers 5 picks and that builds its own normalizer and pre-tokenizer, which turn texts into other ids than those of tokenizer.json",
    why="Such a class takes vocabulary and merges from `tokenizer.json` and builds the rest itself (transformers 5.24.0 tokenization_utils_tokenizers.py:105, run); "
    "transformers 4, and versions of 5 that do not pick the class, take the file as it stands: the model gets ids that it was not trained with.",
    fix="Name the class that fits the file, or `PreTrainedTokenizerFast`, which takes the file as it stands on every version.",
    wrong_when="the class builds what the file holds, the tokenizers library refuses the file, or what differs is only how the beginning of a text is written in Llama's style",
    severity="error",
    engines=("transformers 5",),
    weighed="An error where nearly every text gets other ids; a warning where some do, a note where few do (a missing NFC, or other splits that the vocabulary does not show), and only if a version since 5.7 picks the class.",
)
_SEVERITIES: dict[str, Severity] = {"all": "error", "some": "warning", "few": "note"}
_ORDER = tuple(_SEVERITIES)
_HOW_MANY = {"all": "", "some": " for some texts", "few": " for few texts, if any,"}


def find(model: Model) -> Iterator[Seen]:
    """Compare the file with what the class of each version builds."""
    found, tokens = pipeline(model), tokens_of(model)
    if (
        found is None
        or tokens is None
        or any(name in model.files and not model.readable(name) for name in (_CONFIG, "config.json"))
    ):
        return
    config = model.mapping(_CONFIG)
    differences: dict[str, Difference] = {}
    by_version: dict[str, str] = {}
    for version, name in picks(model).items():
        pipe = built(name)
        different = difference(found, pipe, config, tokens.vocab) if pipe is not None else None
        if different is not None and (different.weight == "all" or _minor(version) >= 7):
            differences[name], by_version[version] = different, name
    if not differences or refusal(model):  # a file that cannot be loaded as it stands gives no other ids
        return
    name = min(differences, key=lambda name: _ORDER.index(differences[name].weight))
    worst = differences[name]
    versions = [version for version, picked in by_version.items() if picked == name]
    numbers = listed(ranges(versions))
    stated = next((file for file in (_CONFIG, "config.json") if model.mapping(file).get("tokenizer_class") is not None), None)
    place = model.place(stated, "/tokenizer_class") if stated else model.place("config.json", "/model_type")
    yield Seen(
        key="tokenizer_class",
        title=f"{value(name)} builds {value(worst.built)} where {value(_FILE)} has {value(worst.file)}: other ids{_HOW_MANY[worst.weight]} on transformers {numbers}",
        places=(place, model.place(_FILE, f"/{worst.part}")),
        severity=_SEVERITIES[worst.weight],
        confidence="certain" if worst.weight == "all" else "likely",
        engines=(f"transformers {numbers}", *(("vllm",) if OF_SERVERS in versions else ())),
    )


def _minor(version: str) -> int:
    return int(version.split(".")[1])
