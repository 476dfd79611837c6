"""An id of a special token lies outside the vocabulary of the model."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.config import vocab_size
from bot.analyze.model.folder import Model
from bot.analyze.model.token_ids import TokenId, token_ids
from bot.analyze.model.tokens import tokens
from bot.analyze.records import Severity
from bot.analyze.wording import value
from bot.answer import Known

CHECK = Check(
    title="An id of a special token is outside the vocabulary",
    says="names a token id that the model has no row for",
    sees="a key such as pad_token_id, bos_token_id or image_token_index of config.json (its text_config included) or generation_config.json that is negative or not below vocab_size",
    why="A padding id outside the vocabulary is refused when the embedding is made, and any other raises `IndexError` or a CUDA assertion as soon as it is fed to the model.",
    fix="Name the id of the token that is meant, or take the key out.",
    wrong_when="the id belongs to another vocabulary (codec and speech units), no file says how large the vocabulary is, or it is an EOS id, which another check tells",
    severity="error",
    weighed="An error where the id is at or beyond the end; a warning for -1, which many older files use for a role that is not set and which transformers 5.12 and newer log, and "
    "for placeholders of images and sounds at or beyond the end, which some families replace before the embedding; a note for a negative placeholder and for one that the tokenizer has. "
    "In the real repositories that it was run over it is right each time: a padding id 32000 in a vocabulary of 32000.",
)

_UNSET = {"bos", "pad", "unk", "sep", "cls", "mask"}  # roles for which -1 stands in older files


def find(model: Model) -> Iterator[Seen]:
    """Compare each id with the size."""
    found, table = vocab_size(model), tokens(model)
    for token in token_ids(model):
        beyond = found is not None and token.id >= found[0]
        if token.name == "eos" or not (beyond or token.id < 0):
            continue
        why = f"is outside the vocabulary of {found[0]}" if beyond and found else "is negative"
        kept = isinstance(table, Known) and table.value.complete and token.id in table.value.texts
        yield Seen(
            key=f"{token.file}:{token.dotted}",
            title=f"{value(token.dotted)} {value(token.id)} of {value(token.file)} {why}",
            places=(token.place, found[1]) if beyond and found else (token.place,),
            severity=_severity(token, kept=kept),
            confidence="certain" if token.role else "likely",
            detail="" if token.id >= 0 else _NEGATIVE + (_PADDING if token.name == "pad" else _FED),
        )


# torch.nn.Embedding refuses a padding_idx at or beyond the number of rows, and adds that number to a negative one (torch/nn/modules/sparse.py, read).
_NEGATIVE = "transformers 5.12 and newer log that the id must lie within the vocabulary (run); "
_PADDING = (
    "the embedding counts it from the end, so that a token of the vocabulary is taken for padding, and `generate()` feeds the id to the model where "
    "sequences of a batch end early."
)
_FED = "looked up in the embedding it raises `IndexError`."


def _severity(token: TokenId, *, kept: bool) -> Severity:
    """`kept` says that the tokenizer has such a token: families with rows for images behind the vocabulary (Mllama) are like that."""
    if token.id >= 0:
        return "error" if token.role else "note" if kept else "warning"
    if not token.role:
        return "note"
    return "warning" if token.id == -1 and token.name in _UNSET else "error"
