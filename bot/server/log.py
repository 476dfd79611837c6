"""The log of the bot: one JSON object a line, about repositories, numbers and outcomes, never with a text of somebody or a secret."""

import datetime as dt
import json
import logging
import threading
from typing import TextIO

LONGEST = 300
"""Letters of a field."""


class Log:
    """Lines to a stream. Field names are ours; a value can neither end its line nor begin one, for it is a JSON string."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def say(self, event: str, **fields: str | float | None) -> None:
        """Write one line; fields that are None or "" are left out. A log that nobody reads any more stops nothing."""
        at = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        row: dict[str, object] = {"time": at, "event": event}
        for name, value in fields.items():
            if value is not None and value != "":
                row[name] = value[:LONGEST] if isinstance(value, str) else round(value, 3)
        line = json.dumps(row) + "\n"
        with self._lock:
            try:
                self._stream.write(line)
                self._stream.flush()
            except (OSError, ValueError):
                return

    def listen(self) -> None:
        """Take over what libraries log, warnings and worse: their logger and the kind of error, not their texts, which may quote a request."""
        logging.basicConfig(level=logging.WARNING, handlers=[_Libraries(self)], force=True)


class _Libraries(logging.Handler):
    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[0] if record.exc_info else None
        said = kind.__name__ if kind else str(record.msg)  # without its arguments
        self._log.say("library", logger=record.name, level=record.levelname.lower(), said=said)
