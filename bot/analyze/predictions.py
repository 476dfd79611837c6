"""What `predict` answers: for each model folder what each engine will do with it.

`Predictions` is what `predict --format json` prints (schema 1, published in schema/predictions-1.json); `--format jsonl` prints the rows one by one.
"""

from typing import Any

import msgspec

from bot.analyze.records import Unchecked


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One engine's version and one folder.

    `prediction` has the keys of `engines.prediction.Prediction.record`: "engine", "version", "confidence", and one for each field, nested where
    the name of the field has dots. A field that cannot be told is {"unknown": reason}. `texts` gives the strings of the stop ids.
    `applies` is False where the engine has no business with the folder, such as WebLLM without an mlc-chat-config.json.
    """

    folder: str
    prediction: dict[str, Any]
    texts: dict[str, str] = {}
    applies: bool = True


class Predictions(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one run, folder by folder, and what could not be read. `date` is the day of the facts behind the rules."""

    schema: int = 1
    date: str
    rows: tuple[Row, ...]
    unchecked: tuple[Unchecked, ...] = ()
