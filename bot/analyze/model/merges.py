"""The merges of a BPE tokenizer.json, held against its vocabulary."""

from itertools import chain, repeat, starmap
from operator import add, contains
from typing import Any

import msgspec

from bot.analyze.model.misfit import words

Pair = tuple[str, str]


class Merges(msgspec.Struct, frozen=True):
    """The merges as the file writes them. `certain` says that it names BPE as its model, `prefix` that pieces inside a word have one."""

    text: msgspec.Raw
    certain: bool = True
    prefix: bool = False


def stray_merge(merges: Merges, vocab: dict[str, int]) -> str:
    """What the merges need and the vocabulary does not have, or what is wrong with their shape; "" where nothing is."""
    for shape, known in ((list[Pair], _pairs_known), (list[str], _strings_known)):
        try:
            rows: Any = msgspec.json.decode(merges.text, type=shape)
        except msgspec.DecodeError:
            continue
        # Whole lists are compared first: half a million merges take a while one by one.
        return "" if merges.prefix or known(rows, vocab) else _first_stray(rows, vocab)
    return _misshapen(merges)


def taken_merge(merges: Merges, vocab: dict[str, int]) -> str:
    """As `stray_merge`, for a class of transformers that takes the merges over: it goes through the keys of an object as well."""
    try:
        rows = list(msgspec.json.decode(merges.text, type=dict[str, msgspec.Raw]))
    except msgspec.DecodeError:
        return stray_merge(merges, vocab)
    return _first_stray(rows, vocab)


def stray_line(lines: list[str], vocab: dict[str, int]) -> str:
    """As `stray_merge`, for the lines of a merges.txt."""
    return "" if _strings_known(lines, vocab) else _first_stray(lines, vocab)


def _pairs_known(pairs: list[Pair], vocab: dict[str, int]) -> bool:
    return set(chain.from_iterable(pairs)) <= vocab.keys() and all(map(vocab.__contains__, starmap(add, pairs)))


def _strings_known(texts: list[str], vocab: dict[str, int]) -> bool:
    """Whether every text is a pair of pieces that form a piece; False where one has to look at each."""
    joined = "\n".join(texts)
    lines = joined.count("\n") + 1 == len(texts)  # a piece may hold a line end
    if not lines or joined.count(" ") != len(texts) or not all(map(contains, texts, repeat(" "))):
        return not texts
    known = vocab.__contains__
    return all(map(known, joined.replace(" ", "").split("\n"))) and all(map(known, joined.replace("\n", " ").split(" ")))


def _first_stray(merges: list[str] | list[Pair], vocab: dict[str, int]) -> str:
    for merge in merges:
        if isinstance(merge, str) and merge.startswith("#version"):
            continue  # the first line of a merges.txt
        pair = merge if isinstance(merge, tuple) else tuple(merge.split(" "))
        if len(pair) != 2:
            return f"its merge {merge!r} is no pair"
        left, right = pair
        if left not in vocab or right not in vocab or left + right not in vocab:
            piece = next(piece for piece in (left, right, left + right) if piece not in vocab)
            return f"its merges need {piece!r}, which is not in the vocabulary"
    return ""


def _misshapen(merges: Merges) -> str:
    """Why the merges are neither strings nor pairs; a file that does not name its model may be of another one."""
    if not merges.certain:
        return ""
    try:
        msgspec.json.decode(merges.text, type=list[str | Pair])
    except msgspec.DecodeError as error:
        return words(error, "its list of merges")
    return "its merges are strings and pairs in one list"
