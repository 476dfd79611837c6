"""What a tokenizer.json does besides its vocabulary: the steps around the model, which tokens it adds, where it cuts and fills."""

from collections.abc import Iterator
from typing import Any, cast

from bot.analyze.model.folder import Model
from bot.analyze.model.tokenizer_file import TokenizerFile
from bot.analyze.model.tokenizer_parts import Component, Pipeline, steps
from bot.analyze.model.tokens import tokenizer_file
from bot.answer import Known


def pipeline(model: Model) -> Pipeline | None:
    """The pipeline of a folder's tokenizer.json; None when there is no tokenizer that could be read."""
    file = tokens_of(model)
    return file.parts if file is not None else None


def tokens_of(model: Model) -> TokenizerFile | None:
    """The tokens of a tokenizer.json that could be read and is one."""
    file = tokenizer_file(model)
    return file.value if isinstance(file, Known) and isinstance(file.value, TokenizerFile) else None


def prefix(pipeline: Pipeline) -> tuple[str, ...]:
    """The tokens that the post-processor puts in front of a single text, by the strings that the file gives them.

    Processors of a sequence work one after the other on what the one before made, so that a later one stands further out.
    """
    found: tuple[str, ...] = ()
    for step in steps(pipeline.post_processor):
        found = (*_before(step), *found)
    return found


def _before(step: Component) -> tuple[str, ...]:
    """What one processor puts in front."""
    if step.get("type") in ("BertProcessing", "RobertaProcessing"):
        cls: Any = step.get("cls")
        named = isinstance(cls, list) and bool(cast("list[Any]", cls)) and isinstance(cls[0], str)
        return (cls[0],) if named else ()
    single: Any = step.get("single")
    if step.get("type") != "TemplateProcessing" or not isinstance(single, list):
        return ()
    found: list[str] = []
    for piece in cast("list[Any]", single):
        special: Any = cast("Component", piece).get("SpecialToken") if isinstance(piece, dict) else None
        if not isinstance(special, dict):
            break  # the text itself
        found.extend(_texts(step, cast("Component", special).get("id")))
    return tuple(found)


def _texts(step: Component, name: Any) -> Iterator[str]:
    """The tokens that a special token of a template stands for; it may stand for several."""
    table: Any = step.get("special_tokens")
    row: Any = cast("Component", table).get(name) if isinstance(table, dict) and isinstance(name, str) else None
    texts: Any = cast("Component", row).get("tokens") if isinstance(row, dict) else None
    for text in cast("list[Any]", texts) if isinstance(texts, list) else ():
        if isinstance(text, str):
            yield text
