"""The tokenizer of a model with learned positions has no limit."""

from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.config import FILE, pointer, shown, whole
from bot.analyze.model.folder import Model
from bot.analyze.rules.context import TOKENIZER, UNSET
from bot.analyze.wording import value

CHECK = Check(
    title="No limit for the texts of a model with learned positions",
    says="lets longer texts reach the model than it has positions for",
    sees="model_max_length of tokenizer_config.json absent, null or the sentinel 1e30 beside a config.json of a model type that looks positions up in a table",
    why="`truncation=True` of transformers then cuts nothing, and a text beyond `max_position_embeddings` raises `IndexError` in the position embedding.",
    fix="Write the number of positions into `model_max_length`.",
    wrong_when="positions are rotary or relative, the model's own code computes them, or config.json says nothing of their number",
    severity="warning",
    engines=("transformers",),
    weighed="A warning: only texts beyond the limit fail, and the caller may give a limit. Some real repositories never had one, so that only a lost one is told.",
)

# Model types of transformers 5.24.0 whose text model is made with nn.Embedding(config.max_position_embeddings, ...) or its older name
# and without rotary positions (models/*/modeling_*.py). DeBERTa is left out: most of its checkpoints have no such table.
_LEARNED = frozenset(
    [
        "albert",
        "bart",
        "bert",
        "bert-generation",
        "big_bird",
        "biogpt",
        "blenderbot",
        "blenderbot-small",
        "bros",
        "camembert",
        "clip_text_model",
        "convbert",
        "data2vec-text",
        "distilbert",
        "electra",
        "ernie",
        "gpt2",
        "gpt_bigcode",
        "gpt_neo",
        "ibert",
        "layoutlm",
        "layoutlmv2",
        "layoutlmv3",
        "lilt",
        "longformer",
        "luke",
        "markuplm",
        "mbart",
        "megatron-bert",
        "mobilebert",
        "mpnet",
        "mra",
        "nystromformer",
        "openai-gpt",
        "opt",
        "rembert",
        "roberta",
        "roberta-prelayernorm",
        "roc_bert",
        "splinter",
        "squeezebert",
        "visual_bert",
        "xlm-roberta",
        "xlm-roberta-xl",
        "xmod",
    ]
)

# Model types whose text tower is such a model, with its settings in text_config.
_OF_TWO_TOWERS = ("clip", "chinese_clip", "clipseg", "altclip", "groupvit", "owlvit", "owlv2", "siglip", "blip")


def find(model: Model) -> Iterator[Seen]:
    """Compare the limit with the kind of positions."""
    config, tokenizer = model.mapping(FILE), model.mapping(TOKENIZER)
    model_type = config.get("model_type")
    path = ("text_config",) if model_type in _OF_TWO_TOWERS else ()
    holder: Any = config.get("text_config") if path else config
    key = next((key for key in ("n_positions", "max_position_embeddings") if isinstance(holder, dict) and key in holder), "")
    learned = bool(path) or (isinstance(model_type, str) and model_type in _LEARNED)
    positions = whole(cast("dict[str, Any]", holder)[key]) if learned and key else None
    other = config.get("position_embedding_type", "absolute") != "absolute" or bool(config.get("auto_map"))
    if positions is None or positions <= 0 or other or not model.readable(TOKENIZER):
        return
    limit = tokenizer.get("model_max_length")
    unset = limit is None or (isinstance(limit, int | float) and limit >= UNSET)
    if unset:
        told = "no `model_max_length`" if limit is None else f"{value('model_max_length')} {value(shown(limit))}"
        yield Seen(
            key="model_max_length",
            title=f"{value(TOKENIZER)} has {told}, while {value(model_type)} has {positions} positions",
            places=(
                model.place(TOKENIZER, "/model_max_length" if limit is not None else ""),
                model.place(FILE, pointer(*path, key)),
            ),
        )
