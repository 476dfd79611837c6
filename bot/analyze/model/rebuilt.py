"""How a pipeline that a tokenizer class builds differs from the one that tokenizer.json holds.

A class with an __init__ of its own takes vocabulary, merges, post-processor and a precompiled charsmap from the file and builds the rest
(transformers 5.24.0, tokenization_utils_tokenizers.py:105-180, run).
"""

import re
from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from bot.analyze.model.picks import BuiltPipeline
from bot.analyze.model.tokenizer_parts import Component, Pipeline, steps

SINGLE_DIGITS = "single digits"
SPACE = "\u2581"  # ▁, which stands for a space in SentencePiece vocabularies
# What ByteLevel splits by when it does so itself (tokenizers 0.23.3, pre_tokenizers/byte_level.rs; the oracle compares both).
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_WORD = re.compile("\u0120?[A-Za-z]+|<0x[0-9A-F]{2}>")  # Ġ stands for a space
Weight = Literal["all", "some", "few"]


class Difference(msgspec.Struct, frozen=True):
    """What differs, as words for the file and for the class.

    `weight` tells whether nearly "all" texts get other ids, "some" (with numbers, contractions, …), or "few" if any.
    """

    weight: Weight
    file: str
    built: str
    part: str = "pre_tokenizer"


class _Shape(msgspec.Struct, frozen=True):
    """What decides about ids: how characters are written, which text changes come first, where texts are split, what is put in front."""

    alphabet: str
    changes: tuple[str, ...]
    splits: tuple[str, ...]
    front: str


def difference(found: Pipeline, built: BuiltPipeline, config: Component, vocab: Iterable[str] = ()) -> Difference | None:
    """The greatest difference, None when there is none that is known to change ids.

    `config` are the values of tokenizer_config.json, `vocab` the pieces of the vocabulary.
    """
    if isinstance(found.model.type, str) and found.model.type != built.model:
        return Difference("all", f"a {found.model.type} model", f"a {built.model} model", "model")
    ours, theirs = _shape(found.normalizer, found.pre_tokenizer), _shape(built.normalizer, built.pre_tokenizer)
    if "" in (ours.alphabet, theirs.alphabet):
        return None
    if ours.alphabet != theirs.alphabet:
        return Difference("all", ours.alphabet, theirs.alphabet)
    if built.model != "BPE":
        return None  # their options come from tokenizer_config.json and the charsmap
    front = _front(config, theirs, built)
    if ours.front and front and ours.front != front:
        return Difference("some", f"{ours.front} before a text", f"{front} before a text")
    # A vocabulary made of single digits has no longer number to be found where digits are not split off.
    if theirs.splits not in (ours.splits, tuple(split for split in ours.splits if split != SINGLE_DIGITS)):
        # All patterns leave words whole: a vocabulary of nothing else does not show where they split.
        shown = any(not _WORD.fullmatch(piece) for piece in vocab if len(piece) > 1)
        return Difference("some" if shown else "few", _words(ours.splits), _words(theirs.splits))
    if ours.changes != theirs.changes:
        lossy = set(ours.changes) ^ set(theirs.changes) <= {"NFC"}
        return Difference("few" if lossy else "some", _words(ours.changes), _words(theirs.changes), "normalizer")
    return None


def _shape(normalizer: Any, pre_tokenizer: Any) -> _Shape:
    before, splitters = list(steps(normalizer)), list(steps(pre_tokenizer))
    names = [step.get("type") for step in splitters]
    marks = [step for step in before if _marks(step)]
    alphabet = ""
    if "ByteLevel" in names or any(step.get("type") == "ByteLevel" for step in before):
        alphabet = "byte-level"
    elif "Metaspace" in names or marks:
        alphabet = f"{SPACE} for spaces"
    elif "BertPreTokenizer" in names:
        alphabet = "words and punctuation"
    changes = tuple(
        _change(step) for step in before if step not in marks and step.get("type") not in ("ByteLevel", "Precompiled")
    )
    splits = tuple(filter(None, map(_split, splitters)))
    front = (
        _front_of_bytes(splitters)
        if alphabet == "byte-level"
        else _front_of_mark(marks, splitters)
        if alphabet[:1] == SPACE
        else ""
    )
    return _Shape(alphabet, changes, splits, front)


def _marks(step: Component) -> bool:
    """Whether a normalizer writes ▁ for a space or in front of a text."""
    if step.get("type") == "Replace":
        return step.get("pattern") == {"String": " "} and step.get("content") == SPACE
    return step.get("type") == "Prepend" and step.get("prepend") == SPACE


def _change(step: Component) -> str:
    match step:
        case {"type": "Replace", "pattern": {"String": str(old)} | {"Regex": str(old)}, "content": str(new)}:
            return f"Replace {old} by {new}"
        case _:
            return _named(step)


def _split(step: Component) -> str:
    """Where a pre-tokenizer splits; "" for one that does not, or only at spaces that are ▁ by then."""
    match step:
        case {"type": "ByteLevel", "use_regex": False} | {"type": "Metaspace"}:
            return ""
        case {"type": "ByteLevel"}:
            return "the pattern of GPT-2"
        case {"type": "Split", "pattern": {"String": " "}}:
            return ""
        case {"type": "Split", "pattern": {"Regex": str(pattern)} | {"String": str(pattern)}}:
            return "the pattern of GPT-2" if pattern == GPT2 else f"the pattern {pattern}"
        case {"type": "Digits", "individual_digits": single}:
            return SINGLE_DIGITS if single is True else "digits"
        case _:
            return _named(step)


def _named(step: Component) -> str:
    name = step.get("type")
    return name if isinstance(name, str) else "a component without a name"


def _front_of_bytes(splitters: list[Component]) -> str:
    first = next((step for step in splitters if step.get("type") == "ByteLevel"), {})
    return "a space" if first.get("add_prefix_space") is True else "nothing"


def _front_of_mark(marks: list[Component], splitters: list[Component]) -> str:
    for step in splitters:
        if step.get("type") == "Metaspace":
            return "nothing" if step.get("prepend_scheme") == "never" or step.get("add_prefix_space") is False else SPACE
    return SPACE if any(step.get("type") == "Prepend" for step in marks) else "nothing"


def _front(config: Component, shape: _Shape, built: BuiltPipeline) -> str:
    """What the class puts in front, given the option of tokenizer_config.json; one that only replaces spaces (Gemma) does not take it."""
    option = config.get("add_prefix_space")
    takes = any(step.get("type") in ("ByteLevel", "Metaspace") for step in steps(built.pre_tokenizer))
    if not isinstance(option, bool) or not takes:
        return shape.front
    space = "a space" if shape.alphabet == "byte-level" else SPACE
    return space if option else "nothing"


def _words(parts: tuple[str, ...]) -> str:
    return ", then ".join(parts) or "nothing"
