"""The process that reads a repository: one exchange folder in, one comparison as JSON on standard output.

Started by bot/analyze/jail.py. It confines itself before it opens the first content.
"""

import codecs
import gc
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bot.analyze import data
from bot.analyze.checks.check import checks
from bot.analyze.claims import claims
from bot.analyze.comparison import compare
from bot.analyze.engines.prediction import engines
from bot.analyze.limits import confine, room
from bot.analyze.model import card, patterns
from bot.analyze.model.reader import Reader
from bot.analyze.records import Comparison, SettingsChange, Unchecked
from bot.analyze.render import render
from bot.analyze.rules import encoding
from bot.analyze.watch import ALL_SECONDS, WATCH
from bot.place import Place
from bot.snapshot import SETTINGS, Change, Exchange, SettingsFile, Task

if TYPE_CHECKING:
    from bot.analyze.inspection import Inspection
    from bot.analyze.predictions import Predictions
    from bot.analyze.renderings import Renderings

SECONDS = 60
MEMORY = 3 << 30
ROOM = 512 << 20  # for a template


def main() -> None:
    """Compare, judge or describe the folder named on standard input, and print the record that this gives.

    Each template is named on standard error before work on it starts, and "-" after it.
    """
    _warm()
    folder = Path(sys.stdin.readline().rstrip("\n"))
    exchange = Exchange.load(folder)
    reader = Reader.of_open_folder(folder / "contents")
    _warm_for(exchange)
    describe = _describer(exchange.task)
    gc.disable()  # a short life within a limit of memory: looking for cycles among a million tokens takes longer than reading them
    WATCH.room = room(ROOM)
    missing = confine(seconds=SECONDS, memory=MEMORY)
    WATCH.note = _note
    WATCH.seconds = ALL_SECONDS
    WATCH.refused = frozenset(exchange.unrenderable)
    said = tuple(Unchecked(kind="check", id="jail", folder=".", reason=reason, changed=False) for reason in missing)
    answer = describe(exchange, reader, said) if describe else _compared(exchange, reader, said)
    sys.stdout.buffer.write(msgspec.json.encode(answer))
    sys.stdout.buffer.flush()
    os._exit(0)  # taking a vocabulary apart again takes as long as reading it


def _compared(exchange: Exchange, reader: Reader, said: tuple[Unchecked, ...]) -> Comparison:
    comparison = compare(exchange, reader)
    if exchange.settings is not None:
        comparison = msgspec.structs.replace(comparison, settings_changed=_settings_change(exchange.settings, reader))
    if not said:
        return comparison
    verdict = msgspec.structs.replace(comparison.verdict, unchecked=comparison.verdict.unchecked + len(said))
    return msgspec.structs.replace(comparison, unchecked=(*comparison.unchecked, *said), verdict=verdict)


def _settings_change(file: SettingsFile, reader: Reader) -> SettingsChange:
    """What head does to the settings, and why they would be refused if they were base's."""
    from bot.settings_change import refused  # noqa: PLC0415 - few pull requests change them

    error = f"{SETTINGS}: {file.unread}" if file.unread else refused(reader.raw(file.content)) if file.content else ""
    return SettingsChange(change=file.change, error=error)


def _describer(task: Task) -> "Callable[[Exchange, Reader, tuple[Unchecked, ...]], Inspection | Predictions | Renderings] | None":
    """What describes, predicts or renders a revision, imported and warmed up where that is the task."""
    if task in ("predict", "render"):
        encoding.warm()
        if task == "render":
            from bot.analyze.rendering import render as render_revision  # noqa: PLC0415 - no comparison needs it

            return render_revision
        from bot.analyze.predict import predict  # noqa: PLC0415 - as above

        return predict
    if task != "inspect":
        return None
    from bot.analyze.describe import inspect  # noqa: PLC0415 - no comparison needs it

    return inspect


def _warm() -> None:
    """Do once what imports or reads files on first use: afterwards they may be out of reach."""
    data.fetch()
    checks()
    engines()
    for codec in ("unicode-escape", "utf-8", "latin-1", "ascii", "punycode", "idna"):
        codecs.lookup(codec)
    for module in ("html", "jinja2.constants"):  # what filters and functions of Jinja import when they are used
        importlib.import_module(module)
    user = ({"role": "user", "content": "Hi"},)
    every = (
        "{% for m in messages %}{{ m.content|trim ~ '\\n' }}{{ m|tojson(indent=1) }}{{ strftime_now('%d %b %Y') }}{% endfor %}"
    )
    for text in (every, "{{ nothing.at_all }}"):  # one that fails brings what every failure needs
        render(text, user, {})


def _warm_for(exchange: Exchange) -> None:
    """Import what only this exchange needs: a Markdown parser where texts name commits, YAML where a model card may newly be at fault."""
    if card.changed(exchange):
        card.read(b"---\na: b: c\n---\n")
    if _reads_tokenizers(exchange):
        patterns.warm()
    if _counts_tokens(exchange):
        encoding.warm()
    if exchange.settings is not None:
        importlib.import_module("bot.settings_change").refused(b"folders: ['*']\nengines: [all]\nseverity: {}\nsuppress: [{}]\n")
    if exchange.change.commits:
        text = "See commit `abc1234` in [this](https://example.com/a/b/commit/abc1234).\n\n- one\n"
        claims({Place("head", "README.md"): text}, Change())


def _reads_tokenizers(exchange: Exchange) -> bool:
    """Whether a tokenizer.json is there that may newly be at fault; where engines change, any may be."""
    base, head = (
        {(file.path, file.content) for file in side.files if file.path.rpartition("/")[2] == "tokenizer.json"}
        for side in (exchange.base, exchange.head)
    )
    return base != head or bool((base | head) and (exchange.task != "compare" or exchange.engines_after))


def _counts_tokens(exchange: Exchange) -> bool:
    """Whether there may be prompts that differ and whose tokens can be counted: a tokenizer.json, and another file of the kinds that prompts are made of."""
    if exchange.task != "compare":
        return False
    base, head = (
        {(file.path, file.content) for file in side.files if file.content is not None} for side in (exchange.base, exchange.head)
    )
    changed = {path.rpartition("/")[2] for path, _ in base ^ head} - {"generation_config.json"}
    there = any(path.rpartition("/")[2] == "tokenizer.json" for path, _ in base | head)
    return there and any(name.endswith((".json", ".jinja")) for name in changed)


def _note(digest: str) -> None:
    sys.stderr.write(f"{digest or '-'}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main()
