"""The parts of a tokenizer.json around its vocabulary, as the file writes them: read from its bytes alone."""

from collections.abc import Iterator
from typing import Any, cast

import msgspec

Component = dict[str, Any]
DEEPEST = 20
_INNER = ("normalizers", "pretokenizers", "processors", "decoders")


class Options(msgspec.Struct, frozen=True):
    """The options of the model, without vocabulary and merges; UNSET for one that is left out."""

    type: Any = None
    byte_fallback: Any = msgspec.UNSET
    continuing_subword_prefix: Any = msgspec.UNSET
    dropout: Any = msgspec.UNSET
    end_of_word_suffix: Any = msgspec.UNSET
    fuse_unk: Any = msgspec.UNSET
    ignore_merges: Any = msgspec.UNSET
    max_input_chars_per_word: Any = msgspec.UNSET
    unk_token: Any = msgspec.UNSET


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
