"""Where queues are kept: a file of SQLite, or a Redis server, by one address."""

import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bot.errors import CannotLookError, UsageError

WRITTEN = "write sqlite:PATH, or redis://host:port/0"


def open_storage(url: str, name: str) -> tuple[Any, tuple[type[Exception], ...]]:
    """Open the storage of Huey at `url` that is called `name`; and what it raises where it does not answer.

    Raises UsageError for what is no such address, CannotLookError where nothing answers.
    """
    if url.startswith("sqlite:"):
        return _sqlite(url.removeprefix("sqlite:"), name)
    if url.startswith(("redis://", "rediss://")):
        return _redis(url, name)
    raise UsageError(f"--queue {url.partition(':')[0]}…: this is no queue; {WRITTEN}")


def _sqlite(file: str, name: str) -> tuple[Any, tuple[type[Exception], ...]]:
    from huey.storage import SqliteStorage  # noqa: PLC0415 - an extra

    path = Path(file)
    if not file or path.is_dir():
        raise UsageError(f"--queue sqlite:{file}: a file is needed, such as sqlite:queue.db")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return SqliteStorage(name, filename=str(path), timeout=30), (sqlite3.Error,)
    except (OSError, sqlite3.Error) as error:
        raise CannotLookError(f"--queue sqlite:{file}: cannot be opened ({said(error)})") from error


def _redis(url: str, name: str) -> tuple[Any, tuple[type[Exception], ...]]:
    from huey.storage import RedisStorage  # noqa: PLC0415 - an extra
    from redis.exceptions import RedisError  # noqa: PLC0415

    try:
        parts = urlsplit(url)
        place = f"{parts.hostname}:{parts.port or 6379}"  # never the whole: it may hold a password
    except ValueError:
        raise UsageError(f"--queue: this is no address of a Redis server; {WRITTEN}") from None
    # The storage that counts without an end: RedisExpireStorage would forget a number after a day, and use it again (huey 3.5.4, storage.py:708).
    patience = f"{'&' if parts.query else '?'}socket_timeout=10&socket_connect_timeout=5"
    try:
        storage = RedisStorage(name, url=url + patience, read_timeout=1)
        storage.has_data_for_key("reachable")
    except ValueError:
        raise UsageError(f"--queue: this is no address of a Redis server; {WRITTEN}") from None
    except RedisError as error:
        raise CannotLookError(
            f"--queue: the Redis server at {place} does not answer ({said(error)}); start it, or use sqlite:PATH"
        ) from error
    return storage, (RedisError,)


def said(fault: BaseException) -> str:
    """An error as one line. Of errors that are not ours only the kind and the place: their texts may quote anything."""
    if isinstance(fault, CannotLookError | UsageError):
        return " ".join(str(fault).split())
    last = fault.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    where = f" at {Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}" if last else ""
    return f"{type(fault).__name__}{where}"
