"""A weight file stands beside the index and is not in it."""

from collections.abc import Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.weights import orphans
from bot.analyze.wording import listed, value

CHECK = Check(
    title="A weight file is not in the index",
    says="leaves a weight file that the index does not name",
    sees="a file of the same format as an index beside it (`model.safetensors`, `model-00001-of-00002.safetensors`, `mtp.safetensors`, …) that no `weight_map` of the folder names",
    why="Loaders that take every file by its first letters (mlx-lm, converters to GGUF) or its ending (TGI) load it as well, transformers takes `model.safetensors` "
    "before any index (5.24.0 modeling_utils.py:591-604), and the others read only what the index names.",
    fix="Delete the file, or write the index anew.",
    wrong_when="it is of another format, an adapter, a variant such as `model.fp16.safetensors`, Mistral's `consolidated.safetensors`, or the state of a trainer",
    severity="warning",
    engines=("transformers", "mlx-lm", "tgi"),
    weighed="Only names are compared, so that a file that is not called as the model's own, which may be meant to be apart, gets a note; no folder of the corpus holds weights.",
)

# TGI 0a6ea7f, server/text_generation_server/utils/hub.py:42-77 (read): every file of the folder with the ending, but adapters and arguments.
_OTHER = "Loaders that take every file by its ending (TGI) load it as well; those that read what the index names, such as transformers, do not see its tensors."


def find(model: Model) -> Iterator[Seen]:
    """One finding for each index."""
    for index, files in orphans(model).items():
        yield _seen(model, index, files, index)


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """Files that came to those that were left out of the index in base already."""
    before = orphans(base)
    for index, files in orphans(head).items():
        more = {file: own for file, own in files.items() if file not in before.get(index, files)}
        if more:
            yield _seen(head, index, more, f"{index}:more")


def _seen(model: Model, index: str, files: dict[str, bool], key: str) -> Seen:
    own = any(files.values())
    return Seen(
        key=key,
        title=f"{listed((value(file) for file in files), 4)} {'is' if len(files) == 1 else 'are'} not in {value(index)}",
        detail="" if own else _OTHER,
        places=(*(model.place(file) for file in list(files)[:8]), model.place(index, "/weight_map")),
        severity=None if own else "note",
        engines=None if own else ("tgi",),
    )
