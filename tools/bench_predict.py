"""Measure what predicting every version of every engine costs for a folder with an 11 MB tokenizer.json, against json.loads of that file, and print the ratio.

The file is read for its facts first, as a comparison does in any case (see tools/bench_reading.py); what is measured is what the predictions add to that.
"""

import gc
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bot.analyze.engines.choice import ALL, Chosen, choose
from bot.analyze.model.folder import Model
from bot.analyze.model.reader import Reader
from bot.analyze.model.tokens import refusal, tokens
from bot.snapshot import File
from tools import bench

ROUNDS = 7
TARGET = 1.0


def model(folder: Path) -> Model:
    """A folder in memory, with nothing worked out yet."""
    contents = {path.name: path.read_bytes() for path in folder.iterdir()}
    files = {name: File(name, oid=name, size=len(content), content=name) for name, content in contents.items()}
    return Model("head", ".", ".", files, Reader({name: lambda content=content: content for name, content in contents.items()}))


def seconds(action: Callable[[], object]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def round_of(folder: Path, every: tuple[Chosen, ...]) -> tuple[float, float, float]:
    """Seconds for json.loads of the file, for reading it, and for all predictions after that."""
    text = (folder / "tokenizer.json").read_text("utf-8")
    ours = model(folder)
    return (
        seconds(lambda: json.loads(text)),
        seconds(lambda: (tokens(ours), refusal(ours))),
        seconds(lambda: [chosen.engine.predict(ours, chosen.version) for chosen in every]),
    )


def main() -> int:
    """Print medians and ratio; 1 when the ratio is over its target."""
    gc.disable()  # as the process that analyzes does
    every = choose([ALL])
    with tempfile.TemporaryDirectory(prefix="drift-bench-") as name:
        folder, _ = bench.write_pair(Path(name))
        size = (folder / "tokenizer.json").stat().st_size / 1e6
        small = model(folder)
        for chosen in every:  # tables are taken apart once per process
            chosen.engine.predict(small, chosen.version)
        rounds = [round_of(folder, every) for _ in range(ROUNDS)]
    loads, reading, predicting = (statistics.median(each) for each in zip(*rounds, strict=True))
    print(f"tokenizer.json {size:.1f} MB, {len(every)} versions of engines; medians of {ROUNDS} rounds in one process")
    print(f"json.loads of the file                  {loads:6.2f} s")
    print(f"reading it for its facts                {reading:6.2f} s")
    print(f"predicting everything after that        {predicting:6.2f} s")
    print(f"ratio of predicting to json.loads       {predicting / loads:6.3f}    (at most {TARGET})")
    return 0 if predicting / loads <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
