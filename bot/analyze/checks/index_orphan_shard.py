"""A weight file stands beside the index and is not in it."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.weights import orphans
from bot.analyze.wording import listed, value

CHECK = Check(
    title="A weight file is not in the index",
    says="leaves a weight file that the index does not name",
    sees="a file of the same format as an index beside it, called as the model's files are (`model.safetensors`, `model-00001-of-00002.safetensors`, `model…`), "
    "that no `weight_map` of the folder names",
    why="Loaders that take every file by its ending or its first letters (mlx-lm, TGI, converters to GGUF) load it as well, transformers takes `model.safetensors` "
    "before any index (5.24.0 modeling_utils.py:591-604), and the others read only what the index names.",
    fix="Delete the file, or write the index anew.",
    wrong_when="it is of another format, an adapter, a variant such as `model.fp16.safetensors`, Mistral's `consolidated.safetensors`, or called otherwise than the model",
    severity="warning",
    engines=("transformers", "mlx-lm", "tgi"),
    weighed="Only names are compared, so that a file that is meant to be apart must not be called as the model's own; no folder of the corpus holds weights.",
)


def find(model: Model) -> Iterator[Seen]:
    """One finding for each index."""
    for index, files in orphans(model).items():
        yield _seen(model, index, files, index)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Files that came to those that were left out of the index in base already."""
    before = orphans(base)
    for index, files in orphans(head).items():
        more = [file for file in files if file not in before.get(index, files)]
        if more:
            yield _seen(head, index, more, f"{index}:more")


def _seen(model: Model, index: str, files: list[str], key: str) -> Seen:
    return Seen(
        key=key,
        title=f"{listed((value(file) for file in files), 4)} {'is' if len(files) == 1 else 'are'} not in {value(index)}",
        places=(*(model.place(file) for file in files[:8]), model.place(index, "/weight_map")),
    )
