"""The index of the weights names files that are not there."""

from collections.abc import Iterable, Iterator

from bot.analyze.checks.check import Check, Seen
from bot.analyze.model.folder import Model
from bot.analyze.model.pointers import pointer
from bot.analyze.model.weights import has_loadable_weights, has_weights, indexes, missing
from bot.analyze.wording import listed, value

CHECK = Check(
    title="The weight index names files that are not there",
    says="leaves the model without weights that its index names",
    sees="a file in `weight_map` of an index (`model.safetensors.index.json`, `pytorch_model.bin.index.json`, …) without a file of that name beside it",
    why="transformers opens every file of the index and raises OSError (5.24.0 utils/hub.py:968-990, run), vLLM finds no tensors for those layers, and some loaders fill them with noise.",
    fix="Add the files, or write the index anew.",
    wrong_when="the files are Git LFS pointers, they stand in another folder, or the folder holds no weights at all and held none in base, as a copy of the metadata does",
    severity="error",
    weighed="An absent file is a fact of the tree, so an error; an index that nobody reads gets a note: of a format that comes second to complete safetensors, or newly beside GGUF or ONNX files alone. "
    "All indexes of the corpus stand in copies of the metadata, where the check is silent.",
)


# Nobody opens these indexes but who asks for that format; transformers takes safetensors where there are any (modeling_utils.py:591-619 in 5.24.0).
_SECOND = "transformers and vLLM take the complete safetensors and do not open this index; loaders that are asked for the other format fail."
_LEFT = "Loaders of the other files (GGUF, ONNX, …) do not read it; transformers raises OSError for who takes the folder for one of its own."


def find(model: Model) -> Iterator[Seen]:
    """Look every file of every index up."""
    for index, files in missing(model).items() if has_loadable_weights(model) else ():
        yield _seen(model, index, files, index, _SECOND if _second(model, index) else "")


def find_in_change(base: Model, head: Model) -> Iterator[Seen]:
    """What a look at head alone does not show: that more files went than were missing before, or all weights that the index is for."""
    before = missing(base)
    for index, files in missing(head).items():
        gone = [file for file in files if file not in before.get(index, ()) and file not in head.went]
        told = bool(before.get(index))  # of base, under the name of the index
        if gone and has_weights(base) and (told or not has_loadable_weights(head)):
            left = not has_loadable_weights(base) and not has_loadable_weights(head)
            why = _LEFT if left else _SECOND if _second(head, index) else ""
            yield _seen(head, index, gone, f"{index}:more" if told else index, why)


def _seen(model: Model, index: str, files: Iterable[str], key: str, why: str) -> Seen:
    """One finding; with a text of its own, why it matters little, it is a note."""
    files = list(files)
    every = indexes(model)[index]
    are = "is" if len(files) == 1 else "are"
    count = f"{len(files)} of {len(every)} files: " if len(files) > 1 else ""
    return Seen(
        key=key,
        title=f"{value(index)} names {count}{listed((value(file) for file in files), 4)}, which {are} not there",
        detail=why,
        places=(model.place(index, pointer("weight_map", every[files[0]])),),
        severity="note" if why else "error",
    )


def _second(model: Model, index: str) -> bool:
    """Whether complete safetensors come before this index."""
    complete = model.has("model.safetensors") or any(
        name.endswith(".safetensors.index.json") and not any(not model.has(file) for file in files)
        for name, files in indexes(model).items()
    )
    return complete and ".safetensors.index." not in index
