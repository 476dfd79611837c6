"""What a tokenizer.json does besides its vocabulary: the steps around the model, which tokens it adds, where it cuts and fills."""

from collections.abc import Iterator
from typing import Any, cast

import msgspec

from bot.analyze.model.folder import Model, fact
from bot.analyze.model.tokenizer_file import TokenizerFile
from bot.analyze.model.tokens import tokenizer_file
from bot.answer import Known

Component = dict[str, Any]
DEEPEST = 20
_INNER = ("normalizers", "pretokenizers", "processors", "decoders")


class Options(msgspec.Struct, frozen=True):
    """The options of the model that decide about ids, without vocabulary and merges."""

    type: Any = None
    byte_fallback: Any = None


class Pipeline(msgspec.Struct, frozen=True, eq=False):
    """The parts of a tokenizer.json around its vocabulary, as parsed; None where there is none."""

    normalizer: Any = None
    pre_tokenizer: Any = None
    post_processor: Any = None
    decoder: Any = None
    truncation: Any = None
    padding: Any = None
    model: Options = msgspec.field(default_factory=Options)


class _Listed(msgspec.Struct):
    added_tokens: msgspec.Raw = msgspec.Raw()


class _Merges(msgspec.Struct):
    merges: list[Any] = []


class _MergesFile(msgspec.Struct):
    model: _Merges


@fact
def pipeline(model: Model) -> Pipeline | None:
    """The pipeline of a folder's tokenizer.json; None when there is no tokenizer that could be read."""
    if not isinstance(tokens_of(model), TokenizerFile):
        return None
    answer = model.parsed("tokenizer.json", _pipeline)
    return answer.value if isinstance(answer, Known) else None


def tokens_of(model: Model) -> TokenizerFile | None:
    """The tokens of a tokenizer.json that could be read and is one."""
    file = tokenizer_file(model)
    return file.value if isinstance(file, Known) and isinstance(file.value, TokenizerFile) else None


def _pipeline(content: bytes) -> Pipeline | None:
    try:
        return msgspec.json.decode(content, type=Pipeline)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def merge_shape(content: bytes) -> str:
    """How a file writes its merges: "strings" ("a b"), "pairs" (["a", "b"]), "mixed", which the library refuses, or "" for none."""
    try:
        merges = msgspec.json.decode(content, type=_MergesFile).model.merges
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    kinds = {type(merge) for merge in merges}
    if kinds == {str, list}:
        return "mixed"
    return {str: "strings", list: "pairs"}.get(kinds.pop(), "") if len(kinds) == 1 else ""


def lists_added_tokens(content: bytes) -> bool:
    """Whether a file has the key added_tokens, be it empty; True for one that cannot be read."""
    try:
        return bool(bytes(msgspec.json.decode(content, type=_Listed).added_tokens))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return True


def steps(component: Any, depth: int = 0) -> Iterator[Component]:
    """The components of a part in the order in which they work, sequences laid open."""
    if not isinstance(component, dict) or depth > DEEPEST:
        return
    row = cast("Component", component)
    if row.get("type") != "Sequence":
        yield row
    for key in _INNER if row.get("type") == "Sequence" else ():
        inner = row.get(key)
        for one in cast("list[Any]", inner) if isinstance(inner, list) else ():
            yield from steps(one, depth + 1)


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
