"""Measure how long a large tokenizer.json takes to read for its facts, against a typed decode of the same bytes, and print the ratio.

usage: python -m tools.bench_reading [FILE]

Without FILE a byte-level BPE tokenizer of 33 MB is made up. The facts are everything that judging a changed file needs: its tokens and their ids,
the parts around the vocabulary, whether the library takes them and the merges. The typed decode gives added tokens, vocabulary and merges. The
second figure shows that a blob which base and head share is read once.
"""

import gc
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from bot.analyze.model.folder import Model
from bot.analyze.model.pipeline import pipeline
from bot.analyze.model.reader import Reader
from bot.analyze.model.tokens import refusal, tokens
from bot.place import Revision
from bot.snapshot import File
from tools import bench

ROUNDS = 7
TARGET = 3.0
BYTES = 33_000_000


class _Added(msgspec.Struct):
    id: int
    content: str
    special: bool
    single_word: bool
    lstrip: bool
    rstrip: bool
    normalized: bool


class _Model(msgspec.Struct):
    vocab: dict[str, int] | list[tuple[str, float]]
    merges: list[str | tuple[str, str]] = []


class _File(msgspec.Struct):
    added_tokens: list[_Added]
    model: _Model


def model(reader: Reader, revision: Revision) -> Model:
    """A model folder that holds the file alone."""
    return Model(revision, ".", ".", {"tokenizer.json": File("tokenizer.json", oid="1", content="1")}, reader)


def read(reader: Reader, revision: Revision = "head") -> None:
    """Work out the facts of the file."""
    folder = model(reader, revision)
    for fact in (refusal, tokens, pipeline):
        fact(folder)


def seconds(act: Callable[[], Any]) -> float:
    """How long an act takes, with giving up what it made; the collector of cycles rests as in the process that reads repositories."""
    gc.collect()
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def main() -> int:
    """Print medians and ratio; 1 when the ratio is over its target."""
    content = Path(sys.argv[1]).read_bytes() if sys.argv[1:] else bench.tokenizer_json(BYTES).encode()
    gc.disable()
    decode, once, twice = list[float](), list[float](), list[float]()
    for _ in range(ROUNDS):  # in turns, so that a busy minute hits all
        decode.append(seconds(lambda: msgspec.json.decode(content, type=_File)))
        reader = Reader({"1": lambda: content})
        once.append(seconds(lambda reader=reader: read(reader)))
        twice.append(seconds(lambda reader=reader: read(reader, "base")))
    a, b, c = (statistics.median(times) for times in (once, decode, twice))
    print(f"tokenizer.json {len(content) / 1e6:.1f} MB; medians of {ROUNDS} rounds in one process")
    print(f"reading it for its facts                {a:6.2f} s  ({min(once):.2f} to {max(once):.2f})")
    print(f"the same blob in the other revision     {c:6.2f} s")
    print(f"typed decode by msgspec                 {b:6.2f} s  ({min(decode):.2f} to {max(decode):.2f})")
    print(f"ratio                                   {a / b:6.2f}     (at most {TARGET:g})")
    return 0 if a / b <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
